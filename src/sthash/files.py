"""Files that are replaced as a whole: a path holds the old content or the new content, never a part of it.

Also files that are mapped into memory: `release`.
"""

from __future__ import annotations

import mmap
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

try:
    import fcntl
except ImportError:  # Windows: what a killed process leaves stays there
    fcntl = None  # type: ignore[assignment]

SUFFIX = ".sthash-tmp"


@contextmanager
def replacing(target: str | os.PathLike[str], *, outdates: str | os.PathLike[str] | None = None) -> Iterator[Path]:
    """Give a temporary path beside ``target``; after the block, sync the file and rename it to ``target``.

    ``outdates`` is a file that belongs to the old ``target``. It is removed right before the new one appears, so that
    whatever stops the process never leaves the two side by side.

    If the block fails or is interrupted, the temporary file is removed and ``target`` stays as it was. A symbolic link
    is followed: the file that it leads to is replaced. The new file has the mode of the old one, and its owner if the
    process may set it; where there was none, the umask decides.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sthash.files import replacing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = pathlib.Path(folder, "notes")
    ...     with replacing(target) as temporary:
    ...         _ = temporary.write_text("all or nothing")
    ...     target.read_text()
    'all or nothing'
    """
    path = Path(os.path.realpath(target))
    with unfinished(path) as temporary:
        take_access(temporary, path)
        yield temporary
        sync(temporary)
        if outdates is not None:
            other = Path(os.path.realpath(outdates))
            other.unlink(missing_ok=True)
            sync(other.parent)
        temporary.replace(path)
        sync(path.parent)


def take_access(new: Path, old: Path) -> None:
    """Give a new file the mode of an old one, and its owner and group where the process may set them."""
    with suppress(FileNotFoundError):
        known = old.stat()
        mode = stat.S_IMODE(known.st_mode)
        if fcntl is not None:  # Windows has no owners of this kind
            own = new.stat()
            if (own.st_uid, own.st_gid) != (known.st_uid, known.st_gid):
                try:
                    os.chown(new, known.st_uid, known.st_gid)
                except PermissionError:
                    # What the old group might do is not given to another group.
                    mode &= ~(stat.S_ISUID | stat.S_ISGID | stat.S_IRWXG)
        new.chmod(mode)


@contextmanager
def unfinished(target: Path) -> Iterator[Path]:
    """Make an empty file with a name of its own beside ``target``, and remove it after the block if it is still there.

    The file is locked for as long as the block lasts. So the next writer of the same target can tell which files a
    killed process has left, and removes them.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sthash.files import unfinished
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with unfinished(pathlib.Path(folder, "notes")) as temporary:
    ...         temporary.exists()
    ...     temporary.exists()
    True
    False
    """
    remove_left_overs(target)
    temporary, handle = _create(target)
    try:
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)
        if handle is not None:
            os.close(handle)  # last, because closing a file ends the locks that SQLite holds on it


def remove_left_overs(target: Path) -> list[Path]:
    """Remove the temporary files of ``target`` that killed processes have left; return those that are still in use."""
    name = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{16}}{re.escape(SUFFIX)}")
    in_use = []
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        for entry in os.scandir(target.parent):
            if name.fullmatch(entry.name) and entry.is_file(follow_symlinks=False) and not _remove_unlocked(entry.path):
                in_use.append(Path(entry.path))
    return in_use


def _create(target: Path) -> tuple[Path, int | None]:
    while True:
        temporary = target.with_name(f".{target.name}.{os.urandom(8).hex()}{SUFFIX}")
        try:
            handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        except FileNotFoundError:
            missing = f"{target.parent} does not exist, so {target.name} cannot be written. Make the folder first."
            raise FileNotFoundError(missing) from None
        if fcntl is None:  # Windows, where nobody may rename or remove a file that is open
            os.close(handle)
            return temporary, None
        # Before it is locked, another process may take it for a left-over.
        if _lock(handle) and _is_at(temporary, handle):
            return temporary, handle
        os.close(handle)


def _remove_unlocked(path: str) -> bool:
    """Remove a file unless a process holds it; return whether it is gone."""
    if fcntl is None:
        return False
    try:
        handle = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        if not _lock(handle):
            return False
        with suppress(OSError):
            Path(path).unlink(missing_ok=True)
        return True
    finally:
        os.close(handle)


def _lock(handle: int) -> bool:
    """Lock an open file until it is closed, if nobody else has; a file system without locks is taken as it is."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _is_at(path: Path, handle: int) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(path.stat(), os.fstat(handle))
    return False


def sync(path: Path) -> None:
    """Wait until the disk has a file, or the names in a folder."""
    if fcntl is None and path.is_dir():  # Windows opens no folders, and keeps their names itself
        return
    handle = os.open(path, os.O_RDONLY if fcntl is not None else os.O_RDWR)  # Windows syncs only what it may write
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def locked(target: str | os.PathLike[str], why: str) -> Iterator[IO[bytes]]:
    """Open a file that grows, for one writer at a time; a file that is still empty after the block is removed.

    ``why`` says what the other writer does, for the error if there is one.
    """
    path = Path(os.path.realpath(target))
    while True:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        except FileNotFoundError:
            missing = f"{path.parent} does not exist, so {path.name} cannot be written. Make the folder first."
            raise FileNotFoundError(missing) from None
        if fcntl is None or (_lock(handle) and _is_at(path, handle)):
            break
        is_there = _is_at(path, handle)
        os.close(handle)
        if is_there:
            raise BlockingIOError(f"{target} is locked: {why}. Wait until it is done.")
    with os.fdopen(handle, "r+b") as file:
        try:
            yield file
        finally:
            if os.fstat(file.fileno()).st_size == 0:
                with suppress(OSError):
                    path.unlink(missing_ok=True)


def release(mapped: Any) -> None:
    """Let go of the pages of a file that is mapped read-only: they stay in the file, and are read again when needed.

    What was read of a mapped file counts as memory of the process until somebody else needs the memory. So whoever has
    read all of it calls this. Anything else than such an array is left alone.

    Examples
    --------
    >>> import numpy as np, pathlib, tempfile
    >>> from sthash.files import release
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "rows.npy")
    ...     np.save(path, np.arange(5))
    ...     rows = np.load(path, mmap_mode="r")
    ...     release(rows)
    ...     int(rows.sum())
    10
    """
    if isinstance(getattr(mapped, "_mmap", None), mmap.mmap) and mapped.mode == "r" and hasattr(mmap, "MADV_DONTNEED"):
        mapped._mmap.madvise(mmap.MADV_DONTNEED)
