"""The runner: what it plans, that it resumes, and that one failure does not take the rest with it."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
import yaml

from sthash import SelfTaughtHashing
from sthash.evaluation import Topics, score
from sthash.reproduction.conditions import ConditionsError, load_conditions
from sthash.reproduction.corpora import prepare
from sthash.reproduction.estimators import find_class
from sthash.reproduction.report.claims import judge
from sthash.reproduction.report.summary import Summary
from sthash.reproduction.results import Job, Results
from sthash.reproduction.runner import carry_out, choose


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Write a module with hashers of one's own, good and bad."""
    source = """
import numpy as np
from sthash import codes

class Signs:
    def __init__(self, n_bits):
        self.n_bits = n_bits
    def fit(self, X):
        self.directions_ = np.random.default_rng(0).standard_normal((X.shape[1], self.n_bits))
        return self
    def transform(self, X):
        return codes.pack(np.asarray(X @ self.directions_) > 0)

class Unpacked(Signs):
    def transform(self, X):
        return np.asarray(X @ self.directions_) > 0

class Lossy(Signs):
    def transform(self, X):
        return super().transform(X)[1:]

class Broken(Signs):
    def fit(self, X):
        raise RuntimeError("no luck today")

class Deaf:
    def __init__(self, n_bits):
        pass

class Nameless:
    def fit(self, X): pass
    def transform(self, X): pass

number = 3
"""
    (tmp_path / "mine.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path / "mine.py"
    sys.modules.pop("mine", None)


def run_on(experiments, *methods):
    return choose(load_conditions(experiments), ["small"], methods)


def test_the_papers_conditions():
    conditions = load_conditions()
    assert conditions.protocol["lengths"] == list(range(4, 65, 4))
    assert conditions.protocol["radii"] == [0, 1, 2, 3]
    run = choose(conditions)
    assert [one.name for one in run.experiments] == ["reuters21578", "20newsgroups", "tdt2"]
    for method in run.methods:
        assert find_class(method.estimator)
    tdt2 = [job for job in run.jobs(run.experiments[2]) if job.kind == "scores"]
    assert sum(job.method == "sth" for job in tdt2) == 10
    assert sum(job.method == "rbm" for job in tdt2) == 1


def test_a_run_measures_keeps_and_resumes(experiments, tmp_path):
    run = run_on(experiments)
    seen = []
    outcome = carry_out(run, Results(tmp_path / "out"), lambda *step: seen.append(step))
    assert outcome.failures == {}
    jobs = run.jobs(run.experiments[0])
    assert set(outcome.results) == set(jobs)
    assert outcome.measured == len(jobs)
    assert seen[0] == ("Small", 0, len(jobs))
    assert seen[-1] == ("Small", len(jobs), len(jobs))
    assert {job.kind for job in jobs} == {"scores", "significance", "error_analysis", "recipe", "timing", "dense"}
    again = carry_out(run, Results(tmp_path / "out"))
    assert again.measured == 0
    assert again.results == outcome.results


def test_scores_are_those_of_the_library(experiments, tmp_path):
    run = run_on(experiments, "sth")
    outcome = carry_out(run, Results(tmp_path / "out"))
    result = outcome.results[Job("scores", "small", 1, "sth")]
    data = prepare(run.experiments[0], 1)
    hasher = SelfTaughtHashing(16, 10).fit(data.train)
    expected = score(
        hasher.codes_,
        hasher.transform(data.test),
        Topics(data.train_labels, data.test_labels),
        lengths=[4, 8, 16],
        k=20,
    )
    for found, ball in zip(result["scores"]["topics"]["balls"], expected.balls, strict=True):
        assert found == vars(ball)
    for found, ranking in zip(result["scores"]["topics"]["rankings"], expected.rankings, strict=True):
        assert found == vars(ranking)


def test_relearning_learns_every_length(experiments, tmp_path):
    conditions = load_conditions(experiments)
    prefix, anew = (choose(conditions, ["small"], ["itq", "lsi"], relearn=relearn) for relearn in (False, True))
    cut, learned = (carry_out(run, Results(tmp_path / f"out{run.relearn}")).results for run in (prefix, anew))
    itq, lsi = (Job("scores", "small", 0, name) for name in ("itq", "lsi"))
    assert cut[itq]["scores"] == learned[itq]["scores"]  # its bits have no order: it always learns anew
    assert cut[lsi]["scores"] == learned[lsi]["scores"]  # its bits have: a prefix is as good
    assert carry_out(anew, Results(tmp_path / "outFalse")).measured == 3  # but it is another condition


def test_other_conditions_are_measured_again(experiments, tmp_path):
    results = Results(tmp_path / "out")
    assert carry_out(run_on(experiments, "lsi"), results).measured == 2
    protocol = yaml.safe_load((experiments / "protocol.yaml").read_text())
    (experiments / "protocol.yaml").write_text(yaml.safe_dump(protocol | {"neighbors": 5}))
    assert carry_out(run_on(experiments, "lsi"), results).measured == 2
    assert carry_out(run_on(experiments, "lsi"), results).measured == 0


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"fingerprint": "x"}'])
def test_a_damaged_result_is_measured_again(experiments, tmp_path, damage):
    results = Results(tmp_path / "out")
    first = carry_out(run_on(experiments, "lsi"), results)
    (tmp_path / "out" / Job("scores", "small", 0, "lsi").file_name).write_text(damage)
    second = carry_out(run_on(experiments, "lsi"), results)
    assert second.measured == 1
    for job in first.results:
        assert second.results[job]["scores"] == first.results[job]["scores"]


