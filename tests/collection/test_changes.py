"""A change costs what it changes: open collections read what came and what went, and answer as a fresh one does."""

from contextlib import contextmanager

import numpy as np
import pytest

from sthash import Collection
from sthash.collection import CollectionError
from sthash.collection.file import removals
from sthash.collection.file.store import Store
from sthash.collection.indexes import postings
from sthash.collection.indexes.postings import Lists
from sthash.collection.indexes.roster import GrowingArray, Roster
from support.corpus import QUERIES, make_documents
from support.factories import create_collection


@contextmanager
def counted_reads(monkeypatch):
    """Collects the table and the bytes of each row that is read."""
    reads, checked = [], Store.checked

    def counting(store, table, row):
        reads.append((table, sum(len(value) for value in row if isinstance(value, bytes))))
        return checked(store, table, row)

    with monkeypatch.context() as patch:
        patch.setattr(Store, "checked", counting)
        yield reads


def reads_after(monkeypatch, reader, change, query):
    for _ in range(2):  # what is in memory stays there
        reader.search(query, 3, ranking="bm25", correct=False)
        reader.search(query, 3, ranking="cosine")
    change()
    with counted_reads(monkeypatch) as reads:
        reader.search(query, 3, ranking="bm25", correct=False)
    with counted_reads(monkeypatch) as by_codes, reader.snapshot() as now:
        assert len(now.codes.table) == len(now)
    return reads, by_codes


@pytest.mark.parametrize("kind", ["add", "upsert", "delete"])
@pytest.mark.parametrize("connection", ["same", "other"])
def test_a_search_after_a_change_reads_what_changed(tmp_path, monkeypatch, kind, connection):
    sizes = {}
    for count in (1200, 3600):
        with (
            create_collection(tmp_path / f"{count}.sth", make_documents(count)) as collection,
            Collection.open(collection.path) as other,
        ):
            reader = collection if connection == "same" else other
            change = {
                "add": lambda writer=collection: writer.add([{"key": "new", "text": "a cat with a hat"}]),
                "upsert": lambda writer=collection: writer.upsert([{"key": "d7", "text": "a cat with a hat"}]),
                "delete": lambda writer=collection: writer.delete(["d7", "d11"]),
            }[kind]
            reads, by_codes = reads_after(monkeypatch, reader, change, "cat")
            # Settings, the documents that came, came and went, or are shown; no array of all documents.
            assert sum(table in ("counts", "removals") for table, _ in reads) <= 2
            assert len(reads) + len(by_codes) < 40
            others = [(table, size) for table, size in reads + by_codes if table != "settings"]
            assert max(size for _, size in others) < 2000
            sizes[count] = len(others)
            assert reader.search("hat", 3, correct=False).total == (0 if kind == "delete" else 1)
    assert abs(sizes[1200] - sizes[3600]) <= 4  # not three times as many


def answers(collection):
    found = []
    for query in (*QUERIES[:4], "hat", "hats and cats"):
        for options in ({}, {"ranking": "bm25"}, {"ranking": "cosine"}, {"where": {"parity": 1}}, {"rerank": False}):
            hits = collection.search(query, 6, **options)
            found.append(([(hit.key, round(hit.score, 5)) for hit in hits], hits.total))
    with collection.snapshot() as now:
        words = now.words
        columns = np.arange(words.n_columns, dtype=np.int32)
        found.append((words.ids.tolist(), words.lengths.tolist(), words.frequencies(columns).tolist()))
        found.append((now.codes.table.ids.tolist(), now.codes.table.codes.tolist(), words.mean_length))
    return found


@pytest.mark.parametrize("seed", range(3))
def test_readers_answer_as_a_fresh_one(tmp_path, monkeypatch, seed):
    monkeypatch.setattr(removals, "MOST_KEPT", 6)
    monkeypatch.setattr(postings, "MOST_PENDING", 9)
    monkeypatch.setattr(postings, "FEW_REMOVED", 3)
    monkeypatch.setattr(postings, "SEGMENT_BYTES", 900)
    rng = np.random.default_rng(seed)
    with (
        create_collection(tmp_path / "c.sth", make_documents(60)) as collection,
        Collection.open(collection.path) as often,
        Collection.open(collection.path) as seldom,
    ):
        for step in range(16):
            keys = [document.key for document in collection]
            some = rng.choice(keys, int(rng.integers(1, 9)), replace=False).tolist()
            new = [
                {"text": f"{rng.choice(QUERIES)} hat{rng.integers(9)}", "parity": int(number % 2)}
                for number in range(rng.integers(1, 14))
            ]
            match rng.integers(5):
                case 0 | 1:
                    collection.add(new)
                case 2:
                    collection.delete(some)
                case 3:
                    collection.upsert([{"key": key} | own for key, own in zip(some, new, strict=False)])
                case 4:
                    with pytest.raises(ValueError, match="already"):
                        collection.add([*new, {"key": keys[0], "text": "twice"}])
            readers = [collection, often] if step % 4 else [collection, often, seldom]
            if step == 9:
                collection.relearn()
            with Collection.open(collection.path) as fresh:
                expected = answers(fresh)
            for reader in readers:
                assert answers(reader) == expected
        assert collection.check().documents == len(collection)


