"""The collections that are served, by name.

A name that a client sends is only looked up among the known names. No path is ever made from it.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import logging
import re
import time
from collections.abc import Callable, Hashable
from collections.abc import Collection as AnyCollection
from pathlib import Path
from typing import Any, TypeVar

from sthash.collection import (
    Collection,
    CollectionBusyError,
    CollectionError,
    Embedding,
    SearchOptions,
    answer_like,
)
from sthash.serve.batcher import Batcher
from sthash.serve.errors import ApiError, as_api_error
from sthash.serve.limits import MAX_COLLECTIONS, MAX_OPEN_COLLECTIONS, MAX_SLOW_JOBS, Limits
from sthash.serve.searcher import Searcher
from sthash.serve.visualization import MapAxes
from sthash.serve.workers import JobThread, Turns, Worker, is_inside, open_served

Result = TypeVar("Result")
log = logging.getLogger("sthash.serve")
SUFFIX = ".sth"
# How often a folder is listed, and all collections are looked at. A folder that has changed is listed at once; the
# clock of a file system may be this coarse.
LIST_SECONDS, LOOK_SECONDS, CLOCK_SECONDS = 5.0, 1.0, 0.1
SUMMARIZED = ("documents", "n_bits", "kind", "words", "takes_texts")


class Cache:
    """The last answer to a slow request, valid until the file changes, and the request it belongs to."""

    def __init__(self) -> None:
        self._key: Hashable = None
        self._answer: Any = None

    def find(self, key: Hashable) -> Any:
        """Return the stored answer if it belongs to ``key``; otherwise None."""
        return self._answer if key == self._key else None

    def keep(self, key: Hashable, answer: Any) -> None:
        """Store an answer in place of the last one."""
        self._answer, self._key = answer, key


class ServedCollection:
    """A collection with its workers: one for searches, one for slow requests, one for changes.

    Parameters
    ----------
    name : str
    path : Path
    limits : Limits
    observe : callable
        Called with the size of each batch of searches.
    folder : Path, optional
        Links to files outside it are refused.
    opening : callable, optional
        Opens the file; see `open_served`.
    shared : Path, optional
        A folder that all processes of the server share.
    """

    def __init__(
        self,
        name: str,
        path: Path,
        limits: Limits,
        observe: Callable[[int], None],
        folder: Path | None = None,
        opening: Callable[..., Collection] | None = None,
        shared: Path | None = None,
    ) -> None:
        self.name = name
        self.path = path
        self.limits = limits
        turns = Turns(None if shared is None else shared / f"{name}.turns")
        self.search_worker = Worker(name, path, limits.in_flight, limits, folder=folder, opening=opening)
        self.slow_worker = Worker(name, path, MAX_SLOW_JOBS, limits, turns, folder, opening)
        self.write_worker = Worker(name, path, limits.in_flight, limits, turns, folder, opening)
        # For what takes long after all has been read: changes need not wait for it.
        self.comparisons = JobThread(name, MAX_SLOW_JOBS, limits.seconds)
        self.searcher = Searcher(self.search_worker, self.slow_worker, limits.seconds)
        self.batcher = Batcher(self.searcher, observe)
        self.map_axes = MapAxes()
        self.map_cache = Cache()
        self.duplicates_cache = Cache()

    @property
    def _threads(self) -> tuple[JobThread, ...]:
        return self.write_worker, self.search_worker, self.slow_worker, self.comparisons

    @property
    def is_idle(self) -> bool:
        """Whether no request uses it."""
        return self.batcher.is_idle and all(thread.is_idle for thread in self._threads)

    def close(self) -> None:
        """Finish the jobs that have begun, and close the file."""
        for thread in self._threads:
            thread.close()


class Catalog:
    """The collection of one file, or all collections of a folder. A folder is read again when a name is unknown.

    At most `MAX_OPEN_COLLECTIONS` are open at a time; the one that was not used for the longest time is closed.

    Parameters
    ----------
    source : Path
    limits : Limits
    observe : callable
        Called with the size of each batch of searches.
    follow_links : bool
        Serve files that are only linked from the folder.
    embedder : callable or Embedder, optional
        In a folder it serves those collections that know it.
    shared : Path, optional
        A folder that all processes of the server share.
    """

    def __init__(
        self,
        source: Path,
        limits: Limits,
        observe: Callable[[int], None],
        *,
        follow_links: bool = False,
        embedder: Embedding | None = None,
        shared: Path | None = None,
    ) -> None:
        self._source = source
        self._is_folder = source.is_dir()
        self._folder = source if self._is_folder and not follow_links else None
        self._limits = limits
        self._observe = observe
        self._shared = shared
        self._opening = functools.partial(open_served, embedder=embedder, recorded_only=self._is_folder)
        self._paths: dict[str, Path] = {}
        self._open: dict[str, ServedCollection] = {}  # the last one is the one that was used last
        self._summaries: dict[str, tuple[Any, dict[str, Any]]] = {}
        self._answered: dict[str, tuple[Any, str | None]] = {}
        self._looked = 0.0
        self._readiness: asyncio.Task[dict[str, str]] | None = None
        self._listed = (0.0, 0)  # when, and the folder's time of change
        self._warned: set[Path] = set()
        self._reader = JobThread("catalog", limits.in_flight, limits.seconds)
        if not self._is_folder:
            # A file that is not a collection, or an embedder that does not fit, is an error at once.
            Collection.open(source, embedder=embedder).close()
        self.refresh()
        if not self._paths:
            raise FileNotFoundError(f"there is no collection (*{SUFFIX}) in {source}. Make one with sth build.")

    def refresh_if_changed(self) -> None:
        """Read the folder again if it has changed, or was not read for some time."""
        if not self._is_folder:
            return
        when, changed = self._listed
        try:
            now_changed = self._source.stat().st_mtime_ns
        except OSError:
            now_changed = 0
        is_recent = time.time() - changed / 1e9 < CLOCK_SECONDS
        if is_recent or now_changed != changed or time.monotonic() - when > LIST_SECONDS:
            self.refresh()
            self._listed = (time.monotonic(), now_changed)

    def refresh(self) -> None:
        """Add the files that are new in a folder, and close those that are gone."""
        found: dict[str, Path] = {}
        for path in sorted(self._source.glob(f"*{SUFFIX}")) if self._is_folder else [self._source]:
            if self._is_folder and (path.name.startswith(".") or not path.is_file()):
                continue
            name = re.sub(r"[^A-Za-z0-9._-]+", "-", path.stem)
            if name in found:
                self._warn(path, f"{found[name]} has the same name")
            elif self._folder is not None and not is_inside(path, self._folder):
                self._warn(path, "it is a link to a file outside the folder; --follow-links would serve it")
            elif len(found) >= MAX_COLLECTIONS:
                self._warn(path, f"there are more than {MAX_COLLECTIONS} collections")
            else:
                found[name] = path
        for name in [name for name, served in self._open.items() if found.get(name) != served.path]:
            self._close(name)
        self._summaries = {name: known for name, known in self._summaries.items() if name in found}
        self._paths = found

    def _warn(self, path: Path, why: str) -> None:
        if path not in self._warned:
            self._warned.add(path)
            log.warning("%s is not served: %s", path, why)

    def _close(self, name: str) -> None:
        # Its workers may still have jobs; closing waits for them, in another thread.
        asyncio.get_running_loop().run_in_executor(None, self._open.pop(name).close)

    def __len__(self) -> int:
        return len(self._paths)

    async def readiness(self) -> dict[str, str]:
        """Return the collections that do not open and answer, each with the code of its error.

        However many ask, there is one look per second, and a collection is tried again only when its file has changed
        or it has failed.
        """
        if self._readiness is None or (self._readiness.done() and time.monotonic() - self._looked > LOOK_SECONDS):
            self._looked = time.monotonic()
            self._readiness = asyncio.create_task(self._look(), context=contextvars.Context())
        return await asyncio.shield(self._readiness)

    async def _look(self) -> dict[str, str]:
        self.refresh_if_changed()
        found = {name: await self._try(name, path) for name, path in list(self._paths.items())}
        self._answered = {name: known for name, known in self._answered.items() if name in found}
        return {name: error for name, error in found.items() if error is not None}

    async def _try(self, name: str, path: Path) -> str | None:
        state, known = _state(path), self._answered.get(name)
        if known == (state, None) and state is not None:
            return None
        served = self._open.get(name)
        try:
            if served is None:
                await self._reader.compute(lambda: self._read(name, path, _answers))
            else:
                await served.search_worker.run(_answers)
            error = None
        except ApiError as problem:
            error = problem.code
        if error in ("busy", "too_slow", "collection_busy"):  # it is in use, not broken
            return None if known is None else known[1]
        self._answered[name] = (state, error)
        return error

    async def summaries(self, allowed: AnyCollection[str] | None = None) -> list[dict[str, Any]]:
        """Describe the collections. A file that is not open is opened for this only, and not before it has changed."""
        wanted = [(name, path) for name, path in self._paths.items() if allowed is None or name in allowed]
        return [await self._summary(name, path) for name, path in wanted]

    async def _summary(self, name: str, path: Path) -> dict[str, Any]:
        state = _state(path)
        known = self._summaries.get(name)
        if known is None or state is None or known[0] != state:
            known = (state, await self._read_summary(name, path))
            if known[1]["error"] is None:
                self._summaries[name] = known
        return known[1]

    async def _read_summary(self, name: str, path: Path) -> dict[str, Any]:
        try:
            served = self._open.get(name)
            if served is None:
                info = await self._reader.compute(lambda: self._read(name, path, _facts))
            else:
                info = await served.search_worker.run(_facts)
        except ApiError as error:
            if error.code in ("too_slow", "busy"):
                raise
            return {"name": name, "error": error.code} | dict.fromkeys(SUMMARIZED)
        return {"name": name, "error": None} | {part: info[part] for part in SUMMARIZED}

    def _read(self, name: str, path: Path, job: Callable[[Collection], Result]) -> Result:
        """Open a collection for one job."""
        try:
            with self._opening(path) as collection:
                return job(collection)
        except (CollectionError, OSError) as error:
            if isinstance(error, TimeoutError):
                raise
            found = as_api_error(error, name, str(path))
            if not isinstance(error, CollectionBusyError):
                code = None if found is None else found.code
                log.error("collection %s: %s", name, error, extra={"collection": name, "error": code})
            raise found or error from error

    def default(self, allowed: AnyCollection[str] | None = None) -> str | None:
        """Return the name of the only collection that a client may use; None if there are several."""
        names = [name for name in self._paths if allowed is None or name in allowed]
        return names[0] if len(names) == 1 else None

    def find(self, name: str | None, allowed: AnyCollection[str] | None = None) -> ServedCollection:
        """Return a collection by its name, or the only one. A client learns nothing of those that it may not use."""
        if name is not None and name not in self._paths and (allowed is None or name in allowed):
            self.refresh_if_changed()
        wanted = self.default(allowed) if name is None else name
        if wanted is None and self._paths:
            raise ApiError(
                400,
                "collection_needed",
                "there are several collections.",
                "Name one with ?collection=NAME; GET /collections lists them.",
            )
        if wanted is not None and allowed is not None and wanted not in allowed:
            wanted = None
        if wanted is None or wanted not in self._paths:
            raise ApiError(
                404,
                "no_such_collection",
                "there is no such collection.",
                "GET /collections lists the collections of this server.",
            )
        served = self._open.pop(wanted, None)
        if served is None:
            served = ServedCollection(
                wanted,
                self._paths[wanted],
                self._limits,
                self._observe,
                self._folder,
                self._opening,
                self._shared,
            )
        self._open[wanted] = served
        if len(self._open) > MAX_OPEN_COLLECTIONS:
            idle = next((other for other, one in self._open.items() if one is not served and one.is_idle), None)
            if idle is None:
                self._open.pop(wanted)
                raise ApiError(503, "busy", "too many collections are in use.", "Try again in a moment.")
            self._close(idle)
        return served

    def close(self) -> None:
        """Close all collections. Changes that have begun are finished first."""
        for served in self._open.values():
            served.close()
        self._reader.close()


def _state(path: Path) -> tuple[Any, ...] | None:
    """Return what changes whenever a file changes; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return path, found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _answers(collection: Collection) -> None:
    """Search for a document of the collection, or raise what a search raises."""
    with collection.snapshot() as snapshot:
        if len(snapshot):
            answer_like(snapshot, int(snapshot.ids[0]), SearchOptions(k=1))


def _facts(collection: Collection) -> dict[str, Any]:
    return collection.info() | {"takes_texts": collection.takes_texts}
