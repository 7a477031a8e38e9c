"""A cache for the answers to slow requests. An answer is valid until the file changes."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from sthash.collection import Collection, Snapshot


class Cache:
    """The last answer, and the request and state of the file that it belongs to.

    A request that takes longer than its client waits is finished nevertheless. The client finds the answer here when it
    asks again.
    """

    def __init__(self) -> None:
        self._key: tuple[Collection, int, Hashable] | None = None
        self._answer: Any = None

    def get(self, collection: Collection, request: Hashable, compute: Callable[[Snapshot], Any]) -> Any:
        """Return the stored answer; ``compute`` makes it anew for another request or a changed file."""
        with collection.snapshot() as snapshot:
            key = (collection, snapshot.version, request)
            if key != self._key:
                self._answer, self._key = compute(snapshot), key
            return self._answer