def test_an_interrupted_run_keeps_what_it_has(experiments, tmp_path):
    results = Results(tmp_path / "out")

    def interrupt(step, done, total):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        carry_out(run_on(experiments, "sth", "lsi"), results, interrupt)
    left = carry_out(run_on(experiments, "sth", "lsi"), results)
    assert left.measured == len(left.results) - 2
    assert not list((tmp_path / "out").glob("*.tmp"))


def test_ones_own_method(experiments, own, tmp_path):
    run = run_on(experiments, "sth", "mine:Signs")
    outcome = carry_out(run, Results(tmp_path / "out"))
    assert outcome.failures == {}
    assert len(outcome.of("scores", "small", "mine:Signs")) == 2
    assert len(outcome.of("significance", "small", "mine:Signs")) == 2
    # A change of its source is another method: its scores and their significance, on two splits.
    own.write_text(own.read_text() + "# changed\n")
    assert carry_out(run, Results(tmp_path / "out")).measured == 4


def test_another_sth_is_compared_again(experiments, tmp_path):
    carry_out(run_on(experiments, "sth", "lsi"), Results(tmp_path / "out"))
    methods = yaml.safe_load((experiments / "methods.yaml").read_text())
    methods["sth"]["settings"]["n_neighbors"] = 5
    (experiments / "methods.yaml").write_text(yaml.safe_dump(methods))
    again = carry_out(run_on(experiments, "sth", "lsi"), Results(tmp_path / "out"))
    # Scores and significance on two splits, and the error analysis, which belongs to STH; those of LSI stay.
    assert again.measured == 5


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mine:Unpacked", "must be packed codes, uint8, got bool"),
        ("mine:Lossy", "gave"),
        ("mine:Broken", "no luck today"),
        ("mine:Nameless", "cannot be made with n_bits=4 "),
    ],
)
def test_a_method_that_fails_does_not_stop_the_others(experiments, own, tmp_path, name, message):
    outcome = carry_out(run_on(experiments, name, "lsi"), Results(tmp_path / "out"))
    assert all(job.method == name for job in outcome.failures)
    assert message in next(iter(outcome.failures.values()))
    assert len(outcome.of("scores", "small", "lsi")) == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nobody", "method 'nobody' is not known. Use one of itq, lsi"),
        ("nowhere:Class", "module 'nowhere' cannot be imported"),
        ("mine:Absent", "mine has no 'Absent'"),
        ("mine:number", "is a int. Name a class that takes n_bits"),
        ("mine:Deaf", "has no fit"),
        (":Class", "must have the form package.module:Class"),
    ],
)
def test_unknown_methods_are_named(experiments, own, name, message):
    with pytest.raises(ConditionsError, match=message):
        run_on(experiments, name)


