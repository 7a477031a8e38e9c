"""The measures of rankings, beside ir-measures; files of BEIR and TREC."""

import gzip
import json
import subprocess
import sys

import numpy as np
import pytest

from sthash import Collection
from sthash.evaluation import (
    compare_runs,
    evaluate_run,
    rank_queries,
    read_beir,
    read_beir_corpus,
    read_qrels,
    read_queries,
    read_run,
    select_judged,
    unknown_documents,
    write_run,
)

NAMES = {
    "nDCG@10": "nDCG@10",
    "nDCG": "nDCG",
    "recall@5": "R@5",
    "recall@100": "R@100",
    "MRR": "RR",
    "MRR@10": "RR@10",
    "MAP": "AP",
    "MAP@20": "AP@20",
    "precision@10": "P@10",
}


def random_judgments(seed=0, queries=40, documents=60, levels=12):
    """Runs with ties, queries without an answer and without a relevant document, negative grades."""
    rng = np.random.default_rng(seed)
    keys = [f"d{number}" for number in range(documents)]
    qrels, run = {}, {}
    for query in range(queries):
        judged = rng.choice(keys, size=12, replace=False)
        grades = rng.integers(-1, 4, size=12) if query else np.zeros(12, dtype=int)
        qrels[f"q{query}"] = dict(zip(judged.tolist(), grades.tolist(), strict=True))
        found = rng.choice(keys, size=rng.integers(1, documents), replace=False).tolist()
        if query % 7 != 3:
            run[f"q{query}"] = {key: float(rng.integers(0, levels)) / 8 for key in found}
    return run, qrels


@pytest.mark.parametrize("ties", [False, True])
def test_measures_equal_those_of_ir_measures(ties):
    ir_measures = pytest.importorskip("ir_measures")
    run, qrels = random_judgments(levels=12 if ties else 10**6)
    # Of equal scores, ir-measures takes the smaller key first for RR@10 alone: it is not trec_eval that computes it.
    names = {ours: theirs for ours, theirs in NAMES.items() if not (ties and theirs == "RR@10")}
    measures = [ir_measures.parse_measure(name) for name in names.values()]
    theirs = {str(name): value for name, value in ir_measures.calc_aggregate(measures, qrels, run).items()}
    for score in evaluate_run(run, qrels, list(names)):
        assert score.mean == pytest.approx(theirs[NAMES[score.measure]], abs=5e-5), score.measure
        assert score.low <= score.mean <= score.high
    by_query = {(one.query_id, str(one.measure)): one.value for one in ir_measures.iter_calc(measures, qrels, run)}
    for score in evaluate_run(run, qrels, list(names.values())):
        for query, value in zip(qrels, score.values, strict=True):
            assert value == pytest.approx(by_query.get((query, NAMES[score.measure]), 0.0), abs=5e-5)


def test_the_interval_is_that_of_the_mean():
    run, qrels = random_judgments(queries=400)
    (score,) = evaluate_run(run, qrels, ["nDCG@10"])
    error = score.values.std(ddof=1) / np.sqrt(len(score.values))
    assert score.high - score.mean == pytest.approx(1.96 * error, rel=0.1)
    assert evaluate_run(run, qrels, ["nDCG@10"])[0].low == score.low


def test_the_paired_test_tells_better_from_equal():
    run, qrels = random_judgments(queries=100)
    ideal = {query: {key: float(grade) for key, grade in grades.items()} for query, grades in qrels.items()}
    (better,) = compare_runs(ideal, run, qrels, ["nDCG@10"])
    assert better.difference > 0
    assert better.low > 0
    assert better.p_value < 0.001
    assert better.worse == 0
    (same,) = compare_runs(run, run, qrels, ["nDCG@10"])
    assert (same.difference, same.p_value, same.better) == (0.0, 1.0, 0)
    other, _ = random_judgments(seed=1, queries=100)
    (either,) = compare_runs(run, other, qrels, ["nDCG@10"])
    (turned,) = compare_runs(other, run, qrels, ["nDCG@10"])
    assert either.p_value == pytest.approx(turned.p_value, abs=0.02)
    assert either.p_value > 0.05


@pytest.mark.parametrize("name", ["nDCG@0", "recall", "F1", "", "nDCG@-1", "nDCG@x"])
def test_unknown_measures(name):
    with pytest.raises(ValueError, match="is not a measure"):
        evaluate_run({}, {"q": {"a": 1}}, [name])


@pytest.fixture
def beir(tmp_path):
    folder = tmp_path / "beir"
    (folder / "qrels").mkdir(parents=True)
    topics = ("cat fish", "dog bone", "rabbit carrot")
    rows = [{"_id": f"d{n}", "title": topics[n % 3], "text": f"number {n}"} for n in range(30)]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    queries = [{"_id": f"q{n}", "text": topic} for n, topic in enumerate(topics)]
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in queries))
    lines = ["query-id\tcorpus-id\tscore\n", *(f"q{n % 3}\td{n}\t1\n" for n in range(30))]
    (folder / "qrels" / "test.tsv").write_text("".join(lines))
    return folder


