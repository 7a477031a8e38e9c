"""The report: complete, self-contained, the same in both forms, and loud where a check fails."""

from __future__ import annotations

import csv
import json
import re

import numpy as np
import pytest
import yaml

from sthash.cli import main
from sthash.extras import install_command
from sthash.reproduction import report
from sthash.reproduction.conditions import load_conditions
from sthash.reproduction.report.claims import judge, share_above
from sthash.reproduction.report.markup import html_page, table
from sthash.reproduction.report.summary import Point, Summary
from sthash.reproduction.report.verdicts import FAILS, HOLDS, PARTLY
from sthash.reproduction.results import Results
from sthash.reproduction.runner import carry_out, choose


@pytest.fixture
def sth(monkeypatch, capsys, tmp_path):
    """Run ``sth reproduce`` as its entry point does."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments, status=0):
        monkeypatch.setattr("sys.argv", ["sth", "reproduce", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        captured = capsys.readouterr()
        assert end.value.code == status, captured.err
        return captured

    return run


def numbers(text):
    return re.findall(r"\d+\.\d{3,}", re.sub(r"<svg.*?</svg>", "", text, flags=re.DOTALL))


def test_the_whole_report(sth, experiments, tmp_path):
    captured = sth("--experiments", experiments, "--output", "out")
    assert "out/report.html and out/results.md" in captured.out
    page, text = ((tmp_path / "out" / name).read_text() for name in ("report.html", "results.md"))
    for heading in (
        "The paper's claims", "Data", "F1 of STH", "Precision and recall of all methods", "Scores", "Significance",
        "Error analysis", "Efficiency", "Better codes than the paper's", "Conditions",
    ):  # fmt: skip
        assert f"\n## {heading}\n" in text
        assert f">{heading}</h2>" in page
    assert numbers(page.split("<body>")[1]) == numbers(text)
    drawn = re.findall(r"!\[[^\]]+\]\(results/([^)]+)\)", text)
    assert len(drawn) == 10
    assert page.count("<svg") == 10
    for name in drawn:
        svg = (tmp_path / "out" / "results" / name).read_text()
        assert "prefers-color-scheme" in svg
        assert len(svg) < 200_000
    assert "itq 1" in text  # the slow method has fewer splits, and it is said
    for ending, start in (("pdf", b"%PDF"), ("png", b"\x89PNG")):
        files = sorted((tmp_path / "out" / "figures").glob(f"*.{ending}"))
        assert {file.stem for file in files} == {name.removesuffix(".svg") for name in drawn}
        assert all(file.read_bytes().startswith(start) for file in files)
    latex = (tmp_path / "out" / "tables.tex").read_text()
    assert latex.count(r"\begin{tabular}") == text.count("\n| --- |")
    assert latex.isascii()
    recipe = re.search(r"### Same topic: precision at 100\n\n(?:\|.*\n){2}\| Small \| paper \| ([\d.]+)", text)
    with (tmp_path / "out" / "numbers.csv").open() as stream:
        rows = [row for row in csv.DictReader(stream) if (row["kind"], row["method"]) == ("recipe", "paper")]
    measured = [
        float(row["value"]) for row in rows if (row["what"], row["measure"]) == ("lengths 16", "precision_at_100")
    ]
    assert recipe[1] == f"{np.mean(measured):.3f}"
    # A second run measures nothing, and writes the same but for what depends on the clock.
    assert sth("--experiments", experiments, "--output", "out").out == captured.out
    assert (tmp_path / "out" / "results.md").read_text() == text


def test_recipes_alone(sth, experiments, tmp_path):
    captured = sth("--experiments", experiments, "--method", "topics", "--output", "out")
    assert captured.out == "out/report.html and out/results.md\n"
    text = (tmp_path / "out" / "results.md").read_text()
    assert "Methods: recipe paper, recipe topics." in text
    for target in ("longer codes never worse", "gain of ranking by margins, 16 bits", "fit time", "share of ones"):
        assert f"`topics`, {target}" in text
    assert "## Scores" not in text


def test_the_page_asks_nobody_for_anything(sth, experiments, tmp_path):
    sth("--experiments", experiments, "--method", "sth,lsi", "--output", "out")
    page = (tmp_path / "out" / "report.html").read_text()
    outside = re.findall(r"""(?:src|href|url|@import)\s*[=(]?\s*["']?(?!#)([^"'\s)>]*)""", page)
    assert [link for link in outside if "//" in link and "www.w3.org" not in link] == []
    assert "<script" not in page
    identifiers = re.findall(r' id="([^"]+)"', page)
    assert len(identifiers) == len(set(identifiers))


def test_a_reference_that_is_not_met_fails_loudly(sth, experiments, tmp_path, monkeypatch):
    monkeypatch.setenv("STHASH_DATA", str(tmp_path))
    small = yaml.safe_load((experiments / "small.yaml").read_text())
    expected = [
        {"method": "lsi", "relevance": "topics", "bits": 16, "radius": 1, "measure": "f1", "value": 5, "tolerance": 0.1}
    ]
    changed = small | {"reference": {"file": "known.json", "tolerance": 0.005}, "expected": expected}
    (experiments / "small.yaml").write_text(yaml.safe_dump(changed))
    arguments = ("--experiments", experiments, "--method", "sth,lsi", "--output", "out")
    missing = sth(*arguments, status=1)
    assert "not checked: known.json is missing" in missing.out
    assert "not checked: known.json is missing" in missing.err
    assert "binarized LSI, same-topic documents, f1" in missing.err
    conditions = load_conditions(experiments)
    run = choose(conditions, ["small"], ["sth"])
    summary = Summary(run, carry_out(run, Results(tmp_path / "out" / "measured")))
    known = {"radii": [0, 1, 2, 3], "code_lengths": [4, 8, 16]}
    for name, (relevance, measure) in report.known_scores.REFERENCE_SERIES.items():
        known[name] = [
            [summary.ball(run.experiments[0], "sth", relevance, n, radius)[measure].mean for n in (4, 8, 16)]
            for radius in range(4)
        ]
    (tmp_path / "known.json").write_text(json.dumps(known))
    (experiments / "small.yaml").write_text(yaml.safe_dump(changed | {"expected": []}))
    assert "36 of 36 points within 0.005" in sth(*arguments).out
    known["topic_f1"][2][1] += 0.0051
    (tmp_path / "known.json").write_text(json.dumps(known))
    failed = sth(*arguments, status=1)
    assert "1 of 36 points are off by more than 0.005" in failed.err
    assert "35 of 36 points within 0.005" in (tmp_path / "out" / "results.md").read_text()
    assert "('topic_f1', 8, 2)" in (tmp_path / "out" / "report.html").read_text().replace("&#x27;", "'")


def test_failures_are_in_the_report(sth, experiments, tmp_path):
    (tmp_path / "unlucky.py").write_text(
        "class Hasher:\n"
        "    def __init__(self, n_bits): pass\n"
        "    def fit(self, X): raise RuntimeError('no | luck')\n"
        "    def transform(self, X): pass\n"
    )
    captured = sth("--experiments", experiments, "--method", "sth,unlucky:Hasher", "--output", "out", status=1)
    assert "4 measurements failed, the first (unlucky:Hasher on small): RuntimeError: no | luck" in captured.err
    text = (tmp_path / "out" / "results.md").read_text()
    assert "## What failed" in text
    assert "no \\| luck" in text
    assert "| STH |" in text


def test_recipes_that_fail_leave_the_rest_standing(sth, experiments, tmp_path, monkeypatch):
    def fail(*arguments):
        raise RuntimeError("no memory left")

    monkeypatch.setattr("sthash.reproduction.recipes.measure_recipe", fail)
    monkeypatch.setattr("sthash.reproduction.recipes.time_recipes", fail)
    monkeypatch.setattr("sthash.reproduction.dense_vectors.measure_dense", fail)
    captured = sth("--experiments", experiments, "--output", "out", status=1)
    assert "6 measurements failed, the first (paper on small): RuntimeError: no memory left" in captured.err
    text = (tmp_path / "out" / "results.md").read_text()
    assert "| binarized LSI |" in text
    assert "## Better codes than the paper's" in text


def test_what_the_command_cannot_do_is_one_line(sth, experiments, tmp_path, monkeypatch):
    for arguments, message in (
        (("--method", "nobody"), "method 'nobody' is not known"),
        (("--dataset", "nothing"), "dataset 'nothing' is not known"),
        (("--experiments", "absent"), "is not a folder"),
    ):
        captured = sth(*arguments, status=1)
        assert captured.err.startswith("sth: ")
        assert message in captured.err
        assert captured.err.count("\n") == 1
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert install_command("plot") in sth(status=1).err
    assert not (tmp_path / "reproduction").exists()


def test_an_interruption_says_how_to_go_on(sth, experiments, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("sthash.reproduction.runner.carry_out", interrupt)
    assert "run again to go on" in sth("--experiments", experiments, "--output", "out", status=130).err


def test_claims_are_judged_both_ways(experiments, tmp_path):
    """The same claim must fail when the tables are turned."""
    run = choose(load_conditions(experiments), ["small"], ["sth", "lsi"])
    outcome = carry_out(run, Results(tmp_path / "out"))
    straight = {claim.text: claim.verdict for claim in judge(Summary(run, outcome))}
    for job in list(outcome.results):
        if job.kind == "scores" and job.method == "sth":
            baseline = type(job)(job.kind, job.dataset, job.split, "lsi")
            outcome.results[job], outcome.results[baseline] = outcome.results[baseline], outcome.results[job]
    turned = {claim.text: claim.verdict for claim in judge(Summary(run, outcome))}
    text = "STH outperforms binarized LSI on Small: original nearest neighbors."
    assert {straight[text], turned[text]} in ({HOLDS, FAILS}, {PARTLY, FAILS})


def test_curves_that_do_not_meet_are_not_compared():
    assert share_above([Point(4, 1.0, 0.9), Point(8, 1.0, 0.8)], [Point(4, 0.5, 0.1), Point(8, 0.5, 0.2)]) is None


def test_share_above_by_counting():
    rng = np.random.default_rng(0)
    upper, lower = ([Point(n, float(p), n / 10) for n, p in enumerate(rng.random(11))] for _ in range(2))
    above = 0
    for step in range(10_000):
        at = (step + 0.5) / 10_000
        heights = []
        for points in (upper, lower):
            left = min(int(at * 10), 9)
            share = at * 10 - left
            heights.append((1 - share) * points[left].precision + share * points[left + 1].precision)
        above += heights[0] > heights[1]
    assert share_above(upper, lower) == pytest.approx(above / 10_000, abs=0.002)


def test_text_cannot_break_out_of_the_page():
    markdown = table(("a", "b"), [("<script>alert(1)</script>", "x | y\nz")])
    page = html_page(markdown, {}, "<title>")
    assert "<script" not in page
    assert "x | y z" in page
    assert "&lt;title&gt;" in page


def test_reuters_by_the_command(needs, sth, tmp_path):
    needs("reuters21578_counts.mat", "reuters21578_reference.json")
    captured = sth("--dataset", "reuters21578", "--method", "sth,lsi,lch,sph", "--output", "out")
    assert "Reuters21578 against the authors: 192 of 192 points within 0.005" in captured.out
    assert "3 of 3 expected scores of baselines met" in captured.out
    text = (tmp_path / "out" / "results.md").read_text()
    assert "| Reuters21578 | 5228 | 2057 |" in text


@pytest.mark.parametrize("seed", range(12))
def test_a_claim_names_what_ran_and_nothing_else(experiments, tmp_path, seed):
    """Over random subsets of methods and corpora."""
    rng = np.random.default_rng(seed)
    small = yaml.safe_load((experiments / "small.yaml").read_text()) | {"splits": 1}
    for name in ("Alpha", "Beta", "Gamma"):
        (experiments / f"{name}.yaml").write_text(yaml.safe_dump(small | {"title": name}))
    methods = yaml.safe_load((experiments / "methods.yaml").read_text())
    methods["lch"] = {"title": "LCH", "estimator": "sthash.baselines:LaplacianCoHashing"}
    methods["sph"] = {"title": "SpH", "estimator": "sthash.baselines:SpectralHashing"}
    methods["lsh"] = {"title": "LSH", "estimator": "sthash.baselines:RandomHyperplaneHashing"}
    (experiments / "methods.yaml").write_text(yaml.safe_dump(methods))
    corpora = rng.permutation(["Alpha", "Beta", "Gamma"])[: rng.integers(1, 4)].tolist()
    chosen = rng.permutation(["sth", "lsi", "lch", "sph", "lsh"])[: rng.integers(1, 6)].tolist()
    run = choose(load_conditions(experiments), corpora, chosen)
    outcome = carry_out(run, Results(tmp_path / "out"))
    for job in [job for job in outcome.results if job.method != "sth" and rng.random() < 0.3]:
        del outcome.results[job]  # as if it had failed
    titles = {name: methods[name]["title"] for name in ("lsi", "lch", "sph", "lsh")} | {"ssc": "SSC", "rbm": "RBM"}
    for claim in judge(Summary(run, outcome)):
        kind = "significance" if "significant" in claim.text else "scores"
        for part in claim.text.split("; "):
            named = [corpus for corpus in ("Alpha", "Beta", "Gamma") if corpus in part]
            assert named, claim.text
            for corpus in named:
                assert corpus in corpora
                for method, title in titles.items():
                    if title in part and "first step" not in part:
                        assert outcome.of(kind, corpus, method), claim.text
