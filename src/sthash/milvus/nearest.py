"""Exact answers from Milvus, in the order of `sthash.HammingIndex`: by distance, then id.

Milvus gives equal distances in any order, and cuts a list of k anywhere among them. So more than k are asked for; where
the k-th distance goes on to the end of what has come, the codes at just that distance are asked for anew, the smaller
ids first. Milvus gives at most `LIMIT` rows at once: a ring with more of them is cut in two by id, and so on.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

from sthash.codes import Codes
from sthash.milvus.server import Server

LIMIT = 16_384
LAST_ID = (1 << 63) - 1
ROWS_AT_ONCE = 1 << 16


class Found(NamedTuple):
    """A code that was found; sorts as answers do."""

    distance: int
    id: int
    key: str


class Searcher:
    """Search of one collection, among the rows that meet a condition in Milvus's own language."""

    def __init__(self, server: Server, name: str, where: str = "") -> None:
        self._server = server
        self._name = name
        self._where = where

    def nearest(self, codes: Codes, k: int) -> list[list[Found]]:
        """Give the k nearest of each code; ``k`` is at most `LIMIT`."""
        asked = min(2 * k, LIMIT)
        step = max(1, ROWS_AT_ONCE // asked)
        answers = []
        for start in range(0, len(codes), step):
            part = codes[start : start + step]
            answers += [
                self._settled(code, hits, k, asked)
                for code, hits in zip(part, self._search(part, asked, self._where), strict=True)
            ]
        return answers

    def within(self, code: Codes, radius: int) -> list[Found]:
        """Give all within a radius of a code."""
        return sorted(self._ring(code, 0, radius))

    def _settled(self, code: Codes, hits: list[Found], k: int, asked: int) -> list[Found]:
        hits.sort()
        if len(hits) < asked or hits[k - 1].distance < hits[-1].distance:
            return hits[:k]
        edge = hits[k - 1].distance
        inside = [hit for hit in hits if hit.distance < edge]
        return inside + list(itertools.islice(self._ring(code, edge, edge), k - len(inside)))

    def _ring(self, code: Codes, least: int, most: int, low: int = 0, high: int = LAST_ID) -> Iterator[Found]:
        """Give all from one distance to another, in the order of their ids."""
        span = f"id >= {low} and id <= {high}"
        condition = f"({self._where}) and {span}" if self._where else span
        hits = self._search(code[None, :], LIMIT, condition, {"range_filter": least, "radius": most + 1})[0]
        hits.sort(key=lambda hit: hit.id)
        if len(hits) < LIMIT or low == high:
            yield from hits
            return
        middle = max(hits[len(hits) // 2].id, low + 1)
        yield from self._ring(code, least, most, low, middle - 1)
        yield from self._ring(code, least, most, middle, high)

    def _search(self, codes: Codes, limit: int, where: str, ring: dict[str, Any] | None = None) -> list[list[Found]]:
        answers = self._server.call(
            "search",
            self._name,
            data=[code.tobytes() for code in codes],
            anns_field="code",
            limit=limit,
            filter=where,
            output_fields=["key", "id"],
            search_params={"metric_type": "HAMMING", "params": ring or {}},
            consistency_level="Strong",
        )
        return [
            [Found(int(hit["distance"]), hit["entity"]["id"], hit["entity"]["key"]) for hit in hits] for hits in answers
        ]
