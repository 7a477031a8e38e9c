"""Collections whose rows were changed through SQLite, with right checksums; whatever the tables and columns are."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from fuzz import mutations
from sthash import Collection, CollectionError, Document, VectorOptions, classify, near_duplicates
from sthash.checksums import row_checksum
from sthash.collection.search.options import RANKINGS
from support.corpus import QUERIES, make_documents
from support.factories import create_collection, random_vectors, small_segments

FEW = 50  # vectors that cells are learned from, so that small collections have them
GOLDEN = Path(__file__).parents[1] / "collection" / "golden"
# What is wrong with a file is a CollectionError. These are about what the caller has passed, for a file that is sound.
OF_THE_CALLER = (
    "this collection is of",
    "a query must have",
    "there is no document with the key",
    "where has the field",
    "where compares the field",
    "no document of",
    "ranking=",
    "the longest row has length",  # of vectors that cannot be learned from
    "this collection has no codes",
    "the vector of document",
)
# Statements of a stranger: none of them may run when somebody opens, searches or changes the file.
STATEMENTS = (
    "CREATE TRIGGER t AFTER INSERT ON documents BEGIN DELETE FROM documents; END",
    "CREATE TRIGGER t AFTER DELETE ON documents BEGIN INSERT INTO settings VALUES (randomblob(9), zeroblob(9), 1); END",
    "CREATE VIEW strange AS SELECT zeroblob(1000000000)",
    "CREATE TABLE strange (a, b AS (zeroblob(1000000000)))",
    "CREATE INDEX strange ON documents (length(text))",
    "DROP TABLE documents",
    "ALTER TABLE documents ADD COLUMN more",
    "ALTER TABLE segments RENAME TO parts_of_indexes",
    "PRAGMA user_version = 99",
    "PRAGMA user_version = -1",
    "PRAGMA application_id = 7",
    "PRAGMA journal_mode = WAL",
)


def prepare(folder: Path) -> None:
    """Make collections of all kinds; the golden ones are copied."""
    with small_segments(few=FEW):
        make_collections(folder)
    for golden in GOLDEN.glob("*.sth"):
        shutil.copy(golden, folder)


def make_collections(folder: Path) -> None:
    """Make collections of texts and of vectors, with several segments."""
    documents = make_documents(60)
    texts = [Document(d.key, d.text, d.label, {**d.metadata, "deep": {"a": [1, None]}}) for d in documents]
    codes = {"n_bits": 16, "recipe": "paper", "scatter": 1.0}
    with create_collection(folder / "texts.sth", texts, **codes) as collection:
        collection.add([Document("added", "a comet with new words"), Document("blank", "")])
        collection.delete(["d3", "d4"])
        collection.add(make_documents(30, first=60))
    vectors = random_vectors(90, 5)
    dense = [Document(d.key, d.text, d.label) for d in make_documents(90)]
    products = VectorOptions(metric="ip", precision="float16")
    for name, options in {
        "few vectors": {"few": True},
        "vectors": {},
        "vectors with codes": {"recipe": "paper"},
        "products": {"vector_options": products},
    }.items():
        count = 30 if options.pop("few", False) else 60
        make = create_collection if "recipe" in options else Collection.create
        with make(folder / f"{name}.sth", dense[:count], vectors=vectors[:count], **options) as collection:
            collection.delete(["d3", "d4"])
            collection.add(dense[60:], vectors=vectors[60:])


def case(random: Random, folder: Path, scratch: Path) -> str:
    """Change a collection, then use it in every way."""
    path = scratch / "c.sth"
    source = random.choice(mutations.seeds(folder))
    for leftover in scratch.glob("c.sth*"):
        leftover.unlink()
    shutil.copyfile(source, path)
    forge(random, path)
    outcome = "refused"
    uses = [search_texts, search_keys, search_vectors, read, check, change, duplicates, classes, models]
    try:
        with (
            small_segments(few=FEW),
            Collection.open(path, wait=0, threads=random.choice((1, 2))) as collection,
        ):
            outcome = "used"
            for use in random.sample(uses, random.randrange(1, len(uses) + 1)):
                try:
                    use(random, collection)
                except (ValueError, KeyError, TypeError) as error:
                    check_documented(error)
                    if isinstance(error, CollectionError):
                        outcome = "refused in use"
    except CollectionError:
        pass
    return f"{source.stem}: {outcome}"


def check_documented(error: Exception) -> None:
    """Raise errors that nobody documents: what is wrong with the file is a CollectionError, exactly."""
    message = str(error.args[0]) if error.args else ""
    if not isinstance(error, CollectionError) and not message.startswith(OF_THE_CALLER):
        raise error


def forge(random: Random, path: Path) -> None:
    """Change some rows, the schema, or bytes of the file."""
    if random.random() < 0.03:
        path.write_bytes(mutations.content(random, path.read_bytes()))
        return
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.text_factory = bytes
        if random.random() < 0.06:
            connection.execute(random.choice(STATEMENTS))
            return
        tables = [row[0].decode() for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for _ in range(random.choice((1, 1, 1, 2, 3, 6))):
            forge_row(random, connection, random.choice([name for name in tables if not name.startswith("sqlite_")]))
    except (sqlite3.Error, OverflowError):
        pass  # a constraint refused the change
    finally:
        connection.close()


def forge_row(random: Random, connection: sqlite3.Connection, table: str) -> None:
    """Change a row, remove it, or double it; its last column is its checksum."""
    (count,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
    if count == 0:
        return
    skipped = random.randrange(count)
    rowid, *row = connection.execute(f"SELECT rowid, * FROM {table} LIMIT 1 OFFSET {skipped}").fetchone()
    names = [column[1].decode() for column in connection.execute(f"PRAGMA table_info({table})")]
    kinds = [column[2].decode() for column in connection.execute(f"PRAGMA table_info({table})")]
    values: list[Any] = [
        value.decode() if kind == "TEXT" and isinstance(value, bytes) else value
        for kind, value in zip(kinds, row[:-1], strict=False)
    ]
    if random.random() < 0.05:
        connection.execute(f"DELETE FROM {table} WHERE rowid = ?", (rowid,))
        return
    place = random.randrange(len(values))
    if table == "settings" and isinstance(values[place], str):
        place = min(place + 1, len(values) - 1)  # a setting by another name is only missing
    values[place] = forged_value(random, values[place])
    total = random.getrandbits(32) if random.random() < 0.02 else checksum(values)
    if random.random() < 0.1:
        marks = ", ".join("?" * (len(values) + 1))
        connection.execute(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", (*values, total))
        return
    changes = ", ".join(f'"{name}" = ?' for name in names)
    connection.execute(f"UPDATE OR REPLACE {table} SET {changes} WHERE rowid = ?", (*values, total, rowid))


def forged_value(random: Random, value: Any) -> Any:
    if random.random() < 0.05:
        return random.choice((None, 0, -1, 2**62, b"", b"x", "x", 0.5, value))
    if isinstance(value, int):
        return mutations.number(random, value)
    if isinstance(value, bytes):
        return mutations.json_bytes(random, value) if value[:1] in (b"{", b"[") else mutations.content(random, value)
    if isinstance(value, str):
        return random.choice(("", "x", value * 2, "\x00"))
    return b"label"


def checksum(values: list[Any]) -> int:
    try:
        return row_checksum(tuple(values))
    except TypeError:  # a float has none
        return 0


def search_texts(random: Random, collection: Collection) -> None:
    """Search for words, with all options."""
    options: dict[str, Any] = {"explain": random.random() < 0.5, "rerank": random.random() < 0.8}
    if random.random() < 0.3:
        options["radius"] = random.choice((0, 3, 16))
    elif options["rerank"]:
        options["ranking"] = random.choice(RANKINGS)
    if random.random() < 0.3:
        options["where"] = {"parity": 1}
    collection.search_many(random.sample(QUERIES, 2), k=random.choice((1, 5, 1000)), **options)
    collection.search("salt", k=2)
    collection.search('"cat kitten" ship -star zepelin', k=2)


def search_keys(random: Random, collection: Collection) -> None:
    """Search for what is like a document."""
    collection.search(key=f"d{random.randrange(60)}", k=3)


def search_vectors(random: Random, collection: Collection) -> None:
    """Search for a vector, which most collections refuse."""
    collection.search(np.ones(width(collection), dtype=np.float32), k=3)


def read(random: Random, collection: Collection) -> None:
    """Read documents and facts."""
    collection.info()
    list(collection.export())
    collection.page(limit=3)
    collection.get(f"d{random.randrange(60)}")


def check(random: Random, collection: Collection) -> None:
    """Look for damage."""
    collection.check()


def duplicates(random: Random, collection: Collection) -> None:
    """Find near-duplicates."""
    near_duplicates(collection)


def classes(random: Random, collection: Collection) -> None:
    """Let neighbors vote."""
    classify(collection, "a cat and a ship" if collection.info()["kind"] == "text" else np.ones(width(collection)))


def models(random: Random, collection: Collection) -> None:
    """Take the model out, and copy the file."""
    with collection.snapshot() as now:
        assert isinstance(now.codes.model.fingerprint, str)
    collection.copy_to(collection.path.with_name("c.sth.copy"), overwrite=True)


def width(collection: Collection) -> int:
    """Give the number of values of a vector, or some number for a collection of texts."""
    return min(int(collection.info().get("n_columns", 5)), 1000)


def change(random: Random, collection: Collection) -> None:
    """Add, replace and remove documents."""
    if collection.info()["kind"] == "vectors":
        collection.add([Document("n1", "x")], vectors=np.ones((1, width(collection)), dtype=np.float32))
    else:
        collection.add([Document("n1", "a kitten and an unheard word"), Document("n2", "bread")])
        collection.upsert([Document("d1", "other words of a ship")])
    collection.delete([f"d{random.randrange(60)}"], missing_ok=True)
    if random.random() < 0.2:
        collection.compact()
    if random.random() < 0.1:
        collection.relearn()
