"""A collection that follows a folder."""

import hashlib
import os
import time
from pathlib import Path

import pytest

from sthash import Collection
from sthash.collection import CollectionError
from sthash.sources import read_documents


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "notes"
    (made / "deep").mkdir(parents=True)
    for number in range(20):
        (made / f"{number}.md").write_text(f"note {number} about ships")
    (made / "deep" / "a.txt").write_text("a whale")
    age(made)
    return made


@pytest.fixture
def collection(tmp_path):
    with Collection.create(tmp_path / "c.sth", [{"key": "own", "text": "not from the folder"}]) as made:
        yield made


def age(folder):
    """Make files look as if they were written some time ago."""
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, (time.time() - 100,) * 2)


def counts(done):
    return done.added, done.replaced, done.deleted, done.unchanged


def test_what_changed_is_changed(folder, collection):
    assert counts(collection.sync(folder)) == (21, 0, 0, 0)
    assert collection["deep/a.txt"].label == "deep"
    version = collection.version
    assert counts(collection.sync(folder)) == (0, 0, 0, 21)
    assert version <= collection.version
    (folder / "new.md").write_text("a new albatross")
    (folder / "3.md").write_text("note three about penguins")
    (folder / "4.md").unlink()
    (folder / "5.md").rename(folder / "renamed.md")
    assert counts(collection.sync(folder)) == (2, 1, 2, 18)
    assert collection.search("albatross")[0].key == "new.md"
    assert collection.search("penguins")[0].key == "3.md"
    assert "4.md" not in collection
    assert collection["renamed.md"].text == "note 5 about ships"
    assert len(collection) == 22
    assert "own" in collection
    collection.check()
    assert counts(collection.sync(folder)) == (0, 0, 0, 21)


def test_files_are_read_only_if_they_may_have_changed(folder, collection, monkeypatch):
    collection.sync(folder)
    age(folder)  # another time, the same content
    assert counts(collection.sync(folder)) == (0, 0, 0, 21)

    def read(*_):
        raise AssertionError("a file was read")

    monkeypatch.setattr("sthash.collection.build.sync.hashlib.file_digest", read)
    assert counts(collection.sync(folder)) == (0, 0, 0, 21)


def test_a_change_within_the_same_tick_is_seen(folder, collection):
    (folder / "3.md").write_text("one cat")
    known = (folder / "3.md").stat()
    collection.sync(folder)
    (folder / "3.md").write_text("two cat")
    os.utime(folder / "3.md", ns=(known.st_atime_ns, known.st_mtime_ns))
    assert counts(collection.sync(folder)) == (0, 1, 0, 20)
    assert collection["3.md"].text == "two cat"


def test_a_collection_that_was_built_from_the_folder(folder, tmp_path):
    with Collection.create(tmp_path / "b.sth", folder) as built:
        (folder / "3.md").write_text("changed")
        assert counts(built.sync(folder)) == (0, 1, 0, 20)
        (folder / "4.md").unlink()
        assert counts(built.sync(folder)) == (0, 0, 1, 20)


def test_files_that_are_as_they_were_built_are_not_read(folder, tmp_path, monkeypatch):
    hashed = []
    digest = hashlib.file_digest
    monkeypatch.setattr(
        "sthash.collection.build.sync.hashlib.file_digest",
        lambda stream, kind: hashed.append(Path(stream.name).name) or digest(stream, kind),
    )
    other = folder.parent / "other.md"
    other.write_text("it looks older, but was moved here later")
    age(folder.parent)
    with Collection.create(tmp_path / "b.sth", read_documents(folder)) as built:
        built.follow(folder, since=time.time() + 10)  # as if the files had been there long before
        assert counts(built.sync(folder)) == (0, 0, 0, 21)
        assert hashed == []
        (folder / "4.md").write_text("changed after the build")
        assert counts(built.sync(folder)) == (0, 1, 0, 20)
        assert hashed == ["4.md"]
    with Collection.create(tmp_path / "c.sth", read_documents(folder)) as built:
        other.replace(folder / "3.md")
        built.follow(folder, since=time.time())  # its time of writing is old, but not the one of its move
        assert counts(built.sync(folder)) == (0, 1, 0, 20)
        assert built["3.md"].text.endswith("moved here later")


def test_what_went_between_build_and_sync(folder, tmp_path):
    mail = "From x\nSubject: s\n\nbody {}\n\n"
    (folder / "in.mbox").write_text(mail.format(1) + mail.format(2))
    (folder / "a#1.txt").write_text("no mailbox")
    with Collection.create(tmp_path / "b.sth", folder) as built:
        (folder / "4.md").unlink()
        (folder / "5.md").rename(folder / "new.md")
        (folder / "in.mbox").write_text(mail.format(1))
        (folder / "3.md").write_text("changed")
        assert counts(built.sync(folder)) == (1, 1, 3, 20)
        built.check()


def test_what_cannot_be_read_stays(folder, collection):
    (folder / "image.png").write_bytes(bytes(100))
    done = collection.sync(folder)
    assert (done.added, len(done.skipped)) == (21, 1)
    (folder / "3.md").write_bytes(bytes(100))
    done = collection.sync(folder)
    assert [bad.place for bad in done.skipped] == [str(folder / "3.md")]
    assert collection["3.md"].text == "note 3 about ships"
    (folder / "3.md").write_text("readable again")
    assert collection.sync(folder).replaced == 1


def test_another_encoding_reads_what_could_not_be_read(folder, collection):
    (folder / "latin.txt").write_bytes("Schlüssel".encode("latin-1"))
    (skipped,) = collection.sync(folder).skipped
    assert "encoding='utf-8,latin-1'" in skipped.reason
    assert counts(collection.sync(folder)) == (0, 0, 0, 22)
    assert counts(collection.sync(folder, encoding="utf-8,latin-1")) == (1, 0, 0, 21)
    assert collection["latin.txt"].text == "Schlüssel"


def test_an_empty_folder_deletes_nothing(folder, collection, tmp_path):
    collection.sync(folder)
    folder.rename(tmp_path / "elsewhere")
    with pytest.raises(NotADirectoryError, match="is not a folder"):
        collection.sync(folder)
    folder.mkdir()
    with pytest.raises(ValueError, match="has no files, but 21 were there before"):
        collection.sync(folder)
    assert len(collection) == 22


def test_a_failure_changes_nothing(folder, collection, monkeypatch):
    collection.sync(folder)
    (folder / "new.md").write_text("new")
    (folder / "4.md").unlink()
    monkeypatch.setattr("sthash.collection.build.sync.FolderSync.finish", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        collection.sync(folder)
    assert "4.md" in collection
    assert "new.md" not in collection
    monkeypatch.undo()
    assert counts(collection.sync(folder)) == (1, 0, 1, 20)


def test_two_folders_and_mailboxes(folder, collection, tmp_path):
    (tmp_path / "mail").mkdir()
    mail = "From x\nSubject: s\n\nbody {}\n\n"
    (tmp_path / "mail" / "in.mbox").write_text(mail.format(1) + mail.format(2))
    collection.sync(folder)
    assert counts(collection.sync(tmp_path / "mail")) == (2, 0, 0, 0)
    (tmp_path / "mail" / "in.mbox").write_text(mail.format(1))
    assert counts(collection.sync(tmp_path / "mail")) == (0, 0, 1, 1)
    assert len(collection) == 23
    assert counts(collection.sync(folder)) == (0, 0, 0, 21)


@pytest.mark.parametrize("value", [[], {"x": []}, {"x": {"a": [1, 2]}}, {"x": {"a": [1, 2, "h", [3]]}}])
def test_forged_settings_are_refused(folder, collection, value):
    with collection._changing():
        collection._store.put_setting("synced", value)
    with pytest.raises(CollectionError, match="synced folders cannot be read"):
        collection.sync(folder)
