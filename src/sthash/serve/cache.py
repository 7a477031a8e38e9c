"""A cache for the answers to slow requests. An answer is valid until the file changes."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any


class Cache:
    """The last answer, and the request and state of the file that it belongs to."""

    def __init__(self) -> None:
        self._key: Hashable = None
        self._answer: Any = None

    def find(self, key: Hashable) -> Any:
        """Return the stored answer if it belongs to ``key``; otherwise None."""
        return self._answer if key == self._key else None

    def keep(self, key: Hashable, answer: Any) -> None:
        """Store an answer in place of the last one."""
        self._answer, self._key = answer, key
