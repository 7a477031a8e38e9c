"""Collections of embeddings: vectors from columns and files, embedders, and what must not get lost when they fail."""

import functools

import numpy as np
import pytest

from sthash import Collection, Embedder, classify, near_duplicates
from sthash.collection import CollectionError, EmbedderError
from sthash.collection.file.store import Store
from sthash.collection.indexes.embedder import TEXTS_TOGETHER
from support.corpus import make_documents
from support.embedders import WIDTH, embed, other
from support.factories import create_collection

NAME = "support.embedders:embed"


@pytest.fixture(scope="module")
def documents():
    return make_documents(120)


@pytest.fixture(scope="module")
def vectors(documents):
    return embed([document.text for document in documents])


@pytest.fixture(scope="module")
def built(tmp_path_factory, documents):
    path = tmp_path_factory.mktemp("embeddings") / "e.sth"
    create_collection(path, documents, n_bits=16, embedder=embed).close()
    return path


def same(one, two):
    return [(hit.key, hit.score, hit.distance) for hit in one] == [(hit.key, hit.score, hit.distance) for hit in two]


def test_an_embedder_gives_what_its_vectors_give(built, documents, vectors, tmp_path):
    with (
        Collection.open(built, embedder=embed) as embedded,
        create_collection(tmp_path / "v.sth", documents, n_bits=16, vectors=vectors) as given,
    ):
        for text in ("a cat with whiskers", documents[3].text):
            assert same(embedded.search(text, 5, ranking="cosine"), given.search(embed([text])[0], 5))
            assert same(embedded.search(text, 5, radius=9), given.search(embed([text])[0], 5, radius=9))
        assert same(embedded.search(embed(["cat"])[0], 5), given.search(embed(["cat"])[0], 5))
        assert same(embedded.search(key=documents[3].key, k=5), given.search(key=documents[3].key, k=5))
        mixed = embedded.search_many(["cat", embed(["ship"])[0], "star"], 3, ranking="cosine")
        assert all(
            same(hits, given.search(embed([text])[0], 3))
            for hits, text in zip(mixed, ("cat", "ship", "star"), strict=True)
        )
        np.testing.assert_array_equal(embedded.encode(["cat"]), given.encode(embed(["cat"])))
        assert embedded.info()["embedder"] == NAME
        assert "embedder" not in given.info()
        hit = embedded.search(documents[3].text, 1, where={"label": documents[3].label})[0]
        assert (hit.text, hit.label, hit.metadata) == (documents[3].text, documents[3].label, documents[3].metadata)
        assert classify(embedded, documents[3].text).label == documents[3].label
        assert embedded.check().documents == 120


def test_vectors_for_documents_and_an_embedder_for_queries(tmp_path, documents, vectors):
    path = tmp_path / "v.sth"
    with Collection.create(path, documents, vectors=vectors, embedder=Embedder.of(embed, "mine")) as made:
        assert made.info()["embedder"] == "mine"
        assert made.search(documents[7].text, 1, ranking="cosine")[0].score == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("how", ["column", "file", "dicts"])
def test_vectors_by_name(how, tmp_path, documents, vectors):
    rows = [
        {"key": document.key, "text": document.text, "v": vector}
        for document, vector in zip(documents, vectors.astype(np.float64).tolist(), strict=True)
    ]
    source, name = rows, "v"
    if how == "column":
        source = pytest.importorskip("pandas", reason="pandas is not installed").DataFrame(rows)
    if how == "file":
        name = tmp_path / "v.npy"
        np.save(name, vectors)
    with Collection.create(tmp_path / "c.sth", source, vectors=name, text="text") as made:
        assert len(made) == 120
        assert made.get(documents[5].key).text == documents[5].text
        assert ("v" in made.get(documents[5].key).metadata) == (how == "file")
        assert made.search(vectors[5], 1)[0].key == documents[5].key
        more = [{"key": "new", "v": rows[0]["v"]}]
        if how == "file":
            np.save(name, vectors[:1])
        assert made.add(more, vectors=name) == 1
        assert made.upsert(more, vectors=name) == 1
        assert {hit.key for hit in made.search(vectors[0], 2)} == {"new", documents[0].key}
        with pytest.raises(ValueError, match=r"the vector of document 0 .key 'short'. must have 24 values, got 2"):
            made.add([{"key": "short", "v": [1.0, 2.0]}], vectors="v")
        assert len(made) == 121


