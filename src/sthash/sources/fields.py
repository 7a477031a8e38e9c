"""From the fields of a record to a document: which field holds the key, the text and the label.

A record is the same thing everywhere: a line of a file, a row of a table, or a dict that Python code passes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass, replace
from dataclasses import fields as dataclass_fields
from decimal import Decimal
from pathlib import PurePath
from typing import Any, TypedDict
from uuid import UUID

from sthash.checks import check_choice
from sthash.sources.documents import Document

USUAL_NAMES = {"key": ("key", "id"), "text": ("text",), "label": ("label",)}


class FieldNames(TypedDict, total=False):
    """The names of `SourceFields`, as keyword arguments."""

    key: str | None
    text: str | None
    label: str | None


@dataclass(frozen=True)
class SourceFields:
    """Which field of a record holds the key, the text and the label; all other fields become metadata.

    Parameters
    ----------
    key, text, label : str, optional
        Name of the field. ``body.en`` is the field ``en`` of the field ``body``. ``title,body`` takes the texts of
        several fields, which stay in the metadata. A record without a field that is named here is an error. None takes
        the field with the usual name if there is one: ``key`` or ``id``, ``text``, ``label``.
    required : tuple of str
        Those of ``"key"``, ``"text"`` and ``"label"`` that must not be empty in any record.
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
    text: str | None = None
    label: str | None = None
    required: tuple[str, ...] = ()
    vector: str | None = None
    text_optional: bool = False

    def __post_init__(self) -> None:
        for part in self.required:
            check_choice("required", part, tuple(USUAL_NAMES))

    def document(self, record: Mapping[str, Any], place: str) -> Document:
        """Make a document of a record; ``place`` tells where the record is, for error messages."""
        rest = dict(record)
        vector = self._take_vector(rest, place)
        key = self._take("key", rest, place, record)
        text = self._take("text", rest, place, record)
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

    def _take(self, part: str, rest: dict[str, Any], place: str, record: Mapping[str, Any]) -> str | None:
        """Remove the field that holds a part of the document from the rest, and return it as a string."""
        wanted = getattr(self, part)
        if wanted is not None and wanted not in rest and (found := _nested(rest, wanted)) is not None:
            name, rest[wanted] = wanted, found
        if wanted is not None and wanted not in rest:
            raise ValueError(
                f"{place} has no field {wanted!r}. Set {part} (--{part}) to the name of a field that the record has: "
                f"{_listed(record)}."
            )
        if wanted is not None:
            name, value = wanted, rest.pop(wanted)
        else:
            for name in USUAL_NAMES[part]:
                if name in rest:
                    value = rest.pop(name)
                    break
            else:
                value = None
        if type(value) is str and value:  # the most frequent case, checked fast
            return value
        if isinstance(value, list | dict):
            raise ValueError(
                f"{place}: field {name!r} is a {type(value).__name__}. Set {part} to a field that holds a string."
            )
        if part in self.required and value in (None, ""):
            raise ValueError(f"{place} has no {part}, or an empty one. Give every record a {part}.")
        return value if value is None or isinstance(value, str) else str(value)


def _nested(rest: dict[str, Any], wanted: str) -> Any:
    """Return a field within fields (``body.en``), or the texts of several (``title,body``); None if one is missing."""
    if "," in wanted:
        parts = [rest.get(each, _nested(rest, each)) for each in map(str.strip, wanted.split(","))]
        texts = ["" if part is None else part for part in parts]
        if any(each.strip() not in rest and part is None for each, part in zip(wanted.split(","), parts, strict=True)):
            return None
        return "\n\n".join(str(text) for text in texts if text != "") if all(map(_is_plain, texts)) else texts
    value: Any = rest
    for name in wanted.split("."):
        if not isinstance(value, dict) or name not in value:
            return None
        value = value[name]
    return "" if value is None else value


def _is_plain(value: Any) -> bool:
    return not isinstance(value, list | dict)


def _listed(record: Mapping[str, Any]) -> str:
    return ", ".join(map(repr, record)) or "no fields"


_USUAL_FIELDS = SourceFields()


def as_document(value: Any, position: int, fields: SourceFields = _USUAL_FIELDS) -> Document:
    """Return a str, a dict, a dataclass, a named tuple or a Document as a checked Document.

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
    """Return the fields of a dataclass or of a named tuple."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        named: dict[str, Any] = value._asdict()
        return named
    if is_dataclass(value) and not isinstance(value, type | Document):
        return {field.name: getattr(value, field.name) for field in dataclass_fields(value)}
    return None


def _storable(value: Any) -> Any:
    """Return a value as JSON has it: times in ISO 8601, arrays as lists, decimals, ids and paths as strings."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, dict):
        return {name: _storable(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_storable(each) for each in value]
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "tolist"):
        return _storable(value.tolist())
    return str(value) if isinstance(value, Decimal | UUID | PurePath) else value


def _name(field_name: str, value: Any, position: int) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise TypeError(f"document {position} has a {field_name} of type {type(value).__name__}. Pass a str.")
