"""A lock that many readers may hold at the same time, or one writer alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class SharedLock:
    """Readers wait for the writer before them, a writer waits for the readers before it.

    Examples
    --------
    >>> from sthash.index.shared_lock import SharedLock
    >>> lock = SharedLock()
    >>> with lock.reading(), lock.reading():
    ...     "two readers"
    'two readers'
    >>> with lock.writing():
    ...     "one writer"
    'one writer'
    """

    def __init__(self) -> None:
        self._entrance = threading.Lock()  # a writer holds it until it is done
        self._left = threading.Condition()
        self._readers = 0

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Hold the lock together with other readers."""
        entered = False
        try:
            with self._entrance, self._left:
                self._readers += 1
                entered = True
            yield
        finally:
            if entered:
                with self._left:
                    self._readers -= 1
                    self._left.notify_all()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the lock alone."""
        with self._entrance:
            with self._left:
                self._left.wait_for(lambda: self._readers == 0)
            yield
