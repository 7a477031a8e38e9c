"""Lanes: threads that work on a collection's file, each over a connection of its own.

A search must not wait for a slow question, nor for a change to the file. So each collection has a lane for searches,
one for questions that may take seconds, and one for all changes; the readers see what is committed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from sthash.collection import Collection
from sthash.collection.store import CollectionBusyError, CollectionError
from sthash.serve.errors import ApiError, told

Result = TypeVar("Result")
log = logging.getLogger("sthash.serve")

# Another process that changes the file is waited for, but not until the request's time is up.
WAIT_SECONDS = 10.0


class Lane:
    """One thread with a collection that is opened when it is first needed, and again when its file is another one.

    Parameters
    ----------
    name : str
        Of the collection.
    path : Path
    most_waiting : int
        Jobs that may wait; beyond it the answer is 503.
    """

    def __init__(self, name: str, path: Path, most_waiting: int) -> None:
        self.name = name
        self.path = path
        self._most_waiting = most_waiting
        self._waiting = 0
        self._closed = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"sthash-{name}")
        self._collection: Collection | None = None
        self._file: tuple[int, int] | None = None

    async def run(self, job: Callable[[Collection], Result]) -> Result:
        """Do a job in the lane's thread; its errors come as `ApiError` where they are the client's to know."""
        if self._closed:
            raise ApiError(503, "collection_unavailable", "the collection has been closed.", "Try again later.")
        if self._waiting >= self._most_waiting:
            raise ApiError(503, "busy", "too many such requests are waiting.", "Try again in a moment.")
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._do, job)
        finally:
            self._waiting -= 1

    async def change(self, job: Callable[[Collection], Result]) -> Result:
        """Do a job that changes the file; what is acknowledged is in the file that stands at the path."""

        def checked(collection: Collection) -> Result:
            result = job(collection)
            if _file_at(self.path) != self._file:
                raise ApiError(
                    503,
                    "collection_replaced",
                    f"the file of the collection {self.name!r} was replaced during the change.",
                    "Look whether the change is there, and repeat it if not.",
                )
            return result

        return await self.run(checked)

    def close(self) -> None:
        """Finish what has begun, and close the file."""
        self._closed = True
        self._thread.submit(self._close)
        self._thread.shutdown(wait=True)

    def _do(self, job: Callable[[Collection], Result]) -> Result:
        try:
            return job(self._opened())
        except Exception as error:
            if isinstance(error, CollectionError | OSError) and not isinstance(error, CollectionBusyError):
                log.error("collection %s: %s", self.name, error)
                self._close()
            answer = told(error, self.name, str(self.path))
            if answer is None:
                raise
            raise answer from error

    def _opened(self) -> Collection:
        file = _file_at(self.path)
        if self._collection is None or file != self._file:
            self._close()
            self._collection, self._file = Collection.open(self.path, wait=WAIT_SECONDS), file
        return self._collection

    def _close(self) -> None:
        if self._collection is not None:
            self._collection.close()
        self._collection = None


def _file_at(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino
