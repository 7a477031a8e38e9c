"""A collection is replaced, by a build, a copy or a file that is moved: nothing that was acknowledged is lost."""

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sthash import Collection, CollectionError, Document
from sthash.collection import CollectionBusyError
from sthash.collection.file import replacement
from support.corpus import make_documents
from support.factories import create_collection
from support.hot_journal import cut_short
from support.programs import ENVIRONMENT

LONG = [Document(f"d{number}", "kitten fur " * 60) for number in range(60)]
NEW = [Document(f"n{number}", document.text) for number, document in enumerate(make_documents(90))]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    path = tmp_path_factory.mktemp("built") / "c.sth"
    create_collection(path, make_documents(80)).close()
    create_collection(path.with_name("new.sth"), NEW).close()
    return path


def content(path):
    with Collection.open(path) as collection:
        collection.check()
        return {document.key: document.text for document in collection}


def as_dict(documents):
    return {document.key: document.text for document in documents}


@pytest.mark.parametrize("flushed", [True, False])
def test_a_change_that_was_cut_short_is_undone(path, flushed):
    for _ in range(3):
        before = content(path)
        cut_short(path, LONG, flushed=flushed)
        assert content(path) == before
        with Collection.open(path) as collection:
            collection.add(["one more"])
    with Collection.open(path) as collection:
        collection.delete("d1")
    assert [file.name for file in path.parent.iterdir()] == ["c.sth"]


@pytest.mark.parametrize("flushed", [True, False])
@pytest.mark.parametrize("how", ["build", "copy", "rename", "plain copy"])
def test_replaced_after_a_change_that_was_cut_short(built, path, how, flushed):
    """The journal that a killed writer has left is not replayed into the new file, whichever way that came."""
    cut_short(path, LONG, flushed=flushed)
    if how == "build":
        create_collection(path, NEW, overwrite=True).close()
    elif how == "copy":
        with Collection.open(built.with_name("new.sth")) as collection:
            collection.copy_to(path, overwrite=True)
    else:
        shutil.copyfile(built.with_name("new.sth"), path.with_name("copy") if how == "rename" else path)
        if how == "rename":
            path.with_name("copy").replace(path)
    assert content(path) == as_dict(NEW)
    left = [file.name for file in path.parent.iterdir() if file != path]
    assert all(name.endswith(".stale") for name in left)
    assert len(left) == (how in ("rename", "plain copy"))


@pytest.mark.parametrize("flushed", [True, False])
def test_restored_from_an_older_state_or_from_a_relative(path, tmp_path, flushed):
    """The marks tell a file from its own past, and from a copy that has had as many changes."""
    with Collection.open(path) as collection:
        collection.add([Document("a", "kitten")])
        old = Path(shutil.copy(path, tmp_path / "old.sth"))
        with Collection.open(old) as relative:
            relative.add([Document("other", "ship")])
        collection.add([Document("b", "kitten")])
    for copy in (old, Path(shutil.copy(old, tmp_path / "again.sth"))):
        expected = content(copy)
        cut_short(path, LONG, flushed=flushed)
        shutil.copyfile(copy, path)
        assert content(path) == expected


def test_a_journal_beside_a_file_that_is_gone(path):
    cut_short(path, LONG)
    path.unlink()
    create_collection(path, NEW).close()
    assert content(path) == as_dict(NEW)


@pytest.mark.parametrize("junk", [b"", b"no database", b"x" * 100_000, "cut"])
def test_built_over_what_is_no_collection(path, junk):
    path.write_bytes(path.read_bytes()[:9000] if junk == "cut" else junk)
    create_collection(path, NEW, overwrite=True).close()
    assert content(path) == as_dict(NEW)
    assert [file.name for file in path.parent.iterdir()] == ["c.sth"]


def test_who_has_it_open_sees_the_new_content(path):
    """Also its model: the old one has other words."""
    with Collection.open(path) as collection:
        collection.search("kitten", 3)
        words = [Document(f"w{number}", f"zebra{number % 9} lion{number % 7}") for number in range(90)]
        create_collection(path, words, overwrite=True).close()
        assert len(collection) == 90
        assert "zebra3" in collection.search("zebra3", 1)[0].text
        collection.add(["zebra3 again"])
        assert collection.check().documents == 91


