"""Answers follow from the documents that are there: however they came, they are those of a fresh build."""

import numpy as np
import pytest

from sthash import Collection, Document, TextVectorizer, near_duplicates
from sthash.collection.file.segments import Segments
from sthash.collection.indexes import postings as posting_table
from support.corpus import QUERIES, TOPICS, make_documents
from support.factories import create_collection

NEW_WORDS = ["zeppelin", "hangar", "airship", "gondola", "ballast", "mooring"]


@pytest.fixture
def short_lists(monkeypatch):
    """Segments after a few documents, so that small collections have many, and merge them."""
    monkeypatch.setattr(posting_table, "MOST_PENDING", 7)
    monkeypatch.setattr(posting_table, "SEGMENT_BYTES", 700)


def some_text(rng):
    words = [*(word for words in TOPICS.values() for word in words), *NEW_WORDS]
    return " ".join(rng.choice(words, rng.integers(0, 9)))


def fresh(collection, folder):
    """A new collection of the same documents in the same order, by the same model."""
    with collection.snapshot() as now:
        return Collection.create(folder / "fresh.sth", list(collection), model=now.codes.model, overwrite=True)


def segments_of(collection):
    """The segments of the posting lists, each with the number of its documents that are still there."""
    with collection.snapshot():
        segments = Segments(collection._store, posting_table.KIND)
        return [(segment, len(segments.live_ids(segment))) for segment in segments.all()]


def statistics(collection):
    """Frequencies by word, lengths, and the documents of each word by the lists."""
    with collection.snapshot() as now:
        columns = np.arange(now.words.n_columns, dtype=np.int32)
        frequencies = now.words.frequencies(columns)
        names = now.words.terms.names(columns.tolist())
        lists = now.words.posting_lists(columns)
        found = {name: lists.positions(column).tolist() for column, name in enumerate(names) if frequencies[column]}
        assert {name: len(places) for name, places in found.items()} == {
            name: count for name, count in zip(names, frequencies.tolist(), strict=True) if count
        }
        return found, now.words.lengths.tolist(), now.words.mean_length, now.codes.table.codes.tolist()


def assert_equal(ours, theirs):
    assert statistics(ours) == statistics(theirs)
    for query in (*QUERIES, *NEW_WORDS, "zeppelin cat"):
        for options in ({}, {"factor": 1}, {"rerank": False}, {"where": {"parity": 1}}):
            left, right = ours.search(query, 8, **options), theirs.search(query, 8, **options)
            assert [hit.score for hit in left] == pytest.approx([hit.score for hit in right], abs=1e-6)
            assert [hit.distance for hit in left] == [hit.distance for hit in right] or options.get("rerank", True)
            differing = [a.score for a, b in zip(left, right, strict=True) if a.key != b.key]
            # Scores that are equal but for rounding may change places, also with the first that is not shown.
            scores = [hit.score for hit in left]
            assert all(
                sum(abs(score - other) < 1e-6 for other in scores) > 1 or score == scores[-1] for score in differing
            )
    for cosine in (0.95, 0.9, 0.6):
        assert near_duplicates(ours, cosine).groups == near_duplicates(theirs, cosine).groups


@pytest.mark.parametrize("seed", range(4))
def test_after_many_changes(tmp_path, short_lists, seed):
    rng = np.random.default_rng(seed)
    with create_collection(tmp_path / "c.sth", make_documents(40)) as collection:
        for step in range(25):
            keys = [document.key for document in collection]
            chosen = rng.choice(keys, min(len(keys), int(rng.integers(1, 9))), replace=False).tolist()
            texts = [some_text(rng) for _ in range(rng.integers(1, 9))]
            match rng.integers(4):
                case 0:
                    collection.add(
                        [Document(f"s{step}n{i}", text, None, {"parity": i % 2}) for i, text in enumerate(texts)]
                    )
                case 1:
                    collection.upsert([Document(key, text) for key, text in zip(chosen, texts, strict=False)])
                case 2:
                    collection.delete(chosen)
                case 3:  # the same key twice in one change, and a copy of another document
                    collection.upsert([Document("twice", text) for text in texts] + [Document("copy", texts[0])])
            if step % 5 == 4:
                collection.check()
                with fresh(collection, tmp_path) as other:
                    assert_equal(collection, other)
        assert segments_of(collection)


def test_everything_deleted_and_added_again(tmp_path, short_lists):
    documents = make_documents(40)
    with create_collection(tmp_path / "c.sth", documents) as collection:
        collection.delete([document.key for document in documents])
        collection.check()
        collection.add(documents)
        collection.check()
        with fresh(collection, tmp_path) as other:
            assert_equal(collection, other)


