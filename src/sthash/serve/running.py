"""Running the server: sockets, connections that take too long, signals."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from sthash.serve.app import create_app
from sthash.serve.errors import ApiError
from sthash.serve.settings import Limits, Settings

BACKLOG = 2048


def listen(host: str, port: int) -> socket.socket:
    """Open the socket; an address that cannot be had is an OSError that says so."""
    bare = host.strip("[]")
    try:
        family, _, _, _, address = socket.getaddrinfo(bare, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except OSError as error:
        raise OSError(
            f"cannot listen on {host} port {port} ({error.strerror or error}); pass another --port."
        ) from error


def serve(settings: Settings, ready: Callable[[str], None]) -> None:
    """Serve until SIGTERM or Ctrl-C; what is in flight then is finished.

    Parameters
    ----------
    settings : Settings
    ready : callable
        Told the address once clients can connect.
    """
    app = create_app(settings)
    limits = settings.limits
    with listen(settings.host, settings.port) as opened:
        config = uvicorn.Config(
            app,
            http=connection_kind(limits),
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=int(limits.idle_seconds),
            timeout_graceful_shutdown=int(limits.body_seconds + limits.seconds) + 1,
        )
        # The server hands the signals on when it is done; by then they have been obeyed.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)
        logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
        host = f"[{settings.host.strip('[]')}]" if ":" in settings.host else settings.host
        ready(f"http://{host}:{opened.getsockname()[1]}")
        uvicorn.Server(config).run(sockets=[opened])


def connection_kind(limits: Limits) -> type[HttpToolsProtocol]:
    """Give the kind of connection that keeps the limits that the application cannot see."""

    class Connection(HttpToolsProtocol):
        """Closes when the head of a request, or the taking of its answer, is too slow; refuses one too many."""

        _clock: asyncio.TimerHandle | None = None

        def _expect(self, seconds: float | None, then: Callable[[], Any]) -> None:
            if self._clock is not None:
                self._clock.cancel()
            self._clock = None if seconds is None else self.loop.call_later(seconds, then)

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            if len(self.connections) > limits.connections:
                self._say(ApiError(503, "overloaded", "too many connections are open.", "Try again in a moment."))
                return
            self._expect(limits.header_seconds, transport.abort)

        def connection_lost(self, exc: Exception | None) -> None:
            self._expect(None, int)
            super().connection_lost(exc)

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self._expect(limits.header_seconds, self.transport.abort)

        def on_headers_complete(self) -> None:
            self._expect(None, int)
            super().on_headers_complete()

        def eof_received(self) -> bool | None:  # type: ignore[override]
            # Who has sent a whole request and says that nothing more will come still gets the answer.
            if self.cycle is None or self.cycle.response_complete or self.cycle.more_body:
                return None
            self.cycle.keep_alive = False
            return True

        def pause_writing(self) -> None:
            super().pause_writing()
            self._expect(limits.send_seconds, self.transport.abort)

        def resume_writing(self) -> None:
            self._expect(None, int)
            super().resume_writing()

        def send_400_response(self, msg: str) -> None:
            self._say(ApiError(400, "invalid_http", "this is not HTTP.", "Send a request of HTTP/1.1."))

        def _say(self, error: ApiError) -> None:
            response = error.response()
            head = b"".join(b"%s: %s\r\n" % pair for pair in response.raw_headers)
            status = b"HTTP/1.1 %d \r\n" % error.status
            self.transport.write(status + head + b"connection: close\r\n\r\n" + bytes(response.body))
            self.transport.close()

    return Connection
