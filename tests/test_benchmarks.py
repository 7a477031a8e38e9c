"""Every benchmark runs: a quick trial on made-up data, whose results have the shape that the README's table needs."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.components import require

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
SCRIPTS = (
    "baselines",
    "collection",
    "duplicates",
    "embeddings",
    "encoding",
    "fit",
    "graph",
    "hamming",
    "labels",
    "learning_sample",
    "milvus",
    "postings",
    "recipes",
    "relevance",
    "scaling",
    "service",
    "text_search",
    "typed_queries",
    "weighted_search",
)
# They take minutes: two JVMs, processes of their own, a peer that compiles itself.
UNTRIED = {"learn", "learn_graph", "spark"}
NOT_SCRIPTS = {
    "assembly",
    "corpus_cleaning",
    "data",
    "embedding_peers",
    "harness",
    "library",
    "many_codes",
    "noise",
    "short_texts",
    "static_embeddings",
    "stored",
    "timing",
    "vector_filters",
    "vector_speed",
    "vector_stores",
}

# Parts that take long and have not been run in full yet. Whoever stores their results takes them out.
NOT_MEASURED = {
    "duplicates-large",
    "embeddings-long",
    "scaling-codes-100m",
    "scaling-texts-2m",
    "scaling-texts-5m",
    "scaling-texts-5m-all",
    "scaling-texts-10m",
    "scaling-texts-20m",
    "spark-rows",
}


def test_every_script_is_listed():
    assert {path.stem for path in BENCHMARKS.glob("*.py")} == {*SCRIPTS, *NOT_SCRIPTS, *UNTRIED}
    table = (BENCHMARKS / "README.md").read_text(encoding="utf-8")
    assert all(f"`{name}.py`" in table for name in (*SCRIPTS, *NOT_SCRIPTS, *UNTRIED))


def results_of(name):
    """Names of the results that a script writes: its own, or one per part."""
    tree = ast.parse((BENCHMARKS / f"{name}.py").read_text(encoding="utf-8"))
    nodes = list(ast.walk(tree))
    (parts,) = (node.args[2] for node in nodes if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "main")
    if isinstance(parts, ast.Name):
        assigned = [node for node in nodes if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict)]
        parts = next((node.value for node in assigned if node.targets[0].id == parts.id), parts)
    return [f"{name}-{key.value}" for key in parts.keys] if isinstance(parts, ast.Dict) else [name]


def test_every_script_has_stored_results():
    table = (BENCHMARKS / "README.md").read_text(encoding="utf-8")
    scripts = re.findall(r"^\| `(\w+)\.py`", table, re.M)
    assert set(scripts) == {*SCRIPTS, *UNTRIED}
    wanted = [result for name in scripts for result in results_of(name)]
    assert {"fit", "hamming-nearest", "recipes-rerank"} <= set(wanted)
    missing = {result for result in wanted if not (BENCHMARKS / "results" / f"{result}.json").exists()}
    assert missing == NOT_MEASURED


def test_make_runs_every_script():
    makefile = (BENCHMARKS.parent / "Makefile").read_text(encoding="utf-8")
    (names,) = re.findall(r"^BENCHMARKS := ((?:.*\\\n)*.*)", makefile, re.M)
    assert set(names.replace("\\", " ").split()) == {*SCRIPTS, *UNTRIED}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_quick_run_writes_its_results(name, tmp_path):
    require("benchmark peers", "Milvus Lite")
    command = [sys.executable, str(BENCHMARKS / f"{name}.py"), "--quick", "--results", str(tmp_path)]
    # A quick run needs no data sets.
    environment = os.environ | {"STHASH_DATA": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    results = [json.loads(path.read_text(encoding="utf-8")) for path in tmp_path.glob("*.json")]
    assert results
    for result in results:
        assert result["quick"]
        assert result["script"] == f"benchmarks/{name}.py"
        assert {"cpu", "cores", "simd", "python", "versions"} <= result["machine"].keys()
        assert {"before", "after"} == result["load_average"].keys()
        assert result["rows"]
        for row in result["rows"]:
            assert {"id", "what", "ours", "unit", "peer", "theirs", "ratio", "setting"} <= row.keys()
            assert (row["ratio"] is None) == (row["theirs"] is None)


@pytest.fixture
def in_benchmarks(run_python):
    return lambda source: run_python(source, PYTHONPATH=str(BENCHMARKS))


def test_contestants_take_turns(in_benchmarks):
    source = """
from timing import time_in_turns
order = []
timings = time_in_turns({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, repetitions=3)
print("".join(order), [len(timing.wall) for timing in timings.values()])
"""
    assert in_benchmarks(source).strip() == "ababab [3, 3]"


def test_a_slow_contestant_stops_when_its_budget_is_spent(in_benchmarks):
    source = """
import time
from timing import time_in_turns
timings = time_in_turns({"slow": lambda: time.sleep(0.05), "fast": lambda: 7}, repetitions=4, budget=0.01)
print(len(timings["slow"].wall), len(timings["fast"].wall), timings["fast"].result)
"""
    assert in_benchmarks(source).strip() == "2 4 7"


def test_a_ratio_says_how_many_times_as_good_ours_is(in_benchmarks):
    source = """
from harness import compare, figure
from timing import Timing
ours, theirs, slower = Timing([2.0, 1.0], [4.0, 3.0]), Timing([5.0], [6.0]), Timing([9.0], [9.0])
row = compare("id", "what", {"sthash": ours, "slower": slower, "peer": theirs}, "ms")
print(row.ours, row.theirs, row.peer, row.ratio, row.cpu_ratio)
rate = compare("id", "what", {"sthash": ours.per(10), "peer": theirs.per(10)}, "documents/s")
print(rate.ours, rate.theirs, rate.ratio)
print(figure("id", "what", 8.0, "bytes", peer="bound", theirs=9.0, least_ratio=1.5).missed)
"""
    assert in_benchmarks(source).split("\n")[:3] == ["1000.0 5000.0 peer 5.0 2.0", "10.0 2.0 5.0", "True"]


def test_memory_is_measured_in_a_process_of_its_own(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        """
from timing import in_own_process
def allocate(mebibytes):
    return len(bytearray(mebibytes << 20))
if __name__ == "__main__":
    small, large = in_own_process(allocate, 1), in_own_process(allocate, 64)
    print(large.timing.result >> 20, large.peak - large.before > 50, small.peak - small.before < 20)
""",
        encoding="utf-8",
    )
    environment = os.environ | {"PYTHONPATH": str(BENCHMARKS)}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "64 True True"
