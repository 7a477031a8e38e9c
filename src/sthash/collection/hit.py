"""A document that was found."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple


class ReadDocument(NamedTuple):
    """A document that was read and found in order; ``size`` is that in the file."""

    key: str
    text: str
    label: str | None
    metadata_json: bytes
    size: int

    def metadata(self) -> dict[str, Any]:
        """Decode the metadata: the one who asks owns them."""
        metadata: dict[str, Any] = {} if self.metadata_json == b"{}" else json.loads(self.metadata_json)
        return metadata


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
        What it was ranked by, unless by its code: BM25, or the cosine (or inner product) of its vector with the
        query's vector.
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
            """Look up what `deferred_hit` has left out."""
            own = self.__dict__
            if name == "distance" and "_distances" in own:
                own[name] = own["_distances"][own["_place"]]
            elif name == "metadata" and "_document" in own:
                own[name] = own["_document"].metadata()
            elif name in ("key", "text", "label") and "_document" in own:
                own[name] = getattr(own["_document"], name)
            else:
                raise AttributeError(f"a Hit has no {name!r}. Its fields are listed in its documentation.")
            return own[name]

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields, to be copied or sent elsewhere."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def deferred_hit(document: ReadDocument, score: float, distances: Sequence[int], place: int) -> Hit:
    """Make a hit without terms, whose distance is ``distances[place]``. Its fields are looked up when they are needed.

    To set one field after the other, as its class does, would take longer than to find the document.
    """
    hit = object.__new__(Hit)
    own = hit.__dict__
    own["score"], own["_document"], own["_distances"], own["_place"] = score, document, distances, place
    return hit
