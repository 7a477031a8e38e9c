"""Texts are packed by phrases that they share; each comes back as it was, and forged phrases are refused."""

import contextlib
import random
import sqlite3

import pytest

from sthash import Collection, CollectionError, _core
from sthash.checksums import row_checksum
from sthash.collection.file import phrases
from support.corpus import make_documents
from support.factories import create_collection

TEXTS = [document.text.encode() for document in make_documents(2000)]
ANY = [b"", b"\x00", bytes(range(256)), b"\xff" * 50, random.Random(0).randbytes(3000), "Größe 漢字 🐈".encode()]


@pytest.fixture
def eager(monkeypatch):
    """Phrases are learned of a few texts, and again of some more."""
    monkeypatch.setattr(phrases, "LEAST_BYTES", 1 << 12)
    monkeypatch.setattr(phrases, "FEW_BYTES", 1 << 10)


def stored_texts(path):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return [text for (text,) in connection.execute("SELECT text FROM documents ORDER BY id")]


def is_packed(text):
    return text[:1] >= bytes([phrases.FIRST_MARK])


@pytest.mark.parametrize("learned_of", [TEXTS, TEXTS[:1], [], ANY], ids=["texts", "one text", "nothing", "any bytes"])
@pytest.mark.parametrize("threads", [1, 3])
def test_any_bytes_come_back(learned_of, threads):
    kernel = _core.Phrases(_core.learn_phrases(learned_of))
    for text, packed in zip(TEXTS + ANY, kernel.pack(TEXTS + ANY, prefix=b"ab", threads=threads), strict=True):
        assert packed[:2] == b"ab"
        assert kernel.unpack(packed, start=2) == text


def test_texts_like_those_learned_of_become_short():
    content = _core.learn_phrases(TEXTS[:1000])
    assert content == _core.learn_phrases(TEXTS[:1000])
    packed = _core.Phrases(content).pack(TEXTS[1000:], prefix=b"", threads=1)
    assert sum(map(len, packed)) < 0.4 * sum(map(len, TEXTS[1000:]))


@pytest.mark.parametrize("content", [b"", b"\x01", b"\x00", b"\x11" + 17 * b"a", b"\x01a", b"\x05abc"])
def test_forged_phrases_are_refused(content):
    with pytest.raises(ValueError, match=r"phrase|byte"):
        _core.Phrases(content)


@pytest.mark.parametrize("packed", [b"\xc0", b"\xff\xff", b"\x00\xff\x00"])
def test_forged_texts_are_refused(packed):
    with pytest.raises(ValueError, match="phrase"):
        _core.Phrases(_core.learn_phrases([])).unpack(packed, start=0)


def test_collections_give_texts_back(tmp_path, eager):
    documents = make_documents(1500)
    with (
        create_collection(tmp_path / "c.sth", documents[:1000]) as collection,
        Collection.open(tmp_path / "c.sth") as other,
    ):
        assert all(map(is_packed, stored_texts(tmp_path / "c.sth")))
        assert list(collection) == documents[:1000]
        size = len(_core.learn_phrases([document.text.encode() for document in documents[:1000]]))
        assert 0 < collection.part_sizes()["texts"] < 0.5 * sum(len(d.text) for d in documents[:1000])
        assert collection.part_sizes()["settings"] > size
        collection.add(documents[1000:1495])
        for document in documents[1495:]:
            collection.add([document])
        assert [is_packed(text) for text in stored_texts(tmp_path / "c.sth")[-6:]] == [True] + 5 * [False]
        assert list(other) == list(collection) == documents
        assert [stored.document for stored in other.page(997, 5)] == documents[998:1003]
        assert other.search(documents[7].text, k=1)[0].text == documents[7].text
        collection.delete("d3")
        assert list(other) == documents[:3] + documents[4:]
        collection.check()


def test_compact_packs_texts_that_came_one_by_one(tmp_path, eager):
    documents = make_documents(400)
    with create_collection(tmp_path / "c.sth", documents[:50]) as collection:
        for first in range(50, 400, 10):
            collection.add(documents[first : first + 10])
        assert not any(map(is_packed, stored_texts(tmp_path / "c.sth")))
        collection.compact()
        assert all(map(is_packed, stored_texts(tmp_path / "c.sth")))
        assert list(collection) == documents
        collection.check()


def test_new_phrases_are_learned_as_texts_grow(tmp_path, monkeypatch, eager):
    monkeypatch.setattr(phrases, "GROWTH", 2)
    documents = make_documents(6000)
    with create_collection(tmp_path / "c.sth", documents[:200]) as collection:
        for first, last in ((200, 600), (600, 2000), (2000, 6000)):
            collection.add(documents[first:last])
        assert {text[0] for text in stored_texts(tmp_path / "c.sth")} == {0xF8, 0xF9, 0xFA, 0xFB}
        assert list(collection) == documents
        collection.check()


def test_texts_without_their_phrases_are_damaged(tmp_path, eager):
    create_collection(tmp_path / "c.sth", make_documents(1000)).close()
    for name, content in (("phrases.0", b"\x01a"), ("phrases", b"{}"), ("phrases", b'{"lists": 2, "bytes": 9}')):
        with Collection.open(tmp_path / "c.sth") as collection:
            collection.copy_to(tmp_path / "forged.sth", overwrite=True)
        with contextlib.closing(sqlite3.connect(tmp_path / "forged.sth")) as connection, connection:
            total = row_checksum((name, content))
            connection.execute("UPDATE settings SET content = ?, sum = ? WHERE name = ?", (content, total, name))
        with Collection.open(tmp_path / "forged.sth") as forged, pytest.raises(CollectionError, match="damaged"):
            forged.check()
