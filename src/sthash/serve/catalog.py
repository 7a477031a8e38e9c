"""The collections that are served, by name.

A client's string is only ever looked up among the names that are there; no path is made of it.
"""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from sthash.collection import Collection
from sthash.serve.batching import Batcher
from sthash.serve.errors import ApiError
from sthash.serve.landscape import Axes
from sthash.serve.lanes import Lane
from sthash.serve.remembering import Remembered

log = logging.getLogger("sthash.serve")
SUFFIX = ".sth"
MOST_SLOW = 8


class Served:
    """A collection with its lanes: one to find, one for what may take seconds, one to change."""

    def __init__(self, name: str, path: Path, most_waiting: int, observe: Callable[[int], None]) -> None:
        self.name = name
        self.path = path
        self.finding = Lane(name, path, most_waiting)
        turn = threading.Lock()
        self.asking = Lane(name, path, MOST_SLOW, turn)
        self.changing = Lane(name, path, most_waiting, turn)
        self.batcher = Batcher(self.finding, observe)
        self.axes = Axes()
        self.map = Remembered()
        self.duplicates = Remembered()

    def close(self) -> None:
        """Finish what has begun, and close the file."""
        for lane in (self.changing, self.finding, self.asking):
            lane.close()


class Catalog:
    """The collection of a file, or all those of a folder, which is looked through again when a name is new.

    Parameters
    ----------
    source : Path
    most_waiting : int
        Jobs that may wait for a lane.
    observe : callable
        Told the size of each batch of searches.
    """

    def __init__(self, source: Path, most_waiting: int, observe: Callable[[int], None]) -> None:
        self._source = source
        self._folder = source.is_dir()
        self._most_waiting = most_waiting
        self._observe = observe
        self._served: dict[str, Served] = {}
        if not self._folder:
            Collection.open(source).close()  # what is no collection is told at once
        self.look()
        if not self._served:
            raise FileNotFoundError(f"there is no collection (*{SUFFIX}) in {source}; make one with sth build.")

    def look(self) -> None:
        """Take in the files that are new, and let go of those that have gone from a folder."""
        paths = sorted(self._source.glob(f"*{SUFFIX}")) if self._folder else [self._source]
        found: dict[str, Path] = {}
        for path in paths:
            name = re.sub(r"[^A-Za-z0-9._-]+", "-", path.stem)
            if self._folder and (path.name.startswith(".") or not path.is_file()):
                continue
            if name in found:
                log.warning("%s is not served: %s has the same name", path, found[name])
                continue
            found[name] = path
        for name in [name for name, served in self._served.items() if found.get(name) != served.path]:
            # Its lanes may still be at work for somebody; they end by themselves.
            asyncio.get_running_loop().run_in_executor(None, self._served.pop(name).close)
        for name, path in found.items():
            if name not in self._served:
                self._served[name] = Served(name, path, self._most_waiting, self._observe)

    def __iter__(self) -> Iterator[Served]:
        return iter(list(self._served.values()))  # others may look again meanwhile

    @property
    def default(self) -> str | None:
        """The name of the only collection."""
        return next(iter(self._served)) if len(self._served) == 1 else None

    def find(self, name: str | None) -> Served:
        """Give a collection by its name, or the only one."""
        if name is not None and name not in self._served:
            self.look()
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
                "GET /collections lists those that are there.",
            )
        return self._served[wanted]

    def close(self) -> None:
        """Close all; changes that have begun are finished first."""
        for served in self._served.values():
            served.close()
