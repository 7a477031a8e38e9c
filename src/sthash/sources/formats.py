"""The formats of files: from a stream of bytes to records, one dictionary per document."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Generator, Iterable
from typing import IO, Any

from sthash.batches import BATCH_DOCUMENTS
from sthash.sources.tables import plain_record

# Each record comes with its place, such as "docs.jsonl, line 3", for the message of an error.
Records = Generator[tuple[str, dict[str, Any]], None, None]

LARGEST_FIELD = 2**31 - 1


def read_records(stream: IO[bytes], name: str, kind: str, encoding: str) -> Records:
    """Give the records of a stream in one of the `FORMATS`; ``name`` is for messages."""
    if kind == "parquet":
        yield from _parquet_records(stream, name)
        return
    # Only line feeds end a line: texts may hold any other character that Python takes for the end of a line.
    # The csv module wants to see the ends of lines as they are.
    text = io.TextIOWrapper(stream, encoding=encoding, newline="\n" if kind in ("txt", "jsonl") else "")
    try:
        yield from _TEXT_FORMATS[kind](text, name)
    finally:
        text.detach()  # the caller closes the stream


def _line_records(lines: Iterable[str], name: str) -> Records:
    for number, line in enumerate(lines, 1):
        yield f"{name}, line {number}", {"text": line.rstrip("\r\n")}


def _json_records(lines: Iterable[str], name: str) -> Records:
    for number, line in enumerate(lines, 1):
        if line.isspace():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{name}, line {number} is not JSON ({error}). Write one object per line.") from error
        if not isinstance(record, dict):
            raise ValueError(
                f"{name}, line {number} is not a JSON object but a {type(record).__name__}. Write one object per line."
            )
        yield f"{name}, line {number}", record


def _csv_records(lines: Iterable[str], name: str) -> Records:
    return _table_records(lines, name, ",")


def _tsv_records(lines: Iterable[str], name: str) -> Records:
    return _table_records(lines, name, "\t")


def _table_records(lines: Iterable[str], name: str, delimiter: str) -> Records:
    csv.field_size_limit(LARGEST_FIELD)
    # Strict: a quotation mark that is never closed is an error, not one long field.
    reader = csv.DictReader(lines, delimiter=delimiter, strict=True)
    try:
        for record in reader:
            if None in record or None in record.values():
                raise ValueError(
                    f"{name}, line {reader.line_num} does not have as many fields as the first line. "
                    "Quote fields that hold a delimiter or a line break."
                )
            yield f"{name}, line {reader.line_num}", dict(record)
    except csv.Error as error:
        place = f"{name}, line {reader.reader.line_num}"  # the DictReader's own number lags behind on an error
        raise ValueError(f"{place} cannot be read ({error}). Correct its quotation marks, or use jsonl.") from error


def _parquet_records(stream: IO[bytes], name: str) -> Records:
    try:
        from pyarrow import ArrowException, BufferReader
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise ImportError(f"{name}: Parquet needs pyarrow. Install it: pip install 'sthash[parquet]'.") from error
    # A plain file is read as it is needed. Parquet jumps to and fro, which a pipe or a compressed file cannot do well.
    plain = isinstance(stream, io.BufferedReader) and stream.seekable()
    try:
        number = 0
        for batch in ParquetFile(stream if plain else BufferReader(stream.read())).iter_batches(BATCH_DOCUMENTS):
            for record in batch.to_pylist():
                number += 1
                yield f"{name}, row {number}", plain_record(record)
    except ArrowException as error:
        raise ValueError(f"{name} cannot be read as Parquet ({error}). Check the file, or set format.") from error


_TEXT_FORMATS: dict[str, Callable[[Iterable[str], str], Records]] = {
    "txt": _line_records,
    "jsonl": _json_records,
    "csv": _csv_records,
    "tsv": _tsv_records,
}
FORMATS = (*_TEXT_FORMATS, "parquet")