def test_a_beir_folder(beir, tmp_path):
    queries, qrels = read_beir(beir)
    assert queries["q1"] == "dog bone"
    assert qrels["q2"]["d2"] == 1
    assert next(read_beir_corpus(beir)).text == "cat fish\nnumber 0"
    with Collection.create(tmp_path / "b.sth", read_beir_corpus(beir)) as collection:
        run = rank_queries(collection, queries, 10)
        assert unknown_documents(collection, qrels) == []
        order = [hit.key for hit in collection.search("dog bone")]
    assert [score.mean for score in evaluate_run(run, qrels, ["nDCG@10", "recall@10", "MRR"])] == [1.0, 1.0, 1.0]
    write_run(tmp_path / "run.txt", run)
    again = read_run(tmp_path / "run.txt")
    lines = (tmp_path / "run.txt").read_text().splitlines()
    assert [line.split()[2] for line in lines if line.startswith("q1 ")] == order  # ties keep their order
    assert [len(set(scores.values())) for scores in again.values()] == [10, 10, 10]
    assert again == {
        query: {key: pytest.approx(score) for key, score in scores.items()} for query, scores in run.items()
    }
    with pytest.raises(FileNotFoundError, match="--part"):
        read_beir(beir, "dev")


def test_files_of_trec(tmp_path):
    topics = "<top>\n<num> Number: 301\n<title> International Organized\nCrime\n<desc> x\n</top>\n"
    topics += "<top><num>302</num><title>Polio</title></top>"
    (tmp_path / "topics").write_text(topics)
    assert read_queries(tmp_path / "topics") == {"301": "International Organized Crime", "302": "Polio"}
    (tmp_path / "q.tsv.gz").write_bytes(gzip.compress("\ufeff1\tcafé au lait\n\n2\tb\n".encode()))
    assert read_queries(tmp_path / "q.tsv.gz") == {"1": "café au lait", "2": "b"}
    (tmp_path / "qrels").write_text("301 0 a 1\n301 0 b -1\n302 0 a 2\n")
    assert read_qrels(tmp_path / "qrels") == {"301": {"a": 1, "b": -1}, "302": {"a": 2}}


BAD = {
    "a query without a tab": (read_queries, "1 cat\n", "no tab"),
    "a query without an id": (read_queries, '{"text": "a"}\n', "line 1 has no _id"),
    "a query without a text": (read_queries, '{"_id": "a"}\n', "line 1 has no text"),
    "a query that is no JSON": (read_queries, '{"_id": "a", "text": "b"}\n{"\n', "line 2 is not JSON"),
    "a query twice": (read_queries, "1\ta\n1\tb\n", "twice"),
    "no queries": (read_queries, "\n", "no queries"),
    "a topic without a title": (read_queries, "<top><num> 1 </top>", "<title>"),
    "a judgment without a grade": (read_qrels, "1 0 a 1\n1 0 a x\n", "line 2"),
    "a judgment of two words": (read_qrels, "1 0\n", "is no judgment"),
    "no judgments": (read_qrels, "query-id\tcorpus-id\tscore\n", "no judgments"),
    "a run without scores": (read_run, "1 Q0 a\n", "line of a run"),
    "a score that is no number": (read_run, "1 Q0 a 1 nan x\n", "line of a run"),
    "no run": (read_run, "", "no run"),
    "bytes": (read_qrels, b"\xff\xfe\x00", "UTF-8"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files(tmp_path, case):
    read, content, message = BAD[case]
    (tmp_path / "f").write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(ValueError, match=message):
        read(tmp_path / "f")


def test_unknown_ids(tmp_path):
    with pytest.raises(ValueError, match="no judged query"):
        select_judged({"1": "a"}, {"x": {"d": 1}})
    asked, grades, missing = select_judged({"1": "a", "2": "b"}, {"2": {"d": 1}, "3": {"d": 1}})
    assert (asked, grades, missing) == ({"2": "b"}, {"2": {"d": 1}}, 1)
    with Collection.create(tmp_path / "c.sth", [{"key": "a", "text": "cat"}]) as collection:
        assert unknown_documents(collection, {"1": {"a": 1, "b": 1}}) == ["b"]
        with pytest.raises(ValueError, match="none of the judged documents"):
            unknown_documents(collection, {"1": {"b": 1}})
    with pytest.raises(ValueError, match="spaces"):
        write_run(tmp_path / "run", {"q": {"a b": 1.0}})
    assert not (tmp_path / "run").exists()


def test_the_command(beir, tmp_path):
    def sth(*arguments, status=0):
        command = [sys.executable, "-m", "sthash.cli", "evaluate", *map(str, arguments)]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == status, done.stderr
        return done

    built = sth("new.sth", beir, "--run", "run.txt")
    assert "nDCG@10" in built.stdout
    assert "30 documents" in built.stderr
    qrels = (beir / "qrels" / "test.tsv").read_text() + "q0\tzzz\t1\nq9\td1\t1\n"
    (tmp_path / "qrels.tsv").write_text(qrels)
    files = ("--queries", beir / "queries.jsonl", "--qrels", "qrels.tsv")
    again = sth("new.sth", *files, "--against", "run.txt", "--measure", "R@10", "--json")
    (row,) = map(json.loads, again.stdout.splitlines())
    assert row["measure"] == "recall@10"
    assert row["mean"] == pytest.approx((10 / 11 + 2) / 3)
    assert (row["difference"], row["p_value"]) == (0.0, 1.0)
    assert "left out: 1 judged queries" in again.stderr
    assert "not in the collection: 1 judged documents ('zzz'" in again.stderr
    assert sth("new.sth", status=1).stderr.startswith("sth: queries and judgments are missing.")
    assert sth("new.sth", beir, *files, status=1).stderr.count("\n") == 1
    (tmp_path / "bad.tsv").write_text("q0\tyyy\t1\n")
    wrong = sth("new.sth", "--queries", beir / "queries.jsonl", "--qrels", "bad.tsv", status=1)
    assert wrong.stderr.startswith("sth: none of the judged documents")
