"""The formats of files: from a stream of bytes to records, one dictionary per document."""

from __future__ import annotations

import codecs
import csv
import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any

from sthash.sources.encodings import Encoding, plain_stream
from sthash.sources.kinds import KINDS
from sthash.sources.origin import Origin
from sthash.sources.parquet import parquet_records
from sthash.sources.records import LARGEST_RECORD, BadRecord, OnBad, Records, refuse, too_large

_CHUNK = 1 << 20
_PIECES = re.compile(rb"[^\r]*\r\n?|[^\r]+")
_SEPARATOR = re.compile(r"sep=([,;|\t])\r?\n?", re.IGNORECASE)  # the first line, as spreadsheets write it
_NO_SPACE = re.compile(r"\S")


def read_records(
    stream: IO[bytes],
    name: str,
    kind: str,
    encoding: Encoding | None = None,
    on_bad: OnBad = refuse,
    vector: str | None = None,
    origin: Origin | None = None,
) -> Records:
    """Give the records of a stream in one of the `FORMATS`.

    Parameters
    ----------
    stream : binary file
    name : str
        For messages.
    kind : str
    encoding : Encoding, optional
    on_bad : callable
        Called with what cannot be read; it raises an error, or reading continues after it.
    vector : str, optional
        Field that holds a vector, which may come as an array.
    origin : Origin, optional
        Told of each record that is given.
    """
    if origin is not None:
        origin.begin(name, kind)
    if kind == "parquet":
        yield from parquet_records(stream, name, vector, origin)
        return
    if kind in KINDS:
        yield from _file_records(stream, name, kind, encoding or Encoding(), on_bad)
        return
    plain, found = plain_stream(stream, name, encoding or Encoding())
    lines = _Lines(plain, name, found, on_bad)
    if origin is not None and kind != "json":
        origin.lines = lines
    yield from _TEXT_FORMATS[kind](lines)


class _Lines:
    """The lines of a stream: only line feeds end a line, because texts may contain Python's other line ends.

    Attributes
    ----------
    number : int
        Of the last line, from 1 on.
    offset : int
        Bytes before it.
    parts : sequence of bytes
        The lines of the last record.
    head : bytes
        The lines before the first record of a table.
    dialect : tuple
        The delimiter and the fields of a table.
    """

    def __init__(self, stream: IO[bytes], name: str, encoding: Encoding, on_bad: OnBad) -> None:
        self.stream, self.name, self.encoding, self.on_bad = stream, name, encoding, on_bad
        self.number = self.offset = self._end = 0
        self.parts: Sequence[bytes] = ()
        self.head, self.dialect = b"", tuple[Any, ...]()

    @property
    def place(self) -> str:
        return f"{self.name}, line {self.number}"

    def __iter__(self) -> Iterator[bytes]:
        while line := self.stream.readline(LARGEST_RECORD + 1):
            self.number, self.offset, self._end = self.number + 1, self._end, self._end + len(line)
            if len(line) > LARGEST_RECORD:
                self.on_bad(too_large(self.place))
                while line and not line.endswith(b"\n"):
                    line = self.stream.readline(_CHUNK)
                    self._end += len(line)
                continue
            self.parts = (line,)
            yield line

    def texts(self) -> Iterator[str]:
        """Iterate over the lines as text; those that cannot be decoded are bad."""
        for line in self:
            try:
                text = self.encoding.decode(line)
            except UnicodeDecodeError as error:
                reason = self.encoding.problem(self.place, line, self.offset, error)
                self.on_bad(BadRecord(self.place, reason, line.decode("latin-1").rstrip("\r\n")))
            else:
                yield text


def _line_records(lines: _Lines) -> Records:
    for text in lines.texts():
        yield lines.place, {"text": text.rstrip("\r\n")}


def _file_records(stream: IO[bytes], name: str, kind: str, encoding: Encoding, on_bad: OnBad) -> Records:
    """Give the document that a file is; one of several has its number after the name of the file."""
    found = KINDS[kind](stream, name, encoding)
    number = 0
    while True:
        try:
            record = next(found, None)
        except ValueError as error:
            if on_bad is refuse:
                raise
            on_bad(BadRecord(name, str(error)))
            return
        if record is None:
            return
        number += 1
        key = f"{name}#{number}" if kind in SEVERAL else name
        yield key, {"key": key, **record}


