"""Documents by their metadata."""

from __future__ import annotations

from typing import Any

import numpy as np

from sthash.checksums import encode_text
from sthash.collection.document_table import fields_of
from sthash.collection.packed_vectors import Ids
from sthash.collection.search_options import Where, check_where, meets
from sthash.collection.store import Store

MANY_VALUES = 10_000  # SQLite takes 32,766 in one statement


def ids_where(store: Store, where: Where) -> Ids:
    """Return the ids of the documents whose metadata has all the given values, or one of each list of values."""
    checked = check_where(where)
    wanted = {name: values if isinstance(values, list) else [values] for name, values in checked.items()}
    conditions, arguments = ["1"], list[Any]()
    for name, values in wanted.items():
        # What SQLite cannot compare is left to the check below.
        if not all(map(_is_comparable, [name, *values])) or len(arguments) + len(values) > MANY_VALUES:
            continue
        given = [value for value in values if value is not None]
        marks = f"value IN ({', '.join(map(_mark, given))})" + (" OR value IS NULL" if None in values else "")
        entries = "json_each(CAST(metadata AS TEXT))"
        conditions.append(f"EXISTS (SELECT 1 FROM {entries} WHERE key = {_mark('')} AND ({marks}))")  # noqa: S608
        arguments.extend(encode_text(value) if isinstance(value, str) else value for value in [name, *given])
    rows = store.rows("documents", f"WHERE {' AND '.join(conditions)} ORDER BY id", tuple(arguments))
    return np.array([row[0] for row in rows if meets(fields_of(store, row)[3], checked)], dtype=np.int64)


def _is_comparable(value: Any) -> bool:
    # SQLite's JSON functions end a string at its first NUL, and its integers have 64 bits.
    if isinstance(value, str):
        return "\0" not in value
    return not isinstance(value, int) or abs(value) < 1 << 63


def _mark(value: Any) -> str:
    # Strings are bound as bytes, because lone surrogates cannot be bound as text.
    return "CAST(? AS TEXT)" if isinstance(value, str) else "?"
