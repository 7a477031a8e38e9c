"""The collections that are served, by name.

A name that a client sends is only looked up among the known names. No path is ever made from it.
"""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from sthash.collection import Collection
from sthash.serve.batcher import Batcher
from sthash.serve.cache import Cache
from sthash.serve.errors import ApiError
from sthash.serve.visualization import MapAxes
from sthash.serve.workers import Worker

log = logging.getLogger("sthash.serve")
SUFFIX = ".sth"
MAX_SLOW_JOBS = 8


class ServedCollection:
    """A collection with its workers: one for searches, one for slow requests, one for changes."""

    def __init__(self, name: str, path: Path, max_waiting: int, observe: Callable[[int], None]) -> None:
        self.name = name
        self.path = path
        self.search_worker = Worker(name, path, max_waiting)
        turn = threading.Lock()
        self.slow_worker = Worker(name, path, MAX_SLOW_JOBS, turn)
        self.write_worker = Worker(name, path, max_waiting, turn)
        self.batcher = Batcher(self.search_worker, observe)
        self.map_axes = MapAxes()
        self.map_cache = Cache()
        self.duplicates_cache = Cache()

    def close(self) -> None:
        """Finish the jobs that have begun, and close the file."""
        for worker in (self.write_worker, self.search_worker, self.slow_worker):
            worker.close()


class Catalog:
    """The collection of one file, or all collections of a folder. A folder is read again when a name is unknown.

    Parameters
    ----------
    source : Path
    max_waiting : int
        Number of jobs that may wait for a worker.
    observe : callable
        Called with the size of each batch of searches.
    """

    def __init__(self, source: Path, max_waiting: int, observe: Callable[[int], None]) -> None:
        self._source = source
        self._is_folder = source.is_dir()
        self._max_waiting = max_waiting
        self._observe = observe
        self._served: dict[str, ServedCollection] = {}
        if not self._is_folder:
            Collection.open(source).close()  # a file that is not a collection is an error at once
        self.refresh()
        if not self._served:
            raise FileNotFoundError(f"there is no collection (*{SUFFIX}) in {source}. Make one with sth build.")

    def refresh(self) -> None:
        """Add the files that are new in a folder, and close those that are gone."""
        paths = sorted(self._source.glob(f"*{SUFFIX}")) if self._is_folder else [self._source]
        found: dict[str, Path] = {}
        for path in paths:
            name = re.sub(r"[^A-Za-z0-9._-]+", "-", path.stem)
            if self._is_folder and (path.name.startswith(".") or not path.is_file()):
                continue
            if name in found:
                log.warning("%s is not served: %s has the same name", path, found[name])
                continue
            found[name] = path
        for name in [name for name, served in self._served.items() if found.get(name) != served.path]:
            # Its workers may still have jobs; closing waits for them, in another thread.
            asyncio.get_running_loop().run_in_executor(None, self._served.pop(name).close)
        for name, path in found.items():
            if name not in self._served:
                self._served[name] = ServedCollection(name, path, self._max_waiting, self._observe)

    def __iter__(self) -> Iterator[ServedCollection]:
        return iter(list(self._served.values()))  # a copy, because another request may refresh meanwhile

    @property
    def default(self) -> str | None:
        """The name of the only collection; None if there are several."""
        return next(iter(self._served)) if len(self._served) == 1 else None

    def find(self, name: str | None) -> ServedCollection:
        """Return a collection by its name, or the only one."""
        if name is not None and name not in self._served:
            self.refresh()
        wanted = self.default if name is None else name
        if wanted is None and self._served:
            raise ApiError(
                400,
                "collection_needed",
                "there are several collections.",
                "Name one with ?collection=NAME; GET /collections lists them.",
            )
        if wanted is None or wanted not in self._served:
            raise ApiError(
                404,
                "no_such_collection",
                "there is no such collection.",
                "GET /collections lists the collections of this server.",
            )
        return self._served[wanted]

    def close(self) -> None:
        """Close all collections. Changes that have begun are finished first."""
        for served in self._served.values():
            served.close()
