"""`Hit`: a document that was found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sthash.collection.search.snippets import Snippet


@dataclass(slots=True)
class Hit:
    """A document that was found.

    Attributes
    ----------
    key, text, label, metadata
        Of the document.
    score : float
        Ranking score, unless hits are ranked by code: BM25, or the cosine (or inner product) of its vector with the
        query's vector, or the sum of reciprocal ranks.
    distance : int or None
        Number of bits in which its code differs from the query's code. None unless codes had a part in the search, or
        ``explain`` was set and the collection has codes.
    terms : tuple of str
        The terms that made it match, the most important first; empty unless ``explain`` was set.
    snippet : Snippet or None
        The passage with most words of the query; None unless ``snippet`` was set.
    copies : tuple of str
        Keys of near-duplicates that it stands for; empty unless ``collapse`` was set.
    """

    key: str
    text: str
    label: str | None
    metadata: dict[str, Any]
    score: float
    distance: int | None = None
    terms: tuple[str, ...] = ()
    snippet: Snippet | None = None
    copies: tuple[str, ...] = ()
