"""`read_documents`: files, folders, standard input and tables, one document after the other."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, Any, cast

from sthash.sources.documents import Document
from sthash.sources.fields import SourceFields
from sthash.sources.formats import FORMATS, read_records
from sthash.sources.tables import is_table, table_records

_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
_USUAL_FIELDS = SourceFields()


def read_documents(
    sources: Any,
    fields: SourceFields = _USUAL_FIELDS,
    *,
    encoding: str = "utf-8",
    format: str | None = None,  # noqa: A002
) -> Iterator[Document]:
    r"""Give the documents of sources, one after the other; nothing is read before it is asked for.

    Parameters
    ----------
    sources : path, table, or iterable of them
        A path (str or path object) names a folder or a file; ``"-"`` is standard input. A file holds one document per
        line (``.txt``), per JSON object (``.jsonl``) or per row (``.csv``, ``.tsv``, ``.parquet``), and may be
        compressed (``.gz``, ``.xz``, ``.bz2``). A folder holds one document per file: the path below the folder is the
        key, the first folder of this path is the label, hidden files are passed over. A table is a pandas DataFrame, or
        anything with the Arrow stream interface, such as a pyarrow Table or a polars DataFrame.
    fields : SourceFields
        Which fields hold the key, the text and the label.
    encoding : str
        Encoding of text files. A byte order mark is left out in UTF-8.
    format : {"txt", "jsonl", "csv", "tsv", "parquet"}, optional
        Format of files whose names do not tell it, and of standard input (``jsonl`` by default).

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sthash.sources import SourceFields, read_documents
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "docs.csv")
    ...     _ = path.write_text("id,body,year\na,some text,2010\n")
    ...     list(read_documents(path, SourceFields(text="body")))
    [Document(key='a', text='some text', label=None, metadata={'year': '2010'})]
    """
    if format is not None and format not in FORMATS:
        raise ValueError(f"format={format!r} is not known. Use one of: {', '.join(FORMATS)}.")
    codec = _codec(encoding)
    single = isinstance(sources, str | os.PathLike) or is_table(sources)
    return _read(cast("Iterable[Any]", [sources] if single else sources), fields, codec, format)


def _read(sources: Iterable[Any], fields: SourceFields, encoding: str, kind: str | None) -> Iterator[Document]:
    for source in sources:
        if is_table(source):
            for position, record in enumerate(table_records(source)):
                yield fields.document(record, f"row {position} of the table")
        elif isinstance(source, str) and source == "-":
            yield from _from_stream(sys.stdin.buffer, "standard input", kind or "jsonl", fields, encoding)
        elif Path(source).is_dir():
            yield from _from_folder(Path(source), fields, encoding)
        else:
            path = Path(source)
            found = kind or _kind(path)
            with _opened(path) as stream:
                yield from _from_stream(stream, str(path), found, fields, encoding)


def _from_stream(stream: IO[bytes], name: str, kind: str, fields: SourceFields, encoding: str) -> Iterator[Document]:
    records = read_records(stream, name, kind, encoding)
    # Closed before the stream that they are read from, also when nobody wants the rest.
    with _clear_errors(name, encoding), closing(records):
        for place, record in records:
            yield fields.document(record, place)


def _from_folder(folder: Path, fields: SourceFields, encoding: str) -> Iterator[Document]:
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if not path.is_file() or any(part.startswith(".") for part in parts):
            continue
        with _clear_errors(str(path), encoding), _opened(path) as stream:
            text = stream.read().decode(encoding)
        label = parts[0] if len(parts) > 1 else None
        if "label" in fields.required and label is None:
            raise ValueError(f"{path} has no label. Put it into a folder that has the name of its label.")
        yield Document("/".join(parts), text, label)


def _kind(path: Path) -> str:
    """Tell the format of a file by its name."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _OPENERS:
        suffixes.pop()
    kind = suffixes[-1].lstrip(".") if suffixes else ""
    if kind not in FORMATS:
        raise ValueError(f"{path}: the name does not tell the format. Set format to one of: {', '.join(FORMATS)}.")
    return kind


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    opener = _OPENERS.get(path.suffix.lower())
    with cast("IO[bytes]", opener(path, "rb") if opener else path.open("rb")) as stream:
        yield stream


def _codec(encoding: str) -> str:
    try:
        name = codecs.lookup(encoding).name
    except LookupError as error:
        raise ValueError(f"encoding={encoding!r} is not known. Use one that Python knows, such as latin-1.") from error
    return "utf-8-sig" if name == "utf-8" else encoding


@contextmanager
def _clear_errors(name: str, encoding: str) -> Iterator[None]:
    try:
        yield
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{name} is not {encoding.removesuffix('-sig')} ({error.reason}). Set encoding, for example to latin-1."
        ) from error
    except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the system's own error, not that of a decompressor
        raise ValueError(f"{name} is damaged or cut short ({error}). Get the file again.") from error
