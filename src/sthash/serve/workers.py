"""Workers: threads that use the file of a collection, each over its own connection.

A search must not wait for a slow request, nor for a change to the file. So each collection has one worker for
searches, one for requests that may take seconds, and one for all changes. Readers see what is committed.

The last two take turns. While a change waits for a reader, SQLite lets no other reader begin: a change during a slow
request would therefore block all searches.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import TypeVar

from sthash.collection import Collection, CollectionBusyError, CollectionError
from sthash.serve.errors import ApiError, as_api_error

Result = TypeVar("Result")
log = logging.getLogger("sthash.serve")

# How long to wait for another process that changes the file. It is less than a request may take.
WAIT_SECONDS = 10.0


class Worker:
    """One thread and its open collection. It opens the file at the first job, and again whenever the file is replaced.

    Parameters
    ----------
    name : str
        Name of the collection.
    path : Path
    max_waiting : int
        Number of jobs that may wait. A job beyond it gets 503.
    lock : threading.Lock, optional
        Held during each job. Workers with the same lock take turns.
    """

    def __init__(self, name: str, path: Path, max_waiting: int, lock: threading.Lock | None = None) -> None:
        self.name = name
        self.path = path
        self._max_waiting = max_waiting
        self._lock = lock or nullcontext()
        self._waiting = 0
        self._closed = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"sthash-{name}")
        self._collection: Collection | None = None
        self._file: tuple[int, int] | None = None

    async def run(self, job: Callable[[Collection], Result]) -> Result:
        """Run a job in the thread. Errors that the client may see are raised as `ApiError`."""
        if self._closed:
            raise ApiError(503, "collection_unavailable", "the collection has been closed.", "Try again later.")
        if self._waiting >= self._max_waiting:
            raise ApiError(503, "busy", "too many such requests are waiting.", "Try again in a moment.")
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._run, job)
        finally:
            self._waiting -= 1

    async def change(self, job: Callable[[Collection], Result]) -> Result:
        """Run a job that changes the file. A change counts only if the file at the path is still the same one."""

        def checked(collection: Collection) -> Result:
            result = job(collection)
            if _identity(self.path) != self._file:
                raise ApiError(
                    503,
                    "collection_replaced",
                    f"the file of the collection {self.name!r} was replaced during the change.",
                    "Check whether the change is there, and repeat it if not.",
                )
            return result

        return await self.run(checked)

    def close(self) -> None:
        """Finish the jobs that have begun, and close the file."""
        self._closed = True
        self._thread.submit(self._close)
        self._thread.shutdown(wait=True)

    def _run(self, job: Callable[[Collection], Result]) -> Result:
        try:
            with self._lock:
                return job(self._opened())
        except Exception as error:
            if isinstance(error, CollectionError | OSError) and not isinstance(error, CollectionBusyError):
                log.error("collection %s: %s", self.name, error)
                self._close()
            translated = as_api_error(error, self.name, str(self.path))
            if translated is None:
                raise
            raise translated from error

    def _opened(self) -> Collection:
        file = _identity(self.path)
        if self._collection is None or file != self._file:
            self._close()
            self._collection, self._file = Collection.open(self.path, wait=WAIT_SECONDS), file
        return self._collection

    def _close(self) -> None:
        if self._collection is not None:
            self._collection.close()
        self._collection = None


def _identity(path: Path) -> tuple[int, int]:
    """Return what tells the file at a path from another one that replaces it."""
    found = path.stat()
    return found.st_dev, found.st_ino
