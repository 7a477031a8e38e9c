"""Fair shares: what waits is taken from one client after the other, however much one of them has asked for."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import OrderedDict, deque
from contextvars import ContextVar
from typing import Generic, TypeVar

from sthash.serve.errors import ApiError

Item = TypeVar("Item")

# Whose request is being answered: the name of a key, or an address.
client: ContextVar[str] = ContextVar("client", default="")


class FairQueue(Generic[Item]):
    """A queue with a line per client; the lines take turns. Threads may share it.

    Examples
    --------
    >>> from sthash.serve.fair import FairQueue
    >>> queue = FairQueue()
    >>> for name, item in (("a", 1), ("a", 2), ("a", 3), ("b", 4)):
    ...     queue.put(name, item)
    >>> [queue.pop() for _ in range(len(queue))]
    [1, 4, 2, 3]
    """

    def __init__(self) -> None:
        self._lines: OrderedDict[str, deque[Item]] = OrderedDict()
        self._lock = threading.Lock()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def put(self, name: str, item: Item) -> None:
        """Add an item to the line of a client."""
        with self._lock:
            self._lines.setdefault(name, deque()).append(item)
            self._size += 1

    def put_back(self, name: str, item: Item) -> None:
        """Put an item at the head of the line of a client, and this line first."""
        with self._lock:
            self._lines.setdefault(name, deque()).appendleft(item)
            self._lines.move_to_end(name, last=False)
            self._size += 1

    def pop(self) -> Item:
        """Take the first item of the line whose turn it is; that line is the last to have its next turn."""
        with self._lock:
            name, line = self._lines.popitem(last=False)
            item = line.popleft()
            if line:
                self._lines[name] = line
            self._size -= 1
            return item


class Gate:
    """Lets so many requests in at a time. The others wait, and each client's turn comes as often as any other's.

    Parameters
    ----------
    places : int
        Number of requests that may be inside.
    max_waiting : int
        Number of requests that may wait; one more gets 503.
    seconds : float
        Longest time that a request waits.
    """

    def __init__(self, places: int, max_waiting: int, seconds: float) -> None:
        self.inside = 0
        self._places = places
        self._max_waiting = max_waiting
        self._seconds = seconds
        self._queue: FairQueue[asyncio.Future[None]] = FairQueue()
        self._waiting = 0
        self._left = time.monotonic()
        self._interval = 0.0  # seconds from one departure to the next, lately

    def check(self) -> None:
        """Refuse a request that would neither get in nor find room to wait."""
        if self.inside >= self._places and self._waiting >= self._max_waiting:
            raise self._overloaded()

    async def enter(self, name: str) -> None:
        """Wait for a place; leave it by `leave`."""
        self.check()
        if self.inside < self._places:
            self.inside += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._queue.put(name, turn)
        self._waiting += 1
        try:
            async with asyncio.timeout(self._seconds):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled():  # the place came in the same moment
                self.leave()
            if isinstance(error, TimeoutError):
                raise self._overloaded() from error
            raise
        finally:
            self._waiting -= 1

    def leave(self) -> None:
        """Give the place to the next one that waits."""
        now = time.monotonic()
        self._interval += 0.05 * (min(now - self._left, self._seconds) - self._interval)
        self._left = now
        while len(self._queue):
            turn = self._queue.pop()
            if not turn.done():
                turn.set_result(None)
                return
        self.inside -= 1

    def _overloaded(self) -> ApiError:
        seconds = max(1, math.ceil(self._waiting * self._interval))
        return ApiError(
            503,
            "overloaded",
            "too many requests are being answered.",
            "Try again when Retry-After says.",
            {"Retry-After": str(seconds)},
        )
