"""Searches that wait for each other are answered together: one scan over the codes serves many queries."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sthash.collection import Collection, Hit
from sthash.serve.errors import ApiError
from sthash.serve.lanes import Lane

MOST = 64


@dataclass(frozen=True)
class How:
    """What searches must have in common to be answered together."""

    k: int
    radius: int | None
    rerank: bool
    factor: int
    explain: bool


@dataclass(frozen=True)
class _Waiting:
    query: Any
    how: How
    answer: asyncio.Future[list[Hit]]


class Batcher:
    """Collects searches while the lane is at work, and gives it all of one kind at once.

    A search that finds the lane idle starts at once: nothing is gained by waiting for company.

    Parameters
    ----------
    lane : Lane
    observe : callable
        Told the size of each batch.
    """

    def __init__(self, lane: Lane, observe: Callable[[int], None]) -> None:
        self._lane = lane
        self._observe = observe
        self._waiting: deque[_Waiting] = deque()
        self._work: asyncio.Task[None] | None = None

    async def search(self, query: Any, how: How) -> list[Hit]:
        """Answer a search for a text or a vector."""
        waiting = _Waiting(query, how, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._answer_all())
        return await waiting.answer

    async def _answer_all(self) -> None:
        while self._waiting:
            batch = self._next_batch()
            if not batch:
                continue
            self._observe(len(batch))
            await self._answer(batch)

    def _next_batch(self) -> list[_Waiting]:
        batch, rest = list[_Waiting](), deque[_Waiting]()
        for waiting in self._waiting:
            if waiting.answer.done():  # its client has been told that it took too long
                continue
            alike = not batch or waiting.how == batch[0].how
            (batch if alike and len(batch) < MOST else rest).append(waiting)
        self._waiting = rest
        return batch

    async def _answer(self, batch: list[_Waiting]) -> None:
        try:
            answers = await self._lane.run(lambda collection: search(collection, batch))
        except Exception as error:
            if len(batch) > 1 and isinstance(error, ApiError) and error.status == 422:
                for waiting in batch:  # one bad query must not spoil the others' answers
                    await self._answer([waiting])
                return
            for waiting in batch:
                if not waiting.answer.done():
                    waiting.answer.set_exception(error)
            return
        for waiting, hits in zip(batch, answers, strict=True):
            if not waiting.answer.done():
                waiting.answer.set_result(hits)


def search(collection: Collection, batch: list[_Waiting]) -> list[list[Hit]]:
    """Answer searches of one kind."""
    how = batch[0].how
    options: dict[str, Any] = {
        "radius": how.radius, "rerank": how.rerank, "factor": how.factor, "explain": how.explain
    }  # fmt: skip
    if len(batch) == 1:
        return [collection.search(batch[0].query, how.k, **options)]
    return collection.search_many([waiting.query for waiting in batch], how.k, **options)
