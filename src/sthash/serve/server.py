"""The server process: its socket, uvicorn, and signals."""

from __future__ import annotations

import asyncio
import functools
import logging
import signal
import socket
from collections.abc import Callable
from dataclasses import replace
from typing import cast

import uvicorn

from sthash.serve.app import create_app
from sthash.serve.connection import Connection
from sthash.serve.limits import MAX_OPEN_COLLECTIONS, Limits
from sthash.serve.settings import Settings

try:
    import resource
except ImportError:  # Windows, which has no such limit
    resource = None  # type: ignore[assignment]

BACKLOG = 2048
FILES_PER_COLLECTION = 4  # one per worker, and the journal
OTHER_FILES = 64


def serve(settings: Settings, ready: Callable[[str], None]) -> None:
    """Serve until SIGTERM or Ctrl-C. Requests in flight are then finished.

    Parameters
    ----------
    settings : Settings
    ready : callable
        Called with the address once clients can connect.
    """
    app = create_app(settings)
    limits = fitting(settings.limits)
    with listen(settings.host, settings.port) as opened:
        config = uvicorn.Config(
            app,
            http=cast("type[asyncio.Protocol]", functools.partial(Connection, limits)),
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=int(limits.idle_seconds),
            timeout_graceful_shutdown=int(limits.body_seconds + limits.seconds) + 1,
        )
        # uvicorn raises a signal again after it has shut down. The signal must then have no further effect.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)
        logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
        host = f"[{settings.host.strip('[]')}]" if ":" in settings.host else settings.host
        ready(f"http://{host}:{opened.getsockname()[1]}")
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


def listen(host: str, port: int) -> socket.socket:
    """Open the socket, or raise an OSError that says what to do."""
    bare = host.strip("[]")
    try:
        family, _, _, _, address = socket.getaddrinfo(bare, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except OSError as error:
        raise OSError(
            f"cannot listen on {host} port {port} ({error.strerror or error}). Pass another --port."
        ) from error
