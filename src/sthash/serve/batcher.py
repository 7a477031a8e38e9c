"""Batches of searches: one scan over the codes answers many queries that wait at the same time."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from sthash.collection import Hits, SearchOptions, Snapshot, answer
from sthash.serve.errors import ApiError
from sthash.serve.fair import FairQueue, client
from sthash.serve.searcher import QUICK_SECONDS, Searcher, TakesLongError

MAX_BATCH = 64
# A search in a batch may take so long; a batch that takes longer is answered one by one, and the next ones are smaller.
BATCHED_SECONDS = 0.01


@dataclass(frozen=True)
class _PendingSearch:
    client: str
    query: Any
    options: SearchOptions
    hits: asyncio.Future[Hits]


class Batcher:
    """Collects searches while the worker is busy, and gives it all searches with equal options at once.

    A search that finds the worker idle starts at once: waiting for others would gain nothing. A batch takes one search
    of each client in turn.

    Parameters
    ----------
    searcher : Searcher
    observe : callable
        Called with the size of each batch.
    """

    def __init__(self, searcher: Searcher, observe: Callable[[int], None]) -> None:
        self._searcher = searcher
        self._observe = observe
        self._pending: FairQueue[_PendingSearch] = FairQueue()
        self._task: asyncio.Task[None] | None = None
        self._slow: set[asyncio.Task[None]] = set()
        self._size = MAX_BATCH

    @property
    def is_idle(self) -> bool:
        """Whether no search runs or waits."""
        return (self._task is None or self._task.done()) and not self._slow

    async def search(self, query: Any, options: SearchOptions) -> Hits:
        """Search for a text or a vector."""
        pending = _PendingSearch(client.get(), query, options, asyncio.get_running_loop().create_future())
        self._pending.put(pending.client, pending)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._answer_all(), context=contextvars.Context())
        return await pending.hits

    async def _answer_all(self) -> None:
        while len(self._pending):
            batch = self._next_batch()
            if not batch:
                continue
            self._observe(len(batch))
            try:
                await self._answer(batch)
                self._size = min(MAX_BATCH, 2 * self._size)
            except TakesLongError:
                self._size = max(1, len(batch) // 2)
                for pending in batch:
                    await self._answer_one(pending)

    def _next_batch(self) -> list[_PendingSearch]:
        batch, others = list[_PendingSearch](), list[_PendingSearch]()
        while len(self._pending) and len(batch) < self._size:
            pending = self._pending.pop()
            if pending.hits.done():  # its client has got an error: it took too long
                continue
            fits = not batch or pending.options == batch[0].options
            (batch if fits else others).append(pending)
        for pending in reversed(others):  # they come first in the next batch
            self._pending.put_back(pending.client, pending)
        return batch

    async def _answer_one(self, pending: _PendingSearch) -> None:
        try:
            await self._answer([pending])
        except TakesLongError:  # the others need not wait for it
            task = asyncio.create_task(
                self._give([pending], self._searcher.slowly(partial(_search, [pending]), may_wait=True))
            )
            self._slow.add(task)
            task.add_done_callback(self._slow.discard)

    async def _answer(self, batch: list[_PendingSearch]) -> None:
        seconds = QUICK_SECONDS + BATCHED_SECONDS * (len(batch) - 1)
        await self._give(batch, self._searcher.quickly(partial(_search, batch), seconds))

    async def _give(self, batch: list[_PendingSearch], searching: Awaitable[list[Hits]]) -> None:
        """Give the answers, or the error, to those who wait for them."""
        try:
            answers = await searching
        except TakesLongError:
            raise
        except Exception as error:
            if len(batch) > 1 and isinstance(error, ApiError) and error.status == 422:
                for pending in batch:  # one bad query must not fail the others
                    await self._answer_one(pending)
                return
            for pending in batch:
                if not pending.hits.done():
                    pending.hits.set_exception(error)
            return
        for pending, hits in zip(batch, answers, strict=True):
            if not pending.hits.done():
                pending.hits.set_result(hits)


def _search(batch: list[_PendingSearch], snapshot: Snapshot) -> list[Hits]:
    found = answer(snapshot, [pending.query for pending in batch], batch[0].options)
    for hits in found:
        _ = hits.total  # counted here rather than in the event loop
    return found
