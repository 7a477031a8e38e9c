"""The collections that are served, by name.

A name that a client sends is only looked up among the known names. No path is ever made from it.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import re
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from typing import Any

from sthash.collection import Collection, CollectionBusyError, CollectionError, Embedding
from sthash.serve.batcher import Batcher
from sthash.serve.errors import ApiError, as_api_error
from sthash.serve.limits import MAX_COLLECTIONS, MAX_OPEN_COLLECTIONS, MAX_SLOW_JOBS, Limits
from sthash.serve.visualization import MapAxes
from sthash.serve.workers import JobThread, Turns, Worker, is_inside, open_served

log = logging.getLogger("sthash.serve")
SUFFIX = ".sth"
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
    """

    def __init__(
        self,
        name: str,
        path: Path,
        limits: Limits,
        observe: Callable[[int], None],
        folder: Path | None = None,
        opening: Callable[..., Collection] | None = None,
    ) -> None:
        self.name = name
        self.path = path
        self.limits = limits
        turns = Turns()
        self.search_worker = Worker(name, path, limits.in_flight, limits, folder=folder, opening=opening)
        self.slow_worker = Worker(name, path, MAX_SLOW_JOBS, limits, turns, folder, opening)
        self.write_worker = Worker(name, path, limits.in_flight, limits, turns, folder, opening)
        # For what takes long after all has been read: changes need not wait for it.
        self.comparisons = JobThread(name, MAX_SLOW_JOBS, limits.seconds)
        self.batcher = Batcher(self.search_worker, observe)
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
    """

    def __init__(
        self,
        source: Path,
        limits: Limits,
        observe: Callable[[int], None],
        *,
        follow_links: bool = False,
        embedder: Embedding | None = None,
    ) -> None:
        self._source = source
        self._is_folder = source.is_dir()
        self._folder = source if self._is_folder and not follow_links else None
        self._limits = limits
        self._observe = observe
        self._opening = functools.partial(open_served, embedder=embedder, recorded_only=self._is_folder)
        self._paths: dict[str, Path] = {}
        self._open: dict[str, ServedCollection] = {}  # the last one is the one that was used last
        self._summaries: dict[str, tuple[Any, dict[str, Any]]] = {}
        self._warned: set[Path] = set()
        self._reader = JobThread("catalog", limits.in_flight, limits.seconds)
        if not self._is_folder:
            # A file that is not a collection, or an embedder that does not fit, is an error at once.
            Collection.open(source, embedder=embedder).close()
        self.refresh()
        if not self._paths:
            raise FileNotFoundError(f"there is no collection (*{SUFFIX}) in {source}. Make one with sth build.")

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

    def paths(self) -> Iterator[tuple[str, Path]]:
        """Return the names and files of all collections."""
        return iter(self._paths.items())

    async def summaries(self) -> list[dict[str, Any]]:
        """Describe all collections. A file that is not open is opened for this only, and not before it has changed."""
        return [await self._summary(name, path) for name, path in list(self._paths.items())]

    async def _summary(self, name: str, path: Path) -> dict[str, Any]:
        try:
            found = path.stat()
            state = (path, found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
        except OSError:
            state = None
        known = self._summaries.get(name)
        if known is None or state is None or known[0] != state:
            known = (state, await self._read_summary(name, path))
            if known[1]["error"] is None:
                self._summaries[name] = known
        return known[1]

    async def _read_summary(self, name: str, path: Path) -> dict[str, Any]:
        def read() -> dict[str, Any]:
            try:
                with self._opening(path) as collection:
                    return _facts(collection)
            except (CollectionError, OSError) as error:
                if isinstance(error, TimeoutError):
                    raise
                if not isinstance(error, CollectionBusyError):
                    log.error("collection %s: %s", name, error)
                raise as_api_error(error, name, str(path)) or error from error

        try:
            served = self._open.get(name)
            info = await self._reader.compute(read) if served is None else await served.search_worker.run(_facts)
        except ApiError as error:
            if error.code in ("too_slow", "busy"):
                raise
            return {"name": name, "error": error.code} | dict.fromkeys(SUMMARIZED)
        return {"name": name, "error": None} | {part: info[part] for part in SUMMARIZED}

    @property
    def default(self) -> str | None:
        """The name of the only collection; None if there are several."""
        return next(iter(self._paths)) if len(self._paths) == 1 else None

    def find(self, name: str | None) -> ServedCollection:
        """Return a collection by its name, or the only one."""
        if name is not None and name not in self._paths:
            self.refresh()
        wanted = self.default if name is None else name
        if wanted is None and self._paths:
            raise ApiError(
                400,
                "collection_needed",
                "there are several collections.",
                "Name one with ?collection=NAME; GET /collections lists them.",
            )
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
                wanted, self._paths[wanted], self._limits, self._observe, self._folder, self._opening
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


def _facts(collection: Collection) -> dict[str, Any]:
    return collection.info() | {"takes_texts": collection.takes_texts}
