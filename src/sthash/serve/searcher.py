"""Quick and slow searches: nobody's search waits for another one that takes seconds.

No plan knows beforehand how long a search will take: a phrase of common words reads thousands of documents. So each
search begins among the quick ones, with little time. One that does not make it begins anew among the slow requests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sthash.collection import Collection, Snapshot
from sthash.deadline import time_limit
from sthash.serve.workers import Worker

Result = TypeVar("Result")
QUICK_SECONDS = 0.25


class TakesLongError(Exception):
    """A search is not a quick one."""


class Searcher:
    """The two workers that search.

    Parameters
    ----------
    quick, slow : Worker
    """

    def __init__(self, quick: Worker, slow: Worker) -> None:
        self._quick = quick
        self._slow = slow
        self._version: int | None = None  # of the state that the quick worker has searched before

    async def run(self, job: Callable[[Snapshot], Result]) -> Result:
        """Run a search."""
        try:
            return await self.quickly(job, QUICK_SECONDS)
        except TakesLongError:
            return await self.slowly(job)

    async def quickly(self, job: Callable[[Snapshot], Result], seconds: float) -> Result:
        """Run searches among the quick ones, or raise `TakesLongError` after some seconds."""

        def limited(collection: Collection) -> Result:
            with collection.snapshot() as snapshot:
                if (
                    snapshot.version != self._version
                ):  # what is new must be read first, and whoever comes first reads it
                    result = job(snapshot)
                    self._version = snapshot.version
                    return result
                try:
                    with time_limit(seconds):
                        return job(snapshot)
                except TimeoutError as error:
                    raise TakesLongError from error

        return await self._quick.run(limited)

    async def slowly(self, job: Callable[[Snapshot], Result]) -> Result:
        """Run searches among the slow requests."""

        def snapped(collection: Collection) -> Result:
            with collection.snapshot() as snapshot:
                return job(snapshot)

        return await self._slow.run(snapped)
