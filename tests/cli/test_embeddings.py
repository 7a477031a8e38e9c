"""``--vectors`` and ``--embedder``."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from sthash.cli.embedders import load_function
from sthash.collection.indexes import coded_vectors

MODULE = "import numpy as np\ndef embed(texts):\n    return np.array([[len(t), t.count('a') + 1, 1] for t in texts])\n"


@pytest.fixture
def rows(tmp_path):
    rng = np.random.default_rng(0)
    rows = [{"key": f"k{i}", "text": f"text {i}", "v": rng.normal(size=4).tolist()} for i in range(40)]
    write(tmp_path / "docs.jsonl", rows)
    return rows


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "my_embedder.py").write_text(MODULE)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield "my_embedder:embed"
    sys.modules.pop("my_embedder", None)


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_vectors_in_a_field(sth, rows):
    assert "40 documents" in sth("build", "c.sth", "docs.jsonl", "--vectors", "v").err
    hits = [json.loads(line) for line in sth("similar", "c.sth", "k3", "-k", 2, "--json").out.splitlines()]
    unit = np.array([row["v"] for row in rows])
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    assert [hit["key"] for hit in hits] == [f"k{i}" for i in np.argsort(-(unit @ unit[3]))[1:3]]
    assert (hits[0]["metadata"], hits[0]["text"][:5]) == ({}, "text ")
    more = json.dumps({"key": "m", "v": rows[3]["v"]})
    assert "1 document added" in sth("add", "c.sth", "-", "--vectors", "v", stdin=more).err
    wrong = json.dumps({"key": "n", "v": [1.0]})
    assert "key 'n'" in sth("add", "c.sth", "-", "--vectors", "v", stdin=wrong, status=1).err
    mixed = wrong + "\n" + json.dumps({"key": "o", "v": rows[4]["v"]})
    assert "1 bad record was skipped" in sth("add", "c.sth", "-", "--vectors", "v", "--skip-bad", stdin=mixed).err
    assert "vectors" in sth("add", "c.sth", "-", stdin=json.dumps({"text": "t"}), status=1).err
    assert "no field 'w'" in sth("build", "d.sth", "docs.jsonl", "--vectors", "w", status=1).err
    assert "ok, 42 documents" in sth("check", "c.sth").out


def test_vectors_in_parquet(sth, rows):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from pyarrow import parquet

    parquet.write_table(pa.Table.from_pylist(rows), "docs.parquet")
    sth("build", "p.sth", "docs.parquet", "--vectors", "v")
    sth("build", "j.sth", "docs.jsonl", "--vectors", "v")
    found = [sth("similar", name, "k0", "--json").out for name in ("p.sth", "j.sth")]
    assert found[0] == found[1]


def test_vectors_in_a_file(sth, rows):
    np.save("v.npy", np.array([row.pop("v") for row in rows]))
    write(Path("docs.jsonl"), rows)
    sth("build", "c.sth", "docs.jsonl", "--vectors", "v.npy")
    assert len(sth("similar", "c.sth", "k3", "-k", 2, "--json").out.splitlines()) == 2
    np.save("v.npy", np.ones((39, 4)))
    failed = sth("build", "d.sth", "docs.jsonl", "--vectors", "v.npy", status=1)
    assert "40 documents, 39 vectors in v.npy" in failed.err
    assert not Path("d.sth").exists()


def test_inner_products(sth, rows):
    rows[6]["v"] = [0.0] * 4
    write(Path("docs.jsonl"), rows)
    built = ("docs.jsonl", "--vectors", "v", "--metric", "ip")
    assert "40 documents" in sth("build", "c.sth", *built).err
    assert json.loads(sth("info", "c.sth", "--json").out)["metric"] == "ip"
    more = [{"key": "long", "v": [100 * value for value in rows[3]["v"]]}, {"key": "zero", "v": [0.0] * 4}]
    sth("add", "c.sth", "-", "--vectors", "v", stdin="\n".join(map(json.dumps, more)))
    hits = [json.loads(line) for line in sth("similar", "c.sth", "k3", "-k", 3, "--json").out.splitlines()]
    products = np.array([row["v"] for row in [*rows, *more]]) @ rows[3]["v"]
    products[3] = -np.inf  # the document itself
    assert [hit["score"] for hit in hits] == pytest.approx(np.sort(products)[::-1][:3], rel=1e-4)
    assert (hits[0]["key"], hits[0]["ranking"]) == ("long", "ip")
    assert "long · inner product " in sth("similar", "c.sth", "k3").out
    sth("relearn", "c.sth", "--n-bits", 4)
    facts = json.loads(sth("info", "c.sth", "--json").out)
    assert (facts["metric"], facts["recipe"], facts["n_bits"]) == ("ip", "embeddings", 4)
    assert "ok, 42 documents" in sth("check", "c.sth").out
    zeros = sth("build", "d.sth", "docs.jsonl", "--vectors", "v", status=1).err
    assert "line 7 (key 'k6') must not be zero" in zeros
    for option, value in (("--metric", "ip"), ("--precision", "int8")):
        texts = sth("build", "d.sth", "docs.jsonl", option, value, status=2).err
        assert f"{option} is for vectors, but these are texts." in texts
        assert "give --vectors or --embedder" in texts
    assert "cosine, ip" in sth("build", "d.sth", "docs.jsonl", "--vectors", "v", "--metric", "l2", status=1).err
    assert "int8" in sth("build", "d.sth", "docs.jsonl", "--vectors", "v", "--precision", "int4", status=1).err
    assert not Path("d.sth").exists()


def test_the_recipe_is_the_one_for_the_input(sth, rows):
    for given, recipe in (((), "neighbors"), (("--vectors", "v"), "embeddings"), (("--recipe", "paper"), "paper")):
        sth("build", "c.sth", "docs.jsonl", *given, "--n-bits", 8, "--n-neighbors", 5, "--overwrite")
        assert json.loads(sth("info", "c.sth", "--json").out)["recipe"] == recipe


def test_vectors_have_codes_only_if_they_are_asked_for(sth, rows):
    assert sth("build", "c.sth", "docs.jsonl", "--vectors", "v").err == "c.sth: 40 documents\n"
    facts = json.loads(sth("info", "c.sth", "--json").out)
    assert facts["n_bits"] == 0
    assert not {"learned", "learned_on", "advice"} & set(facts)
    shown = sth("info", "c.sth").out
    assert "n columns" in shown
    assert shown.splitlines()[-1]
    plain = sth("similar", "c.sth", "k3", "--explain")
    assert (" · cosine " in plain.out, " bits" in plain.out) == (True, False)
    assert json.loads(sth("similar", "c.sth", "k3", "-k", 1, "--json").out)["distance"] is None
    for option in (("--radius", 2), ("--no-rerank",)):
        assert "--n-bits" in sth("similar", "c.sth", "k3", *option, status=1).err
    assert sth("relearn", "c.sth").err == "c.sth: relearned\n"
    assert sth("similar", "c.sth", "k3", "--explain").out == plain.out

    assert sth("relearn", "c.sth", "--n-bits", 8, "--n-neighbors", 5).err == "c.sth: relearned from 40 documents\n"
    now = sth("similar", "c.sth", "k3", "--explain").out
    assert re.sub(r" · \d+ bits?", "", now) == plain.out != now
    by_codes = sth("similar", "c.sth", "k3", "--no-rerank", "--explain")
    assert by_codes.err == "found in the nearest codes, ranked by the distances of the codes\n"
    assert re.search(r" · score -?\d\.\d{3} · \d+ bit", by_codes.out)
    assert json.loads(sth("info", "c.sth", "--json").out)["learned_on"] == 40


def test_many_vectors_have_cells(sth):
    vectors = np.random.default_rng(0).normal(size=(1200, 16)).astype(np.float32)
    np.save("v.npy", vectors)
    write(Path("docs.jsonl"), [{"key": f"k{i}"} for i in range(1200)])
    sth("build", "c.sth", "docs.jsonl", "--vectors", "v.npy", "--precision", "float16")
    facts = json.loads(sth("info", "c.sth", "--json").out)
    assert facts["cells"] > 1
    assert (facts["precision"], facts["n_bits"]) == ("float16", 0)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = unit @ unit[3]
    cosines[3] = -1
    found = json.loads(sth("similar", "c.sth", "k3", "-k", 1, "--json").out)
    assert (found["key"], found["strategy"]) == (f"k{np.argmax(cosines)}", "cells")
    assert found["score"] == pytest.approx(cosines.max(), abs=1e-3)
    assert sth("relearn", "c.sth").err == "c.sth: relearned\n"
    assert "ok, 1,200 documents" in sth("check", "c.sth").out


def test_codes_instead_of_vectors(sth, monkeypatch):
    monkeypatch.setattr(coded_vectors, "FEW_VECTORS", 1000)
    vectors = np.random.default_rng(0).normal(size=(1200, 16)).astype(np.float32)
    np.save("v.npy", vectors)
    write(Path("docs.jsonl"), [{"key": f"k{i}", "text": f"text {i}"} for i in range(1200)])
    sth("build", "c.sth", "docs.jsonl", "--vectors", "v.npy", "--precision", "codes")
    facts = json.loads(sth("info", "c.sth", "--json").out)
    assert (facts["precision"], facts["code_bytes"], facts["cells"]) == ("codes", 24, 0)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = unit @ unit[3]
    found = [json.loads(line) for line in sth("similar", "c.sth", "k3", "-k", 10, "--json").out.splitlines()]
    expected = [cosines[int(hit["key"][1:])] for hit in found]
    assert [hit["score"] for hit in found] == pytest.approx(expected, abs=0.1)
    assert "ok, 1,200 documents" in sth("check", "c.sth").out
    assert len(sth("export", "c.sth").out.splitlines()) == 1200
    for command in (("relearn", "c.sth"), ("similar", "c.sth", "k3", "--exact"), ("duplicates", "c.sth")):
        assert "keeps codes of its vectors, not the vectors" in sth(*command, status=1).err
    refused = sth("build", "d.sth", "docs.jsonl", "--vectors", "v.npy", "--precision", "codes", "--n-bits", 8, status=1)
    assert "Leave" in refused.err
    assert not Path("d.sth").exists()


def test_texts_beside_vectors_are_searched_by_their_words(sth, rows):
    sth("build", "c.sth", "docs.jsonl", "--vectors", "v")
    found = sth("search", "c.sth", "text", "-k", 5, "--explain")
    assert found.err == "found in the posting lists, ranked by BM25 and the neighbors of a hit\n"
    assert re.search(r"   k\d+ · score \d\.\d{3} · matched: text\n", found.out)


def test_bad_vectors_are_skipped_and_counted(sth, rows):
    rows[5]["v"][0], rows[6]["v"], rows[7]["v"] = float("nan"), [0.0] * 4, [1.0]
    write(Path("docs.jsonl"), rows)
    assert "line 6 (key 'k5')" in sth("build", "c.sth", "docs.jsonl", "--vectors", "v", status=1).err
    said = sth("build", "c.sth", "docs.jsonl", "--vectors", "v", "--skip-bad").err
    assert "3 bad records were skipped" in said
    assert "37 documents" in said
    noted = [json.loads(line) for line in Path("c.sth.skipped.jsonl").read_text().splitlines()]
    assert [note["place"] for note in noted] == [f"docs.jsonl, line {line}" for line in (6, 7, 8)]


def test_an_embedder(sth, rows, module):
    sth("build", "e.sth", "docs.jsonl", "--embedder", module)
    assert json.loads(sth("info", "e.sth", "--json").out)["embedder"] == module
    assert "my_embedder:embed" in sth("search", "e.sth", "text 3", "--ranking", "cosine", status=1).err
    assert len(sth("search", "e.sth", "text 3", "--embedder", module, "--json", "-k", 4).out.splitlines()) == 4
    said = sth("search", "e.sth", "text 3", "--embedder", module, "--explain").err
    assert "found in the posting lists and the nearest cells, ranked by reciprocal rank fusion" in said
    more = json.dumps({"key": "m", "text": "a banana"})
    assert "my_embedder:embed" in sth("add", "e.sth", "-", stdin=more, status=1).err
    sth("add", "e.sth", "-", "--embedder", module, stdin=more)
    by_vector = ("search", "e.sth", "a banana", "--embedder", module, "--ranking", "cosine")
    hit = json.loads(sth(*by_vector, "--json", "-k", 1).out)
    assert (hit["key"], hit["score"]) == ("m", 1.0)
    assert "m · cosine 1.000" in sth(*by_vector).out
    named = ("--embedder", module, "--embedder-name", "another")
    wrong = sth("search", "e.sth", "text", *named, status=1).err
    assert "'another'" in wrong
    assert "--embedder-name" in wrong
    sth("build", "n.sth", "docs.jsonl", *named)
    assert json.loads(sth("info", "n.sth", "--json").out)["embedder"] == "another"


def test_labels_by_an_embedder(sth, module):
    texts = [{"text": "a" * n + "bc" * (9 - n), "label": "many" if n > 5 else "few"} for n in range(1, 9)]
    write(Path("docs.jsonl"), texts)
    sth("build", "e.sth", "docs.jsonl", "--embedder", module)
    assert "--embedder" in sth("classify", "e.sth", "aaaaaa", status=1).err
    assert (
        json.loads(sth("classify", "e.sth", "aaaaaaabcbc", "-k", 3, "--embedder", module, "--json").out)["label"]
        == "many"
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_colon", "module:function"),
        ("my_embedder:", "module:function"),
        ("no_such_module_at_all:f", "No module named"),
        ("my_embedder:missing", "Name a function of the module"),
        ("my_embedder:np", "Name a function"),
    ],
)
def test_embedders_that_are_none(sth, rows, module, name, message):
    failed = sth("search", "e.sth", "x", "--embedder", name, status=2 if message == "module:function" else 1)
    assert message in failed.err
    with pytest.raises(Exception, match=message):
        load_function(name)


def test_a_name_needs_an_embedder(sth):
    assert "--embedder" in sth("search", "e.sth", "x", "--embedder-name", "n", status=2).err


FAILS = {
    "raises": ("raise RuntimeError('out of memory')", "RuntimeError: out of memory"),
    "too few": ("return np.ones((len(texts) - 1, 3))", "one row per text"),
    "another width": ("return np.ones((len(texts), 2))", "must have 3 values, got 2"),
    "NaN": ("return np.full((len(texts), 3), np.nan)", "NaN"),
}


@pytest.mark.parametrize("kind", FAILS)
def test_an_embedder_that_fails_in_the_middle_of_a_build(sth, rows, module, kind):
    wrong, message = FAILS[kind]
    sth("build", "e.sth", "docs.jsonl", "--embedder", module)
    before = Path("e.sth").read_bytes()
    fails = f"{MODULE}good = embed\ncalls = []\ndef fails(texts):\n    calls.append(1)\n"
    fails += f"    if len(calls) == 1:\n        return good(texts)\n    {wrong}\n"
    Path("failing_embedder.py").write_text(fails)
    write(Path("many.jsonl"), [{"key": f"m{i}", "text": f"text {i}"} for i in range(300)])
    given = ("--embedder", "failing_embedder:fails", "--embedder-name", module)
    try:
        assert message in sth("build", "f.sth", "many.jsonl", *given, status=1).err
        assert not Path("f.sth").exists()
        sys.modules.pop("failing_embedder")
        assert message in sth("build", "e.sth", "many.jsonl", "--overwrite", *given, status=1).err
        sys.modules.pop("failing_embedder")
        assert message in sth("add", "e.sth", "many.jsonl", *given, status=1).err
    finally:
        sys.modules.pop("failing_embedder", None)
    assert "ok, 40 documents" in sth("check", "e.sth").out
    assert Path("e.sth").read_bytes() == before


def test_duplicates_only_and_constant_columns(sth, rows):
    for name, vector in (("same", lambda i: [1.0, 2.0]), ("constant", lambda i: [float(i + 1), 5.0])):
        write(Path("docs.jsonl"), [{"key": f"k{i}", "v": vector(i)} for i in range(40)])
        sth("build", f"{name}.sth", "docs.jsonl", "--vectors", "v")
        assert len(sth("similar", f"{name}.sth", "k3", "-k", 5, "--json").out.splitlines()) == 5
