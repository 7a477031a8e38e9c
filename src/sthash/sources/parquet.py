"""Parquet: from a file to records, bounded in what the file expands to.

Parquet compresses its pages, and stores a value that repeats once: two kilobytes can expand to gigabytes. So a file may
expand as far as any other compressed file. Repeated strings are expanded only after they have been counted.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator
from typing import IO, Any

from sthash.batches import BATCH_DOCUMENTS
from sthash.extras import install_command
from sthash.sources.compression import expands_too_far, most_bytes
from sthash.sources.origin import Origin
from sthash.sources.records import Records
from sthash.tables import arrow_records, plain_record

# Of strings that become records at once.
_PART_BYTES = 64 * 2**20


def parquet_records(stream: IO[bytes], name: str, vector: str | None, origin: Origin | None = None) -> Records:
    """Give the records of a stream in the format Parquet.

    Parameters
    ----------
    stream : binary file
        Read as needed if it is a plain file. Pipes and compressed files have no random access, so they are read whole.
    name : str
        For messages.
    vector : str, optional
        Field that holds a vector, which comes as an array.
    origin : Origin, optional
        Told of each record that is given.
    """
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError(f"{name}: Parquet needs pyarrow. Install it: {install_command('parquet')}.") from error
    number, batches = 0, _batches(stream, name, origin)
    while True:
        try:
            batch = next(batches, None)
            records = [] if batch is None else [plain_record(row, vector) for row in arrow_records(batch, vector)]
        except (pyarrow.ArrowException, UnicodeDecodeError, OverflowError, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # the system's own error, not that of the reader
            raise ValueError(f"{name} cannot be read as Parquet ({error}). Check the file, or set format.") from error
        if batch is None:
            return
        for row, record in enumerate(records):
            number += 1
            if origin is not None:
                origin.batch, origin.row, origin.n_read = batch, row, number
            yield f"{name}, row {number}", record


def _batches(stream: IO[bytes], name: str, origin: Origin | None) -> Iterator[Any]:
    from pyarrow import BufferReader
    from pyarrow.parquet import ParquetFile

    if isinstance(stream, io.BufferedReader) and stream.seekable():
        file: Any = stream
        size = stream.seek(0, io.SEEK_END)
        stream.seek(0)
    else:
        content = stream.read()
        file, size = BufferReader(content), len(content)
    most = most_bytes(size)
    remedy = "write it as jsonl, or split it"
    declared = ParquetFile(file)
    if origin is not None:
        origin.schema, origin.n_rows = declared.schema_arrow, declared.metadata.num_rows
    sizes = (declared.metadata.row_group(group).total_byte_size for group in range(declared.num_row_groups))
    if sum(sizes) > most:
        raise expands_too_far(name, most, remedy)
    strings = [
        column.path
        for column in declared.schema
        if column.physical_type == "BYTE_ARRAY" and column.logical_type.type != "DECIMAL"
    ]
    count = 0
    # Group by group: a batch from several would have several dictionaries, which Arrow does not have within lists.
    reader = ParquetFile(file, read_dictionary=strings)
    groups = range(reader.num_row_groups)
    for batch in itertools.chain.from_iterable(
        reader.iter_batches(BATCH_DOCUMENTS, row_groups=[group]) for group in groups
    ):
        expanded = sum(_expanded_bytes(column) for column in batch.columns)
        count += expanded
        if count > most:
            raise expands_too_far(name, most, remedy)
        rows = max(1, batch.num_rows * _PART_BYTES // max(expanded, _PART_BYTES))
        for start in range(0, batch.num_rows, rows):
            yield batch.slice(start, rows)


def _expanded_bytes(column: Any) -> int:
    """Return the size of a column once each row has its own value."""
    from pyarrow import compute, types

    if types.is_dictionary(column.type):
        return int(compute.sum(compute.binary_length(column.dictionary).take(column.indices)).as_py() or 0)
    if types.is_nested(column.type):
        if types.is_map(column.type):
            return _expanded_bytes(column.keys) + _expanded_bytes(column.items)
        parts = column.flatten() if types.is_struct(column.type) else [column.flatten()]
        return sum(map(_expanded_bytes, parts))
    return int(column.nbytes)
