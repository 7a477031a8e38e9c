"""What `Collection.create` makes of documents, vectors and settings, and what it refuses."""

import numpy as np
import pytest

from sthash import Collection, CollectionError, Document, Learning, TextVectorizer, classify, near_duplicates
from sthash.collection.file.segments import Segments
from sthash.collection.indexes import postings
from sthash.files import unfinished
from support.corpus import QUERIES, found, make_documents, twin_search


def test_keys_are_numbers_where_there_are_none(tmp_path):
    texts = [document.text for document in make_documents(100)]
    with Collection.create(tmp_path / "c.sth", texts, learning=Learning(n_bits=8, n_neighbors=5)) as collection:
        assert collection.get("0").text == texts[0]
        assert collection.get("99").text == texts[99]
        collection.add(["one more ship"])
        assert collection.get("100").text == "one more ship"


def test_same_input_same_file(built, tmp_path):
    Collection.create(tmp_path / "again.sth", make_documents(300), learning=Learning(n_bits=16, n_neighbors=10)).close()
    assert (tmp_path / "again.sth").read_bytes() == built.read_bytes()


def test_lists_are_written_in_segments(built, tmp_path, monkeypatch):
    monkeypatch.setattr(postings, "MOST_PENDING", 50)
    monkeypatch.setattr(postings, "SEGMENT_BYTES", 600)
    learning = Learning(n_bits=16, n_neighbors=10)
    with Collection.create(tmp_path / "c.sth", make_documents(300), learning=learning) as collection:
        with collection.snapshot() as now:
            segments = Segments(now._store, postings.KIND).all()
            assert sum(segment.size for segment in segments) == len(now) == 300
        assert len(segments) > 3
        assert max(segment.bytes for segment in segments) <= 600
        collection.check()
        with Collection.open(built) as whole:
            for query in QUERIES:
                hits = [[(hit.key, hit.score) for hit in searched.search(query, 9)] for searched in (collection, whole)]
                assert hits[0] == hits[1]


def test_learns_on_a_sample(tmp_path):
    documents = make_documents(600)
    with Collection.create(
        tmp_path / "c.sth", documents, learning=Learning(n_bits=12, n_neighbors=5, sample_size=100)
    ) as collection:
        assert collection.info()["learned_on"] == 100
        assert len(collection) == 600
        assert collection.check().documents == 600
        assert collection.search("kitten claw", 1)[0].label == "cats"


@pytest.mark.parametrize("weighting", ["bm25", "tf"])
def test_settings_of_the_vectorizer_are_kept(tmp_path, weighting):
    texts = [document.text for document in make_documents(120)]
    vectorizer = TextVectorizer(weighting=weighting, stemmer=None, min_df=2)
    path = tmp_path / "c.sth"
    with Collection.create(
        path, texts, text_options=vectorizer, learning=Learning(n_bits=8, n_neighbors=5)
    ) as collection:
        expected = vectorizer.fit(texts).transform(["cat ship cat moon"])
        with collection.snapshot() as now:
            encoded = now.encode(["cat ship cat moon"])
            names = now.codes.model.terms.names(encoded.rows.columns.tolist())
        given = dict(zip(names, encoded.rows.values.tolist(), strict=True))
        terms = vectorizer.get_feature_names_out()[expected.indices]
        assert given == pytest.approx(dict(zip(terms, expected.data.tolist(), strict=True)), rel=1e-6)
        collection.relearn()
        assert collection.info()["weighting"] == weighting
        assert collection.info()["stemmer"] is None


