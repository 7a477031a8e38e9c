"""From an encoded table to a collection: one file, for one machine."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from sthash.collection import Collection
from sthash.collection.building import write_whole
from sthash.collection.encoder import Scatter, load_encoder, stored_row
from sthash.collection.learning import put_text_model, put_vector_model
from sthash.collection.store import Store
from sthash.collection.writing import change_codes, put_documents
from sthash.sources import Document, as_document
from sthash.spark.columns import check_columns, is_text, quoted

if TYPE_CHECKING:
    from sthash.spark.model import SelfTaughtHashingModel

_BATCH = 4096


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
        Columns of the documents' keys, which must be unique, and classes. Without keys, documents are numbered.
    text_col : str, optional
        Column of the texts; by default the input column, if that has texts.
    metadata_cols : sequence of str
        Columns to keep as metadata; their values must be JSON values.
    overwrite : bool
        Whether there may be a file at the path already.
    """
    target = Path(path)
    if target.exists() and not overwrite:
        raise FileExistsError(f"{target} exists already; pass overwrite=True to replace it.")
    encoded = model._with_codes(dataset)
    source = model.getInputCol()
    text_col = source if text_col is None and is_text(dataset, source) else text_col
    fields = {"key": key_col, "text": text_col, "label": label_col}
    check_columns(encoded, [*filter(None, fields.values()), *metadata_cols, source])
    metadata = [F.col(quoted(name)).alias(f"metadata{place}") for place, name in enumerate(metadata_cols)]
    named = [F.col(quoted(name)).alias(field) for field, name in fields.items() if name is not None]
    ends = [F.col(quoted(source)).alias("input"), F.col(quoted(model.getOutputCol())).alias("code")]
    rows = encoded.select(*named, *metadata, *ends)

    def fill(store: Store) -> None:
        _put_model(store, model)
        stream = rows.toLocalIterator(prefetchPartitions=True)
        _put_rows(store, stream, [field for field, name in fields.items() if name], list(metadata_cols), source)

    write_whole(target, fill)
    return Collection.open(target)


def _put_model(store: Store, model: SelfTaughtHashingModel) -> None:
    learnt = model.learnt
    if learnt.vectorizer is None:
        put_vector_model(store, learnt.hasher, learnt.learnt_on, Scatter(), generation=1)
        return
    # The terms stay in the order in which the executors add up their weights: codes must agree to the last bit.
    order = np.arange(len(learnt.vectorizer.vocabulary_))
    put_text_model(store, learnt.vectorizer, learnt.hasher, order, learnt.learnt_on, Scatter(), generation=1)


def _put_rows(store: Store, stream: Iterator[Row], fields: list[str], metadata: list[str], source: str) -> None:
    encoder = load_encoder(store)
    position = 0
    while rows := list(itertools.islice(stream, _BATCH)):
        documents: list[Document] = []
        for row in rows:
            known = {
                name: value for place, name in enumerate(metadata) if (value := row[f"metadata{place}"]) is not None
            }
            values = {field: row[field] for field in fields if row[field] is not None}
            documents.append(as_document(values | {"metadata": known}, position + len(documents)))
        ids = [number for _, number in put_documents(store, documents, replace=False)]
        made = encoder.encode([_plain(row["input"]) for row in rows])
        given = np.frombuffer(b"".join(bytes(row["code"]) for row in rows), dtype=np.uint8)
        if given.size != made.codes.size or not (given.reshape(made.codes.shape) == made.codes).all():
            raise ValueError(
                f"the codes in the table are not those that the model gives to column {source!r}: "
                "encode the table with this model, or export it with the one that has encoded it."
            )
        kept = [(number, stored_row(made, place, dense=encoder.dense)) for place, number in enumerate(ids)]
        store.put_many("vectors", kept)
        change_codes(store, ids, made.codes)
        position += len(rows)
    if position == 0:
        raise ValueError("the table is empty: export at least one document.")


def _plain(value: Any) -> Any:
    """A text as it is, a vector of any kind as an array."""
    return value.toArray() if hasattr(value, "toArray") else value
