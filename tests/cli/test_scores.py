"""``sth scores``: on a folder of labeled texts, in every format, and its errors."""

import json

import pytest


@pytest.fixture
def folder(tmp_path):
    for number in range(60):
        topic = ("rain", "sun", "snow")[number % 3]
        (tmp_path / "texts" / topic).mkdir(parents=True, exist_ok=True)
        words = " ".join(f"{topic}{(number * step) % 17}" for step in range(1, 8))
        (tmp_path / "texts" / topic / f"{number}.txt").write_text(f"{words} weather{number % 5}")
    return "texts"


def test_a_table_latex_and_json(sth, folder):
    arguments = ("scores", folder, "--method", "lsh,lsi", "--n-bits", "4,8", "-k", "5")
    table = sth(*arguments).out
    assert table.splitlines()[0] == "| method | 4 bits | 8 bits |"
    assert [line.split(" | ")[0] for line in table.splitlines()[2:]] == ["| LSH", "| binarized LSI"]
    assert sth(*arguments, "--format", "latex").out.startswith(r"\begin{tabular}")
    found = json.loads(sth(*arguments, "--format", "json").out)
    assert found["measure"] == "precision at 5"
    assert [(one["method"], one["n_bits"]) for one in found["scores"]] == [
        (method, n) for method in ("LSH", "binarized LSI") for n in (4, 8)
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--n-bits", "8,4"), "must be positive and increasing"),
        (("--n-bits", "many"), "must be numbers separated by commas"),
        (("--method", "magic"), "method 'magic' is not known"),
        (("--queries", "cv"), "has no part cv"),
    ],
)
def test_errors(sth, folder, words, message):
    assert message in sth("scores", folder, *words, status=1).err


def test_a_missing_corpus(sth, tmp_path):
    assert "nowhere" in sth("scores", "nowhere.mat", status=1).err
