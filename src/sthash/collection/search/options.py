"""The parameters of a search: stated, documented and validated here, and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, Literal, TypedDict, get_args

from sthash.checks import check_choice, check_share, check_whole
from sthash.collection.search.conditions import Where, check_where
from sthash.collection.search.query import SYNTAXES, Syntax
from sthash.index.vectors import RECALL

LARGEST = 2**31 - 1
Ranking = Literal["auto", "graph", "bm25", "cosine", "ip", "hybrid"]
RANKINGS: tuple[str, ...] = get_args(Ranking)


class SearchKeywords(TypedDict, total=False):
    """The fields of `SearchOptions` after ``k``, as keyword arguments of ``search`` and ``search_many``."""

    radius: int | None
    rerank: bool
    where: Where | None
    factor: int
    explain: bool
    ranking: Ranking
    correct: bool | None
    syntax: Syntax
    offset: int
    snippet: int
    sort: str | None
    facets: Sequence[str]
    collapse: bool
    recall: float
    exact: bool


@dataclass(frozen=True)
class SearchOptions:
    """How to search; the same for `Collection`, `Client`, `MilvusCollection` and the HTTP interface.

    Milvus stores codes only: there, ``correct`` and rankings by words raise a ValueError.

    Parameters
    ----------
    k : int
        Number of hits.
    radius : int, optional
        Radius of the Hamming ball in bits. By default the ball grows until it holds ``factor`` documents per hit; each
        bit is then weighted by the query's margin, which improves recall.
    rerank : bool
        Rank the documents in the ball by the cosine, or inner product, of their vectors. If False, the hits are the
        documents with the nearest codes, in that order.
    where : dict, optional
        Only documents that meet all conditions; see below.
    factor : int
        Number of documents in the ball per hit, if there is no radius.
    explain : bool
        Look up the terms that made a hit match and, for words of the query that no document has, words that are
        spelled almost like them.
    ranking : {"auto", "graph", "bm25", "cosine", "ip", "hybrid"}
        ``bm25`` ranks the documents that have words of the query, all of them, by BM25. ``graph`` ranks the best of
        these once more by their neighbors (docs/ranking.md). ``cosine`` ranks the documents in the ball by the cosine
        of their vectors; ``ip`` takes its place in collections with ``metric="ip"``, which compare by inner product.
        ``hybrid``, for collections of vectors opened with an embedder, fuses ``graph`` and ``cosine`` (or ``ip``) by
        ranks. ``auto`` is ``hybrid`` for a text there, and ``graph`` for a text elsewhere; but ``cosine`` or ``ip`` for
        a whole document, for a vector or a key, and with ``radius`` or ``rerank=False``.
    correct : bool or None
        Whether to search for the closest known word in place of one that no document has. None does it if nothing was
        found, or if such words are at least half of the query; ``hits.corrected`` names them.
        Not by default where an embedder takes part in the answer: it may know such words.
    syntax : {"auto", "plain", "strict"}
        How to read a text (docs/queries.md). ``plain`` reads words only. ``strict`` reads the query language; a query
        that is malformed is a ValueError, or in ``search_many`` an empty answer with an ``error``. ``auto`` reads the
        language where the text looks like it, and words elsewhere, or if the strict reading finds nothing.
    offset : int
        Number of hits to leave out, the best ones: page 3 of 10 hits each has ``offset=20``. A page is cut from the
        ranking of its ``offset + k`` best hits. With ``graph`` a longer ranking re-ranks more candidates, so a hit near
        the border of two pages may be on both or on none; ``bm25`` has no such borders.
    snippet : int
        Number of characters of the snippet of each hit, the passage that has most words of the query; 0 for none.
    sort : str, optional
        Field to sort by, with a minus for descending order: ``"-year"``. All documents that match are sorted, by the
        names that ``where`` has; documents without the field come last. Numbers come before strings. Searches by
        vectors or codes, which rank all documents, sort their k hits.
    facets : sequence of str
        Fields whose values are counted over all documents that match (`Hits.facets`): the 100 most common values of
        each. Searches by vectors or codes count over their hits.
    collapse : bool
        Return one hit per group of near-duplicates, the best one. They are compared as `near_duplicates` does it by
        default: their cosine is at least 0.9. `Hit.copies` has the keys of the others among the first candidates.
    recall : float
        The share of the true nearest vectors that a search by vectors finds, on average; the collection has measured
        how much it must look at. Only for collections of vectors.
    exact : bool
        Whether a search by vectors compares with all vectors that meet ``where``. Only for collections of vectors.

    Notes
    -----
    ``where`` maps fields to conditions, which must all hold. ``key`` and ``label`` are those of the document; any other
    name is a field of its metadata. ``author.name`` is the field ``name`` inside of ``author``, which may also be a
    list of objects. ``metadata.NAME`` is the field NAME too, for names that are taken, such as ``metadata.label``. A
    condition is one of:

    - a value (str, number, bool or None): the field has this value. None is JSON's null, or no label;
    - a list of values, of any length: the field has one of them;
    - a dict of operators, which must all hold: ``=``, ``!=``, ``<``, ``<=``, ``>``, ``>=``; ``in`` and ``not in`` with
      a list; ``contains`` with a value, or a list of values, all of which the list in the field has; ``exists`` with
      True or False.

    ``!=`` and ``not in`` are the opposites of ``=`` and ``in``: a document without the field meets them. A field
    exists if it is there and not null. A list meets ``=`` and ``in`` if one of its values does. Numbers compare with
    numbers, and strings with strings, by their code points. A bool equals 0 or 1, but is neither less nor greater than
    anything; nor is a list. A key or a label is a string; a number that it is compared with is converted to a string.

    A field that no document has is a ValueError that lists the fields. A value of a kind that no document has in this
    field is a TypeError. In a collection without documents nothing is an error.

    Examples
    --------
    >>> from sthash.collection import SearchOptions
    >>> SearchOptions(k=3, where={"year": (2025, 2026)}).where
    {'year': [2025, 2026]}
    >>> where = {
    ...     "label": "sport",
    ...     "year": {">=": 2020, "<": 2024},
    ...     "language": ["en", "de"],
    ...     "draft": {"!=": True},
    ...     "author.name": {"exists": True},
    ...     "tags": {"contains": ["cup", "final"]},
    ... }
    >>> SearchOptions(where=where).where == where
    True
    """

    k: int = 10
    radius: int | None = None
    rerank: bool = True
    where: Where | None = None
    factor: int = 500
    explain: bool = False
    ranking: Ranking = "auto"
    correct: bool | None = None
    syntax: Syntax = "auto"
    offset: int = 0
    snippet: int = 0
    sort: str | None = None
    facets: Sequence[str] = ()
    collapse: bool = False
    recall: float = RECALL
    exact: bool = False

    def __post_init__(self) -> None:
        # More than any collection has: kernels count with 64 bits, and with 32 bits within a code.
        object.__setattr__(self, "k", min(check_whole("k", self.k), LARGEST))
        object.__setattr__(self, "factor", min(check_whole("factor", self.factor), LARGEST))
        if self.radius is not None:
            object.__setattr__(self, "radius", min(check_whole("radius", self.radius, least=0), LARGEST))
        object.__setattr__(self, "offset", min(check_whole("offset", self.offset, least=0), LARGEST - self.k))
        object.__setattr__(self, "snippet", min(check_whole("snippet", self.snippet, least=0), LARGEST))
        if self.correct is not None and not isinstance(self.correct, bool):
            raise TypeError(f"correct={self.correct!r} must be True, False or None.")
        object.__setattr__(self, "facets", _field_names("facets", self.facets))
        if self.sort is not None:
            _field_names("sort", [self.sort])
        check_share("recall", self.recall)
        if not isinstance(self.exact, bool):
            raise TypeError(f"exact={self.exact!r} must be True or False.")
        if self.by_codes and self.sets_effort:
            raise ValueError(
                "recall and exact are for vectors, but radius and rerank=False ask for codes. Leave out one."
            )
        check_choice("ranking", self.ranking, RANKINGS)
        check_choice("syntax", self.syntax, SYNTAXES)
        if self.syntax == "strict" and (self.by_codes or self.ranking in ("cosine", "ip")):
            raise ValueError(
                "syntax='strict' is for rankings by words, but this one is by vectors or codes. Leave one of them out."
            )
        if self.by_codes and self.ranking in ("graph", "bm25", "hybrid"):
            raise ValueError(
                f"ranking={self.ranking!r} looks at all documents, but radius and rerank=False (--no-rerank) need "
                "codes. Leave them out, or leave ranking out."
            )
        if self.where is not None:
            object.__setattr__(self, "where", check_where(self.where))

    @property
    def by_codes(self) -> bool:
        """Whether the codes decide which documents are found."""
        return self.radius is not None or not self.rerank

    @property
    def sets_effort(self) -> bool:
        """Whether the effort of a search by vectors is not the usual one."""
        return self.exact or self.recall != RECALL

    @property
    def reads_fields(self) -> bool:
        """Whether fields of all documents have to be read."""
        return self.where is not None or self.sort is not None or bool(self.facets)

    @property
    def whole(self) -> SearchOptions:
        """The options of the ranking that a page is cut from."""
        return replace(self, k=self.offset + self.k, offset=0) if self.offset else self

    def keywords(self) -> dict[str, Any]:
        """Give all fields by name, to pass them on: ``search(query, **options.keywords())``."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def search_options(k: int, **options: Any) -> SearchOptions:
    """Return the options of a search; the same ones are checked once."""
    try:
        return _known_options(k, **options)
    except TypeError:  # what cannot be looked up, such as a dict of conditions, or what is refused
        return SearchOptions(k, **options)


@lru_cache(maxsize=256, typed=True)
def _known_options(k: int, **options: Any) -> SearchOptions:
    return SearchOptions(k, **options)


def _field_names(option: str, given: Any) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else tuple(given)
    for name in names:
        if not isinstance(name, str) or not name.removeprefix("-"):
            raise ValueError(f"{option} has {name!r}, which is no field. Use the name of a field, such as 'year'.")
    return tuple(dict.fromkeys(names))
