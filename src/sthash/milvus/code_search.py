"""Exact answers from Milvus, in the order of `sthash.HammingIndex`: by distance, then id.

Milvus gives equal distances in any order, and cuts a list of k anywhere among them. So more than k are asked for. Only
the last distance of the answer can be incomplete; the codes at that distance, and at greater ones if they are needed,
are asked for again, distance by distance, in the order of their ids.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from sthash.batches import batched
from sthash.codes import Codes
from sthash.milvus.entity_table import EntityTable

ROWS_PER_REQUEST = 1 << 16


class CodeMatch(NamedTuple):
    """A code that was found; matches sort as answers do."""

    distance: int
    id: int
    key: str


class CodeSearch:
    """Search among the codes of the entities that meet a condition in Milvus's own language."""

    def __init__(self, table: EntityTable, n_bits: int, condition: str = "") -> None:
        self._table = table
        self._n_bits = n_bits
        self._condition = condition

    def nearest(self, codes: Codes, expected: int) -> Iterator[Iterator[CodeMatch]]:
        """For each code, iterate over all matches, the nearest first.

        ``expected`` is how many matches of each code are likely to be needed: they come with the first request.
        """
        asked = min(2 * expected, self._table.LIMIT)
        for part in batched(codes, max(1, ROWS_PER_REQUEST // asked)):
            for code, matches in zip(part, self._search(part, asked, self._condition), strict=True):
                yield self._continued(code, matches, complete=len(matches) < asked)

    def within(self, code: Codes, radius: int) -> list[CodeMatch]:
        """Return all matches within a radius of a code."""
        return sorted(self._between(code, 0, min(radius, self._n_bits)))

    def _continued(self, code: Codes, matches: list[CodeMatch], *, complete: bool) -> Iterator[CodeMatch]:
        matches.sort()
        if complete:
            yield from matches
            return
        edge = matches[-1].distance
        yield from (match for match in matches if match.distance < edge)
        for distance in range(edge, self._n_bits + 1):
            yield from self._between(code, distance, distance)

    def _between(self, code: Codes, least: int, most: int) -> Iterator[CodeMatch]:
        """Iterate over all matches from one distance to another, in the order of their ids."""

        def ask(low: int, high: int) -> list[CodeMatch]:
            ids = f"id >= {low} and id <= {high}"
            condition = f"({self._condition}) and {ids}" if self._condition else ids
            return self._search([code], self._table.LIMIT, condition, {"range_filter": least, "radius": most + 1})[0]

        return self._table.in_id_order(ask, lambda match: match.id)

    def _search(
        self, codes: list[Codes], limit: int, condition: str, distances: dict[str, Any] | None = None
    ) -> list[list[CodeMatch]]:
        answers = self._table.call(
            "search",
            data=[code.tobytes() for code in codes],
            anns_field="code",
            limit=limit,
            filter=condition,
            output_fields=["key", "id"],
            search_params={"metric_type": "HAMMING", "params": distances or {}},
            consistency_level="Strong",
        )
        return [
            [CodeMatch(int(hit["distance"]), hit["entity"]["id"], hit["entity"]["key"]) for hit in hits]
            for hits in answers
        ]
