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
OPERATORS = ("=", "!=", *COMPARISONS, "in", "not in", "contains", "exists")
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
    if sign == "contains":
        return _checked_values(field, value if several else [value])
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
        ``in``, ``not in``, ``contains``, ``exists``, or a comparison. Equality is ``in`` with one value.
    values : tuple
        The values of ``in``, ``not in`` and ``contains``; otherwise one value.
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
        if self.sign == "exists":
            return set()
        kinds = {kind_of(value) for value in self.values} - {"null"}
        return kinds | {"list"} if kinds and self.sign in ("contains", "in", "not in") else kinds

    def holds(self, there: bool, value: Any) -> bool:
        """Whether the condition holds for the value of a field, or for a document that does not have the field.

        A list is ``in`` if one of its values is. It is neither less nor greater than anything.
        """
        if self.sign == "exists":
            return (there and value is not None) == bool(self.values[0])
        if self.sign in COMPARISONS:
            bound = self.values[0]
            if not there or isinstance(value, bool) or kind_of(value) != kind_of(bound):
                return False
            return bool(COMPARISONS[self.sign](value, bound))
        if self.sign == "contains":
            return there and all(wanted in values_of(value) for wanted in self.values)
        several = value if isinstance(value, list) else [value]
        found: bool = there and any(not isinstance(each, list | dict) and each in self._values for each in several)
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
            if condition.own:
                there, value = True, own[condition.name]
            else:
                there, value = field_value(metadata, condition.name)
            if not condition.holds(there, value):
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
                    f"The documents have: {known.listed()}."
                )
            present = sorted(held - {"null"})
            if present:
                remedy = "Compare numbers with numbers, and strings with strings (in quotes on the command line)."
                raise TypeError(
                    f"where compares the field {condition.name!r} with a "
                    f"{' or a '.join(sorted(condition.kinds - {'list'}))}, "
                    f"but the documents have {' or '.join(map(_with_article, present))} there. "
                    f"{'Use contains for the values of a list.' if 'list' in present else remedy}"
                )


class FieldKinds(dict[str, set[str]]):
    """The fields that the metadata of documents have, and of which kinds their values are."""

    def add(self, metadata: Mapping[str, Any]) -> None:
        """Take note of the fields of a document, also of those inside of others."""
        inner: list[tuple[str, Mapping[str, Any], str | None]] = [("", metadata, None)]
        while inner:
            outer, fields, kind = inner.pop()
            for name, value in fields.items():
                path = f"{outer}{name}"
                self.setdefault(path, set()).add(kind or kind_of(value))
                if isinstance(value, dict):
                    inner.append((f"{path}.", value, kind))
                elif isinstance(value, list):
                    inner.extend((f"{path}.", each, "list") for each in value if isinstance(each, dict))

    def listed(self) -> str:
        """Return the names of the fields, as conditions spell them, for a message."""
        spelled = [
            f"{PREFIX}{name}" if name in OWN_FIELDS or name.startswith(PREFIX) else name for name in sorted(self)
        ]
        shown = [*OWN_FIELDS, *spelled][:MOST_LISTED]
        more = len(spelled) + len(OWN_FIELDS) - len(shown)
        return ", ".join(map(repr, shown)) + (f" and {more} more" if more else "")

    def suits(self, condition: Condition) -> bool:
        """Whether some document has the field with a value of the right kind."""
        held = self.get(condition.name)
        return held is not None and (not condition.kinds or not held.isdisjoint(condition.kinds))


def field_value(metadata: Mapping[str, Any], name: str) -> tuple[bool, Any]:
    """Return whether there is a field, and its value; ``author.name`` is the field ``name`` inside of ``author``.

    A field with just this name comes first. Inside of a list of objects, the values of all of them are a list.

    Examples
    --------
    >>> from sthash.collection.search.conditions import field_value
    >>> field_value({"author": {"name": "Ada"}}, "author.name")
    (True, 'Ada')
    >>> field_value({"authors": [{"name": "Ada"}, {"name": "Alan"}]}, "authors.name")
    (True, ['Ada', 'Alan'])
    """
    if name in metadata:
        return True, metadata[name]
    dot = name.find(".")
    while dot >= 0:
        outer, rest = metadata.get(name[:dot]), name[dot + 1 :]
        if isinstance(outer, dict):
            there, value = field_value(outer, rest)
            if there:
                return True, value
        elif isinstance(outer, list):
            within = [field_value(each, rest) for each in outer if isinstance(each, dict)]
            if any(there for there, _ in within):
                return True, [value for there, found in within if there for value in values_of(found)]
        dot = name.find(".", dot + 1)
    return False, None


def values_of(value: Any) -> list[Any]:
    """Return the values of a field: those of a list, or the one."""
    return value if isinstance(value, list) else [value]


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


def _with_article(kind: str) -> str:
    return f"an {kind}" if kind == "object" else f"a {kind}"