def test_a_recipe_of_another_version_is_not_known(experiments):
    recipes = yaml.safe_load((experiments / "recipes.yaml").read_text())
    recipes["recipes"]["futures"] = {"lengths": [16]}
    (experiments / "recipes.yaml").write_text(yaml.safe_dump(recipes))
    assert run_on(experiments).recipes == ["paper", "topics"]
    with pytest.raises(ConditionsError, match="method 'futures' is not known"):
        run_on(experiments, "futures")


def test_unknown_datasets_are_named(experiments):
    with pytest.raises(ConditionsError, match=r"dataset 'nothing' is not known. Use one of small, or name a folder"):
        choose(load_conditions(experiments), ["nothing"])


def test_ones_own_file_of_texts(experiments, corpus, tmp_path):
    run = choose(load_conditions(experiments), [str(corpus)], ["lsi"])
    outcome = carry_out(run, Results(tmp_path / "out"))
    (result,) = outcome.of("scores", "small.jsonl", "lsi")
    assert result["documents"]["train"] + result["documents"]["test"] == 240
    missing = choose(load_conditions(experiments), [str(tmp_path / "absent.jsonl")], ["lsi"])
    assert "cannot be read" in next(iter(carry_out(missing, Results(tmp_path / "out")).failures.values()))


def test_ones_own_folder_of_texts(experiments, corpus, tmp_path):
    for number, line in enumerate(corpus.read_text().splitlines()):
        record = json.loads(line)
        (tmp_path / "mine" / record["label"]).mkdir(parents=True, exist_ok=True)
        (tmp_path / "mine" / record["label"] / f"{number}.txt").write_text(record["text"])
    run = choose(load_conditions(experiments), [str(tmp_path / "mine")], ["lsi"])
    assert carry_out(run, Results(tmp_path / "out")).measured == 1
    assert carry_out(run, Results(tmp_path / "out")).measured == 0
    (tmp_path / "mine" / "sport" / "more.txt").write_text("one more text")
    again = carry_out(run, Results(tmp_path / "out"))
    assert again.measured == 1  # another corpus
    assert sum(again.of("scores", "mine", "lsi")[0]["documents"][part] for part in ("train", "test")) == 241


def test_a_missing_corpus_is_told_and_the_others_go_on(experiments, tmp_path, monkeypatch):
    monkeypatch.setenv("STHASH_DATA", str(tmp_path))
    (experiments / "tdt2.yaml").write_text(json.dumps({"title": "TDT2", "source": "tdt2", "splits": 3}))
    outcome = carry_out(choose(load_conditions(experiments), ["tdt2", "small"], ["lsi"]), Results(tmp_path / "out"))
    assert len(outcome.failures) == 3
    assert all("tdt2.npz or TDT2.mat is missing" in message for message in outcome.failures.values())
    assert len(outcome.of("scores", "small", "lsi")) == 2


def test_a_corpus_of_another_size_is_refused(experiments, tmp_path):
    small = yaml.safe_load((experiments / "small.yaml").read_text())
    (experiments / "small.yaml").write_text(yaml.safe_dump(small | {"documents": {"train": 1}}))
    outcome = carry_out(run_on(experiments, "lsi"), Results(tmp_path / "out"))
    assert "small has 144 train, its conditions say 1" in next(iter(outcome.failures.values()))