def test_vectors_of_ones_own(tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 24)) + np.repeat(rng.normal(size=(4, 24)) * 3, 50, axis=0)
    documents = [{"key": f"v{i}", "label": str(i // 50)} for i in range(200)]
    with Collection.create(
        tmp_path / "v.sth", documents, vectors=rows, learning=Learning(n_bits=16, n_neighbors=10)
    ) as collection:
        unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        hits = collection.search(rows[3], 5)
        cosines = unit @ unit[3]
        assert [hit.key for hit in hits] == [f"v{i}" for i in np.argsort(-cosines)[:5]]
        np.testing.assert_allclose([hit.score for hit in hits], np.sort(cosines)[::-1][:5], rtol=1e-5)
        assert classify(collection, rows[60]).label == "1"
        assert collection.search(key="v3", k=4) == collection.search(rows[3], 5)[1:]
        collection.add([{"key": "new"}], vectors=[rows[3]])
        assert {hit.key for hit in collection.search(rows[3], 2)} == {"v3", "new"}
        assert ["v3", "new"] in near_duplicates(collection, 0.999).groups
        assert collection.check().documents == 201
        collection.relearn(n_bits=8)
        assert collection.check().documents == 201
        assert collection.n_bits == 8
        assert collection.search("text") == []  # by words: these documents have none
        with pytest.raises(TypeError, match="collection is of vectors"):
            collection.search("text", ranking="cosine")
        with pytest.raises(TypeError, match="vectors"):
            collection.add(["text"])
        with pytest.raises(ValueError, match="24 values"):
            collection.search(rows[3][:5])
        with pytest.raises(ValueError, match="equally many"):
            collection.add([{"key": "a"}, {"key": "b"}], vectors=[rows[0]])
    with Collection.create(
        tmp_path / "w.sth", vectors=iter(rows), learning=Learning(n_bits=8, n_neighbors=5)
    ) as collection:
        assert len(collection) == 200
        assert "199" in collection


def test_create_refuses_what_it_cannot_do(tmp_path, path):
    with pytest.raises(FileExistsError, match="overwrite"):
        Collection.create(path, make_documents(100))
    with pytest.raises(TypeError, match="document 1 is a int"):
        Collection.create(tmp_path / "c.sth", ["a", 1])
    with pytest.raises(TypeError, match="single str"):
        Collection.create(tmp_path / "c.sth", "a text")
    with pytest.raises(ValueError, match="'color'"):
        Collection.create(tmp_path / "c.sth", [{"body": "a", "color": "red"}])
    with pytest.raises(ValueError, match="metadata"):
        Collection.create(tmp_path / "c.sth", [{"text": "a", "metadata": {"a": object()}}])
    with pytest.raises(ValueError, match="more than once"):
        Collection.create(tmp_path / "c.sth", [{"key": "a", "text": "a"}] * 2)
    with pytest.raises(TypeError, match="neither"):
        Collection.create(tmp_path / "c.sth")
    with pytest.raises(FileNotFoundError, match="sth build"):
        Collection.open(tmp_path / "nothing.sth")
    for wrong in ({"k": 0}, {"k": 1, "radius": -1}, {"k": 1, "factor": 0}):
        with pytest.raises(ValueError, match="must be an int"), Collection.open(path) as collection:
            collection.search("a", **wrong)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["some.sth"]


def test_scatter(tmp_path):
    """Random weights take part in the codes, and stay when documents are added or the model is learnt anew."""
    with (
        Collection.create(
            tmp_path / "s.sth", make_documents(300), learning=Learning(n_bits=70, n_neighbors=10, scatter=4)
        ) as collection,
        Collection.create(
            tmp_path / "0.sth", make_documents(300), learning=Learning(n_bits=70, n_neighbors=10)
        ) as plain,
    ):
        assert collection.info()["scatter"] == 4
        assert plain.info()["scatter"] == 0
        differing = np.bitwise_count(collection.encode(QUERIES) ^ plain.encode(QUERIES)).sum(axis=1)
        assert ((differing > 10) & (differing < 60)).all()
        for query in QUERIES:
            assert found(collection, query, 5, factor=4) == twin_search(collection, query, 5, 4)
        collection.add(make_documents(20, first=300))
        collection.relearn(n_bits=40)
        assert collection.info()["scatter"] == 4
        collection.check()
        collection.relearn(scatter=0)
        assert collection.info()["scatter"] == 0
        for wrong in (-1, float("nan"), "4"):
            with pytest.raises(ValueError, match="scatter="):
                collection.relearn(scatter=wrong)


def test_create_replaces_equal_keys_if_asked(tmp_path):
    documents = [*make_documents(100), Document("d5", "the last one is a ship")]
    with Collection.create(
        tmp_path / "c.sth", documents, replace=True, learning=Learning(n_bits=8, n_neighbors=5)
    ) as collection:
        assert len(collection) == 100
        assert collection.get("d5").text == "the last one is a ship"
        collection.check()


def test_a_build_in_progress_is_left_alone_and_a_dead_one_replaced(tmp_path):
    target = tmp_path / "c.sth"
    with unfinished(target), pytest.raises(CollectionError, match="being built"):
        Collection.create(target, make_documents(100), learning=Learning(n_bits=8, n_neighbors=5))
    (tmp_path / f".c.sth.{'0f' * 8}.sthash-tmp").write_bytes(b"half of something" * 1000)
    Collection.create(target, make_documents(100), learning=Learning(n_bits=8, n_neighbors=5)).close()
    assert [file.name for file in tmp_path.iterdir()] == ["c.sth"]


def test_every_recipe_and_what_info_says_of_it(tmp_path):
    documents = make_documents(300)
    for recipe in ("paper", "topics", "neighbors"):
        path = tmp_path / f"{recipe}.sth"
        with Collection.create(
            path, documents, learning=Learning(n_bits=16, n_neighbors=10, recipe=recipe)
        ) as collection:
            assert collection.info()["recipe"] == recipe
            assert collection.check().documents == 300
            assert collection.search(documents[7].text, 1)[0].text == documents[7].text
    with Collection.open(tmp_path / "paper.sth") as collection:
        collection.relearn(recipe="topics")
        assert collection.info()["recipe"] == "topics"
        collection.relearn(n_bits=8)
        assert (collection.info()["recipe"], collection.n_bits) == ("topics", 8)


def test_an_unknown_recipe_is_refused_before_anything_is_read(tmp_path):
    documents = iter(make_documents(10))
    with pytest.raises(ValueError, match=r"recipe='soup' is not known\. Use one of: paper"):
        Collection.create(tmp_path / "c.sth", documents, learning=Learning(recipe="soup"))
    assert len(list(documents)) == 10
    assert not list(tmp_path.iterdir())


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere does not exist, so c\.sth cannot be written"):
        Collection.create(tmp_path / "nowhere" / "c.sth", ["a text"])
