"""What a collection shows of itself: one state of the file, pages, filters, a version number."""

import subprocess
import sys

import numpy as np
import pytest

from sthash import Collection, CollectionError, Document, TextVectorizer
from sthash.batches import batched
from sthash.codes import pack
from sthash.collection import SearchOptions, ids_where
from sthash.collection.build import builder, corpus
from support.corpus import QUERIES, make_documents
from support.factories import create_collection


@pytest.fixture
def collection(tmp_path):
    with create_collection(tmp_path / "c.sth", make_documents(60), n_bits=12, n_neighbors=6) as made:
        yield made


def test_a_snapshot_holds_together(collection):
    collection.delete(["d3", "d40"])
    with collection.snapshot() as now:
        assert len(now) == len(now.ids) == len(now.codes.table) == len(now.words.vectors()) == 58
        assert (now.cells, now.content) == (None, now.words)
        documents = {number: now.documents.get(number) for number in now.ids.tolist()}
        assert list(documents.values()) == list(collection)
        assert now.documents.find("d3") is None
        assert documents[now.documents.find("d7")].key == "d7"
        assert now.ids[now.positions([5, 50])].tolist() == [5, 50]
        with pytest.raises(ValueError, match="not of the same documents"):
            now.positions([5, 40])
        shuffled = np.array([50, 5, 9])
        margins = now.codes.margins(shuffled)
        np.testing.assert_array_equal(pack(margins > 0), now.codes.table.codes[now.positions(shuffled)])
        own = now.codes.encode_stored(9)
        np.testing.assert_array_equal(own.margins[0], margins[2])
        np.testing.assert_array_equal(own.codes, now.encode([documents[9].text]).codes)
        assert ids_where(now, {"parity": 1}).tolist() == [i for i in range(60) if i % 2 and i != 3]
        np.testing.assert_array_equal(pack(now.encode(QUERIES).margins > 0), collection.encode(QUERIES))


def test_a_snapshot_does_not_change(collection):
    with Collection.open(collection.path, wait=0.1) as other, collection.snapshot() as now:
        assert now.documents.find("new") is None
        with pytest.raises(ValueError, match="being changed"):
            other.add([Document("new", "a ship")])  # SQLite lets a writer wait for its readers
        assert now.documents.find("new") is None
        assert len(now.documents.page(limit=1000)) == 60


WRITER = """
import sys
from sthash import Collection, Document
with Collection.open({path!r}) as collection:
    for line in sys.stdin:
        exec(line)
        print("done", flush=True)
"""


