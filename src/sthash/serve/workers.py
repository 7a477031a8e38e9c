"""Workers: threads that use the file of a collection, each over its own connection.

A search must not wait for a slow request, nor for a change to the file. So each collection has one worker for
searches, one for requests that may take seconds, and one for all changes. Readers see what is committed.

The last two take turns. While a change waits for a reader, SQLite lets no other reader begin: a change during a slow
request would therefore block all searches.

A job that takes longer than its request may take is stopped, so that its thread is free for others. A change is then
undone.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from sthash.collection import Collection, CollectionBusyError, CollectionError, EmbedderError, Embedding
from sthash.deadline import check_time, time_limit
from sthash.serve.errors import ApiError, as_api_error, too_slow
from sthash.serve.fair import FairQueue, client
from sthash.serve.limits import Limits

try:
    import fcntl
except ImportError:  # Windows, where one process serves
    fcntl = None  # type: ignore[assignment]

Result = TypeVar("Result")
log = logging.getLogger("sthash.serve")

# How long to wait for another process that changes the file. It is less than a request may take.
WAIT_SECONDS = 10.0
# How often a process looks whether it is its turn.
LOOK_SECONDS = 0.01


class Turns:
    """A lock that is given to those who wait in the order in which they came, so that nobody waits for ever.

    Parameters
    ----------
    shared : Path, optional
        A file that all processes which take turns lock.
    """

    def __init__(self, shared: Path | None = None) -> None:
        self._changed = threading.Condition()
        self._queue: deque[object] = deque()
        self._shared = shared

    @contextmanager
    def taken(self, seconds: float) -> Iterator[None]:
        """Wait for the turn; raise TimeoutError after ``seconds``."""
        ticket, end = object(), time.monotonic() + seconds
        with self._changed:
            self._queue.append(ticket)
            if not self._changed.wait_for(lambda: self._queue[0] is ticket, seconds):
                self._queue.remove(ticket)
                self._changed.notify_all()
                raise TimeoutError("the turn did not come in time.")
        try:
            with self._taken_by_process(end):
                yield
        finally:
            with self._changed:
                self._queue.popleft()
                self._changed.notify_all()

    @contextmanager
    def _taken_by_process(self, end: float) -> Iterator[None]:
        if self._shared is None or fcntl is None:
            yield
            return
        with self._shared.open("wb") as file:  # closing it gives the turn to the next process
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() >= end:
                        raise TimeoutError("the turn did not come in time.") from None
                    time.sleep(LOOK_SECONDS)
            yield


class JobThread:
    """One thread for jobs that take time. The clients whose jobs wait take turns.

    Parameters
    ----------
    name : str
        Name of the collection.
    max_waiting : int
        Number of jobs that may wait. A job beyond it gets 503.
    seconds : float
        Time for a job, from when it is asked for.
    """

    def __init__(self, name: str, max_waiting: int, seconds: float) -> None:
        self.name = name
        self._max_waiting = max_waiting
        self._seconds = seconds
        self._waiting = 0
        self._closed = False
        self._jobs: FairQueue[tuple[Future[Any], Callable[[], Any]]] = FairQueue()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"sthash-{name}")

    @property
    def is_idle(self) -> bool:
        """Whether no job runs or waits."""
        return self._waiting == 0

    async def compute(self, job: Callable[[], Result], *, may_wait: bool = False) -> Result:
        """Run a job in the thread, for the client of this request; ``may_wait`` however many others wait."""
        if self._closed:
            raise ApiError(503, "collection_unavailable", "the collection has been closed.", "Try again later.")
        if self._waiting >= self._max_waiting and not may_wait:
            raise ApiError(503, "busy", "too many such requests are waiting.", "Try again in a moment.")
        end = time.monotonic() + self._seconds

        def limited() -> Result:
            try:
                with time_limit(end - time.monotonic()):
                    check_time()
                    return job()
            except TimeoutError as error:
                raise too_slow(self._seconds) from error

        context, done = contextvars.copy_context(), Future[Result]()
        self._jobs.put(client.get(), (done, lambda: context.run(limited)))
        self._thread.submit(self._run_next)
        self._waiting += 1
        try:
            return await asyncio.wrap_future(done)
        finally:
            self._waiting -= 1

    def _run_next(self) -> None:
        done, job = self._jobs.pop()
        if not done.set_running_or_notify_cancel():  # nobody waits for it any more
            return
        try:
            done.set_result(job())
        except BaseException as error:
            done.set_exception(error)

    def close(self) -> None:
        """Finish the jobs that have begun."""
        self._closed = True
        self._thread.shutdown(wait=True)


class Worker(JobThread):
    """One thread and its open collection. It opens the file at the first job, and again whenever the file is replaced.

    Parameters
    ----------
    name : str
        Name of the collection.
    path : Path
    max_waiting : int
        Number of jobs that may wait. A job beyond it gets 503.
    limits : Limits
    turns : Turns, optional
        Workers with the same one take turns.
    folder : Path, optional
        A file that is not in it, but only linked from there, is refused.
    opening : callable, optional
        Opens the file; `open_served` by default.
    """

    def __init__(
        self,
        name: str,
        path: Path,
        max_waiting: int,
        limits: Limits,
        turns: Turns | None = None,
        folder: Path | None = None,
        opening: Callable[..., Collection] | None = None,
    ) -> None:
        super().__init__(name, max_waiting, limits.seconds)
        self.path = path
        self._limits = limits
        self._turns = turns or Turns()
        self._folder = folder
        self._opening = opening or open_served
        self._collection: Collection | None = None
        self._file: tuple[int, int] | None = None

    async def run(self, job: Callable[[Collection], Result], *, may_wait: bool = False) -> Result:
        """Run a job in the thread. Errors that the client may see are raised as `ApiError`."""
        end = time.monotonic() + self._seconds
        return await self.compute(lambda: self._run(job, end), may_wait=may_wait)

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
        super().close()

    def _run(self, job: Callable[[Collection], Result], end: float) -> Result:
        try:
            with self._turns.taken(end - time.monotonic()):
                return job(self._opened())
        except TimeoutError:
            raise
        except Exception as error:
            if isinstance(error, CollectionError | OSError) and not isinstance(error, CollectionBusyError):
                self._log(error, "collection_unavailable")
                self._close()
            if isinstance(error, EmbedderError):
                self._log(error, "embedder_failed")
            translated = as_api_error(error, self.name, str(self.path))
            if translated is None:
                raise
            raise translated from error

    def _log(self, error: Exception, code: str) -> None:
        log.error("collection %s: %s", self.name, error, extra={"collection": self.name, "error": code})

    def _opened(self) -> Collection:
        file = _identity(self.path)
        if self._collection is None or file != self._file:
            self._close()
            if self._folder is not None and not is_inside(self.path, self._folder):
                raise FileNotFoundError(f"{self.path} is a link to a file outside the folder. Use --follow-links.")
            self._collection = self._opening(self.path, max_read_bytes=self._limits.answer_bytes)
            self._file = file
        return self._collection

    def _close(self) -> None:
        if self._collection is not None:
            self._collection.close()
        self._collection = None


def open_served(
    path: Path,
    embedder: Embedding | None = None,
    *,
    recorded_only: bool = False,
    max_read_bytes: int | None = None,
) -> Collection:
    """Open a collection, with an embedder if that fits: not one of texts, or of another embedder.

    Parameters
    ----------
    path : Path
    embedder : callable or Embedder, optional
    recorded_only : bool
        Whether a collection that knows no embedder is opened without.
    max_read_bytes : int, optional
    """
    if embedder is not None:
        try:
            found = Collection.open(path, wait=WAIT_SECONDS, max_read_bytes=max_read_bytes, embedder=embedder)
        except CollectionError:
            raise
        except (TypeError, ValueError) as error:
            log.debug("%s is served without the embedder: %s", path, error)
        else:
            if not recorded_only or "embedder" in found.info():
                return found
            found.close()
    return Collection.open(path, wait=WAIT_SECONDS, max_read_bytes=max_read_bytes)


def is_inside(path: Path, folder: Path) -> bool:
    """Whether a file is in a folder, whatever links lead to it."""
    return path.resolve().is_relative_to(folder.resolve())


def _identity(path: Path) -> tuple[int, int]:
    """Return what tells the file at a path from another one that replaces it."""
    found = path.stat()
    return found.st_dev, found.st_ino
