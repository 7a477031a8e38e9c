"""From an encoded table to a collection: one file, for one machine."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from sthash.batches import batched
from sthash.collection import Collection
from sthash.spark.columns import check_columns, is_text, quoted

if TYPE_CHECKING:
    from sthash.spark.model import SelfTaughtHashingModel


def export_collection(
    model: SelfTaughtHashingModel,
    dataset: DataFrame,
    path: str | PathLike[str],
    *,
    key_col: str | None = None,
    text_col: str | None = None,
    label_col: str | None = None,
    metadata_cols: Sequence[str] = (),
    overwrite: bool = False,
) -> Collection:
    """Write a table as a collection, with the model that has encoded it, and open it.

    The rows stream through the driver, one partition at a time; only the file is kept.

    Parameters
    ----------
    model : SelfTaughtHashingModel
    dataset : DataFrame
        Its input column is what the collection searches. Its codes, if it has them already, must be the model's.
    path : path
        Of a new file on the driver's machine. If the export fails, nothing is left there.
    key_col, label_col : str, optional
        Columns of the documents' keys, which must be unique, and labels. Without keys, documents are numbered.
    text_col : str, optional
        Column of the texts; by default the input column, if that has texts.
    metadata_cols : sequence of str
        Columns to keep as metadata; their values must be JSON values.
    overwrite : bool
        Replace the file if there is one at the path.
    """
    encoded = model._with_codes(dataset)
    source = model.getInputCol()
    text_col = source if text_col is None and is_text(dataset, source) else text_col
    fields = {"key": key_col, "text": text_col, "label": label_col}
    check_columns(encoded, [*filter(None, fields.values()), *metadata_cols, source])
    named = [F.col(quoted(name)).alias(field) for field, name in fields.items() if name is not None]
    metadata = [F.col(quoted(name)).alias(f"metadata{place}") for place, name in enumerate(metadata_cols)]
    ends = [F.col(quoted(source)).alias("input"), F.col(quoted(model.getOutputCol())).alias("code")]
    pairs = _pairs(encoded.select(*named, *metadata, *ends), model, list(metadata_cols))
    if not model.model.dense:
        return Collection.create(path, (document for document, _ in pairs), model=model.model, overwrite=overwrite)
    first, second = itertools.tee(pairs)
    documents, vectors = (document for document, _ in first), (_plain(value) for _, value in second)
    return Collection.create(path, documents, vectors=vectors, model=model.model, overwrite=overwrite)


def _pairs(
    table: DataFrame, model: SelfTaughtHashingModel, metadata: list[str]
) -> Iterator[tuple[dict[str, Any], Any]]:
    """Iterate over the rows as documents, each with its text or vector; their codes are compared first."""
    fields = [name for name in ("key", "text", "label") if name in table.columns]
    for rows in batched(table.toLocalIterator(prefetchPartitions=True)):
        _compare(rows, model)
        for row in rows:
            known = {name: row[f"metadata{place}"] for place, name in enumerate(metadata)}
            present = {name: value for name, value in known.items() if value is not None}
            yield {name: row[name] for name in fields if row[name] is not None} | {"metadata": present}, row["input"]


def _compare(rows: list[Row], model: SelfTaughtHashingModel) -> None:
    made = model.encode([row["input"] for row in rows])
    given = np.frombuffer(b"".join(bytes(row["code"]) for row in rows), dtype=np.uint8)
    if given.size != made.size or not (given.reshape(made.shape) == made).all():
        raise ValueError(
            f"the codes in the table are not those that the model gives to column {model.getInputCol()!r}. "
            "Encode the table with this model, or export it with the one that has encoded it."
        )


def _plain(value: Any) -> Any:
    """Return a vector of any kind as an array."""
    return value.toArray() if hasattr(value, "toArray") else value
