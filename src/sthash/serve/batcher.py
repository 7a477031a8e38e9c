"""Batches of searches: one scan over the codes answers many queries that wait at the same time."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sthash.collection import Collection, Hits, SearchOptions, answer
from sthash.serve.errors import ApiError
from sthash.serve.workers import Worker

MAX_BATCH = 64


@dataclass(frozen=True)
class _PendingSearch:
    query: Any
    options: SearchOptions
    hits: asyncio.Future[Hits]


class Batcher:
    """Collects searches while the worker is busy, and gives it all searches with equal options at once.

    A search that finds the worker idle starts at once: waiting for others would gain nothing.

    Parameters
    ----------
    worker : Worker
    observe : callable
        Called with the size of each batch.
    """

    def __init__(self, worker: Worker, observe: Callable[[int], None]) -> None:
        self._worker = worker
        self._observe = observe
        self._pending: deque[_PendingSearch] = deque()
        self._task: asyncio.Task[None] | None = None

    @property
    def is_idle(self) -> bool:
        """Whether no search runs or waits."""
        return self._task is None or self._task.done()

    async def search(self, query: Any, options: SearchOptions) -> Hits:
        """Search for a text or a vector."""
        pending = _PendingSearch(query, options, asyncio.get_running_loop().create_future())
        self._pending.append(pending)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._answer_all())
        return await pending.hits

    async def _answer_all(self) -> None:
        while self._pending:
            batch = self._next_batch()
            if not batch:
                continue
            self._observe(len(batch))
            await self._answer(batch)

    def _next_batch(self) -> list[_PendingSearch]:
        batch, rest = list[_PendingSearch](), deque[_PendingSearch]()
        for pending in self._pending:
            if pending.hits.done():  # its client has got an error: it took too long
                continue
            fits = not batch or pending.options == batch[0].options
            (batch if fits and len(batch) < MAX_BATCH else rest).append(pending)
        self._pending = rest
        return batch

    async def _answer(self, batch: list[_PendingSearch]) -> None:
        try:
            answers = await self._worker.run(lambda collection: _search(collection, batch))
        except Exception as error:
            if len(batch) > 1 and isinstance(error, ApiError) and error.status == 422:
                for pending in batch:  # one bad query must not fail the others
                    await self._answer([pending])
                return
            for pending in batch:
                if not pending.hits.done():
                    pending.hits.set_exception(error)
            return
        for pending, hits in zip(batch, answers, strict=True):
            if not pending.hits.done():
                pending.hits.set_result(hits)


def _search(collection: Collection, batch: list[_PendingSearch]) -> list[Hits]:
    with collection.snapshot() as snapshot:
        found = answer(snapshot, [pending.query for pending in batch], batch[0].options)
    for hits in found:
        _ = hits.total  # counted here rather than in the event loop
    return found
