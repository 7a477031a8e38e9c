"""Records as they came: kept in a temporary file while documents are read, and written again where they are wanted."""

from __future__ import annotations

import codecs
import sys
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol, Self

from sthash.cli.edits import Edit, edited_column
from sthash.cli.output import json_line

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from sthash.sources import Document, Origin

# Formats that are written as they came, each with the endings of file names that stand for it.
_ENDINGS = {
    "jsonl": (".jsonl", ".ndjson", ".json"),
    "csv": (".csv",),
    "tsv": (".tsv",),
    "parquet": (".parquet",),
    "lines": (),
}
_ROWS_AT_ONCE = 1 << 16
_BYTES_AT_ONCE = 64 << 20


class Originals(Protocol):
    """The records of documents, in the order in which these are read."""

    def add(self, document: Document, origin: Origin) -> None:
        """Keep the record of the document that was read last."""

    def end(self, origin: Origin) -> None:
        """Note that all documents have been read."""

    def write(self, file: IO[bytes], is_wanted: npt.NDArray[np.bool_]) -> None:
        """Write the records that are wanted."""

    def write_edited(self, file: IO[bytes], edits: Iterable[tuple[int, Edit]]) -> None:
        """Write all records, some of them changed, given with their positions in order."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...


def noted(documents: Iterable[Document], origin: Origin, originals: Originals) -> Iterator[Document]:
    """Give documents with their key and text, and keep their records."""
    from sthash.sources import Document

    for document in documents:
        originals.add(document, origin)
        yield Document(document.key, document.text)
    originals.end(origin)


def originals_for(sources: Sequence[str], stated: str | None, output: str | None) -> Originals:
    """Return what keeps the records for an output: as they came if all sources have one format, else as JSON lines.

    Parameters
    ----------
    sources : list of str
    stated : str, optional
        The format of all sources, whatever their names.
    output : str, optional
        A file, whose ending says what to write; None is standard output, where Parquet becomes JSON lines.
    """
    from sthash.sources.compression import SUFFIXES

    kinds = {_kind(source, stated) for source in sources}
    own = next(iter(kinds)) if len(kinds) == 1 else ""
    if output is None:
        return _Text() if own in _ENDINGS and own != "parquet" else _AsJson(sys.stdout.encoding)
    ending = Path(output).suffix.lower()
    if ending in SUFFIXES:
        raise ValueError(f"{output} would not be compressed. Write to {output.removesuffix(ending)}, and compress it.")
    wanted = next((kind for kind, endings in _ENDINGS.items() if ending in endings), own)
    if wanted != own and wanted in _ENDINGS and wanted != "jsonl":
        raise ValueError(f"{output} cannot be written: the sources are not all {wanted}. Write to a .jsonl file.")
    if wanted == own == "parquet":
        return _Parquet()
    return _Text() if wanted == own and own in _ENDINGS else _AsJson("utf-8")


def _kind(source: str, stated: str | None) -> str:
    from sthash.sources.folders import format_of

    if source == "-":
        return stated or "jsonl"
    return "folder" if Path(source).is_dir() else stated or format_of(Path(source))


class _Spooled:
    """Records as bytes."""

    def __init__(self) -> None:
        from sthash.duplicates.spool import RecordSpool

        self._spool = RecordSpool()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._spool.close()

    def end(self, origin: Origin) -> None:
        pass

    def _edited(self, edits: Iterable[tuple[int, Edit]]) -> Iterator[bytes]:
        """Give all records, some of them changed."""
        coming = iter(edits)
        position, edit = next(coming, (-1, None))
        for place, record in enumerate(self._spool.chosen(_every(len(self._spool)))):
            if place != position or edit is None:
                yield record
                continue
            yield self._changed(record, edit)
            position, edit = next(coming, (-1, None))

    def _changed(self, record: bytes, edit: Edit) -> bytes:
        raise NotImplementedError


class _AsJson(_Spooled):
    """Records as JSON lines: those that are JSON lines already as they came."""

    def __init__(self, encoding: str | None) -> None:
        super().__init__()
        self._encoding = codecs.lookup(encoding or "utf-8").name

    def add(self, document: Document, origin: Origin) -> None:
        record = _fields(document) if origin.kind not in (*_ENDINGS, "json", "table") else origin.record or {}
        line = origin.content.rstrip(b"\r\n") if origin.kind == "jsonl" else b""
        alike = origin.lines is not None and origin.lines.encoding.names == (self._encoding,)
        if not line or not (alike or line.isascii()):
            line = json_line(record, self._encoding).encode(self._encoding)
        self._spool.append(line + b"\n")

    def write(self, file: IO[bytes], is_wanted: npt.NDArray[np.bool_]) -> None:
        file.writelines(self._spool.chosen(is_wanted))

    def write_edited(self, file: IO[bytes], edits: Iterable[tuple[int, Edit]]) -> None:
        file.writelines(self._edited(edits))

    def _changed(self, record: bytes, edit: Edit) -> bytes:
        return edit.of_json(record.decode(self._encoding)).encode(self._encoding)


def _fields(document: Document) -> dict[str, Any]:
    """Return a file that is one document as a record."""
    own = {"key": document.key, "text": document.text, "label": document.label}
    return document.metadata | {name: value for name, value in own.items() if value is not None}


class _Text(_Spooled):
    """Records of text, byte for byte; before those of a table, its first lines."""

    def __init__(self) -> None:
        super().__init__()
        self._first: Any = None
        self._name = ""
        self._last: Any = None
        self._kind = ""

    def add(self, document: Document, origin: Origin) -> None:
        if origin.lines is not self._last:
            self._begin(origin)
        self._spool.append(origin.content)
        self._kind = origin.kind

    def _begin(self, origin: Origin) -> None:
        """Check that a source is written as the first one is."""
        self._last = lines = origin.lines
        if lines is None:
            return
        if self._first is None:
            self._first, self._name = lines, origin.name
            return
        for what, own, first in (
            ("encoding", _encodings(lines), _encodings(self._first)),
            ("delimiter or header", lines.dialect, self._first.dialect),
        ):
            if own != first:
                remedy = "Deduplicate into a .jsonl file (-o), or make them alike."
                raise ValueError(f"{origin.name} has another {what} than {self._name}. {remedy}")

    def end(self, origin: Origin) -> None:
        if self._first is None:  # a table without rows
            self._begin(origin)

    def write(self, file: IO[bytes], is_wanted: npt.NDArray[np.bool_]) -> None:
        self._write(file, self._spool.chosen(is_wanted))

    def write_edited(self, file: IO[bytes], edits: Iterable[tuple[int, Edit]]) -> None:
        self._write(file, self._edited(edits))

    def _changed(self, record: bytes, edit: Edit) -> bytes:
        names = ("utf-8",) if self._first.encoding.original is not None else self._first.encoding.names
        for name in names:
            try:
                line = record.decode(name)
            except UnicodeDecodeError:
                continue
            if self._kind == "jsonl":
                return edit.of_json(line).encode(name)
            if self._kind == "lines":
                return edit.of_line(line).encode(name)
            return edit.of_row(line, self._first.dialect).encode(name)
        raise ValueError(f"a record of {self._name} cannot be decoded again. Set its encoding.")

    def _write(self, file: IO[bytes], contents: Iterable[bytes]) -> None:
        if self._first is None:
            return
        encoding = self._first.encoding
        file.write(encoding.mark)
        line_end, ended = b"", True
        for content in _with_first(self._first.head, contents):
            if not ended:  # the last line of a source, which need not end
                file.write(_encoded(line_end, encoding.original))
            file.write(_encoded(content, encoding.original))
            ended = content.endswith((b"\n", b"\r"))
            line_end = line_end or (b"\r\n" if content.endswith(b"\r\n") else b"\n")


def _every(count: int) -> npt.NDArray[np.bool_]:
    import numpy as np

    return np.ones(count, dtype=bool)


def _with_first(head: bytes, contents: Iterable[bytes]) -> Iterator[bytes]:
    if head:
        yield head
    yield from contents


def _encodings(lines: Any) -> tuple[str, ...]:
    return lines.encoding.names if lines.encoding.original is None else (lines.encoding.original,)


def _encoded(content: bytes, original: str | None) -> bytes:
    """Return what was made UTF-8 in its own encoding."""
    return content if original is None else content.decode("utf-8", "surrogatepass").encode(original, "surrogatepass")


class _Parquet:
    """Rows of Parquet, value for value, in an Arrow stream."""

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="sthash-")  # noqa: SIM115
        self._stream: Any = None
        self._schema: Any = None
        self._name = ""
        self._batch: Any = None
        self._rows_before = self._rows = 0
        self._places = array("q")  # of documents among the rows: rows that cannot be read give none

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, document: Document, origin: Origin) -> None:
        if origin.batch is not self._batch:
            self._take(origin)
        self._places.append(self._rows_before + origin.row)

    def _take(self, origin: Origin) -> None:
        from pyarrow import Table, ipc

        from sthash.duplicates.spool import spilling

        self._begin(origin)
        self._batch = origin.batch
        with spilling():
            if self._stream is None:
                options = ipc.IpcWriteOptions(compression="lz4")
                self._stream = ipc.new_stream(self._file, self._schema, options=options)
            self._stream.write_table(Table.from_batches([origin.batch]).cast(self._schema))
        self._rows_before, self._rows = self._rows, self._rows + origin.batch.num_rows

    def _begin(self, origin: Origin) -> None:
        if self._schema is None:
            if origin.schema is None:
                raise ValueError("no source could be read as Parquet, so nothing is written. Check the sources.")
            self._schema, self._name = origin.schema, origin.name
        elif not origin.schema.equals(self._schema):
            remedy = "Deduplicate into a .jsonl file (-o), or make them alike."
            raise ValueError(f"{origin.name} has other columns than {self._name}. {remedy}")

    def end(self, origin: Origin) -> None:
        if self._schema is None:  # no rows
            self._begin(origin)

    def write(self, file: IO[bytes], is_wanted: npt.NDArray[np.bool_]) -> None:
        import numpy as np
        from pyarrow.parquet import ParquetWriter

        wanted = np.zeros(self._rows, dtype=bool)
        wanted[np.array(self._places, dtype=np.int64)[is_wanted]] = True
        with ParquetWriter(file, self._schema) as writer:
            for table in self._tables(wanted):
                writer.write_table(table)

    def write_edited(self, file: IO[bytes], edits: Iterable[tuple[int, Edit]]) -> None:
        import numpy as np
        from pyarrow.parquet import ParquetWriter

        wanted = np.zeros(self._rows, dtype=bool)
        wanted[np.array(self._places, dtype=np.int64)] = True
        coming = iter(edits)
        position, edit = next(coming, (-1, None))
        first = 0  # of the documents in the table
        with ParquetWriter(file, self._schema) as writer:
            for table in self._tables(wanted):
                rows: dict[int, Edit] = {}
                while edit is not None and position < first + table.num_rows:
                    rows[position - first] = edit
                    position, edit = next(coming, (-1, None))
                first += table.num_rows
                writer.write_table(edited_column(table, rows))

    def _tables(self, wanted: npt.NDArray[np.bool_]) -> Iterator[Any]:
        """Give the rows that are wanted, in parts that are large enough for a file."""
        from pyarrow import Table, array, ipc

        if self._stream is None:
            return
        self._stream.close()
        self._file.seek(0)
        start, held, rows, size = 0, [], 0, 0
        for batch in ipc.open_stream(self._file):
            held.append(batch.filter(array(wanted[start : start + batch.num_rows])))
            start, rows, size = start + batch.num_rows, rows + held[-1].num_rows, size + held[-1].nbytes
            if rows >= _ROWS_AT_ONCE or size >= _BYTES_AT_ONCE:
                yield Table.from_batches(held, self._schema)
                held, rows, size = [], 0, 0
        if rows:
            yield Table.from_batches(held, self._schema)
