"""Every example runs as a script, and its last line has plausible figures: ours first, then the alternative's.

The texts are those of the Python that runs the tests, so the figures differ a little from version to version.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
# Ours must reach the first number, and come as close to the last figure of the line as the second number says.
FIGURES = {
    ("image_retrieval.py",): ("the same digit, of 10", 0.93, 0.02),
    ("collaborative_filtering.py",): ("hidden dependencies found", 0.35, -0.1),
    ("collaborative_filtering.py", "python"): ("hidden dependencies found", 0.45, -0.1),
    ("semantic_cache.py",): ("hit rate", 0.3, -0.2),
    ("plagiarism.py",): ("copied passages found", 0.9, 0.0),
    ("knn_labels.py",): ("correct labels", 0.65, 0.1),
}


def test_every_example_is_run_and_listed():
    names = {path.name for path in EXAMPLES.glob("*.py")}
    assert names == {script for script, *_ in FIGURES}
    page = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert all(f"({name})" in page for name in names)


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_an_example_is_short_and_says_what_was_found(name):
    source = (EXAMPLES / name).read_text(encoding="utf-8")
    assert source.count("\n") <= 100
    assert "What we found" in source


@pytest.mark.parametrize("words", FIGURES, ids=" ".join)
def test_an_example_ends_with_a_figure_beside_that_of_the_alternative(words, tmp_path):
    script, *arguments = words
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / script), *arguments],
        cwd=tmp_path,  # it needs nothing but itself
        env=os.environ,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    what, least, behind = FIGURES[words]
    last = done.stdout.splitlines()[-1]
    assert last.startswith(f"{what}: ")
    ours, *_, theirs = (float(figure) for figure in re.findall(r"(?<=[:,] )([01]\.\d{3})\b", last))
    assert least <= ours <= 1
    assert ours >= theirs - behind
