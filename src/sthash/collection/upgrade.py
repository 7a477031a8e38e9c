"""Files of formats 1 and 2, which have weighted rows where format 3 has counts and posting lists.

To be read, such a file gets the tables of format 3 beside it, as temporary tables of the connection, made by scanning
the texts; SQLite takes a temporary table for one of the same name in the file. The first change makes them in the file.
"""

from __future__ import annotations

from sthash.batches import batched
from sthash.codes import pack
from sthash.collection.code_table import put_codes
from sthash.collection.document_table import read_texts
from sthash.collection.packed_vectors import dense_vectors
from sthash.collection.schema import FORMAT, SCHEMA
from sthash.collection.store import Store
from sthash.collection.stored_model import load_model
from sthash.collection.writers import TextWriter
from sthash.model import TextModel

# What format 3 has anew or in another shape. Settings, documents and dense vectors are as they were.
NEW_TABLES = ("terms", "frequencies", "counts", "codes", "segments", "postings")


def prepare_reading(store: Store, version: int, threads: int | None = None) -> None:
    """Make sure that the tables of format 3 can be read, in the state of the file that has this version number."""
    if store.prepared_for == version:
        return
    drop_temporary(store)
    if store.format < FORMAT:
        for statement in _statements(NEW_TABLES):
            store.execute(statement.replace("CREATE TABLE", "CREATE TEMP TABLE"))
        store.execute("INSERT INTO temp.terms SELECT * FROM main.terms")
        _fill(store, threads)
    store.prepared_for = version


def prepare_writing(store: Store, threads: int | None = None) -> None:
    """Make the file one of format 3, within a transaction of the caller's."""
    drop_temporary(store)
    if store.format >= FORMAT:
        return
    store.execute("DROP TABLE codes")
    for statement in _statements(NEW_TABLES[1:]):
        store.execute(statement)
    _fill(store, threads)
    if isinstance(load_model(store, threads), TextModel):
        store.execute("DELETE FROM vectors")
    store.set_format(FORMAT)


def drop_temporary(store: Store) -> None:
    """Let the tables of the file be read again."""
    # A change that is undone brings back temporary tables that it had dropped.
    for (table,) in store.execute("SELECT name FROM sqlite_temp_master WHERE type = 'table'").fetchall():
        store.execute(f"DROP TABLE temp.{table}")
    store.prepared_for = None


def _statements(tables: tuple[str, ...]) -> list[str]:
    return [part.strip() for part in SCHEMA.split(";") if part.split()[2:3] and part.split()[2] in tables]


def _fill(store: Store, threads: int | None) -> None:
    """Write what follows from the documents."""
    model = load_model(store, threads)
    if isinstance(model, TextModel):
        writer = TextWriter(store, model, threads)
        for batch in batched(read_texts(store), length=lambda pair: len(pair[1])):
            writer.put([number for number, _ in batch], [text for _, text in batch])
        writer.finish()
        return
    for page in batched(store.rows("vectors", "ORDER BY id")):
        rows = dense_vectors(store, [content for _, content in page], model.n_columns).encoded(model.n_bits)
        put_codes(store, [number for number, _ in page], pack(model.margins(rows) > 0))
