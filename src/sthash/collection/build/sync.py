"""A collection that follows a folder: what is new comes in, what changed is replaced, what is gone is deleted."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sthash.collection.file.documents import Documents
from sthash.collection.file.store import Store
from sthash.sources import BadRecord, Document
from sthash.sources.encodings import Encoding
from sthash.sources.folders import FolderFile, folder_files, format_of
from sthash.sources.formats import SEVERAL
from sthash.sources.records import unreadable

SETTING = "synced"
# A file that was written this short a time ago may be written again without a new time: it is read next time, too.
_RECENT = 2 * 10**9


@dataclass
class Synced:
    """What `Collection.sync` did.

    Attributes
    ----------
    added, replaced, deleted, unchanged : int
        Numbers of documents; ``unchanged`` counts files.
    skipped : list of BadRecord
        Files that cannot be read, and why. Their documents stay as they were.
    """

    added: int = 0
    replaced: int = 0
    deleted: int = 0
    unchanged: int = 0
    skipped: list[BadRecord] = field(default_factory=list)

    @property
    def changes(self) -> int:
        """Number of documents that were added, replaced or deleted."""
        return self.added + self.replaced + self.deleted


def _remembered(store: Store) -> dict[str, dict[str, list[Any]]]:
    """Return what the file says of each file of each folder: its size, time, hash and keys."""
    known = store.setting(SETTING) if store.has_setting(SETTING) else {}
    kinds = [int, int, str, list]
    try:
        entries = [entry for files in known.values() for entry in files.values()]
        sound = all([type(part) for part in entry] == kinds for entry in entries)
        sound = sound and all(isinstance(key, str) for entry in entries for key in entry[3])
    except (AttributeError, TypeError) as error:
        raise store.damaged("what it says of synced folders cannot be read") from error
    if not sound:
        raise store.damaged("what it says of synced folders cannot be read")
    remembered: dict[str, dict[str, list[Any]]] = known
    return remembered


def remember_folder(store: Store, folder: Path, since: float | None) -> None:
    """Note which files of a folder the documents came from, by their keys.

    The next sync reads those again that may have changed ``since`` they were read, or all of them.
    """
    documents, files = Documents(store), dict[str, list[Any]]()
    for key, _ in documents.names(documents.ids().tolist()).values():
        name = _file_of(key)
        if name not in files:
            files[name] = [*_unchanged(Path(folder, name), since), "", []]
        files[name][3].append(key)
    store.put_setting(SETTING, _remembered(store) | {str(folder.resolve()): files})


def _unchanged(path: Path, since: float | None) -> tuple[int, int]:
    """Return size and time of a file that was not written, moved or replaced since then; (-1, -1) of another one."""
    try:
        about = path.stat()
    except (OSError, ValueError):  # it is gone, or the key is no path
        return -1, -1
    latest = max(about.st_mtime_ns, about.st_ctime_ns)
    is_known = since is not None and latest < int(since * 1e9) - _RECENT
    return (about.st_size, about.st_mtime_ns) if is_known else (-1, -1)


def _file_of(key: str) -> str:
    """Return the file of a document: its key, without the number of a message."""
    name, _, number = key.rpartition("#")
    try:
        return name if number.isdigit() and format_of(Path(name)) in SEVERAL else key
    except ValueError:
        return key


class FolderSync:
    """One run over a folder, within a transaction; the file remembers size, time, hash and keys of each file.

    Parameters
    ----------
    store : Store
    folder : Path
    include, exclude : list of str
    encoding : str, optional
        As in `read_documents`.
    """

    def __init__(
        self, store: Store, folder: Path, include: Sequence[str], exclude: Sequence[str], encoding: str | None
    ) -> None:
        if not folder.is_dir():
            raise NotADirectoryError(f"{folder} is not a folder. Name the folder that the collection follows.")
        self.done = Synced()
        self._store, self._documents, self._encoding = store, Documents(store), Encoding.of(encoding)
        self._files = folder_files(folder, include, exclude, self.done.skipped.append)
        self._root = folder
        self._all = _remembered(store)
        self._known = self._all.get(str(folder.resolve()), {})
        if self._known and not self._files:
            raise ValueError(
                f"{folder} has no files, but {len(self._known):,} were there before. Is a disk missing? If they are "
                "meant to be gone, delete the documents, or build the collection again."
            )
        # Behind the hash of a file that cannot be read.
        self._unread = f", not read as {encoding or 'text'}"
        self._now: dict[str, list[Any]] = {}
        self.gone: set[str] = set()

    def documents(self) -> Iterator[Document]:
        """Give the documents that are new or have changed."""
        for file in self._files:
            try:
                yield from self._changed(file)
            except (OSError, ValueError, ImportError) as error:
                self.done.skipped.append(unreadable(file.place, error))
                if file.name in self._known:
                    self._now[file.name] = self._known[file.name]
        closed = {Path(bad.place) for bad in self.done.skipped}
        for name, entry in self._known.items():
            if name in self._now:
                continue
            if closed and not closed.isdisjoint(Path(self._root, name).parents):
                self._now[name] = entry
            else:
                self.gone.update(entry[3])

    def _changed(self, file: FolderFile) -> Iterator[Document]:
        about = os.stat(file.place)  # noqa: PTH116  # of each file; a path object would take longer
        name = file.name
        old = self._known.get(name)
        if old is not None and not old[3] and not old[2].endswith(self._unread):
            old = None  # could not be read, but the encoding is another one now
        if old is not None and old[0] == about.st_size and old[1] == about.st_mtime_ns:
            self._now[name] = old
            self.done.unchanged += 1
            return
        modified = about.st_mtime_ns if about.st_mtime_ns < time.time_ns() - _RECENT else -1
        with file.path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "blake2b").hexdigest()[:32]
        if old is not None and old[2] == (digest if old[3] else digest + self._unread):
            self._now[name] = [about.st_size, modified, *old[2:]]
            self.done.unchanged += 1
            return
        try:
            found = list(file.documents(self._encoding))
        except ValueError:
            if old is None:  # not tried again until it changes
                self._now[name] = [about.st_size, modified, digest + self._unread, []]
            raise
        changed = [document for document in found if self._differs(document)]
        self.done.unchanged += not changed
        yield from changed
        keys = [str(document.key) for document in found]
        self._now[name] = [about.st_size, modified, digest, keys]
        self.gone.update(set(old[3] if old is not None else ()) - set(keys))

    def _differs(self, document: Document) -> bool:
        number = self._documents.find(str(document.key))
        if number is None:
            self.done.added += 1
            return True
        differs = self._documents.get(number) != document
        self.done.replaced += differs
        return differs

    def finish(self) -> None:
        """Remember the files."""
        if self._now != self._known:
            self._store.put_setting(SETTING, self._all | {str(self._root.resolve()): self._now})
