"""Conditions on documents in Milvus's own language.

Milvus compares less exactly than Python, and versions of it differ: it tells ``1`` from ``true``, it has no NULL and no
negation in Milvus Lite, and it reads escapes in strings in its own way. So the expression here is one that every
document which meets the conditions passes, and maybe others, which `sthash.collection.Filter` rejects when they have
arrived.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sthash.batches import batched
from sthash.collection import Condition, FieldKinds, Filter, Where
from sthash.milvus.entities import as_primary_key, escape, read_metadata
from sthash.milvus.entity_table import PAGE, EntityTable

NO_DOCUMENT = "id < 0"


def filter_expression(where: Where | None) -> str:
    """Return an expression that all documents pass which meet the conditions; empty if all documents do.

    Examples
    --------
    >>> from sthash.milvus.where_filter import filter_expression
    >>> filter_expression({"year": [2025, 2026], "label": {">=": "a"}})
    '(metadata["year"] in [2025, 2026] or json_contains_any(metadata["year"], [2025, 2026])) and (label >= "a")'
    """
    expressions = map(_expression, Filter(where or {}).conditions)
    return " and ".join(f"({expression})" for expression in expressions if expression)


def check_fields(table: EntityTable, chosen: Filter, known: FieldKinds) -> None:
    """Refuse conditions on fields that no document has; what is seen of the documents is added to ``known``."""
    if not chosen.unproven(known):
        return
    some = False
    for page in batched((entity["key"] for entity in table.scan()), PAGE):
        some = True
        for entity in table.fetch(page, ["metadata"]).values():
            known.add(read_metadata(entity))
        if not chosen.unproven(known):
            return
    if some:
        chosen.check(known)


def _expression(condition: Condition) -> str:
    """Return the expression of one condition; empty where Milvus cannot compare with one of the values."""
    if condition.own:
        return _own_expression(condition)
    name, sign, values = condition.name, condition.sign, list(condition.values)
    # Milvus Lite can tell neither that a field exists nor the opposite of a condition.
    if (
        sign in ("exists", "not in", "contains")
        or "." in name
        or not name
        or not _is_plain(name)
        or not all(map(_is_comparable, values))
    ):
        return ""
    field = f"metadata[{_quoted(name)}]"
    if sign == "in":
        return _one_of(field, values)
    (bound,) = values
    if isinstance(bound, str):
        return f"{field} {sign} {_quoted(bound)}"
    # Not "less" but "at most", because Milvus may take two large numbers for one.
    return f"{field} {sign[0]}= {bound!r}"


def _own_expression(condition: Condition) -> str:
    name, sign, values = condition.name, condition.sign, list(condition.values)
    given = [value for value in values if isinstance(value, str)]
    if sign in ("not in", "contains"):
        return ""
    if name == "key":  # percent-encoded, which keeps no order
        return _strings("key", map(as_primary_key, given)) or NO_DOCUMENT if sign == "in" else ""
    if sign == "exists":
        return f"labelled == {str(values[0]).lower()}"
    if not all(_is_plain(escape(value)) for value in given):
        return ""
    if sign != "in":
        return f"label {sign} {_quoted(given[0])}"
    choices = [_strings("label", given), "labelled == false" if None in values else ""]
    return " or ".join(filter(None, choices)) or NO_DOCUMENT


def _one_of(field: str, values: list[Any]) -> str:
    numbers = [value for value in values if not isinstance(value, str)]
    # A list must hold values of one type.
    choices = [
        _strings(field, (value for value in values if isinstance(value, str))),
        _among(field, [str(int(value)) for value in numbers if isinstance(value, int)]),
        _among(field, [repr(float(value)) for value in numbers if not isinstance(value, int)]),
    ]
    switches = [str(bool(value)).lower() for value in (0, 1) if value in numbers]
    choices += [f"{field} == {switch} or json_contains({field}, {switch})" for switch in switches]
    members = [_quoted(value) if isinstance(value, str) else repr(value + 0) for value in values]
    if members:
        choices.append(f"json_contains_any({field}, [{', '.join(members)}])")
    return " or ".join(filter(None, choices)) or NO_DOCUMENT


def _strings(field: str, values: Iterable[str]) -> str:
    return _among(field, [_quoted(value) for value in values])


def _among(field: str, values: list[str]) -> str:
    return f"{field} in [{', '.join(values)}]" if values else ""


def _is_comparable(value: Any) -> bool:
    if isinstance(value, str):
        return _is_plain(value)
    return isinstance(value, float) or (isinstance(value, int) and abs(value) < 1 << 63)


def _is_plain(text: str) -> bool:
    """Whether Milvus reads a quoted string as it was written."""
    return text.isprintable() and "\\" not in text


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '\\"') + '"'
