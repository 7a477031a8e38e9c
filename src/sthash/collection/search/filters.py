"""The documents of a file that meet conditions.

SQLite finds documents that may meet them, and `Filter` decides. What SQLite cannot compare, or would compare in another
way than Python, is left to `Filter` alone.
"""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from sthash.arrays import Ids
from sthash.checksums import encode_text
from sthash.collection.file.documents import Documents
from sthash.collection.search.conditions import (
    COMPARISONS,
    Condition,
    FieldKinds,
    Filter,
    Where,
    field_value,
    kind_of,
)
from sthash.collection.snapshot import Snapshot

# SQLite refuses objects that are nested deeper than its own limit, although they are sound.
READABLE = "json_valid(CAST(metadata AS TEXT))"
ENTRIES = "json_each(CAST(metadata AS TEXT)) AS entry"
READABLE_ENTRIES = f"json_each(CASE WHEN {READABLE} THEN CAST(metadata AS TEXT) ELSE '{{}}' END) AS entry"
GIVEN = "(SELECT value FROM json_each(?))"
GIVEN_BYTES = "(SELECT CAST(value AS BLOB) FROM json_each(?))"
TYPES = {"string": ["text"], "number": ["integer", "real", "true", "false"], "list": ["array"], "object": ["object"]}
HAS_ONE_OF = f"EXISTS (SELECT 1 FROM {{}} WHERE entry.key IN {GIVEN})"  # noqa: S608
ITEMS = "json_each(CASE WHEN entry.type = 'array' THEN entry.value ELSE '[]' END) AS item"
MOST_STATEMENTS = 50  # SQLite bounds the depth of an expression; `Filter` sees to the other conditions
# Answers that are kept in memory, per state of a collection, and the most characters of their conditions.
MOST_KEPT, LONGEST_KEPT = 16, 10_000
UNREADABLE = re.compile("[\0\ud800-\udfff]")


def ids_where(snapshot: Snapshot, where: Where) -> Ids:
    """Return the ids of the documents that meet all conditions; a field that no document has is an error.

    The last answers are kept, and the same conditions give the same array.
    """
    kept: dict[str, Ids] = snapshot.kept.setdefault("where", {})
    asked = repr(where)
    ids = kept.get(asked)
    if ids is None:
        ids = _ids_where(snapshot, where)
        ids.flags.writeable = False
        if len(asked) <= LONGEST_KEPT:
            for first in [*kept][: max(0, len(kept) + 1 - MOST_KEPT)]:
                kept.pop(first, None)
            kept[asked] = ids
    return ids


def _ids_where(snapshot: Snapshot, where: Where) -> Ids:
    documents, chosen = snapshot.documents, Filter(where)
    _check_fields(documents, chosen)
    statements, arguments = ["1"], list[Any]()
    for condition in chosen.conditions[:MOST_STATEMENTS]:
        statement, own = _statement(condition)
        statements.append(statement)
        arguments.extend(own)
    found = [
        number
        for number, read in documents.where(" AND ".join(statements), tuple(arguments))
        if chosen.accepts(read.key, read.label, read.shared_metadata)
    ]
    return np.array(found, dtype=np.int64)


def has_field(snapshot: Snapshot, name: str) -> bool:
    """Whether a document can have this field."""
    return all(
        each.own or _some_document_has(snapshot.documents, each) for each in Filter({name: {"exists": True}}).conditions
    )


def _check_fields(documents: Documents, chosen: Filter) -> None:
    """Look for a document that has the field of each condition; only an error is worth reading all documents."""
    if all(each.own or _some_document_has(documents, each) for each in chosen.conditions):
        return
    known, count = FieldKinds(), 0
    for _, read in documents.where("1", ()):
        known.add(read.shared_metadata)
        count += 1
    if count:
        chosen.check(known)


def _some_document_has(documents: Documents, condition: Condition) -> bool:
    if not _is_comparable(condition.name):
        return False
    if "." in condition.name:
        return any(
            there and (not condition.kinds or kind_of(value) in condition.kinds)
            for _, read in documents.where(HAS_ONE_OF.format(READABLE_ENTRIES), (_outer_names(condition.name),))
            for there, value in [field_value(read.shared_metadata, condition.name)]
        )
    types = json.dumps([kind for name in condition.kinds for kind in TYPES[name]])
    right = f"AND entry.type IN {GIVEN}" if condition.kinds else ""
    arguments = (encode_text(condition.name), *([types] if right else []))
    has_entry = f"EXISTS (SELECT 1 FROM {READABLE_ENTRIES} WHERE entry.key = CAST(? AS TEXT) {right})"  # noqa: S608
    return documents.any(has_entry, arguments)


def _statement(condition: Condition) -> tuple[str, list[Any]]:
    """Return a condition that every document passes which meets the given one, and its arguments."""
    name, sign, values = condition.name, condition.sign, condition.values
    everything = ("1", list[Any]())
    negative = sign == "not in" or (sign == "exists" and not values[0])
    if negative or not all(map(_is_comparable, (name, *values))):
        return everything
    # As JSON, so that both sides of a comparison are read in the same way.
    given = json.dumps([value for value in values if value is not None])
    null = None in values
    if condition.own:
        if sign == "exists":
            return f"{name} IS NOT NULL", []
        if sign in COMPARISONS:
            return f"{name} {sign} ?", [encode_text(values[0])]
        if sign == "contains" and len(values) != 1:
            return everything
        chosen = f"{name} IN {GIVEN_BYTES}"
        return f"({chosen} OR {name} IS NULL)" if null else chosen, [given]
    if "." in name:
        return f"CASE WHEN {READABLE} THEN {HAS_ONE_OF.format(ENTRIES)} ELSE 1 END", [_outer_names(name)]
    arguments: list[Any] = [encode_text(name)]
    if sign == "contains":
        wanted = f"item.value IN {GIVEN}" + (" OR item.value IS NULL" if null else "")
        right = f"entry.type != 'array' OR EXISTS (SELECT 1 FROM {ITEMS} WHERE {wanted})"  # noqa: S608
        arguments.append(given)
    elif sign == "exists":
        right = "1"
    elif sign in COMPARISONS:
        # Not "less" but "at most", because SQLite may read two different numbers as one.
        right = f"entry.value {sign[0]}= {GIVEN}"
        arguments.append(given)
    else:
        right = f"entry.value IN {GIVEN} OR entry.type = 'array'" + (" OR entry.value IS NULL" if null else "")
        arguments.append(given)
    holds = f"EXISTS (SELECT 1 FROM {ENTRIES} WHERE entry.key = CAST(? AS TEXT) AND ({right}))"  # noqa: S608
    return f"CASE WHEN {READABLE} THEN {holds} ELSE 1 END", arguments


def _outer_names(name: str) -> str:
    """Return, as JSON, the names of fields that a field can be inside of, and its own."""
    return json.dumps([name[:place] for place, character in enumerate(name) if character == "."] + [name])


def _is_comparable(value: Any) -> bool:
    # SQLite's JSON functions end a string at its first NUL, and its integers have 64 bits.
    if isinstance(value, str):
        return UNREADABLE.search(value) is None
    return not isinstance(value, int) or abs(value) < 1 << 63
