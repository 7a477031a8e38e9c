"""One process that serves: its socket, uvicorn, and signals."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import uvicorn

from sthash.serve.connection import Connection
from sthash.serve.limits import MAX_OPEN_COLLECTIONS, Limits
from sthash.serve.reloading import ReloadingApp
from sthash.serve.settings import Settings

try:
    import resource
except ImportError:  # Windows, which has no such limit
    resource = None  # type: ignore[assignment]

BACKLOG = 2048
FILES_PER_COLLECTION = 4  # one per worker, and the journal
OTHER_FILES = 64
SOCKET_MODE = 0o660


def work(settings: Settings, opened: socket.socket, ready: Callable[[], None], shared: Path | None = None) -> None:
    """Serve from a socket until SIGTERM or Ctrl-C. Requests in flight are then finished.

    Parameters
    ----------
    settings : Settings
    opened : socket
    ready : callable
        Called once the application is made.
    shared : Path, optional
        A folder that all processes of the server share.
    """
    app = ReloadingApp(settings, shared)
    # A limit can be raised while the server runs, but not above the files that it may open.
    most = fitting(app.limits).connections

    def connection(**arguments: Any) -> Connection:
        limits = app.limits
        return Connection(replace(limits, connections=min(limits.connections, most)), **arguments)

    config = uvicorn.Config(
        app,
        http=cast("type[asyncio.Protocol]", connection),
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=int(app.limits.idle_seconds),
        timeout_graceful_shutdown=int(app.limits.body_seconds + app.limits.seconds) + 1,
    )
    # uvicorn raises a signal again after it has shut down. The signal must then have no further effect.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    ready()
    uvicorn.Server(config).run(sockets=[opened])


def fitting(limits: Limits) -> Limits:
    """Return limits with as many connections as the process may open; its own limit is raised if it can be."""
    if resource is None:
        return limits
    others = FILES_PER_COLLECTION * MAX_OPEN_COLLECTIONS + OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return limits
    wanted = limits.connections + others
    if soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return replace(limits, connections=max(1, min(limits.connections, soft - others)))


def listen(settings: Settings) -> socket.socket:
    """Open the socket, or raise an OSError that says what to do.

    For several processes it only keeps the address, where the system shares the connections out among sockets of one
    address: `own_socket` then opens that of a process.
    """
    if settings.socket is not None:
        return _unix_socket(settings.socket)
    host, port = settings.host.strip("[]"), settings.port
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        opened = socket.create_server(address[:2], family=family, backlog=BACKLOG)
        if settings.workers == 1 or not hasattr(socket, "SO_REUSEPORT"):
            return opened
        place = opened.getsockname()[:2]
        opened.close()  # nobody else was there
        kept = socket.socket(family, socket.SOCK_STREAM)
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        kept.bind(place)
        return kept
    except OSError as error:
        raise OSError(
            f"cannot listen on {settings.host} port {port} ({error.strerror or error}). Pass another --port."
        ) from error


def own_socket(opened: socket.socket) -> socket.socket:
    """Return the socket of one of several processes. It ends with its process, and the others get its connections."""
    if opened.family == getattr(socket, "AF_UNIX", None) or not hasattr(socket, "SO_REUSEPORT"):
        return opened
    return socket.create_server(opened.getsockname()[:2], family=opened.family, backlog=BACKLOG, reuse_port=True)


def _unix_socket(path: Path) -> socket.socket:
    """Open a Unix socket that its owner and group may use. That of a server which has ended is replaced."""
    opened = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with suppress(FileNotFoundError):
            if not stat.S_ISSOCK(path.stat().st_mode):
                raise FileExistsError(f"{path} is not a socket")
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other, suppress(ConnectionRefusedError):
                other.connect(str(path))
                raise FileExistsError(f"another server listens on {path}")
            path.unlink()
        before = os.umask(0o777 & ~SOCKET_MODE)
        try:
            opened.bind(str(path))
        finally:
            os.umask(before)
        opened.listen(BACKLOG)
    except OSError as error:
        opened.close()
        raise OSError(f"cannot listen on {path} ({error.strerror or error}). Pass another --socket.") from error
    return opened


def address_of(settings: Settings, opened: socket.socket) -> str:
    """Return what clients connect to."""
    if settings.socket is not None:
        return f"unix:{settings.socket}"
    host = f"[{settings.host.strip('[]')}]" if ":" in settings.host else settings.host
    return f"http://{host}:{opened.getsockname()[1]}{settings.prefix}"
