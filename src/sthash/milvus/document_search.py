"""The answers of a collection in Milvus: Milvus finds the nearest codes, and their documents are ranked here."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from sthash.collection import FieldKinds, Filter, Hit, Hits, SearchOptions
from sthash.index import HammingIndex
from sthash.milvus.code_search import CodeMatch, CodeSearch
from sthash.milvus.entities import DOCUMENT_FIELDS, FILTERED_FIELDS, Entity, read_document, read_filtered
from sthash.milvus.entity_table import PAGE, EntityTable
from sthash.milvus.local_model import LocalModel
from sthash.milvus.where_filter import check_fields, filter_expression
from sthash.model import Encoded
from sthash.vectors.rows import Rows


class Candidate(NamedTuple):
    """A document in the ball of a query."""

    match: CodeMatch
    entity: Entity


class DocumentSearch:
    """One search with its options.

    Parameters
    ----------
    table : EntityTable
    model : LocalModel
    options : SearchOptions
    condition : str
        In Milvus's own language; only documents that meet it are searched.
    known : FieldKinds
        Fields that documents are known to have; completed where a condition is on another one.
    """

    def __init__(
        self, table: EntityTable, model: LocalModel, options: SearchOptions, condition: str, known: FieldKinds
    ) -> None:
        self._table = table
        self._model = model
        self._options = options
        self._filter = None if options.where is None else Filter(options.where)
        if self._filter is not None:
            check_fields(table, self._filter, known)
        conditions = [condition and f"({condition})", filter_expression(options.where)]
        self._codes = CodeSearch(table, model.n_bits, " and ".join(filter(None, conditions)))

    def answer(self, texts: list[str]) -> list[Hits]:
        """Return the hits of each text."""
        queries = self._model.encode(texts)
        # A query without a known term is like nothing: its code says nothing, and all cosines are zero.
        asked = [position for position in range(len(queries)) if queries.rows.row(position)[1].any()]
        ranking: Literal["cosine", "codes"] = "cosine" if self._options.rerank else "codes"
        answers = [
            Hits(ignored=ignored, unknown=unknown, ranking=ranking)
            for ignored, unknown in map(self._model.unused_words, texts)
        ]
        for position, matches in zip(asked, self._matches(queries, asked), strict=True):
            query = queries.part(position, position + 1)
            ranked = self._ranked_by_cosine if self._options.rerank else self._ranked_by_code
            answers[position].extend(self._hits(query, ranked(query, matches)))
        return answers

    def _matches(self, queries: Encoded, positions: list[int]) -> Iterator[Iterator[CodeMatch]]:
        """For each query, iterate over the codes in its ball, the nearest first."""
        codes, radius = queries.codes[positions], self._options.radius
        if radius is None:
            return self._codes.nearest(codes, self._wanted)
        return (iter(self._codes.within(code, radius)) for code in codes)

    @property
    def _wanted(self) -> int:
        """How many documents the ball holds, if there is no radius."""
        options = self._options
        return max(options.k, min(options.k * options.factor, self._table.LIMIT))

    def _pages(self, matches: Iterator[CodeMatch], fields: list[str]) -> Iterator[list[Candidate]]:
        """Iterate over the documents in the ball, some at a time."""
        missing = self._wanted if self._options.radius is None else 1 << 62
        rejected = 0
        # A filter that Milvus cannot apply exactly rejects some documents here: the more, the larger the next page.
        while page := list(itertools.islice(matches, min(PAGE, max(missing, rejected)))):
            found = self._table.fetch((match.key for match in page), fields)
            # A document that was deleted since the search is left out.
            candidates = [Candidate(match, found[match.key]) for match in page if match.key in found]
            if self._filter is not None:
                candidates = [one for one in candidates if self._filter.accepts(*read_filtered(one.entity))]
            yield candidates[:missing]
            missing, rejected = missing - len(candidates), rejected + len(page) - len(candidates)
            if missing <= 0:
                return

    def _ranked_by_cosine(self, query: Encoded, matches: Iterator[CodeMatch]) -> list[Candidate]:
        best = list[tuple[float, int, Candidate]]()
        for page in self._pages(matches, DOCUMENT_FIELDS):
            rows = self._model.encode([read_document(one.entity).text for one in page])
            scores = _cosines(query, rows).tolist()
            # A text without a word of the query is no hit.
            scored = [(-score, one.match.id, one) for score, one in zip(scores, page, strict=True) if score > 0]
            best = heapq.nsmallest(self._options.k, best + scored, key=lambda entry: entry[:2])
        return [one for _, _, one in best]

    def _ranked_by_code(self, query: Encoded, matches: Iterator[CodeMatch]) -> list[Candidate]:
        """Rank by the distance of the codes; as in a collection, a bit counts as much as the query is sure of it."""
        fields = ["code", *FILTERED_FIELDS] if self._filter is not None else ["code"]
        candidates = [one for page in self._pages(matches, fields) for one in page]
        if not candidates:
            return []
        candidates.sort(key=lambda one: one.match.id)
        index = HammingIndex.build(
            np.array([np.frombuffer(one.entity["code"][0], dtype=np.uint8) for one in candidates]),
            n_bits=self._model.n_bits,
        )
        k = min(self._options.k, len(candidates))
        positions, _ = index.search(query.codes, k, weights=np.abs(query.margins))
        chosen = [candidates[position].match for position in positions[0].tolist()]
        documents = self._table.fetch((match.key for match in chosen), DOCUMENT_FIELDS)
        return [Candidate(match, documents[match.key]) for match in chosen if match.key in documents]

    def _hits(self, query: Encoded, ranked: list[Candidate]) -> list[Hit]:
        documents = [read_document(one.entity) for one in ranked]
        with self._model.current() as model:
            rows = model.encode([document.text for document in documents])
            asked = query.rows.row(0)
            terms = [
                model.matching_terms(asked, rows.rows.row(position)) if self._options.explain else ()
                for position in range(len(rows))
            ]
        return [
            Hit(document.key or "", document.text, document.label, document.metadata, score, one.match.distance, own)
            for document, one, score, own in zip(documents, ranked, _cosines(query, rows).tolist(), terms, strict=True)
        ]


def _cosines(query: Encoded, rows: Encoded) -> npt.NDArray[np.float32]:
    """Return the cosines of one unit row with others."""
    both = Rows.stacked([query.rows, rows.rows])
    others = np.arange(1, len(both))
    return both.cosines(np.zeros_like(others), others)
