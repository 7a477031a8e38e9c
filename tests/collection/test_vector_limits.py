"""Vectors that are hard to keep: too wide, zero, or unlike all that came before."""

from textwrap import dedent

import numpy as np
import pytest

from sthash import Collection, Learning, TextModel, VectorModel, VectorOptions
from support.corpus import make_documents
from support.factories import build_text_model, build_vector_model, random_vectors

PHRASE = "the orbit around mars"


def test_too_many_columns_are_refused_before_they_are_stored(tmp_path):
    with Collection.create(tmp_path / "c.sth", vectors=[]) as collection:
        with pytest.raises(ValueError, match="40,000 values, but a collection takes 32,768 at most"):
            collection.add(vectors=np.ones((1, 40_000), dtype=np.float32))
        assert len(collection) == 0
        assert collection.info()["n_columns"] == 0


@pytest.mark.parametrize("metric", ["cosine", "ip"])
def test_bytes_widen_their_range(tmp_path, metric):
    weights = np.repeat(np.array([1, 0.05], dtype=np.float32), 8)
    options = VectorOptions(metric=metric, precision="int8")
    learning = Learning(n_bits=8, n_neighbors=5)
    rows = random_vectors(1100, 16) * weights
    with Collection.create(tmp_path / "c.sth", vectors=rows, vector_options=options, learning=learning) as collection:
        other = random_vectors(20, 16, seed=1) * 30 * weights[::-1]
        assert collection.add([{"key": f"new {place}"} for place in range(20)], vectors=other) == 20
        for query in other:
            best = collection.search(query, 1, exact=True)[0]
            scores = other @ query
            if metric == "cosine":
                scores /= np.linalg.norm(other, axis=1) * np.linalg.norm(query)
            assert best.key == f"new {scores.argmax()}"
            assert best.score == pytest.approx(scores.max(), rel=0.02)
        assert collection.check().documents == 1120


def test_zero_vectors_do_not_take_the_place_of_hits(tmp_path):
    def embed(texts):
        known = {"": [0, 0], "same": [1, 0], "other": [-1, 0.5]}
        return np.array([known[text] for text in texts], dtype=np.float32)

    texts = ["same", *[""] * 5, *["other"] * 3]
    with Collection.create(tmp_path / "c.sth", texts, embedder=embed) as collection:
        assert [hit.key for hit in collection.search([1, 0], k=4)] == ["0", "6", "7", "8"]
        assert [hit.key for hit in collection.search(key="0", k=4)] == ["6", "7", "8"]
        assert [hit.key for hit in collection.search(key="0", k=2)] == ["6", "7"]


@pytest.mark.parametrize("kind", [TextModel, VectorModel])
def test_a_collection_with_a_model_of_ones_own_can_be_relearned(tmp_path, kind):
    documents, vectors = make_documents(120), random_vectors(120, 8)
    if kind is TextModel:
        given = {"model": build_text_model([document.text for document in documents])}
    else:
        given = {"model": build_vector_model(vectors), "vectors": vectors}
    with Collection.create(tmp_path / "c.sth", documents, **given) as collection:
        collection.relearn(n_neighbors=6)
        assert collection.info()["n_neighbors"] == 6
        assert collection.check().documents == 120


def test_an_excluded_phrase_leaves_the_vectors_their_part(tmp_path):
    def embed(texts):
        return np.array([[1, len(text) / 100] for text in texts], dtype=np.float32)

    texts = [f"planet number {number}" for number in range(40)] + [f"a probe in {PHRASE}", f"{PHRASE} and a planet"]
    with Collection.create(tmp_path / "c.sth", texts, embedder=embed) as collection:
        hits = collection.search(f'planet -"{PHRASE}"', k=100)
        assert {hit.key for hit in hits} == {str(number) for number in range(40)}
        assert {hit.key for hit in collection.search(f'"{PHRASE}"', k=100)} == {"40", "41"}


@pytest.mark.parametrize("name", ["learning", "vector_options"])
def test_options_are_of_their_kind(tmp_path, name):
    with pytest.raises(TypeError, match=f"{name} must be a .*, got int"):
        Collection.create(tmp_path / "c.sth", vectors=random_vectors(3, 2), **{name: 3})


def test_a_search_by_key_does_not_read_the_document(tmp_path):
    seen = []
    with Collection.create(tmp_path / "c.sth", make_documents(50)) as collection:
        collection._store.connection.set_trace_callback(seen.append)
        assert "d3" in collection
        assert collection.search(key="d3", k=1, radius=0) is not None
        collection._store.connection.set_trace_callback(None)
    assert not any("SELECT * FROM documents WHERE key" in statement for statement in seen)


def test_a_new_file_has_no_space_left_of_vectors_before_they_were_rounded(tmp_path):
    rows = random_vectors(4000, 128)
    sizes = {}
    for precision in ("float32", "float16", "int8"):
        paths = [tmp_path / f"{precision} {turn}.sth" for turn in range(2)]
        for path in paths:
            Collection.create(path, vectors=rows, vector_options=VectorOptions(precision=precision)).close()
        assert paths[0].read_bytes() == paths[1].read_bytes()
        sizes[precision] = paths[0].stat().st_size
        with Collection.open(paths[0]) as opened:
            assert opened.check().documents == 4000
    assert sizes["float32"] - sizes["float16"] > 0.95 * rows.nbytes / 2
    assert sizes["float32"] - sizes["int8"] > 0.95 * rows.nbytes * 3 / 4


def test_a_file_of_another_processor_is_sound(tmp_path, run_python):
    # BLAS rounds differently there, which decides between two centers that are almost the same.
    path = tmp_path / "made.sth"
    source = f"""
        import numpy as np
        from sthash import Collection
        vectors = np.random.default_rng(3).normal(size=(20, 24)).repeat(60, axis=0)
        Collection.create({str(path)!r}, vectors=vectors).close()
    """
    run_python(dedent(source), OPENBLAS_CORETYPE="Prescott")
    with Collection.open(path) as made:
        assert made.check().documents == 1200