def _json_line_records(lines: _Lines) -> Records:
    for text in lines.texts():
        if text.isspace():
            continue
        try:
            record = json.loads(text)
        except (ValueError, RecursionError) as error:
            reason = f"{lines.place} is not JSON ({error}). Write one object per line."
            lines.on_bad(BadRecord(lines.place, reason, text.rstrip("\r\n")))
            continue
        if not isinstance(record, dict):
            kind = type(record).__name__
            remedy = "Write one object per line, or set format to json if the source is one array."
            reason = f"{lines.place} is not a JSON object but a {kind}. {remedy}"
            lines.on_bad(BadRecord(lines.place, reason, text.rstrip("\r\n")))
            continue
        yield lines.place, record


def _json_records(lines: _Lines) -> Records:
    """Read arrays of objects, or objects, one after the other, item by item."""
    buffer = _JsonBuffer(lines)
    number, inside = 0, False
    while next_one := buffer.peek():
        if next_one == ("]" if inside else "["):
            buffer.take()
            inside = not inside
            continue
        number += 1
        place = f"{lines.name}, item {number}"
        try:
            record = buffer.value()
            if inside and buffer.peek() not in (",", "]"):
                raise ValueError("a comma or the end of the array is missing after it")
            if inside and buffer.peek() == ",":
                buffer.take()
        except (ValueError, RecursionError) as error:
            # Where the next item begins is only known if this one is valid.
            reason = f"{place} is not JSON ({error}). Write an array of objects."
            lines.on_bad(BadRecord(f"{place} and the rest of it", reason))
            return
        if isinstance(record, dict):
            yield place, record
        else:
            reason = f"{place} is not a JSON object but a {type(record).__name__}. Write an array of objects."
            lines.on_bad(BadRecord(place, reason, json.dumps(record)))
    if inside:
        lines.on_bad(BadRecord(lines.name, f"{lines.name} ends before its array does. Get the file again."))


class _JsonBuffer:
    """Values of JSON from a stream, as many characters as they need at a time."""

    def __init__(self, lines: _Lines) -> None:
        self._lines = lines
        self._decoder = codecs.getincrementaldecoder(lines.encoding.names[0])()
        self._parser = json.JSONDecoder()
        self._text, self._start, self._offset, self._ended = "", 0, 0, False

    def peek(self) -> str:
        """Return the next character that is no space; empty at the end."""
        while True:
            found = _NO_SPACE.search(self._text, self._start)
            self._start = len(self._text) if found is None else found.start()
            if found is not None:
                return found.group()
            if not self._more(_CHUNK):
                return ""

    def take(self) -> None:
        """Skip the next character."""
        self._start += 1

    def value(self) -> Any:
        """Return the next value."""
        self.peek()
        while True:
            size = len(self._text) - self._start
            try:
                value, end = self._parser.raw_decode(self._text, self._start)
            except json.JSONDecodeError as error:
                # A value that ends early may continue; an error in the middle stays an error.
                unfinished = error.msg.startswith("Unterminated") or len(self._text) - error.pos < 16
                if not unfinished or size > LARGEST_RECORD or not self._more(max(_CHUNK, size)):
                    if size > LARGEST_RECORD:
                        raise ValueError(f"larger than {LARGEST_RECORD // 2**20} MiB") from error
                    raise ValueError(error.msg) from error
            else:
                # A number at the end of what was read may continue: 12|34, 1|.5, 1.|5, 1e+|5.
                if isinstance(value, int | float) and len(self._text) - end < 3 and self._more(max(_CHUNK, size)):
                    continue
                self._start = end
                return value

    def _more(self, size: int) -> bool:
        if self._ended:
            return False
        content = self._lines.stream.read(size)
        self._ended = not content
        try:
            text = self._decoder.decode(content, final=self._ended)
        except UnicodeDecodeError as error:
            before = self._offset - (len(error.object) - len(content))
            raise ValueError(self._lines.encoding.problem(self._lines.name, error.object, before, error)) from error
        self._offset += len(content)
        self._text, self._start = self._text[self._start :] + text, 0
        return True


def _csv_records(lines: _Lines) -> Records:
    return _table_records(lines, ",;\t|")


