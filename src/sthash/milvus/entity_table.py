"""`EntityTable`: the entities of one collection of Milvus, as far as they can be asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from sthash.batches import batched
from sthash.milvus import entities
from sthash.milvus.entities import LAST_ID, Entity
from sthash.milvus.milvus_server import MilvusServer

Item = TypeVar("Item")

# Keys of one request for documents, whose texts may be long.
PAGE = 250


class EntityTable:
    """The entities of one collection of Milvus.

    Attributes
    ----------
    server : MilvusServer
    name : str
        Of the collection.
    """

    LIMIT = 16_384  # rows that Milvus gives per request

    def __init__(self, server: MilvusServer, name: str) -> None:
        self.server = server
        self.name = name

    def call(self, request: str, **options: Any) -> Any:
        """Send a request about this collection, named as the method of MilvusClient."""
        return self.server.call(request, self.name, **options)

    def count(self) -> int:
        """Return the number of entities."""
        (row,) = self.call("query", filter="", output_fields=["count(*)"], consistency_level="Strong")
        return int(row["count(*)"])

    def fetch(self, keys: Iterable[str], fields: list[str]) -> dict[str, Entity]:
        """Return entities by their primary keys; a key without an entity is left out."""
        found = {}
        for page in batched(keys, PAGE):
            rows = self.call("get", ids=page, output_fields=["key", *fields], consistency_level="Strong")
            found.update({row["key"]: row for row in rows})
        return found

    def scan(self, first: int = 0, last: int = LAST_ID) -> Iterator[Entity]:
        """Iterate over key, id and stamp of all entities with these ids, in the order of their ids."""

        def ask(low: int, high: int) -> list[Entity]:
            rows: list[Entity] = self.call(
                "query",
                filter=f"id >= {low} and id <= {high}",
                output_fields=["key", "id", "stamp"],
                limit=self.LIMIT,
                consistency_level="Strong",
            )
            return rows

        return self.in_id_order(ask, lambda row: int(row["id"]), first, last)

    def in_id_order(
        self,
        ask: Callable[[int, int], list[Item]],
        id_of: Callable[[Item], int],
        first: int = 0,
        last: int = LAST_ID,
    ) -> Iterator[Item]:
        """Iterate in the order of ids over everything that ``ask`` gives for ranges of ids.

        Milvus gives at most `LIMIT` rows per request, and any of them. So a range that has more is cut in two.
        """
        ranges = [(first, last)]
        while ranges:
            low, high = ranges.pop()
            items = sorted(ask(low, high), key=id_of)
            if len(items) < self.LIMIT or low == high:
                yield from items
            else:
                middle = max(id_of(items[len(items) // 2]), low + 1)
                ranges += [(middle, high), (low, middle - 1)]

    def upsert(self, rows: list[Entity]) -> None:
        """Send as many entities as one request can carry; all of them arrive, or none."""
        self.call("upsert", data=rows)

    def delete(self, keys: Iterable[str]) -> None:
        """Delete entities by their primary keys."""
        for page in batched(keys, entities.BATCH_ENTITIES):
            self.call("delete", ids=page)
