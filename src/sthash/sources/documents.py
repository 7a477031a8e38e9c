"""What a document is: a key, a text, a label and metadata."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Document:
    """A document; a collection gives it a key if it has none.

    Parameters
    ----------
    key : str or None
        Name of the document in its collection.
    text : str
    label : str or None
        Class of the document, for classification.
    metadata : dict
        Anything else that JSON can hold.

    Examples
    --------
    >>> from sthash.sources import Document
    >>> Document("a", "some text").label is None
    True
    """

    key: str | None
    text: str = ""
    label: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


def as_document(value: Any, position: int) -> Document:
    """Return a str, a dict or a Document as a checked Document; ``position`` is for the message of an error.

    A dict has the fields of a Document: key, text, label, metadata. A number as key or label becomes a string.

    Examples
    --------
    >>> from sthash.sources import as_document
    >>> as_document({"key": 7, "text": "some text"}, 0)
    Document(key='7', text='some text', label=None, metadata={})
    """
    if isinstance(value, str):
        return Document(None, value)
    if isinstance(value, Mapping):
        unknown = set(value) - {"key", "text", "label", "metadata"}
        if unknown:
            raise ValueError(
                f"document {position} has the field {min(map(str, unknown))!r}, but a document has only key, text, label "
                "and metadata. Put the rest into metadata."
            )
        value = Document(value.get("key"), value.get("text", ""), value.get("label"), dict(value.get("metadata") or {}))
    if not isinstance(value, Document):
        raise TypeError(f"document {position} is a {type(value).__name__}. Pass a str, a dict or a Document.")
    if not isinstance(value.text, str):
        raise TypeError(f"document {position} has a text of type {type(value.text).__name__}. Pass a str.")
    if not isinstance(value.metadata, dict):
        raise TypeError(f"document {position} has metadata of type {type(value.metadata).__name__}. Pass a dict.")
    key, label = _name("key", value.key, position), _name("label", value.label, position)
    if key is value.key and label is value.label:
        return value
    return Document(key, value.text, label, value.metadata)


def _name(field_name: str, value: Any, position: int) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise TypeError(f"document {position} has a {field_name} of type {type(value).__name__}. Pass a str.")
