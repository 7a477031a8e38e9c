"""The parameters of a search: stated, documented and validated here, and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, TypedDict, get_args

from sthash.checks import check_choice, check_whole

Where = Mapping[str, Any]
Ranking = Literal["auto", "graph", "bm25", "cosine"]
RANKINGS: tuple[str, ...] = get_args(Ranking)


class SearchKeywords(TypedDict, total=False):
    """The fields of `SearchOptions` after ``k``, as keyword arguments of ``search`` and ``search_many``."""

    radius: int | None
    rerank: bool
    where: Where | None
    factor: int
    explain: bool
    ranking: Ranking


@dataclass(frozen=True)
class SearchOptions:
    """How to search; the same for `Collection`, `Client`, `MilvusCollection` and the HTTP interface.

    Parameters
    ----------
    k : int
        Number of hits.
    radius : int, optional
        Radius of the Hamming ball in bits. By default the ball grows until it holds ``factor`` documents per hit; a
        bit then counts as much as the query is sure of it, which brings more of the nearest documents into the ball.
    rerank : bool
        Rank the documents in the ball by the cosine of their vectors. If False, the hits are the documents with the
        nearest codes, in that order.
    where : dict, optional
        Only documents whose metadata has these values; for a list, one of its values.
    factor : int
        Number of documents in the ball per hit, if there is no radius.
    explain : bool
        Look up the terms that made a hit match.
    ranking : {"auto", "graph", "bm25", "cosine"}
        ``bm25`` ranks the documents that have words of the query, all of them, by BM25. ``graph`` ranks the best of
        these once more by their neighbors (docs/ranking.md). ``cosine`` ranks the documents in the ball by the cosine
        of their vectors. ``auto`` is ``graph`` for a text, but ``cosine`` for a whole document, for a vector or a key,
        and with ``radius`` or ``rerank=False``.

    Examples
    --------
    >>> from sthash.collection import SearchOptions
    >>> SearchOptions(k=3, where={"year": (2025, 2026)}).where
    {'year': [2025, 2026]}
    """

    k: int = 10
    radius: int | None = None
    rerank: bool = True
    where: Where | None = None
    factor: int = 500
    explain: bool = False
    ranking: Ranking = "auto"

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", check_whole("k", self.k))
        object.__setattr__(self, "factor", check_whole("factor", self.factor))
        if self.radius is not None:
            object.__setattr__(self, "radius", check_whole("radius", self.radius, least=0))
        check_choice("ranking", self.ranking, RANKINGS)
        if self.by_codes and self.ranking in ("graph", "bm25"):
            raise ValueError(
                f"ranking={self.ranking!r} looks at all documents, but radius and rerank=False are about codes. "
                "Leave them out, or pass ranking='cosine'."
            )
        if self.where is not None:
            object.__setattr__(self, "where", check_where(self.where))

    @property
    def by_codes(self) -> bool:
        """Whether the codes decide which documents are found."""
        return self.radius is not None or not self.rerank

    def keywords(self) -> dict[str, Any]:
        """Give all fields by name, to pass them on: ``search(query, **options.keywords())``."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def check_where(where: Where) -> dict[str, Any]:
    """Return conditions with plain lists for several values, or say what is wrong with them."""
    if not isinstance(where, Mapping):
        raise TypeError(f"where={where!r} must be a dict from a metadata field to a value or a list of values.")
    return {str(name): _checked_values(name, value) for name, value in where.items()}


def meets(metadata: Mapping[str, Any], where: Where) -> bool:
    """Whether metadata has all the values of checked conditions; for a list, one of its values.

    Examples
    --------
    >>> from sthash.collection import meets
    >>> meets({"year": 2026, "draft": None}, {"year": [2025, 2026], "draft": None})
    True
    """
    return all(
        name in metadata and metadata[name] in (wanted if isinstance(wanted, list) else [wanted])
        for name, wanted in where.items()
    )


def _checked_values(name: str, wanted: Any) -> Any:
    several = isinstance(wanted, list | tuple | set | frozenset)
    for value in wanted if several else [wanted]:
        if value is not None and not isinstance(value, str | int | float):
            raise TypeError(f"where[{name!r}]={value!r} must be a str, a number, a bool or None, or a list of them.")
    return list(wanted) if several else wanted