def test_a_new_word_counts_at_once(tmp_path):
    with create_collection(tmp_path / "c.sth", make_documents(60), n_bits=12, n_neighbors=6) as collection:
        assert collection.search("zeppelin") == []
        collection.add(
            [Document("a", "cat kitten zeppelin hangar gondola"), Document("b", "cat kitten ballast mooring")]
        )
        (hit,) = [hit for hit in collection.search("zeppelin", 5, explain=True) if hit.score > 0]
        assert (hit.key, hit.terms) == ("a", ("zeppelin",))
        # By the words that the model knows, the two are the same.
        assert not any({"a", "b"} <= set(group) for group in near_duplicates(collection, 0.9).groups)
        collection.delete("a")
        assert collection.search("zeppelin") == []
        assert collection.info()["n_terms"] == 40
        assert collection.info()["words"] == 45
        collection.relearn()
        assert collection.info()["words"] == 42


def test_limits_of_the_vectorizer_are_those_of_the_model(tmp_path):
    documents = [*make_documents(60), Document("rare", "zeppelin over the harbour")]
    vectorizer = TextVectorizer(min_df=3, max_features=20)
    with create_collection(
        tmp_path / "c.sth", documents, text_options=vectorizer, n_bits=8, n_neighbors=6
    ) as collection:
        assert collection.info()["n_terms"] == 20
        assert collection.search("zeppelin", 1)[0].key == "rare"
        with collection.snapshot() as now:
            kept = now.codes.model.terms.names(range(20))
            assert sorted(now.words.terms.names(range(20))) == sorted(kept)
            names = now.words.terms.names(range(now.words.n_columns))
            assert "zeppelin" in names[20:]
            frequencies = now.words.frequencies(np.arange(now.words.n_columns, dtype=np.int32))
            assert (np.diff(frequencies[:20]) <= 0).all()
            assert (np.diff(frequencies[20:]) <= 0).all()
        collection.check()
        with fresh(collection, tmp_path) as other:
            assert_equal(collection, other)


def test_documents_that_are_added_get_the_pairs_of_a_fresh_build(tmp_path):
    """Also by another model: near-duplicates depend on the documents alone."""
    rng = np.random.default_rng(0)
    words = [f"w{number}" for number in range(400)]
    texts = [" ".join(rng.choice(words, 12)) for _ in range(300)]
    for number in range(0, 300, 3):
        copy = texts[number].split()
        copy[0] = f"new{number % 7}"
        texts.append(" ".join(copy))
    with (
        create_collection(tmp_path / "a.sth", texts[:250], n_bits=16) as grown,
        create_collection(tmp_path / "b.sth", texts, n_bits=24) as whole,
    ):
        grown.add(texts[250:])
        for cosine in (0.95, 0.9, 0.8):
            groups = near_duplicates(grown, cosine).groups
            assert groups == near_duplicates(whole, cosine).groups
        assert len(groups) > 50
        for text in texts[:20]:
            ours, theirs = grown.search(text, 5, factor=100), whole.search(text, 5, factor=100)
            assert [hit.score for hit in ours] == pytest.approx([hit.score for hit in theirs], abs=1e-6)


def test_one_state_for_two_connections(tmp_path):
    """Words that another process adds are known at the next call."""
    with create_collection(tmp_path / "c.sth", make_documents(60), n_bits=12, n_neighbors=6) as one:
        with Collection.open(tmp_path / "c.sth") as other:
            assert other.search("zeppelin") == []
            one.add([Document("new", "zeppelin")])
            assert other.search("zeppelin", 1)[0].key == "new"
            other.upsert([Document("new", "hangar")])
            assert one.search("zeppelin") == []
            assert one.search("hangar", 1)[0].key == "new"
        with pytest.raises(ValueError, match="'new'"):
            one.add([Document("first", "gondola"), Document("new", "ballast")])
        assert one.search("gondola") == []
        one.add([Document("first", "ballast gondola")])
        assert one.search("gondola", 1)[0].key == "first"
        one.check()


def test_segments_are_few_and_deleted_documents_leave_them(tmp_path, monkeypatch):
    monkeypatch.setattr(posting_table, "MOST_PENDING", 4)
    with create_collection(tmp_path / "c.sth", make_documents(40)) as collection:
        for number in range(60):
            collection.add([Document(f"n{number}", f"cat ship{number}")])
        segments = segments_of(collection)
        assert 1 < len(segments) <= 6
        assert sum(live for _, live in segments) + 4 >= 100
        first, _ = segments[0]
        collection.delete([document.key for document in list(collection)[: first.size // 4 + 1]])
        assert all(segment.size == live for segment, live in segments_of(collection))
        collection.check()
        collection.delete([document.key for document in collection])
        assert segments_of(collection) == []
        collection.check()
