"""Documents by their metadata."""

from __future__ import annotations

from typing import Any

import numpy as np

from sthash.checksums import encode_text
from sthash.collection.document_table import fields_of
from sthash.collection.options import Where, check_where
from sthash.collection.packed_vectors import Ids
from sthash.collection.store import Store


def ids_where(store: Store, where: Where) -> Ids:
    """Return the ids of the documents whose metadata has all the given values, or one of each list of values."""
    wanted = {name: values if isinstance(values, list) else [values] for name, values in check_where(where).items()}
    conditions, arguments = ["1"], list[Any]()
    for name, values in wanted.items():
        # SQLite's JSON functions end a string at its first NUL: such a one is left to the check below.
        if any("\0" in value for value in [name, *values] if isinstance(value, str)):
            continue
        marks = " OR ".join(f"value IS {_mark(value)}" for value in values) or "0"
        entries = "json_each(CAST(metadata AS TEXT))"
        conditions.append(f"EXISTS (SELECT 1 FROM {entries} WHERE key = {_mark('')} AND ({marks}))")  # noqa: S608
        arguments.extend(encode_text(value) if isinstance(value, str) else value for value in [name, *values])
    rows = store.rows("documents", f"WHERE {' AND '.join(conditions)} ORDER BY id", tuple(arguments))
    return np.array([row[0] for row in rows if _meets(fields_of(store, row)[3], wanted)], dtype=np.int64)


def _mark(value: Any) -> str:
    # Strings are bound as bytes, because lone surrogates cannot be bound as text.
    return "CAST(? AS TEXT)" if isinstance(value, str) else "?"


def _meets(metadata: dict[str, Any], wanted: dict[str, list[Any]]) -> bool:
    return all(name in metadata and metadata[name] in values for name, values in wanted.items())
