"""A document that was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any


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

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Look the distance up, where `deferred_hit` has left it out."""
            own = self.__dict__
            if name != "distance" or "_distances" not in own:
                raise AttributeError(f"a Hit has no {name!r}. Its fields are listed in its documentation.")
            distance = own["distance"] = own["_distances"][own["_place"]]
            return distance

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields, to be copied or sent elsewhere."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def deferred_hit(
    fields: tuple[str, str, str | None, dict[str, Any]],
    score: float,
    terms: tuple[str, ...],
    distances: Sequence[int],
    place: int,
) -> Hit:
    """Make a hit whose distance is ``distances[place]``, which is looked up when it is asked for.

    To set one field after the other, as its class does, would take longer than to find the document.
    """
    hit = object.__new__(Hit)
    own = hit.__dict__
    own["key"], own["text"], own["label"], own["metadata"] = fields
    own["score"], own["terms"], own["_distances"], own["_place"] = score, terms, distances, place
    return hit
