"""`serve`: one process, or several that share an address, limits and metrics, and a parent that looks after them."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path

from sthash.serve.metrics import SHARED_FOLDER
from sthash.serve.server import address_of, listen, own_socket, work
from sthash.serve.settings import Settings

log = logging.getLogger("sthash.serve")

# A process that ends this soon after its start is not started again at once.
SETTLED_SECONDS = 5.0


def serve(settings: Settings, ready: Callable[[str], None], prepare: Callable[[], None] | None = None) -> None:
    """Serve until SIGTERM or Ctrl-C. Requests in flight are then finished. SIGHUP reads the settings file again.

    Parameters
    ----------
    settings : Settings
    ready : callable
        Called with the address once clients can connect.
    prepare : callable, optional
        Called before in each process that serves, to set up logs. With several processes it must be picklable.
    """
    settings.read()  # an error in the file is reported here
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, lambda *_: None)  # until the application takes it
    with ExitStack() as ending:
        opened = ending.enter_context(listen(settings))
        if settings.socket is not None:
            ending.callback(settings.socket.unlink, missing_ok=True)
        address = address_of(settings, opened)

        def begin() -> None:
            if prepare is not None:
                prepare()
            ready(address)

        if settings.workers == 1:
            work(settings, opened, begin)
            return
        folder = Path(ending.enter_context(tempfile.TemporaryDirectory(prefix="sthash-serve-")))
        os.environ[SHARED_FOLDER] = str(folder)
        ending.callback(os.environ.pop, SHARED_FOLDER, None)
        _Supervisor(settings, opened, folder, prepare).run(begin)


@dataclass(frozen=True)
class _Started:
    process: SpawnProcess
    told: Connection  # kept open: the process says there that it is ready
    time: float


class _Supervisor:
    """Starts processes, passes signals on to them, and starts those again that end by themselves."""

    def __init__(
        self, settings: Settings, opened: socket.socket, folder: Path, prepare: Callable[[], None] | None
    ) -> None:
        self._settings = settings
        self._socket = opened
        self._folder = folder
        self._prepare = prepare
        self._context: SpawnContext = multiprocessing.get_context("spawn")
        self._processes: list[_Started] = []
        self._is_ending = False

    def run(self, ready: Callable[[], None]) -> None:
        """Serve until a signal ends it."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._end)
        for _ in range(self._settings.workers):
            self._processes.append(self._start())
        for started in self._processes:
            if started.process.sentinel in wait([started.told, started.process.sentinel]) and not self._is_ending:
                self._end(signal.SIGTERM)
                self._join()
                raise OSError("a process that serves has ended at its start; its message is above.")
        if hasattr(signal, "SIGHUP"):
            signal.signal(signal.SIGHUP, self._pass_on)
        if not self._is_ending:
            ready()
        while not self._is_ending:
            wait([started.process.sentinel for started in self._processes], timeout=1.0)
            self._revive()
        self._join()

    def _start(self) -> _Started:
        here, there = self._context.Pipe(duplex=False)
        arguments = (self._settings, self._socket, self._folder, there, self._prepare)
        process = self._context.Process(target=_work, args=arguments)
        process.start()
        there.close()
        return _Started(process, here, time.monotonic())

    def _revive(self) -> None:
        for place, started in enumerate(self._processes):
            if self._is_ending or started.process.is_alive():
                continue
            code = started.process.exitcode
            log.error("a process that serves has ended (%s); another one takes its place", code)
            self._forget(started.process)
            if time.monotonic() - started.time < SETTLED_SECONDS:
                time.sleep(1.0)
            if not self._is_ending:
                self._processes[place] = self._start()

    def _forget(self, process: SpawnProcess) -> None:
        """Take back what an ended process says about the present; its counts stay."""
        for file in self._folder.glob(f"gauge_live*_{process.pid}.db"):
            file.unlink(missing_ok=True)

    def _end(self, number: int, _: object = None) -> None:
        self._is_ending = True
        self._pass_on(signal.SIGTERM if number == signal.SIGINT else number)

    def _pass_on(self, number: int, _: object = None) -> None:
        for process in [started.process for started in self._processes]:
            if process.pid is not None and process.exitcode is None:
                with suppress(ProcessLookupError):
                    os.kill(process.pid, number)

    def _join(self) -> None:
        for started in self._processes:
            started.process.join()


def _work(
    settings: Settings,
    opened: socket.socket,
    folder: Path,
    told: Connection,
    prepare: Callable[[], None] | None,
) -> None:
    """Serve in a process of its own, for as long as its parent lives."""
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, lambda *_: None)
    if prepare is not None:
        prepare()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        work(settings, own_socket(opened), lambda: told.send_bytes(b"ready"), folder)
    except (OSError, ValueError) as error:
        log.error("%s", error)
        sys.exit(1)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