def _tsv_records(lines: _Lines) -> Records:
    return _table_records(lines, "\t")


def _table_records(lines: _Lines, delimiters: str) -> Records:
    """Read rows; the delimiter is what a line ``sep=;`` says, or the one that gives the first line the most fields."""
    csv.field_size_limit(LARGEST_RECORD)
    rows = _Rows(lines)
    first = rows.peek()
    if stated := _SEPARATOR.fullmatch(first):
        delimiter = stated.group(1)
        next(rows)
        lines.head = b"".join(rows.own)
    else:
        delimiter = max(delimiters, key=lambda sign: len(next(csv.reader([first], delimiter=sign), [])))
    # Strict: a quotation mark that is never closed is an error, not one long field.
    reader = csv.reader(rows, delimiter=delimiter, strict=True)
    header: list[str] | None = None
    while True:
        rows.begin()
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            reason = f"{rows.place} cannot be read ({error}). Correct its quotation marks, or use jsonl."
            lines.on_bad(BadRecord(rows.place, reason, rows.text))
            continue
        if not row:
            continue
        if rows.problem is not None:
            lines.on_bad(BadRecord(rows.place, rows.problem, rows.text))
        elif header is None:
            header = row
            lines.head += b"".join(rows.own)
            lines.dialect = (delimiter, *row)
            if twice := next((field for field, count in Counter(row).items() if count > 1), None):
                raise ValueError(f"{rows.place} has the field {twice!r} twice. Rename one of them.")
        elif len(row) != len(header):
            reason = (
                f"{rows.place} does not have as many fields as the first line. "
                "Quote fields that hold a delimiter or a line break."
            )
            lines.on_bad(BadRecord(rows.place, reason, rows.text))
        else:
            lines.parts = rows.own
            yield rows.place, dict(zip(header, row, strict=True))


class _Rows:
    """The lines of a table for the csv module, which finds out where a record ends."""

    def __init__(self, lines: _Lines) -> None:
        self._lines = lines
        # A lone carriage return also ends a line: old spreadsheets write them.
        self._source: Iterator[bytes] = (
            piece for line in lines for piece in (_PIECES.findall(line) if b"\r" in line else (line,))
        )
        self.begin()

    def peek(self) -> str:
        """Return the first line, which is read again."""
        first = next(self._source, b"")
        self._source = itertools.chain([first] if first else [], self._source)
        return first.decode("utf-8", "replace")

    def begin(self) -> None:
        """Note that a record begins."""
        self.own, self._size = list[bytes](), 0
        self.problem: str | None = None

    @property
    def place(self) -> str:
        return self._lines.place

    @property
    def text(self) -> str:
        """The record as written in the file."""
        return b"".join(self.own).decode("utf-8", "backslashreplace").rstrip("\r\n")

    def __iter__(self) -> _Rows:
        return self

    def __next__(self) -> str:
        line = next(self._source)
        self._size += len(line)
        if self._size > LARGEST_RECORD:
            raise ValueError(too_large(self.place).reason)
        self.own.append(line)
        encoding = self._lines.encoding
        try:
            return encoding.decode(line)
        except UnicodeDecodeError as error:
            # Read the record to its end, or its last lines would be taken for records.
            self.problem = encoding.problem(self.place, line, self._lines.offset, error)
            return line.decode(encoding.names[0], "replace")


_TEXT_FORMATS: dict[str, Callable[[_Lines], Records]] = {
    "lines": _line_records,
    "jsonl": _json_line_records,
    "json": _json_records,
    "csv": _csv_records,
    "tsv": _tsv_records,
}
FORMATS = (*_TEXT_FORMATS, "parquet", *KINDS)
# Formats of files that hold several documents, each with a number.
SEVERAL = ("mbox",)
# Other endings of the names of files. Files with an ending that is not known are text.
ENDINGS = {"ndjson": "jsonl", "markdown": "md", "htm": "html", "xhtml": "html", "vtt": "srt", "docm": "docx"}
# What is neither text nor a format that is read, though it may look like text.
UNREADABLE = {
    "rtf": "Save it as .docx.",
    "doc": "Save it as .docx.",
    "xls": "Save it as .xlsx.",
    "ppt": "Save it as .pptx.",
}
