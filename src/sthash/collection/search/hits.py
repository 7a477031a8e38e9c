"""What a search gives: hits, and how they came about."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self

from sthash.collection.search.hit import Hit

Strategy = Literal["postings", "codes", "cells", "both"]
Reading = Literal["plain", "strict", "relaxed"]
HitRanking = Literal["graph", "bm25", "cosine", "ip", "codes", "hybrid"]


class Hits(list[Hit]):
    """The hits of one query, best first, with details about the search.

    Attributes
    ----------
    ignored : tuple of str
        Stop words of the query, which were not searched for.
    unknown : tuple of str
        Words of the query that no document has.
    suggestions : dict of str to tuple of str
        For an unknown word, known words that are spelled almost like it; only with ``explain``, or if it was
        corrected.
    corrected : dict of str to str
        For an unknown word, the known one that was searched for in its place.
    strategy : {"postings", "codes", "cells", "both"}
        Where the documents were looked for: in posting lists, in a ball of codes, in cells of vectors, or in posting
        lists and cells.
    ranking : {"graph", "bm25", "cosine", "ip", "codes", "hybrid"}
        What they were ranked by; "ip" is the inner product.
    reading : {"plain", "strict", "relaxed"}
        How the query was read: as words, or with its operators; "relaxed" if the strict reading found nothing, and it
        was read as words, with its phrases preferred.
    error : str
        What is wrong with a query of ``search_many`` that ``syntax="strict"`` could not read; else empty.
    total : int or None
        Number of documents that match: that have a word of the query or, if it has operators, meet them, and that meet
        ``where``. None where vectors or codes were compared, which rank all documents. Counted when it is
        first read, without documents that have been deleted since.
    facets : dict of str to dict
        For each field of ``facets``, in how many of the documents that match each value is, the most common first.

    Examples
    --------
    >>> from sthash.collection import Hit, Hits
    >>> hits = Hits([Hit("a", "a cat", None, {}, 1.5)], unknown=("dgo",), strategy="postings", ranking="bm25")
    >>> len(hits), hits[0].key, hits.unknown
    (1, 'a', ('dgo',))
    """

    def __init__(
        self,
        hits: Iterable[Hit] = (),
        *,
        ignored: Sequence[str] = (),
        unknown: Sequence[str] = (),
        suggestions: Mapping[str, Sequence[str]] | None = None,
        corrected: Mapping[str, str] | None = None,
        strategy: Strategy = "codes",
        ranking: HitRanking = "cosine",
        reading: Reading = "plain",
        error: str = "",
        total: int | Callable[[], int] | None = None,
        facets: Mapping[str, Mapping[Any, int]] | None = None,
    ) -> None:
        super().__init__(hits)
        self.ignored = tuple(ignored)
        self.unknown = tuple(unknown)
        self.suggestions = {word: tuple(known) for word, known in suggestions.items()} if suggestions else {}
        self.corrected = dict(corrected) if corrected else {}
        self.strategy = strategy
        self.ranking = ranking
        self.reading: Reading = reading
        self.error = error
        self._total = total
        self.facets = {name: dict(counts) for name, counts in facets.items()} if facets else {}

    @property
    def total(self) -> int | None:
        """Number of documents that match."""
        if callable(self._total):
            self._total = self._total()
        return self._total

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_total": self.total}

    def facet_lists(self) -> dict[str, list[dict[str, Any]]]:
        """Return the facets with lists in place of dicts, because keys of JSON are strings."""
        return {
            name: [{"value": value, "count": count} for value, count in counts.items()]
            for name, counts in self.facets.items()
        }

    def checked(self) -> Self:
        """Return the hits; ValueError if the query could not be read."""
        if self.error:
            raise ValueError(self.error)
        return self

    def to_frame(self) -> Any:
        """Return the hits as a pandas DataFrame; see `hits_frame`."""
        from sthash.collection.search.display import hits_frame

        return hits_frame(self)

    def _repr_html_(self) -> str:
        from sthash.collection.search.display import hits_html  # a search has no use for it

        meant = {word: f" (did you mean: {', '.join(known)}?)" for word, known in self.suggestions.items()}
        meant |= {word: f" (searched for: {known})" for word, known in self.corrected.items()}
        unknown = [word + meant.get(word, "") for word in self.unknown]
        return hits_html(self, {"ignored": self.ignored, "unknown": unknown})
