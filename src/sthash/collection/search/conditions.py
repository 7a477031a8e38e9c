"""Conditions on documents: the grammar of ``where``, and which documents meet it.

`SearchOptions` documents the grammar for users. A file, a service and Milvus all read it here.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

Where = Mapping[str, Any]

COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
OPERATORS = ("=", "!=", *COMPARISONS, "in", "not in", "exists")
OWN_FIELDS = ("key", "label")
PREFIX = "metadata."
MOST_LISTED = 40


def check_where(where: Where) -> dict[str, Any]:
    """Return conditions with plain lists for several values, as JSON has them, or say what is wrong with them.

    Examples
    --------
    >>> from sthash.collection.search.conditions import check_where
    >>> check_where({"label": 7, "year": {">=": 2020}, "language": ("en", "de")})
    {'label': '7', 'year': {'>=': 2020}, 'language': ['en', 'de']}
    """
    if not isinstance(where, Mapping):
        raise TypeError(f"where={where!r} must be a dict from a field to a value, a list of values or a comparison.")
    return {str(field): _checked(str(field), wanted) for field, wanted in where.items()}


def _checked(field: str, wanted: Any) -> Any:
    if not isinstance(wanted, Mapping):
        return _checked_values(field, wanted)
    if not wanted:
        raise TypeError(f"where[{field!r}]={{}} has no operator. Use one of: {', '.join(OPERATORS)}.")
    return {sign: _checked_operand(field, sign, value) for sign, value in wanted.items()}


def _checked_operand(field: str, sign: Any, value: Any) -> Any:
    if sign not in OPERATORS:
        raise ValueError(f"where[{field!r}] has the operator {sign!r}. Use one of: {', '.join(OPERATORS)}.")
    place = f"where[{field!r}][{sign!r}]={value!r}"
    if sign == "exists":
        if not isinstance(value, bool):
            raise TypeError(f"{place} must be True or False.")
        return value
    if sign in COMPARISONS:
        value = _plain(value)
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise TypeError(f"{place} must be a number or a str.")
        _check_finite(field, value)
        if field in OWN_FIELDS and not isinstance(value, str):
            raise TypeError(f"{place} must be a str, because every {field} is one.")
        return value
    several = _are_several(value)
    if several != (sign in ("in", "not in")):
        raise TypeError(f"{place} must be {'one value' if several else 'a list of values'}.")
    return _checked_values(field, value)


def _checked_values(field: str, wanted: Any) -> Any:
    if _are_several(wanted):
        return [_checked_value(field, value) for value in wanted]
    return _checked_value(field, wanted)


def _checked_value(field: str, value: Any) -> Any:
    value = _plain(value)
    if value is not None and not isinstance(value, str | int | float):
        raise TypeError(f"where[{field!r}]={value!r} must be a str, a number, a bool or None, or a list of them.")
    _check_finite(field, value)
    if field in OWN_FIELDS and isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)  # as `as_document` makes keys and labels of numbers
    return value


def _check_finite(field: str, value: Any) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"where[{field!r}] has the number {value!r}. Use a finite one, or exists.")


def _plain(value: Any) -> Any:
    """Return a scalar of NumPy as what JSON has for it."""
    return value.item() if getattr(value, "shape", None) == () else value


def _are_several(value: Any) -> bool:
    return isinstance(value, list | tuple | set | frozenset)


@dataclass(frozen=True)
class Condition:
    """One condition on one field.

    Attributes
    ----------
    name : str
        Of the field: ``key`` or ``label`` of the document if ``own`` is set, otherwise a field of its metadata.
    own : bool
    sign : str
        ``in``, ``not in``, ``exists``, or a comparison. Equality is ``in`` with one value.
    values : tuple
        The values of ``in`` and ``not in``; otherwise one value.
    """

    name: str
    own: bool
    sign: str
    values: tuple[Any, ...]

    @cached_property
    def _values(self) -> frozenset[Any]:
        return frozenset(self.values)

    @property
    def kinds(self) -> set[str]:
        """Kinds of the values, of which a document must have one; empty if any kind will do."""
        return set() if self.sign == "exists" else {kind_of(value) for value in self.values} - {"null"}

    def holds(self, there: bool, value: Any) -> bool:
        """Whether the condition holds for the value of a field, or for a document that does not have the field."""
        if self.sign == "exists":
            return (there and value is not None) == bool(self.values[0])
        if self.sign in COMPARISONS:
            bound = self.values[0]
            if not there or isinstance(value, bool) or kind_of(value) != kind_of(bound):
                return False
            return bool(COMPARISONS[self.sign](value, bound))
        found: bool = there and not isinstance(value, list | dict) and value in self._values
        return found == (self.sign == "in")


class Filter:
    """The conditions of a search, ready to be asked of many documents.

    Parameters
    ----------
    where : dict
        As `SearchOptions` describes it.

    Examples
    --------
    >>> from sthash.collection import Filter
    >>> recent = Filter({"label": "sport", "year": {">=": 2020}, "draft": {"!=": True}})
    >>> recent.accepts("a", "sport", {"year": 2026}), recent.accepts("a", "sport", {"year": 2026, "draft": True})
    (True, False)
    """

    def __init__(self, where: Where) -> None:
        self.conditions = [each for field, wanted in check_where(where).items() for each in _conditions(field, wanted)]

    def accepts(self, key: str, label: str | None, metadata: Mapping[str, Any]) -> bool:
        """Whether a document meets all conditions."""
        own = {"key": key, "label": label}
        for condition in self.conditions:
            fields = own if condition.own else metadata
            if not condition.holds(condition.name in fields, fields.get(condition.name)):
                return False
        return True

    def unproven(self, known: FieldKinds) -> list[Condition]:
        """Return the conditions on fields that are not known to be in any document, or not with such values."""
        return [each for each in self.conditions if not each.own and not known.suits(each)]

    def check(self, known: FieldKinds) -> None:
        """Refuse a field that no document has, and values that no document can have; ``known`` is of all documents."""
        for condition in self.unproven(known):
            held = known.get(condition.name)
            if held is None:
                raise ValueError(
                    f"where has the field {condition.name!r}, which no document has. "
                    f"The documents have: {_listed(known)}."
                )
            present = sorted(held - {"null"})
            if present:
                raise TypeError(
                    f"where compares the field {condition.name!r} with a {' or a '.join(sorted(condition.kinds))}, "
                    f"but the documents have a {' or a '.join(present)} there. "
                    "Compare numbers with numbers, and strings with strings (in quotes on the command line)."
                )


class FieldKinds(dict[str, set[str]]):
    """The fields that the metadata of documents have, and of which kinds their values are."""

    def add(self, metadata: Mapping[str, Any]) -> None:
        """Take note of the fields of a document."""
        for name, value in metadata.items():
            self.setdefault(name, set()).add(kind_of(value))

    def suits(self, condition: Condition) -> bool:
        """Whether some document has the field with a value of the right kind."""
        held = self.get(condition.name)
        return held is not None and (not condition.kinds or not held.isdisjoint(condition.kinds))


def kind_of(value: Any) -> str:
    """Return what a value of JSON is: a string, a number (or a bool), null, a list or an object."""
    if isinstance(value, str):
        return "string"
    if isinstance(value, int | float):
        return "number"
    return "null" if value is None else "list" if isinstance(value, list) else "object"


def _conditions(field: str, wanted: Any) -> Iterable[Condition]:
    name, own = field.removeprefix(PREFIX), field in OWN_FIELDS
    if not isinstance(wanted, dict):
        wanted = {"in" if isinstance(wanted, list) else "=": wanted}
    for sign, value in wanted.items():
        values = tuple(value) if isinstance(value, list) else (value,)
        yield Condition(name, own, {"=": "in", "!=": "not in"}.get(sign, sign), values)


def _listed(known: FieldKinds) -> str:
    spelled = [f"{PREFIX}{name}" if name in OWN_FIELDS or name.startswith(PREFIX) else name for name in sorted(known)]
    shown = [*OWN_FIELDS, *spelled][:MOST_LISTED]
    more = len(spelled) + len(OWN_FIELDS) - len(shown)
    return ", ".join(map(repr, shown)) + (f" and {more} more" if more else "")
