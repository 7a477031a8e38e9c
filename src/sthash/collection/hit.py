"""A document that was found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Hit:
    """A document that was found.

    Attributes
    ----------
    key, text, label, metadata
        Of the document.
    distance : int
        Number of bits in which its code differs from the query's code.
    score : float
        What it was ranked by, unless by its code: BM25, or the cosine of its vector with the query's vector.
    terms : tuple of str
        The terms that made it match, the most important first; empty unless ``explain`` was set.
    """

    key: str
    text: str
    label: str | None
    metadata: dict[str, Any]
    distance: int
    score: float
    terms: tuple[str, ...] = ()