def test_two_processes(collection):
    """Each sees the states that the other commits, whole, from the next call on."""
    with subprocess.Popen(
        [sys.executable, "-c", WRITER.format(path=str(collection.path))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as writer:

        def told(line):
            writer.stdin.write(f"{line}\n")
            writer.stdin.flush()
            assert writer.stdout.readline() == "done\n"

        assert collection.search("zeppelin") == []
        told("collection.add([Document('new', 'a zeppelin')])")
        assert [hit.key for hit in collection.search("zeppelin")] == ["new"]
        told("collection.upsert([Document('new', 'a hangar')]); collection.delete('d3')")
        assert collection.search("zeppelin") == []
        assert ("d3" in collection, len(collection)) == (False, 60)
        collection.add([Document("own", "a zeppelin again")])
        told("assert [hit.key for hit in collection.search('zeppelin')] == ['own']")
        told("collection.add([Document(str(n), f'ship {n}') for n in range(5000)])")
        assert [hit.key for hit in collection.search("ship 4711", 1)] == ["4711"]
        told("collection.relearn(n_bits=9, sample_size=100)")
        assert (collection.n_bits, collection.search("ship 4711", 1, ranking="cosine")[0].key) == (9, "4711")
        assert collection.check().documents == 5061
        told("assert collection.check().documents == 5061")
        writer.stdin.close()
        assert writer.wait(60) == 0


def test_pages(collection):
    collection.delete("d2")
    first = collection.page(limit=3)
    assert [stored.document.key for stored in first] == ["d0", "d1", "d3"]
    assert [stored.id for stored in first] == [0, 1, 3]
    assert [stored.id for stored in collection.page(first[-1].id, 2)] == [4, 5]
    assert collection.page(59) == []
    before = collection.page(0, 1)[0]
    collection.upsert([Document("d1", "another text")])
    after = collection.page(58)
    assert (after[-1].document.key, after[-1].id) == ("d1", 60)
    assert after[-1].checksum != before.checksum


def test_the_version_grows_with_every_change(collection):
    with Collection.open(collection.path) as other:
        seen = [collection.version]
        for change in (
            lambda: collection.add(["a ship"]),
            lambda: other.delete("d1"),
            lambda: other.add(["a cat"]),
            lambda: collection.relearn(n_bits=8),
        ):
            change()
            seen.append(collection.version)
            assert collection.version == seen[-1]
        assert seen == sorted(set(seen))
        with pytest.raises(KeyError):
            collection.delete("nobody")
        assert collection.version == seen[-1]


def test_a_snapshot_ends_with_its_statement(tmp_path):
    """Another thread may be in the file by then, in another state of it."""
    with create_collection(tmp_path / "c.sth", make_documents(60), n_bits=8, n_neighbors=6) as collection:
        with collection.snapshot() as now:
            rest = now.documents.texts()
            next(rest)
        for use in (lambda: next(rest), lambda: now.documents.get(0), lambda: now.encode(["a comet"])):
            with pytest.raises(CollectionError, match="outside of a snapshot"):
                use()
        assert collection.search("comet")


def test_relearn_keeps_what_is_not_given(tmp_path):
    settings = {"n_bits": 10, "n_neighbors": 6, "recipe": "paper", "scatter": 1.5, "sample_size": 40, "random_state": 7}
    vectorizer = TextVectorizer(stemmer=None, min_df=2)
    with create_collection(tmp_path / "c.sth", make_documents(60), text_options=vectorizer, **settings) as collection:
        codes = collection.encode(QUERIES)
        collection.relearn()
        np.testing.assert_array_equal(collection.encode(QUERIES), codes)
        collection.relearn(sample_size=None, n_bits=None)
        with collection.snapshot() as now:
            kept = now.codes.model.settings
            assert kept["learned_on"] == 60
            assert {name: kept[name] for name in settings} == settings | {"sample_size": None}
            assert (kept["stemmer"], kept["min_df"], kept["generation"]) == (None, 2, 3)
        with pytest.raises(TypeError, match="no parameter 'unknown'"):
            collection.relearn(unknown=5)


@pytest.mark.parametrize("replace", [False, True])
def test_counts_that_are_kept_give_the_file_that_a_second_scan_gives(tmp_path, monkeypatch, replace):
    documents = make_documents(300)
    if replace:
        monkeypatch.setattr(builder, "batched", lambda items, *_, **__: batched(items, 100))
        documents += [Document("d5", "a cat again", "cats"), Document("d250", "no words of before", "ships")]
    arguments = {"n_bits": 16, "n_neighbors": 10, "sample_size": 120, "replace": replace}
    create_collection(tmp_path / "kept.sth", documents, **arguments).close()
    monkeypatch.setattr(corpus, "KEPT_BYTES", 0)
    create_collection(tmp_path / "scanned.sth", documents, **arguments).close()
    assert (tmp_path / "kept.sth").read_bytes() == (tmp_path / "scanned.sth").read_bytes()
    with Collection.open(tmp_path / "kept.sth") as collection, collection.snapshot() as now:
        assert now.codes.model.settings["n_documents"] == 300
        codes = now.codes.table.codes.copy()
    with Collection.open(tmp_path / "kept.sth") as collection:
        collection.relearn()
        with collection.snapshot() as now:
            np.testing.assert_array_equal(now.codes.table.codes, codes)


def test_search_options_are_validated_once():
    assert SearchOptions().keywords() == {
        "k": 10,
        "radius": None,
        "rerank": True,
        "where": None,
        "factor": 500,
        "explain": False,
        "ranking": "auto",
        "correct": None,
        "syntax": "auto",
        "offset": 0,
        "snippet": 0,
        "sort": None,
        "facets": (),
        "collapse": False,
        "recall": 0.95,
        "exact": False,
    }
    assert SearchOptions(where={1: {2}}).where == {"1": [2]}
    for wrong, error in (({"k": 0}, ValueError), ({"k": "3"}, TypeError), ({"radius": -1}, ValueError)):
        with pytest.raises(error, match="must be an int"):
            SearchOptions(**wrong)
    with pytest.raises(TypeError, match="must be a dict"):
        SearchOptions(where="a=b")
