"""From the fields of a record to a document: which field holds the key, the text and the label.

A record is the same thing everywhere: a line of a file, a row of a table, or a dict that Python code passes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, is_dataclass, replace
from dataclasses import fields as dataclass_fields
from datetime import timedelta
from decimal import Decimal
from enum import Enum
from functools import cached_property
from pathlib import PurePath
from typing import Any, TypedDict
from uuid import UUID

from sthash.checks import check_choice, check_whole
from sthash.sources.documents import Document

USUAL_NAMES = {"key": ("key", "id"), "text": ("text",), "label": ("label",)}
# A field of a text that has several, unless its weight is given: all but the last one are titles, authors, keywords.
BESIDE, LAST = 2, 1
MOST_WEIGHT = 100
# Names of fields, their weights, or both in one str: "title^3,body".
TextFields = str | Sequence[str] | Mapping[str, int]


class FieldNames(TypedDict, total=False):
    """The names of `SourceFields`, as keyword arguments."""

    key: str | None
    text: TextFields | None
    label: str | None


def text_fields(given: TextFields) -> dict[str, int]:
    """Return the fields that a text is made of, in their order, each with its weight.

    Examples
    --------
    >>> from sthash.sources.fields import text_fields
    >>> text_fields(["title", "body"]), text_fields("title^3,body"), text_fields({"body": 1, "title": 3})
    ({'title': 2, 'body': 1}, {'title': 3, 'body': 1}, {'body': 1, 'title': 3})
    """
    if isinstance(given, Mapping):
        stated: list[tuple[str, Any]] = list(given.items())
    else:
        names = [given] if isinstance(given, str) else list(given)
        if not all(isinstance(name, str) for name in names):
            raise TypeError(f"text={given!r} must have names of fields. Pass a str, a list of them, or their weights.")
        stated = [_weighted(part.strip(), name) for name in names for part in name.split(",")]
    fields = dict[str, int]()
    for place, (name, weight) in enumerate(stated):
        if not isinstance(name, str) or not name or name in fields:
            raise ValueError(f"text={given!r} has {name!r} where a field should be. Name each field once.")
        if weight is None:
            weight = LAST if place == len(stated) - 1 else BESIDE
        fields[name] = check_whole(f"the weight of the field {name!r}", weight, most=MOST_WEIGHT)
    if not fields:
        raise ValueError("text has no fields. Name one, or leave text out.")
    return fields


def _weighted(part: str, given: str) -> tuple[str, int | None]:
    name, sign, weight = part.rpartition("^")
    if not sign:
        return part, None
    if not weight.isascii() or not weight.isdigit():
        raise ValueError(f"text={given!r} has the weight {weight!r}. Use a whole number, as in title^3.")
    return name, int(weight)


@dataclass(frozen=True)
class SourceFields:
    """Which field of a record holds the key, the text and the label; all other fields become metadata.

    Parameters
    ----------
    key, text, label : str, optional
        Name of the field. ``body.en`` is the field ``en`` of the field ``body``. A record without a field that is named
        here is an error. None takes the field with the usual name if there is one: ``key`` or ``id``, ``text``,
        ``label``. ``text`` may name several fields: ``["title", "body"]`` or ``"title,body"``. Their texts are joined
        by blank lines. All but the last one stay in the metadata, and a collection counts each word as often as its
        field weighs (`text_fields`): 2 by default, and 1 for the last field.
    required : tuple of str
        Those of ``"key"``, ``"text"`` and ``"label"`` that must not be empty in any record.
    default_text : tuple of str
        Fields that a text is made of if ``text`` is not given, and the record has no field ``text``.
    vector : str, optional
        Name of the field that holds the vector of the record.
    text_optional : bool
        Whether a record needs no text, because it has a vector. Otherwise every record needs a field for the
        text, which may be empty.

    Examples
    --------
    >>> from sthash.sources import SourceFields
    >>> SourceFields(text="body").document({"id": 7, "body": "some text", "year": 2010}, "record 0")
    Document(key='7', text='some text', label=None, metadata={'year': 2010})
    """

    key: str | None = None
    text: TextFields | None = None
    label: str | None = None
    required: tuple[str, ...] = ()
    default_text: tuple[str, ...] = ()
    vector: str | None = None
    text_optional: bool = False

    def __post_init__(self) -> None:
        for part in self.required:
            check_choice("required", part, tuple(USUAL_NAMES))
        _ = self.text_fields  # which are checked

    @cached_property
    def text_fields(self) -> dict[str, int]:
        """The fields that a text is made of, each with its weight; empty if none is named."""
        return {} if self.text is None else text_fields(self.text)

    def document(self, record: Mapping[str, Any], place: str) -> Document:
        """Make a document of a record; ``place`` tells where the record is, for error messages."""
        rest = dict(record)
        vector = self._take_vector(rest, place)
        key = self._take("key", rest, place, record)
        text = self._take_text(rest, place, record)
        label = self._take("label", rest, place, record)
        optional = self.text_optional or self.vector is not None
        if text is None and self.text is None and "text" not in record and not optional:
            raise ValueError(
                f"{place} has no field 'text'. Set text (--text) to the name of the field that holds the text; "
                f"the record has {_listed(record)}."
            )
        if "metadata" not in rest:
            return Document(key, text or "", label, rest, vector)
        more = rest.pop("metadata")
        if isinstance(more, dict):
            rest |= more
        elif more is not None:
            rest["metadata"] = more
        return Document(key, text or "", label, rest, vector)

    def _take_vector(self, rest: dict[str, Any], place: str) -> Any:
        if self.vector is None:
            return None
        if self.vector not in rest:
            raise ValueError(
                f"{place} has no field {self.vector!r}. Set vectors (--vectors) to the name of a field that the record "
                f"has, or to a .npy file: {_listed(rest)}."
            )
        return rest.pop(self.vector)

    def _take_text(self, rest: dict[str, Any], place: str, record: Mapping[str, Any]) -> str | None:
        """Remove the text from the rest; of several fields only the last one is removed."""
        names = list(self.text_fields)
        if self.text is None and "text" not in rest:
            names = [name for name in self.default_text if nested_value(rest, name) is not None]
        if not names or (isinstance(self.text, str) and self.text in rest):
            return self._take("text", rest, place, record)
        if len(names) == 1:
            return self._take("text", rest, place, record, names[0])
        texts = list[str]()
        for name in names:
            value = nested_value(rest, name)
            if value is None:
                raise _no_field("text", name, place, record)
            _check_plain(name, value, "text", place)
            if value != "":
                texts.append(str(value))
        if not texts and "text" in self.required:
            raise ValueError(f"{place} has no text, or an empty one. Give every record a text.")
        if self.text_fields.get(names[-1], 1) == 1:  # a field that weighs more is looked up in the metadata
            rest.pop(names[-1], None)
        return "\n\n".join(texts)

    def _take(
        self, part: str, rest: dict[str, Any], place: str, record: Mapping[str, Any], named: str | None = None
    ) -> str | None:
        """Remove the field that holds a part of the document from the rest, and return it as a string."""
        wanted = named or getattr(self, part)
        if wanted is not None and wanted not in rest and (found := nested_value(rest, wanted)) is not None:
            rest[wanted] = found
        if wanted is not None and wanted not in rest:
            raise _no_field(part, wanted, place, record)
        if wanted is not None:
            name, value = wanted, rest.pop(wanted)
        else:
            for name in USUAL_NAMES[part]:
                if name in rest:
                    value = rest.pop(name)
                    break
            else:
                value = None
        if (type(value) is str and value) or (value is None and part not in self.required):  # the most frequent cases
            return value
        _check_plain(name, value, part, place)
        if part in self.required and value in (None, ""):
            raise ValueError(f"{place} has no {part}, or an empty one. Give every record a {part}.")
        return value if value is None or isinstance(value, str) else str(value)


def nested_value(rest: Mapping[str, Any], wanted: str) -> Any:
    """Return the value of a field, or of a field within fields (``body.en``); None if there is no such field."""
    if wanted in rest:
        return "" if rest[wanted] is None else rest[wanted]
    value: Any = rest
    for name in wanted.split("."):
        if not isinstance(value, dict) or name not in value:
            return None
        value = value[name]
    return "" if value is None else value


def _no_field(part: str, wanted: str, place: str, record: Mapping[str, Any]) -> ValueError:
    return ValueError(
        f"{place} has no field {wanted!r}. Set {part} (--{part}) to the name of a field that the record has: "
        f"{_listed(record)}."
    )


def _check_plain(name: str, value: Any, part: str, place: str) -> None:
    if isinstance(value, list | dict):
        inner = next(iter(value), None) if isinstance(value, dict) else None
        within = "" if inner is None else f", such as {name}.{inner}"
        raise ValueError(
            f"{place}: field {name!r} is a {type(value).__name__}. Set {part} (--{part}) to a field that holds a "
            f"string{within}."
        )


def _listed(record: Mapping[str, Any]) -> str:
    return ", ".join(map(repr, record)) or "no fields"


_USUAL_FIELDS = SourceFields()


def as_document(value: Any, position: int, fields: SourceFields = _USUAL_FIELDS) -> Document:
    """Return a str, a record or a Document as a checked Document.

    ``position`` is for error messages. A dict is a record, as `SourceFields` reads it: what is neither key, text nor
    label is metadata. A number as key or label becomes a string.

    Examples
    --------
    >>> from sthash.sources import as_document
    >>> as_document({"key": 7, "text": "some text", "year": 2010}, 0)
    Document(key='7', text='some text', label=None, metadata={'year': 2010})
    """
    if isinstance(value, str):
        if fields.vector is not None:
            raise TypeError(f"document {position} is a str, which has no field {fields.vector!r}. Pass a dict.")
        return Document(None, value)
    record = value if isinstance(value, Mapping) else _as_record(value)
    if record is not None:
        document = fields.document(record, f"document {position}")
        if not document.metadata:
            return document
        return replace(document, metadata={name: _storable(each) for name, each in document.metadata.items()})
    if not isinstance(value, Document):
        raise TypeError(f"document {position} is a {type(value).__name__}. Pass a str, a dict or a Document.")
    if not isinstance(value.text, str):
        raise TypeError(f"document {position} has a text of type {type(value.text).__name__}. Pass a str.")
    if not isinstance(value.metadata, dict):
        raise TypeError(f"document {position} has metadata of type {type(value.metadata).__name__}. Pass a dict.")
    key, label = _name("key", value.key, position), _name("label", value.label, position)
    if fields.vector is not None and value.vector is None:
        rest = dict(value.metadata)
        vector = fields._take_vector(rest, f"document {position}")
        return Document(key, value.text, label, rest, vector)
    if key is value.key and label is value.label:
        return value
    return Document(key, value.text, label, value.metadata, value.vector)


def _as_record(value: Any) -> dict[str, Any] | None:
    """Return the fields of a dataclass, of a named tuple, or of a model of pydantic, attrs or msgspec."""
    if isinstance(value, type):
        return None
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        named: dict[str, Any] = value._asdict()
        return named
    if is_dataclass(value) and not isinstance(value, Document):
        return {field.name: getattr(value, field.name) for field in dataclass_fields(value)}
    if hasattr(type(value), "model_fields") and hasattr(value, "model_dump"):
        dumped: dict[str, Any] = value.model_dump()
        return dumped
    names = [field.name for field in getattr(value, "__attrs_attrs__", ())]
    names = names or list(getattr(value, "__struct_fields__", ()))
    return {name: getattr(value, name) for name in names} or None


def _storable(value: Any) -> Any:
    """Return a value as JSON has it.

    Times are in ISO 8601, durations in seconds. Arrays and sets are lists, members of an Enum are their values, and
    decimals, ids and paths are strings.
    """
    if isinstance(value, Enum):
        return _storable(value.value)
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, dict):
        return {name: _storable(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_storable(each) for each in value]
    if isinstance(value, set | frozenset):
        return sorted(map(_storable, value), key=str)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "tolist"):
        return _storable(value.tolist())
    if isinstance(value, timedelta):
        return value.total_seconds()
    return str(value) if isinstance(value, Decimal | UUID | PurePath) else value


def _name(field_name: str, value: Any, position: int) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise TypeError(f"document {position} has a {field_name} of type {type(value).__name__}. Pass a str.")