def test_another_file_is_moved_to_the_path(built, path):
    """Changes go to the file that is at the path, never into one that nobody can open any more."""
    with Collection.open(path) as collection:
        version = collection.version
        collection.search("kitten", 3)
        shutil.copyfile(built.with_name("new.sth"), path.with_name("moved"))
        path.with_name("moved").replace(path)
        collection.add([Document("late", "ship sail")])
        assert collection.version > version
        assert len(collection) == 91
        assert collection.search("ship sail", 90)
    assert content(path) == as_dict(NEW) | {"late": "ship sail"}
    with Collection.open(path) as collection:
        path.unlink()
        with pytest.raises(CollectionError, match="is gone"):
            collection.add(["x"])
        with pytest.raises(CollectionError, match="is gone"):
            collection.search("x")


WRITER = """
import sys
from sthash import Collection
def documents():
    for number in range(200):
        yield {"key": f"slow{number}", "text": "kitten fur " * 50}
    print("inside", flush=True)
    sys.stdin.readline()
with Collection.open(sys.argv[1]) as collection:
    collection.add(documents())
    print("acknowledged", "slow1" in collection, flush=True)
"""


@pytest.fixture
def writer(path):
    """A process that is in the middle of a large add until it is told to go on."""
    command = [sys.executable, "-c", WRITER, path]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=ENVIRONMENT, **pipes) as process:
        assert process.stdout.readline() == "inside\n"
        yield process
        process.kill()


def test_a_build_over_a_busy_file_is_refused(path, writer, monkeypatch):
    monkeypatch.setattr(replacement, "WAIT_SECONDS", 0.1)
    with pytest.raises(CollectionBusyError, match="being changed"):
        create_collection(path, NEW, overwrite=True)
    assert writer.communicate("\n")[0] == "acknowledged True\n"
    assert len(content(path)) == 280
    assert [file.name for file in path.parent.iterdir()] == ["c.sth"]


def test_a_build_over_a_busy_file_waits(path, writer):
    build = threading.Thread(target=lambda: create_collection(path, NEW, overwrite=True).close())
    build.start()
    assert writer.communicate("\n")[0].startswith("acknowledged")
    build.join()
    assert content(path) == as_dict(NEW)


def test_opening_a_file_twice_keeps_the_lock_of_the_first(path):
    """POSIX locks end when the process closes the file anywhere."""
    attempt = "import sys; from sthash import Collection; Collection.open(sys.argv[1], wait=0.05).add(['x'])"

    def documents():
        yield Document("first", "kitten")
        Collection.open(path).close()
        result = subprocess.run([sys.executable, "-c", attempt, path], capture_output=True, text=True, check=False)
        assert "being changed by another process" in result.stderr
        yield Document("second", "kitten")

    with Collection.open(path) as collection:
        collection.add(documents())
    assert len(content(path)) == 82


def test_a_build_does_not_take_the_place_of_one_that_was_faster(path, tmp_path):
    target = tmp_path / "late.sth"

    def documents():
        yield from NEW
        shutil.copyfile(path, target)

    with pytest.raises(FileExistsError, match="overwrite"):
        create_collection(target, documents())
    assert content(target) == content(path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["c.sth", "late.sth"]


def test_files_with_the_names_of_old_are_left_alone(path, tmp_path):
    names = ["d.sth.building", ".d.sth.1.tmp", ".d.sth.sthash-tmp", ".other.0011223344556677.sthash-tmp"]
    for name in names:
        shutil.copyfile(path, tmp_path / name)
    create_collection(tmp_path / "d.sth", NEW).close()
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(["c.sth", "d.sth", *names])


def test_copy_to(path, tmp_path):
    with Collection.open(path) as collection:
        collection.copy_to(tmp_path / "copy.sth")
        with pytest.raises(FileExistsError, match="overwrite"):
            collection.copy_to(tmp_path / "copy.sth")
        collection.add(["one more"])
        collection.copy_to(tmp_path / "copy.sth", overwrite=True)
    assert content(tmp_path / "copy.sth") == content(path)
    (tmp_path / "link.sth").symlink_to("copy.sth")
    create_collection(tmp_path / "link.sth", NEW, overwrite=True).close()
    assert (tmp_path / "link.sth").is_symlink()
    assert content(tmp_path / "copy.sth") == as_dict(NEW)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_file_that_may_not_be_written_is_not_replaced(path):
    path.chmod(0o444)
    with pytest.raises(CollectionError, match="read-only"):
        create_collection(path, NEW, overwrite=True)