def test_neighbors_are_searched_once(experiments, monkeypatch):
    data = prepare(load_conditions(experiments).experiments["small"], 0)
    wide = data.neighbors(25)
    monkeypatch.setattr("sthash.reproduction.corpora.nearest_neighbors", None)
    np.testing.assert_array_equal(data.neighbors(10).indices, wide.indices[:, :10])
    assert data.neighbors(25) is wide


def test_file_names_are_plain_and_differ():
    names = {Job("scores", "x", 0, method).file_name for method in ("a.b:C", "a-b:C", "a/b:C", "../../etc/passwd")}
    assert len(names) == 4
    assert all("/" not in name for name in names)


@pytest.fixture
def vectors(tmp_path):
    """Write 200 dense vectors of four classes."""
    rng = np.random.default_rng(0)
    labels = np.arange(200) % 4
    path = tmp_path / "images.npz"
    np.savez(path, vectors=rng.normal(size=(4, 24))[labels] + 0.7 * rng.normal(size=(200, 24)), labels=labels)
    return path


def test_dense_vectors_are_a_corpus(experiments, vectors, tmp_path):
    methods = yaml.safe_load((experiments / "methods.yaml").read_text())
    methods["lch"] = {"title": "LCH", "estimator": "sthash.baselines:LaplacianCoHashing", "takes": "sparse"}
    kernel = {"title": "kernels", "estimator": "sthash:SelfTaughtHashing", "settings": {"recipe": "kernel_topics"}}
    methods["kernel_topics"] = kernel | {"takes": "dense"}
    (experiments / "methods.yaml").write_text(yaml.safe_dump(methods))
    conditions = load_conditions(experiments)
    run = choose(conditions, [str(vectors)])
    assert "kernel_topics" in [method.name for method in run.methods]
    assert "lch" not in [method.name for method in run.methods]
    assert "kernel_topics" not in [method.name for method in choose(conditions).methods]
    run = choose(conditions, [str(vectors)], ["sth", "kernel_topics", "itq"])
    outcome = carry_out(run, Results(tmp_path / "out"))
    assert not outcome.failures
    (found,) = outcome.of("scores", "images.npz", "kernel_topics")
    assert found["documents"] == {"train": 120, "test": 80, "terms": 24}
    assert found["scores"]["topics"]["rankings"][-1]["precision_at_k"] > 0.6
    assert outcome.of("error_analysis", "images.npz", "sth")


def test_a_method_for_other_rows_fails_where_it_is_named(experiments, vectors, tmp_path):
    methods = yaml.safe_load((experiments / "methods.yaml").read_text())
    counted = {"title": "counted", "estimator": "sthash.baselines:BinarizedLSI", "rows": "counts", "takes": "sparse"}
    (experiments / "methods.yaml").write_text(yaml.safe_dump(methods | {"counted": counted}))
    outcome = carry_out(choose(load_conditions(experiments), [str(vectors)], ["counted"]), Results(tmp_path / "out"))
    assert list(outcome.failures.values()) == [
        "ValueError: the method needs the counts of terms, which vectors do not have. Leave it out."
    ]


def test_claims_of_the_paper_leave_out_other_corpora(experiments, vectors, tmp_path):
    own = {"title": "Images", "source": "vectors", "path": str(vectors), "last": 80, "ours": True}
    (experiments / "images.yaml").write_text(yaml.safe_dump(own))
    small = yaml.safe_load((experiments / "small.yaml").read_text()) | {"splits": 1}
    (experiments / "small.yaml").write_text(yaml.safe_dump(small))
    run = choose(load_conditions(experiments), ["small", "images"], ["sth", "lsi"])
    outcome = carry_out(run, Results(tmp_path / "out"))
    assert outcome.of("scores", "images", "sth")
    claims = judge(Summary(run, outcome))
    assert claims
    assert not [claim for claim in claims if "Images" in claim.text + claim.measured]
