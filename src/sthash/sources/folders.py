"""Folders: one document per file, and what is known of a file without reading it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from sthash.sources.compression import SUFFIXES, opened
from sthash.sources.documents import Document
from sthash.sources.encodings import Encoding
from sthash.sources.formats import ENDINGS, FORMATS, SEVERAL, UNREADABLE, read_records
from sthash.sources.kinds import KINDS
from sthash.sources.records import BadRecord, OnBad


@dataclass(frozen=True, slots=True)
class FolderFile:
    """A file of a folder: where it is, and the names below the folder."""

    place: str
    parts: tuple[str, ...]

    @property
    def path(self) -> Path:
        """Where it is."""
        return Path(self.place)

    @property
    def name(self) -> str:
        """The path below the folder, which is the key of the document."""
        return "/".join(self.parts)

    @property
    def label(self) -> str | None:
        """The first folder of the path."""
        return self.parts[0] if len(self.parts) > 1 else None

    def documents(self, encoding: Encoding) -> Iterator[Document]:
        """Read the file: one document, or those of a mailbox."""
        kind = format_of(self.path)
        if kind == "parquet":
            raise ValueError(f"{self.path} is a table, not one document. Name it as a source of its own.")
        with opened(self.path) as stream:
            records = read_records(stream, str(self.path), kind if kind in KINDS else "txt", encoding)
            for number, (_, record) in enumerate(records, 1):
                key = f"{self.name}#{number}" if kind in SEVERAL else self.name
                yield Document(key, record["text"], self.label, record["metadata"])


def folder_files(
    folder: Path, include: Sequence[str] = (), exclude: Sequence[str] = (), on_skip: OnBad = lambda _: None
) -> list[FolderFile]:
    """Return the files of a folder and of those in it, sorted, without hidden ones.

    Parameters
    ----------
    folder : Path
    include, exclude : list of str
        Patterns; see `read_documents`.
    on_skip : callable
        Called with a `BadRecord` for each folder that cannot be opened, and for what is no file: links to folders,
        which are not followed, links to nothing, and pipes.
    """
    entries = [
        (parts, entry)
        for parts, entry in _entries(folder, on_skip)
        if (not include or any(_matches(pattern, parts) for pattern in include))
        and not any(_matches(pattern, parts) for pattern in exclude)
    ]
    entries.sort(key=lambda pair: pair[0])
    return [FolderFile(entry.path, parts) for parts, entry in entries if _is_file(entry, on_skip)]


def _entries(folder: Path, on_skip: OnBad) -> Iterator[tuple[tuple[str, ...], os.DirEntry[str]]]:
    """Give what is in a folder, and in the folders in it, except for hidden files and folders."""
    # Entries of the system, because path objects take longer than the disk when there are many files.
    waiting: list[tuple[tuple[str, ...], str]] = [((), os.fspath(folder))]
    while waiting:
        above, path = waiting.pop()
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    if entry.name.startswith("."):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(((*above, entry.name), entry.path))
                    else:
                        yield (*above, entry.name), entry
        except OSError as error:
            on_skip(BadRecord(path, f"{path} cannot be opened ({error.strerror})."))


def _is_file(entry: os.DirEntry[str], on_skip: OnBad) -> bool:
    try:
        if entry.is_file():
            return True
        is_folder = entry.is_dir()
    except OSError:  # a link that leads to itself
        is_folder = False
    if is_folder:
        reason = "is a link to a folder, which is not followed. Name the folder itself."
    elif entry.is_symlink():
        reason = "is a link that leads to no file. Correct or remove it."
    else:
        reason = "is no file that can be read."
    on_skip(BadRecord(entry.path, f"{entry.path} {reason}"))
    return False


def _matches(pattern: str, parts: tuple[str, ...]) -> bool:
    wanted = pattern.rstrip("/")
    if "/" in wanted:
        path = "/".join(parts)
        return fnmatchcase(path, wanted) or fnmatchcase(path, f"{wanted}/*")
    return any(fnmatchcase(part, wanted) for part in parts)


def format_of(path: Path) -> str:
    """Return the format of a file by its name."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in SUFFIXES:
        suffixes.pop()
    ending = suffixes[-1].lstrip(".") if suffixes else ""
    if ending in UNREADABLE:
        raise ValueError(f"{path}: .{ending} files are not read. {UNREADABLE[ending]}")
    kind = ENDINGS.get(ending, ending)
    return kind if kind in FORMATS else "txt"