def test_changes_of_a_collection_with_an_embedder(path, documents, vectors):
    with Collection.open(path, embedder=embed) as opened:
        assert opened.add([{"key": "new", "text": documents[0].text}]) == 1
        assert {hit.key for hit in opened.search(documents[0].text, 2)} == {"new", documents[0].key}
        assert opened.upsert([{"key": "new", "text": documents[9].text}]) == 1
        assert {hit.key for hit in opened.search(documents[9].text, 2)} == {"new", documents[9].key}
        assert opened.add([{"key": "vector"}], vectors=vectors[:1]) == 1
        opened.relearn(n_bits=8)
        assert opened.info()["embedder"] == NAME
        assert opened.search(documents[0].text, 1, ranking="cosine")[0].score == pytest.approx(1, abs=1e-6)
        opened.copy_to(path.with_name("copy.sth"))
        assert ["new", documents[9].key] in [
            sorted(group, reverse=True) for group in near_duplicates(opened, 0.99).groups
        ]
    with Collection.open(path.with_name("copy.sth")) as copy:
        assert copy.info()["embedder"] == NAME


def test_without_an_embedder_the_error_says_which(path, vectors):
    with Collection.open(path) as opened:
        for ask in (
            lambda: opened.search("cat", ranking="cosine"),
            lambda: opened.search("cat", ranking="hybrid"),
            lambda: opened.search("cat", radius=3),
            lambda: opened.encode(["cat"]),
            lambda: opened.add(["cat"]),
        ):
            with pytest.raises(TypeError, match=f"vectors.*embedded by '{NAME}': open it with that embedder"):
                ask()
        assert opened.search(vectors[0], 1)  # a vector needs none
        assert (opened.search("cat").ranking, opened.takes_texts) == ("graph", False)  # nor do words


def test_embedders_that_do_not_fit(path, tmp_path):
    with pytest.raises(
        ValueError, match=r"was embedded by 'support.embedders:embed', but got 'support.embedders:other'"
    ):
        Collection.open(path, embedder=other)
    Collection.open(path, embedder=Embedder.of(other, NAME)).close()  # the user says that they are the same
    with Collection.open(path, embedder=Embedder.of(lambda texts: np.ones((len(texts), 3)), NAME)) as opened:
        with pytest.raises(EmbedderError, match="must have 24 values, got 3"):
            opened.search("cat")
        with pytest.raises(EmbedderError, match="returned for document 0 must have 24 values, got 3"):
            opened.add(["cat"])
    with pytest.raises(TypeError, match="embedder is a str"):
        Collection.open(path, embedder="support.embedders:embed")
    Collection.create(tmp_path / "t.sth", ["some text"]).close()
    with pytest.raises(TypeError, match="is of texts"):
        Collection.open(tmp_path / "t.sth", embedder=embed)


def test_a_name_in_a_file_is_never_imported(tmp_path, documents):
    Collection.create(tmp_path / "e.sth", documents, embedder=Embedder.of(embed, "antigravity:embed")).close()
    import sys

    with Collection.open(tmp_path / "e.sth") as opened, pytest.raises(TypeError, match="antigravity:embed"):
        opened.search("cat", ranking="cosine")
    assert "antigravity" not in sys.modules


def test_names_of_embedders():
    class Model:
        def encode(self, texts):
            return embed(texts)

        __call__ = encode

    assert Embedder.of(embed).name == NAME
    assert Embedder.of(functools.partial(embed)).name == NAME
    assert Embedder.of(Model().encode).name.endswith(":test_names_of_embedders.<locals>.Model.encode")
    assert Embedder.of(Model()).name.endswith(":test_names_of_embedders.<locals>.Model")
    for bad in ("", "x" * 1001, 7):
        with pytest.raises(ValueError, match="name of an embedder"):
            Embedder.of(embed, bad)


