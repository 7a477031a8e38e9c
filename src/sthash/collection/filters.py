"""Documents by their metadata."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from sthash.checksums import encode_text
from sthash.collection.document_table import fields_of
from sthash.collection.packed_vectors import Ids
from sthash.collection.search_options import Where, check_where, meets
from sthash.collection.store import Store

# SQLite calls JSON that is nested very deep invalid; that, too, is left to the check in Python.
MAY_MEET = """CASE WHEN json_valid(CAST(metadata AS TEXT)) THEN EXISTS (
    SELECT 1 FROM json_each(CAST(metadata AS TEXT)) AS entry WHERE entry.key = CAST(? AS TEXT)
    AND (entry.value IN (SELECT value FROM json_each(?)) OR (? AND entry.value IS NULL))) ELSE 1 END"""
MOST_CONDITIONS = 20  # in one statement; SQLite bounds how deep an expression may be


def ids_where(store: Store, where: Where) -> Ids:
    """Return the ids of the documents whose metadata has all the given values, or one of each list of values."""
    checked = check_where(where)
    wanted = {name: values if isinstance(values, list) else [values] for name, values in checked.items()}
    conditions, arguments = ["1"], list[Any]()
    for name, values in wanted.items():
        # What SQLite cannot compare is left to the check below.
        if not all(map(_is_comparable, [name, *values])) or len(conditions) > MOST_CONDITIONS:
            continue
        conditions.append(MAY_MEET)
        # Bytes, because lone surrogates cannot be bound as text.
        arguments.extend([encode_text(name), json.dumps(values), None in values])
    rows = store.rows("documents", f"WHERE {' AND '.join(conditions)} ORDER BY id", tuple(arguments))
    return np.array([row[0] for row in rows if meets(fields_of(store, row)[3], checked)], dtype=np.int64)


def _is_comparable(value: Any) -> bool:
    # SQLite's JSON functions end a string at its first NUL, and its integers have 64 bits.
    if isinstance(value, str):
        return "\0" not in value
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, int) or abs(value) < 1 << 63
