"""What a document is: a key, a text, a label and metadata."""

from __future__ import annotations

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
    vector : array, optional
        For a collection of vectors. Documents that a collection returns have none.

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
    vector: Any = field(default=None, repr=False, compare=False)