def fails_at(call, how):
    calls = iter(range(1, 100))

    def embedder(texts):
        if next(calls) < call:
            return embed(texts)
        return how(texts)

    return embedder


def raises(texts):
    raise RuntimeError("CUDA out of memory")


def with_nan(texts):
    rows = embed(texts)
    rows[-1, 0] = np.nan
    return rows


WRONG = {
    "raises": (raises, "failed for documents 256 to 299 .RuntimeError: CUDA out of memory"),
    "NaN": (with_nan, "documents 256 to 299 must be finite"),
    "too few": (lambda texts: embed(texts)[:-1], r"shape \(43, 24\) for documents 256 to 299, but was given 44 texts"),
    "flat": (lambda texts: embed(texts).reshape(-1), "must have 24 values, got 1056"),
    "another width": (lambda texts: embed(texts)[:, :5], "documents 256 to 299 must have 24 values, got 5"),
    "nothing": (lambda texts: None, "got a NoneType"),
    "ragged": (lambda texts: [[1.0]] * (len(texts) - 1) + [[1.0, 2.0]], "equally many values"),
    "words": (lambda texts: [["a"]] * len(texts), "got text"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_an_embedder_that_fails_in_the_middle_loses_nothing(kind, tmp_path, path):
    how, message = WRONG[kind]
    many = [{"key": f"m{i}", "text": f"text {i}"} for i in range(300)]
    assert len(many) > TEXTS_TOGETHER
    with pytest.raises(EmbedderError, match=message):
        Collection.create(tmp_path / "new.sth", many, embedder=fails_at(2, how))
    assert not (tmp_path / "new.sth").exists()
    before = path.read_bytes()
    with pytest.raises(EmbedderError, match=message):
        Collection.create(path, many, embedder=fails_at(2, how), overwrite=True)
    with (
        Collection.open(path, embedder=Embedder.of(fails_at(2, how), NAME)) as opened,
        pytest.raises(EmbedderError, match=message),
    ):
        opened.add(many)
    assert path.read_bytes() == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["e.sth"]


def test_progress_and_batches(tmp_path):
    sizes, seen = [], []

    def embedder(texts):
        assert type(texts) is list
        sizes.append(len(texts))
        return embed(texts).tolist()

    texts = [f"text {i}" for i in range(600)]
    Collection.create(tmp_path / "e.sth", texts, embedder=embedder, progress=lambda *step: seen.append(step)).close()
    assert sizes == [256, 256, 88]
    assert [done for step, done, _ in seen if step == "embedding texts"] == [256, 512, 600]


def test_blank_texts_are_kept_and_are_no_hits(tmp_path, documents):
    some = [*documents[:60], {"key": "blank", "text": ""}]
    with Collection.create(tmp_path / "e.sth", some, embedder=embed) as made:
        assert made.get("blank").text == ""
        assert "blank" not in {hit.key for hit in made.search("cat", 100)}
        assert len(made.search("cat", 100)) == 60
        assert made.search("", 5) == []
        assert made.search(key="blank", k=5) == []
        assert made.check().documents == 61


@pytest.mark.parametrize("rows", [np.ones((150, 8)), np.tile([1.0, 2.0, 3.0], (150, 1)), np.eye(3)[[0] * 150]])
def test_duplicates_only_and_constant_columns(rows, tmp_path):
    with Collection.create(tmp_path / "c.sth", vectors=rows) as made:
        hits = made.search(rows[0], 5)
        assert len(hits) == 5
        assert all(hit.score == pytest.approx(1, abs=1e-6) for hit in hits)
        assert made.check().documents == 150


def test_a_constant_column_beside_others(tmp_path, vectors):
    rows = np.hstack([vectors, np.full((len(vectors), 1), 3.0), np.zeros((len(vectors), 1))])
    with Collection.create(tmp_path / "c.sth", vectors=rows) as made:
        assert made.search(rows[4], 1)[0].key == "4"
        assert made.info()["n_columns"] == WIDTH + 2


def test_a_name_that_is_damaged(path):
    store = Store(path)
    with store.writing():
        store.put("settings", "embedder", b"[1]")
    store.close()
    with Collection.open(path) as opened, pytest.raises(CollectionError, match="embedder"):
        opened.info()


@pytest.fixture(scope="module")
def clustered():
    """Vectors around centers, and queries like them."""
    rng = np.random.default_rng(8)
    rows = rng.normal(size=(60, 24))[rng.integers(0, 60, 3100)] + 0.5 * rng.normal(size=(3100, 24))
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return rows[:3000], rows[3000:]


@pytest.fixture(scope="module")
def searched(tmp_path_factory, clustered):
    documents = [{"key": str(n), "tenth": n % 10, "group": n % 1000} for n in range(3000)]
    path = tmp_path_factory.mktemp("recall") / "c.sth"
    with Collection.create(path, documents, vectors=clustered[0]) as collection:
        yield collection


def meets(n, where):
    if where is None:
        return True
    ((name, wanted),) = where.items()
    value = {"tenth": n % 10, "group": n % 1000, "key": str(n)}[name]
    return value < wanted["<"] if isinstance(wanted, dict) else value == wanted


@pytest.mark.parametrize("where", [None, {"tenth": {"<": 5}}, {"tenth": 3}, {"group": 17}, {"key": "5"}])
def test_a_collection_finds_the_share_that_is_asked_for(searched, clustered, where):
    rows, queries = clustered
    allowed = np.flatnonzero([meets(n, where) for n in range(3000)])
    k = min(10, len(allowed))
    true = allowed[np.argsort(-queries @ rows[allowed].T, axis=1, kind="stable")[:, :k]]
    for options, least in (({"exact": True}, 1), ({}, 0.93), ({"recall": 0.99}, 0.97)):
        found = searched.search_many(list(queries), 10, where=where, **options)
        assert all(len(hits) == k for hits in found)
        shares = [
            len({hit.key for hit in hits} & set(map(str, own))) / k for hits, own in zip(found, true, strict=True)
        ]
        assert np.mean(shares) >= least
    assert same(
        searched.search(key="7", k=5, where=where, exact=True), searched.search(key="7", k=5, where=where, recall=1)
    )


def test_where_is_looked_up_once_per_state(searched, clustered):
    query = clustered[1][0]
    with searched.snapshot() as now:
        before = searched.search(query, 3, where={"tenth": 4})
        assert same(before, searched.search(query, 3, where={"tenth": 4}))
        assert len(now.kept.get("where", {})) <= 16
    for number in range(40):
        assert all(hit.metadata["group"] == number for hit in searched.search(query, 3, where={"group": number}))


def test_recall_and_exact_are_for_vectors(searched, clustered, tmp_path):
    query = clustered[1][0]
    for wrong in (0, 1.5, "all"):
        with pytest.raises(ValueError, match="must be a number above 0 and at most 1"):
            searched.search(query, recall=wrong)
    with pytest.raises(TypeError, match="exact=1 must be True or False"):
        searched.search(query, exact=1)
    with pytest.raises(ValueError, match="recall and exact are for vectors, but radius"):
        searched.search(query, radius=3, exact=True)
    with Collection.create(tmp_path / "t.sth", ["a cat", "a dog"]) as texts:
        for options in ({"exact": True}, {"recall": 0.5}):
            with pytest.raises(ValueError, match="for collections of vectors, but this one is of texts"):
                texts.search("cat", **options)


def test_cells_learned_again_are_measured_again(tmp_path, clustered):
    rows, queries = clustered
    with Collection.create(tmp_path / "c.sth", vectors=rows[:1000]) as collection:
        collection.search(queries[0])
        for first in range(1000, 3000, 500):
            collection.add([{"key": f"new {n}"} for n in range(first, first + 500)], vectors=rows[first : first + 500])
        collection.relearn()
        found = collection.search_many(list(queries), 10)
        true = collection.search_many(list(queries), 10, exact=True)
        shares = [
            len({a.key for a in one} & {b.key for b in other}) / 10 for one, other in zip(found, true, strict=True)
        ]
        assert np.mean(shares) >= 0.93
        assert collection.check().documents == 3000
