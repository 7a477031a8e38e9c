"""From files to documents: folders, lines, JSON lines, tables; compressed or not; standard input."""

from __future__ import annotations

import csv
import gzip
import io
import json
import lzma
import sys
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from sthash.sources import Document

Rows = Generator[tuple[str, dict[str, Any]], None, None]
FORMATS = ("txt", "jsonl", "csv", "tsv", "parquet")
_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open}
_DAMAGED = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)


@dataclass(frozen=True)
class Fields:
    """Which field of a row is what; the others become metadata. None takes the usual name, if it is there."""

    key: str | None = None
    text: str | None = None
    label: str | None = None
    encoding: str = "utf-8"
    format: str | None = None


def read_documents(sources: Iterable[str], fields: Fields) -> Iterator[Document]:
    """Give the documents of files and folders, one after the other; ``-`` is standard input."""
    for source in sources:
        if source == "-":
            yield from _from_rows(_rows(sys.stdin.buffer, "standard input", fields.format or "jsonl", fields), fields)
        elif Path(source).is_dir():
            yield from _from_folder(Path(source), fields)
        else:
            yield from _from_file(Path(source), fields)


def _from_folder(folder: Path, fields: Fields) -> Iterator[Document]:
    """One document a file: its path is the key, its topmost folder the label. Hidden files are passed over."""
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if not path.is_file() or any(part.startswith(".") for part in parts):
            continue
        with _clear_errors(str(path), fields), _opened(path) as stream:
            text = stream.read().decode(fields.encoding)
        yield Document("/".join(parts), text, parts[0] if len(parts) > 1 else None)


def _from_file(path: Path, fields: Fields) -> Iterator[Document]:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _OPENERS:
        suffixes.pop()
    name = fields.format or (suffixes[-1].lstrip(".") if suffixes else "")
    if name not in FORMATS:
        raise ValueError(f"{path}: cannot tell what format it has; use --format with one of: {', '.join(FORMATS)}.")
    with _opened(path) as stream:
        yield from _from_rows(_rows(stream, str(path), name, fields), fields)


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    opener = _OPENERS.get(path.suffix.lower())
    with cast("IO[bytes]", opener(path, "rb") if opener else path.open("rb")) as stream:
        yield stream


def _rows(stream: IO[bytes], name: str, kind: str, fields: Fields) -> Rows:
    """Give each row with where it stands."""
    if kind == "parquet":
        yield from _parquet_rows(stream, name)
        return
    with _clear_errors(name, fields):
        # Only line feeds end a line: texts may hold any other character that Python takes for the end of one.
        text = io.TextIOWrapper(stream, encoding=fields.encoding, newline="" if kind in ("csv", "tsv") else "\n")
        try:
            if kind == "txt":
                for number, line in enumerate(text, 1):
                    yield f"{name}, line {number}", {"text": line.rstrip("\r\n")}
            elif kind == "jsonl":
                yield from _json_rows(text, name)
            else:
                yield from _table_rows(text, name, "\t" if kind == "tsv" else ",")
        finally:
            text.detach()  # whoever opened the stream closes it


def _json_rows(lines: Iterable[str], name: str) -> Rows:
    for number, line in enumerate(lines, 1):
        if line.isspace():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{name}, line {number} is not JSON ({error}).") from error
        if not isinstance(row, dict):
            raise ValueError(f"{name}, line {number} is not a JSON object but a {type(row).__name__}.")
        yield f"{name}, line {number}", row


def _table_rows(lines: Iterable[str], name: str, delimiter: str) -> Rows:
    csv.field_size_limit(2**31 - 1)
    reader = csv.DictReader(lines, delimiter=delimiter)
    try:
        for row in reader:
            if None in row or None in row.values():
                raise ValueError(f"{name}, line {reader.line_num} does not have as many fields as the first line.")
            yield f"{name}, line {reader.line_num}", dict(row)
    except csv.Error as error:
        raise ValueError(f"{name}, line {reader.line_num} cannot be read ({error}).") from error


def _parquet_rows(stream: IO[bytes], name: str) -> Rows:
    try:
        from pyarrow import ArrowException, BufferReader
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise ImportError(f"{name}: Parquet needs pyarrow; pip install 'sthash[parquet]'.") from error
    try:
        number = 0
        for batch in ParquetFile(BufferReader(stream.read())).iter_batches():
            for row in batch.to_pylist():
                number += 1
                yield f"{name}, row {number}", row
    except ArrowException as error:
        raise ValueError(f"{name} cannot be read as Parquet ({error}).") from error


def _from_rows(rows: Rows, fields: Fields) -> Iterator[Document]:
    with closing(rows):  # before the stream that they are read from, also when nobody wants the rest
        for place, row in rows:
            yield _from_row(row, place, fields)


def _from_row(row: dict[str, Any], place: str, fields: Fields) -> Document:
    key = _taken(row, fields.key, ("key", "id"), "--key", place)
    text = _taken(row, fields.text, ("text",), "--text", place)
    label = _taken(row, fields.label, ("label",), "--label", place)
    if text is None:
        raise ValueError(f"{place} has no field 'text'; name the field that holds the text with --text.")
    more = row.pop("metadata", None)
    metadata = row | more if isinstance(more, dict) else row if more is None else row | {"metadata": more}
    return Document(_string(key), _string(text) or "", _string(label), metadata)


def _taken(row: dict[str, Any], wanted: str | None, usual: tuple[str, ...], option: str, place: str) -> Any:
    if wanted is not None:
        if wanted not in row:
            raise ValueError(f"{place} has no field {wanted!r}, which {option} names; it has: {', '.join(row)}.")
        return row.pop(wanted)
    for name in usual:
        if name in row:
            return row.pop(name)
    return None


def _string(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else str(value)


@contextmanager
def _clear_errors(name: str, fields: Fields) -> Iterator[None]:
    try:
        yield
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{name} is not {fields.encoding} ({error.reason}); name its --encoding, say latin-1."
        ) from error
    except LookupError as error:
        raise ValueError(f"--encoding {fields.encoding} is not known.") from error
    except _DAMAGED as error:
        raise ValueError(f"{name} is damaged or cut short ({error}).") from error
