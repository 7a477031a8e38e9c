"""Tables in memory: pandas data frames, and everything that speaks Arrow (pyarrow, polars, DuckDB).

Nothing is imported to find out what a value is: a program that has a table has its library loaded already.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sthash.batches import BATCH_DOCUMENTS


def is_table(value: Any) -> bool:
    """Tell whether a value is a table with named columns."""
    if isinstance(value, type):
        return False
    return _is_pandas(value) or (hasattr(value, "__arrow_c_stream__") and not _is_column(value))


def table_records(table: Any) -> Iterator[dict[str, Any]]:
    """Give one record per row, with missing values as None; a batch of rows is in memory at a time."""
    batches = _pandas_batches(table) if _is_pandas(table) else _arrow_batches(table)
    for batch in batches:
        yield from map(plain_record, batch)


def plain_record(record: dict[str, Any]) -> dict[str, Any]:
    """Replace what JSON cannot hold by what it can: times by ISO 8601, decimals by text, arrays by lists."""
    return {str(name): _plain(value) for name, value in record.items()}


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, dict):
        return plain_record(value)
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    return str(value)


def _is_pandas(value: Any) -> bool:
    return all(hasattr(value, name) for name in ("iloc", "columns", "to_dict"))


def _is_column(value: Any) -> bool:
    """Series and chunked arrays stream too, but they are iterables of values."""
    return not any(hasattr(value, name) for name in ("columns", "schema"))


def _pandas_batches(frame: Any) -> Iterator[list[dict[str, Any]]]:
    if not frame.columns.is_unique:
        repeated = frame.columns[frame.columns.duplicated()][0]
        raise ValueError(f"the table has several columns named {str(repeated)!r}. Rename or drop some of them.")
    for start in range(0, len(frame), BATCH_DOCUMENTS):
        batch = frame.iloc[start : start + BATCH_DOCUMENTS].astype(object)
        yield batch.where(batch.notna(), None).to_dict("records")


def _arrow_batches(table: Any) -> Iterator[list[dict[str, Any]]]:
    try:
        from pyarrow import RecordBatchReader
    except ImportError as error:
        raise ImportError(
            f"a {type(table).__name__} as documents needs pyarrow. Install it: pip install 'sthash[parquet]'."
        ) from error
    for batch in RecordBatchReader.from_stream(table):
        for start in range(0, batch.num_rows, BATCH_DOCUMENTS):
            yield batch.slice(start, BATCH_DOCUMENTS).to_pylist()
