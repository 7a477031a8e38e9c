"""Conditions on metadata in Milvus's own language.

Milvus compares less exactly than Python, and versions of it differ: it tells ``1`` from ``true``, it has no NULL in
Milvus Lite, and it reads escapes in strings in its own way. So the expression here is one that every document which
meets the conditions passes, and maybe a few others, which `sthash.collection.meets` rejects when they have arrived.
"""

from __future__ import annotations

import math
from typing import Any

from sthash.collection import Where

NO_DOCUMENT = "id < 0"


def filter_expression(where: Where | None) -> str:
    """Return an expression that all documents with these values in their metadata pass; empty if all documents do.

    Examples
    --------
    >>> from sthash.milvus.where_filter import filter_expression
    >>> filter_expression({"year": [2025, 2026], "language": "en"})
    '(metadata["year"] in [2025, 2026]) and (metadata["language"] in ["en"])'
    """
    conditions = (
        _condition(name, values if isinstance(values, list) else [values]) for name, values in (where or {}).items()
    )
    return " and ".join(f"({condition})" for condition in conditions if condition)


def _condition(name: str, values: list[Any]) -> str:
    """Return the condition on one field; empty where Milvus cannot compare with one of the values."""
    if not name or not _is_plain(name) or not all(map(_is_comparable, values)):
        return ""
    field = f"metadata[{_quoted(name)}]"
    # No document has NaN or infinity.
    numbers = [value for value in values if not isinstance(value, str) and math.isfinite(value)]
    # A list must hold values of one type.
    lists = {
        "strings": [_quoted(value) for value in values if isinstance(value, str)],
        "ints": [str(int(value)) for value in numbers if isinstance(value, int)],
        "floats": [repr(float(value)) for value in numbers if not isinstance(value, int)],
    }
    choices = [f"{field} in [{', '.join(several)}]" for several in lists.values() if several]
    choices += [f"{field} == {str(bool(value)).lower()}" for value in (0, 1) if value in numbers]
    return " or ".join(choices) or NO_DOCUMENT


def _is_comparable(value: Any) -> bool:
    if isinstance(value, str):
        return _is_plain(value)
    return isinstance(value, float) or (isinstance(value, int) and abs(value) < 1 << 63)


def _is_plain(text: str) -> bool:
    """Whether Milvus reads a quoted string as it was written."""
    return text.isprintable() and "\\" not in text


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '\\"') + '"'
