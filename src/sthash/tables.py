"""Tables: pandas and polars data frames and series, all that speaks Arrow (pyarrow, DuckDB), Hugging Face datasets.

Nothing is imported to find out what a value is: a program that has a table has its library loaded already.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from sthash.batches import BATCH_DOCUMENTS
from sthash.extras import install_command


def is_table(value: Any) -> bool:
    """Tell whether a value is a table with named columns."""
    if isinstance(value, type):
        return False
    return (
        _is_pandas(value)
        or _is_dataset(value)
        or _is_lazy(value)
        or (hasattr(value, "__arrow_c_stream__") and not _is_stream_of_values(value))
    )


def is_column(value: Any) -> bool:
    """Tell whether a value is one column of a table: a series, or an Arrow array."""
    if isinstance(value, type) or is_table(value):
        return False
    return hasattr(value, "__arrow_c_stream__") or _has_all(value, "iloc", "notna") or _has_all(value, "to_pylist")


def table_records(table: Any, vector: str | None = None) -> Iterator[dict[str, Any]]:
    """Give one record per row, with missing values as None; a batch of rows is in memory at a time.

    The values of the column ``vector`` stay as they are, or become arrays.
    """
    for batch in _batches(table, vector):
        for record in batch:
            yield plain_record(record, vector)


def column_texts(column: Any) -> Iterator[str]:
    """Give the texts of a column; a missing value is an empty text.

    Examples
    --------
    >>> from sthash.tables import column_texts
    >>> import pyarrow
    >>> list(column_texts(pyarrow.array(["one", None])))
    ['one', '']
    """
    for position, value in enumerate(_column_values(column)):
        if value is not None and not isinstance(value, str):
            raise TypeError(f"row {position} of the column is a {type(value).__name__}. Pass a column of texts.")
        yield value or ""


def texts_of(source: Any, text: str | None = None) -> Any:
    """Return the texts of a table or a column; anything else as it is.

    Parameters
    ----------
    source : table, column, or anything else
    text : str, optional
        Name of the column of a table that holds the texts; ``text`` by default.
    """
    if is_table(source):
        return _table_texts(source, text or "text")
    if text is not None:
        raise TypeError(
            f"text={text!r} names a column, but got a {type(source).__name__}, which has none. Leave text= out."
        )
    return column_texts(source) if is_column(source) else source


def plain_record(record: dict[str, Any], vector: str | None = None) -> dict[str, Any]:
    """Replace what JSON cannot hold by what it can: times by ISO 8601, decimals by text, arrays by lists.

    The field ``vector`` stays as it is.
    """
    return {str(name): value if name == vector else _plain(value) for name, value in record.items()}


def arrow_records(batch: Any, vector: str | None = None) -> list[dict[str, Any]]:
    """Give one record per row of an Arrow record batch; lists of numbers in the column ``vector`` become arrays."""
    records, names = _arrow_records(batch, vector), _class_names(batch.schema.metadata or {})
    return [_with_class_names(record, names) for record in records] if names else records


def _arrow_records(batch: Any, vector: str | None) -> list[dict[str, Any]]:
    names = batch.schema.names
    if vector is None or names.count(vector) != 1:
        records: list[dict[str, Any]] = batch.to_pylist()
        return records
    others = batch.select([name for name in names if name != vector])
    rows = others.to_pylist() if others.num_columns else [{} for _ in range(batch.num_rows)]
    for row, value in zip(rows, _lists(batch.column(vector)), strict=True):
        row[vector] = value
    return rows


def _class_names(metadata: dict[bytes, bytes]) -> dict[str, list[str]]:
    """Return the names of the classes in columns of labels, as Hugging Face datasets note them in a Parquet file."""
    try:
        features = json.loads(metadata[b"huggingface"])["info"]["features"]
        labels = {name: about["names"] for name, about in features.items() if about.get("_type") == "ClassLabel"}
    except (AttributeError, KeyError, TypeError, ValueError):
        return {}
    return {name: names for name, names in labels.items() if isinstance(names, list)}


def dataset_records(dataset: Any) -> Iterator[dict[str, Any]] | None:
    """Give the records of a Hugging Face dataset with the names of its classes; None for all that has no classes."""
    features = getattr(dataset, "features", None)
    if not isinstance(features, dict):
        return None
    names = {name: list(kind.names) for name, kind in features.items() if _has_all(kind, "names", "int2str")}
    return (_with_class_names(record, names) for record in dataset) if names else None


def _with_class_names(record: dict[str, Any], names: dict[str, list[str]]) -> dict[str, Any]:
    """Replace the number of a class by its name; a number that has none, such as -1 for an unknown label, by None."""
    for column, known in names.items():
        number = record.get(column)
        if type(number) is int:
            record[column] = known[number] if 0 <= number < len(known) else None
    return record


def _lists(column: Any) -> Any:
    """Give the values of an Arrow column: lists of numbers as parts of one array, anything else as Python has it."""
    from pyarrow import compute, types

    is_list = types.is_list(column.type) or types.is_large_list(column.type) or types.is_fixed_size_list(column.type)
    numbers = is_list and (types.is_floating(column.type.value_type) or types.is_integer(column.type.value_type))
    if not numbers or column.null_count:
        return column.to_pylist()
    values = column.flatten().to_numpy(zero_copy_only=False)  # a number that is missing becomes NaN
    ends = compute.list_value_length(column).to_numpy(zero_copy_only=False).cumsum().tolist()
    return [values[start:end] for start, end in zip([0, *ends], ends, strict=False)]


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
    if hasattr(value, "to_list"):
        return _plain(value.to_list())
    return str(value)


def _table_texts(table: Any, name: str) -> Iterator[str]:
    columns = list(map(str, _column_names(table)))
    if name not in columns:
        listed = ", ".join(map(repr, columns)) or "no columns"
        raise ValueError(f"the table has no column {name!r}. Set text to one of its columns: {listed}.")
    if _is_dataset(table):
        table = table.select_columns([name])
    elif _is_pandas(table):
        table = table[[column for column in table.columns if str(column) == name]]
    elif hasattr(table, "select"):
        table = table.select([name])
    return ("" if record[name] is None else str(record[name]) for record in table_records(table))


def _column_names(table: Any) -> Any:
    if _is_dataset(table):
        return _split(table).column_names
    if _is_pandas(table) or _is_polars(table):
        return table.columns
    return table.schema.names if hasattr(table, "schema") and hasattr(table.schema, "names") else table.columns


def _is_pandas(value: Any) -> bool:
    return _has_all(value, "iloc", "columns", "to_dict")


def _is_dataset(value: Any) -> bool:
    """Tell whether a value is a dataset of Hugging Face, in memory, on disk or streamed."""
    return _has_all(value, "with_format", "column_names", "select_columns")


def _split(dataset: Any) -> Any:
    if isinstance(dataset, dict):
        names = ", ".join(map(repr, dataset))
        raise TypeError(f"the dataset has several splits: {names}. Pass one of them, such as dataset['train'].")
    return dataset


def _is_polars(value: Any) -> bool:
    return _has_all(value, "iter_slices", "to_dicts")


def _is_lazy(value: Any) -> bool:
    """Whether a value is a LazyFrame of polars, whose rows must be computed first."""
    return _has_all(value, "collect", "collect_schema", "sink_parquet")


def _has_all(value: Any, *names: str) -> bool:
    return all(hasattr(value, name) for name in names)


def _is_stream_of_values(value: Any) -> bool:
    """Series and chunked arrays stream too, but they are iterables of values."""
    return not any(hasattr(value, name) for name in ("columns", "schema"))


def _batches(table: Any, vector: str | None) -> Iterator[list[dict[str, Any]]]:
    if _is_dataset(table):
        parts = _split(table).with_format("arrow").iter(batch_size=BATCH_DOCUMENTS)
        return (arrow_records(batch, vector) for part in parts for batch in part.to_batches())
    if _is_pandas(table):
        return _pandas_batches(table)
    if _is_lazy(table):
        table = table.collect()
    if _is_polars(table):
        return (part.to_dicts() for part in table.iter_slices(BATCH_DOCUMENTS))
    return _arrow_batches(table, vector)


def _pandas_batches(frame: Any) -> Iterator[list[dict[str, Any]]]:
    if not frame.columns.is_unique:
        repeated = frame.columns[frame.columns.duplicated()][0]
        raise ValueError(f"the table has several columns named {str(repeated)!r}. Rename or drop some of them.")
    for start in range(0, len(frame), BATCH_DOCUMENTS):
        batch = frame.iloc[start : start + BATCH_DOCUMENTS].astype(object)
        yield batch.where(batch.notna(), None).to_dict("records")


def _arrow_batches(table: Any, vector: str | None) -> Iterator[list[dict[str, Any]]]:
    try:
        from pyarrow import RecordBatchReader
    except ImportError as error:
        raise ImportError(
            f"a {type(table).__name__} as documents needs pyarrow. Install it: {install_command('parquet')}."
        ) from error
    for batch in RecordBatchReader.from_stream(table):
        for start in range(0, batch.num_rows, BATCH_DOCUMENTS):
            yield arrow_records(batch.slice(start, BATCH_DOCUMENTS), vector)


def _column_values(column: Any) -> Iterator[Any]:
    if _has_all(column, "iloc", "notna"):  # pandas
        for start in range(0, len(column), BATCH_DOCUMENTS):
            batch = column.iloc[start : start + BATCH_DOCUMENTS].astype(object)
            yield from batch.where(batch.notna(), None)
    elif hasattr(column, "to_pylist"):
        yield from column.to_pylist()
    else:
        yield from column
