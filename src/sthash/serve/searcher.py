"""Quick and slow searches: nobody's search waits for another one that takes seconds.

No plan knows beforehand how long a search will take: a phrase of common words reads thousands of documents. So each
search begins among the quick ones, with little time. One that does not make it begins anew among the slow requests.
If it is quick there, then the quick worker lacks what a search reads once for all later ones, and gets the time for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import TypeVar

from sthash.collection import Collection, Snapshot
from sthash.deadline import time_limit
from sthash.serve.workers import Worker

Result = TypeVar("Result")
QUICK_SECONDS = 0.5
# A search that the slow worker answers in so little time took long in the quick one because that had to read something.
CLEARLY_QUICK_SECONDS = QUICK_SECONDS / 5
# If this process has computed for less than this share of the time, the machine is busy, and a search gets more time.
BUSY_SHARE, BUSY_FACTOR = 0.5, 4.0


class TakesLongError(Exception):
    """A search is not a quick one."""


class Searcher:
    """The two workers that search.

    Parameters
    ----------
    quick, slow : Worker
    seconds : float
        Longest time of any request.
    """

    def __init__(self, quick: Worker, slow: Worker, seconds: float) -> None:
        self._quick = quick
        self._slow = slow
        self._seconds = seconds
        self._version: int | None = None  # of the state that the quick worker has searched before

    async def run(self, job: Callable[[Snapshot], Result]) -> Result:
        """Run a search."""
        try:
            return await self.quickly(job, QUICK_SECONDS)
        except TakesLongError:
            return await self.slowly(job, may_wait=True)

    async def quickly(self, job: Callable[[Snapshot], Result], seconds: float) -> Result:
        """Run searches among the quick ones, or raise `TakesLongError` after some seconds."""

        def limited(collection: Collection) -> Result:
            start = time.process_time()
            try:
                return self._search(collection, job, seconds)
            except TimeoutError as error:
                if time.process_time() - start >= BUSY_SHARE * seconds:
                    raise TakesLongError from error
            try:  # not the search was slow, but the machine
                return self._search(collection, job, BUSY_FACTOR * seconds)
            except TimeoutError as error:
                raise TakesLongError from error

        return await self._quick.run(limited)

    def _search(self, collection: Collection, job: Callable[[Snapshot], Result], seconds: float) -> Result:
        has_begun = False
        try:
            # The limit is outermost, so that the collection says TimeoutError whatever it interrupts there.
            with nullcontext() if self._version is None else time_limit(seconds), collection.snapshot() as snapshot:
                has_begun, is_known = True, snapshot.version == self._version
                # The first search of a state has to read what is new.
                with nullcontext() if is_known else time_limit(self._seconds):
                    result = job(snapshot)
                self._version = snapshot.version
                return result
        finally:
            if not has_begun:
                self._version = None

    async def slowly(self, job: Callable[[Snapshot], Result], *, may_wait: bool = False) -> Result:
        """Run searches among the slow requests; those that began among the quick ones may wait there."""

        def snapped(collection: Collection) -> Result:
            with collection.snapshot() as snapshot:
                start = time.perf_counter()
                result = job(snapshot)
            if may_wait and time.perf_counter() - start < CLEARLY_QUICK_SECONDS:
                self._version = None  # the next one may read it, as in a state that is new
            return result

        return await self._slow.run(snapped, may_wait=may_wait)