def test_a_total_that_is_asked_for_later_is_no_error(tmp_path):
    with create_collection(tmp_path / "c.sth", make_documents(60)) as collection:
        hits = collection.search("cat", 3)
        collection.add([{"text": "one more cat"}] * 5)
        collection.search("cat", 3)
        assert 0 < hits.total <= 60


def test_the_log_is_bounded_and_checked(tmp_path, monkeypatch):
    monkeypatch.setattr(removals, "MOST_KEPT", 10)
    with create_collection(tmp_path / "c.sth", make_documents(60)) as collection:
        store = collection._store
        with store.reading():
            first_removal = removals.state_of(store).removal
        for first in range(0, 30, 3):
            collection.delete([f"d{number}" for number in range(first, first + 3)])
        with store.reading():
            assert store.value("SELECT count(*) FROM removals") == 10
            assert removals.state_of(store) == removals.State(60, first_removal + 30)
        collection.delete([f"d{number}" for number in range(30, 55)])
        with store.reading():
            assert store.value("SELECT count(*) FROM removals") == 10
        assert collection.check().documents == 5
        with store.writing():
            store.execute("DELETE FROM removals WHERE number = (SELECT max(number) FROM removals) - 3")
        with pytest.raises(CollectionError, match="log of removals"):
            collection.check()


def test_compact_forgets_the_log(tmp_path):
    with (
        create_collection(tmp_path / "c.sth", make_documents(60)) as collection,
        Collection.open(collection.path) as reader,
    ):
        collection.delete(["d1", "d2"])
        reader.search("cat")
        collection.compact()
        with collection._store.reading():
            assert collection._store.value("SELECT count(*) FROM removals") == 0
        collection.delete("d58")
        assert answers(reader) == answers(collection)
        assert len(reader) == collection.check().documents == 57


def test_a_present_document_in_the_log_is_found(tmp_path):
    with create_collection(tmp_path / "c.sth", make_documents(60)) as collection:
        store = collection._store
        with store.writing():
            removals.note_removed(store, [(5, b"")])
        with pytest.raises(CollectionError, match="still there"):
            collection.check()


@pytest.mark.parametrize("seed", range(5))
def test_a_roster_is_what_lists_are(seed):
    rng = np.random.default_rng(seed)
    roster, kept, next_id = Roster(np.zeros(0, np.int64)), [], 0
    values = roster.hold("values", np.zeros((0, 2), np.uint8))
    for _ in range(60):
        if rng.random() < 0.6:
            ids = (next_id + np.cumsum(rng.integers(1, 3, rng.integers(0, 40)))).astype(np.int64)
            roster.append(ids)
            values.append(np.stack([ids, ids], axis=1).astype(np.uint8))
            kept += ids.tolist()
            next_id = kept[-1] if kept else 0
        else:
            gone = rng.choice(next_id + 2, min(next_id + 2, int(rng.integers(0, 12))), replace=False).astype(np.int64)
            positions = roster.positions(gone)
            assert roster.ids[positions].tolist() == sorted(set(gone.tolist()) & set(kept))
            roster.remove(positions)
            kept = [number for number in kept if number not in set(gone.tolist())]
        assert roster.ids.tolist() == kept
        assert values.values[:, 0].tolist() == [number % 256 for number in kept]
    assert isinstance(roster.held("values"), GrowingArray)
    assert roster.held("others") is None


def test_slots_of_removed_documents_are_left_out(tmp_path):
    with create_collection(tmp_path / "c.sth", make_documents(60)) as collection:
        collection.search("cat")
        before = collection._loaded.words.postings._lists
        collection.delete(["d3", "d4", "d20"])
        with collection.snapshot() as now:
            lists = now.words.posting_lists([now.words.terms.get("cat")])
        assert isinstance(lists, Lists)
        assert lists.lists is before
        assert lists.gone.tolist() == [3, 4, 20]
        assert lists.n_slots == 60
