"""A full check of a collection's file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sthash.batches import batched
from sthash.checksums import decode_text
from sthash.codes import pack
from sthash.collection.code_table import CodeTable, load_codes
from sthash.collection.count_table import unpacked
from sthash.collection.document_table import all_ids, fields_of, next_id
from sthash.collection.packed_vectors import dense_vectors
from sthash.collection.posting_table import Segment, load_segments
from sthash.collection.store import TABLES, Store
from sthash.collection.term_table import Frequencies, count_terms
from sthash.collection.word_index import word_model
from sthash.model import Model, TextModel


@dataclass(frozen=True)
class Verification:
    """What was read and found right."""

    documents: int
    terms: int
    chunks: int


def verify(store: Store, model: Model) -> Verification:
    """Check SQLite's own structure, every checksum, and that all that is in the file belongs together."""
    for (finding,) in store.execute("PRAGMA integrity_check(1)"):
        if finding != "ok":
            raise store.damaged(" ".join(str(finding).split()))
    _check_sums(store)
    counts = {table: sum(1 for _ in store.rows(table)) for table in TABLES}
    table = load_codes(store, model.n_bits)
    if all_ids(store) != table.ids.tolist():
        raise store.damaged("documents and codes are not of the same documents")
    if isinstance(model, TextModel):
        _check_texts(store, model, table)
    else:
        _check_vectors(store, model, table)
        if (words := word_model(store)) is not None:
            _check_texts(store, words, table, has_codes=False)
    for row in store.rows("documents"):
        fields_of(store, row)
    next_id(store)
    return Verification(counts["documents"], counts["terms"], counts["codes"])


def _check_sums(store: Store) -> None:
    """Check the tables that are in the file, which in an old format are not those that are read."""
    names = [name for (name,) in store.execute("SELECT name FROM main.sqlite_master WHERE type = 'table'")]
    for name in (name for name in names if name in TABLES):
        for row in store.execute(f"SELECT * FROM main.{name}"):  # noqa: S608
            store.check_sum(name, row)


def _check_vectors(store: Store, model: Model, table: CodeTable) -> None:
    position = 0
    for page in batched(store.rows("vectors", "ORDER BY id")):
        own = slice(position, position + len(page))
        if table.ids[own].tolist() != [number for number, _ in page]:
            raise store.damaged("vectors and codes are not of the same documents")
        vectors = dense_vectors(store, [content for _, content in page], model.n_columns)
        if not (pack(model.margins(vectors.encoded(model.n_bits)) > 0) == table.codes[own]).all():
            raise store.damaged("a code is not that of its vector")
        position += len(page)
    if position != len(table):
        raise store.damaged("vectors and codes are not equally many")


def _check_texts(store: Store, model: TextModel, table: CodeTable, *, has_codes: bool = True) -> None:
    n_columns = count_terms(store, exactly=True)
    for column, name, frequency, weights in store.rows("terms"):
        try:
            decode_text(name)
        except UnicodeDecodeError as error:
            raise store.damaged("a term cannot be read") from error
        if (frequency > 0) != (column < len(model.terms)) or (weights and not frequency):
            raise store.damaged("a term is not as it was learned")
    frequencies = np.zeros(n_columns, dtype=np.int64)
    position = 0
    for page in batched(store.rows("counts", "ORDER BY id")):
        own = slice(position, position + len(page))
        if table.ids[own].tolist() != [number for number, _ in page]:
            raise store.damaged("counts and codes are not of the same documents")
        rows = unpacked(store, [content for _, content in page], n_columns)
        if not np.array_equal(rows.lengths(), table.lengths[own]):
            raise store.damaged("a length is not that of its document")
        frequencies += np.bincount(rows.columns, minlength=n_columns)
        known = rows.below(len(model.terms))
        codes = model.encode_counts(known.indptr, known.columns, known.counts).codes
        if has_codes and not (codes == table.codes[own]).all():
            raise store.damaged("a code is not that of its document")
        position += len(page)
    if position != len(table):
        raise store.damaged("counts and codes are not equally many")
    if not np.array_equal(Frequencies(store, n_columns, len(table)).all(), frequencies):
        raise store.damaged("document frequencies are not those of the documents")
    segments = load_segments(store)
    lists = sum(_check_segment(store, segment, table, n_columns) for segment in segments)
    if lists != store.value("SELECT count(*) FROM postings"):
        raise store.damaged("posting lists are of no segment")


def _check_segment(store: Store, segment: Segment, table: CodeTable, n_columns: int) -> int:
    """Compare the lists of a segment with the counts of its documents; return how many lists there are."""
    ids = table.ids[(table.ids >= segment.first) & (table.ids <= segment.last)]
    if len(ids) != segment.live:
        raise store.damaged("a segment does not know how many of its documents are left")
    places = list(store.rows("postings", "WHERE place >= ? AND place < ? ORDER BY place", segment.places))
    lists = unpacked(store, [content for _, content in places], segment.last + 1)
    columns = np.array([place - segment.places[0] for place, _ in places], dtype=np.int64)
    live = np.isin(lists.columns, ids)
    listed = _entries(np.repeat(columns, np.diff(lists.indptr))[live], lists.columns[live], lists.counts[live])
    between = store.rows("counts", "WHERE id BETWEEN ? AND ? ORDER BY id", (segment.first, segment.last))
    rows = unpacked(store, [content for _, content in between], n_columns)
    order = np.argsort(rows.columns, kind="stable")
    counted = _entries(rows.columns[order], np.repeat(ids, np.diff(rows.indptr))[order], rows.counts[order])
    if not np.array_equal(listed, counted):
        raise store.damaged("posting lists are not those of the documents")
    return len(places)


def _entries(*parts: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    return np.stack([part.astype(np.int64) for part in parts])
