"""The conditions of ``--where``, from words to the dict that `sthash.collection.SearchOptions` describes."""

from __future__ import annotations

import math
import re
from typing import Any

# The first operator of a condition; words must stand apart.
_OPERATOR = re.compile(
    r"^(?P<field>.*?)(?:\s*(?P<sign>!=|>=|<=|==?|>|<)\s*|\s+(?P<word>not\s+in|in|contains)\s+)(?P<value>.*)$", re.DOTALL
)
_EXISTS = re.compile(r"^(?P<field>.+?)\s+(?P<no>not\s+)?exists$", re.DOTALL)
_HELP = (
    "Write FIELD=VALUE, FIELD!=VALUE, FIELD>=VALUE, FIELD in A,B, FIELD contains VALUE, FIELD exists, FIELD or !FIELD."
)


def parse_conditions(where: list[str] | None) -> dict[str, Any] | None:
    """Read the conditions of a command line.

    ``field=a`` given several times, or ``field in a,b``, means one of the values. All other conditions must hold
    together. A field alone means that it is true, ``!field`` that it is not.

    ``field contains a`` given several times means all of the values. A number, and ``true`` and ``false``, also stand
    for themselves as text, where equality is asked. A value in double quotes is a text and nothing else.

    Examples
    --------
    >>> from sthash.cli.conditions import parse_conditions
    >>> parse_conditions(["label=sport", "year>=2020", "year<2024", "language in en,de", "author exists"])
    ... # doctest: +NORMALIZE_WHITESPACE
    {'label': {'in': ['sport']}, 'year': {'>=': 2020, '<': 2024}, 'language': {'in': ['en', 'de']},
     'author': {'exists': True}}
    >>> parse_conditions(["!draft", 'version="1.0"'])
    {'draft': {'not in': ['true', True]}, 'version': {'in': ['1.0']}}
    >>> parse_conditions(["tags contains cup", "tags contains final"])
    {'tags': {'contains': ['cup', 'final']}}
    """
    if not where:
        return None
    wanted: dict[str, dict[str, Any]] = {}
    for condition in where:
        field, sign, value = _parts(condition)
        own = wanted.setdefault(field, {})
        if sign in ("in", "not in", "contains"):
            own.setdefault(sign, []).extend(value)
        elif sign in own:
            raise ValueError(f"--where has {field!r} with {sign} twice. Give one of them.")
        else:
            own[sign] = value
    return dict(wanted)


def _parts(condition: str) -> tuple[str, str, Any]:
    text = condition.strip()
    if exists := _EXISTS.match(text):
        return exists["field"], "exists", not exists["no"]
    match = _OPERATOR.match(text)
    if match is None:
        field = text.removeprefix("!").strip()
        if not field or " " in field:
            raise ValueError(f"--where {condition!r} is not a valid condition. {_HELP}")
        return field, "not in" if text.startswith("!") else "in", ["true", True]
    field, value = match["field"].strip(), match["value"].strip()
    if not field or (not value and not match["sign"]):
        raise ValueError(f"--where {condition!r} is not a valid condition. {_HELP}")
    if match["word"] == "contains":
        return field, "contains", [_meanings(value)[-1]]
    if match["word"]:
        return field, " ".join(match["word"].split()), _listed(value)
    if match["sign"] in ("=", "==", "!="):
        return field, "not in" if match["sign"] == "!=" else "in", _meanings(value)
    return field, match["sign"], _meanings(value)[-1]


def _listed(values: str) -> list[Any]:
    """Return what a list stands for; a comma inside of quotes separates nothing."""
    pieces = re.findall(r'\s*("[^"]*"|[^,]*)\s*(?:,|$)', values)
    return [meaning for piece in pieces if piece for meaning in _meanings(piece.strip())]


def _meanings(value: str) -> list[Any]:
    """Return the values that a word can stand for: itself as text first, what it looks like last."""
    if len(value) >= 2 and value[0] == value[-1] == '"':
        return [value[1:-1]]
    if value in ("true", "false"):
        return [value, value == "true"]
    try:
        number = int(value) if value.lstrip("+-").isdecimal() else float(value)
        return [value, number] if isinstance(number, int) or math.isfinite(number) else [value]
    except ValueError:
        return [value]
