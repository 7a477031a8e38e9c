"""A brake for those who try keys: the answer to a wrong key is held back, the longer the more of them there were.

The right key is never held back, not even from an address that sends wrong ones: behind a proxy all clients have one
address. The number of tries is bounded all the same, by the connections of the server and the time that each of them
waits.
"""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

FREE_TRIES = 3  # a person may mistype
FREE_TRIES_OF_ALL = 100  # per memory span, from all addresses
FIRST_SECONDS = 0.25
MEMORY_SECONDS = 300.0
MAX_ADDRESSES = 4096


@dataclass
class _Tries:
    count: int
    last: float


class Throttle:
    """Counts wrong keys per address, and in total, and holds their answers back.

    Parameters
    ----------
    max_seconds : float
    clock : callable
        For the tests.
    """

    def __init__(self, max_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._max_seconds = max_seconds
        self._clock = clock
        self._by_address: OrderedDict[str, _Tries] = OrderedDict()
        self._of_all = _Tries(0, clock())

    async def hold_back(self, address: str | None) -> None:
        """Count a wrong key, and wait before it is answered."""
        if seconds := self.count(address):
            await asyncio.sleep(seconds)

    def count(self, address: str | None) -> float:
        """Count a wrong key; return for how many seconds its answer is held back."""
        name = _network(address)
        own = self._by_address.pop(name, None) or _Tries(0, self._clock())
        self._by_address[name] = own  # the last one is the last to be forgotten
        if len(self._by_address) > MAX_ADDRESSES:
            self._by_address.popitem(last=False)
        # Many addresses may work together, and push each other out of the memory.
        return max(self._seconds(own, FREE_TRIES), self._seconds(self._of_all, FREE_TRIES_OF_ALL))

    def _seconds(self, tries: _Tries, free: int) -> float:
        now = self._clock()
        if now - tries.last > MEMORY_SECONDS:
            tries.count = 0
        tries.count += 1
        tries.last = now
        beyond = tries.count - free
        return 0.0 if beyond <= 0 else min(self._max_seconds, FIRST_SECONDS * 2.0 ** min(beyond - 1, 30))


def _network(address: str | None) -> str:
    """Return the address, or the network of an IPv6 address: one client has all the addresses of it."""
    try:
        parsed = ipaddress.ip_address((address or "").partition("%")[0])
    except ValueError:
        return address or ""
    return str(parsed) if parsed.version == 4 else str(ipaddress.ip_network((parsed, 64), strict=False))
