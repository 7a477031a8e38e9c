"""One connection of a client, with the limits that an ASGI application cannot enforce.

uvicorn has no documented way to limit the time for the headers of a request or for reading an answer, to refuse a
connection before its first request, to answer invalid HTTP in JSON, or to answer a client that closed its sending
half. So this module, and no other, extends uvicorn's protocol class. It overrides callbacks of `asyncio.Protocol` and
of httptools, whose meaning is documented, and uses these names of uvicorn itself: ``send_400_response``,
``connections``, and ``cycle`` with ``response_complete``, ``more_body`` and ``keep_alive``.
tests/serve/test_faults.py fails if a new version of uvicorn changes one of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from sthash.serve.errors import ApiError
from sthash.serve.limits import Limits


class Connection(HttpToolsProtocol):
    """Closes a connection whose client is too slow, and refuses a connection beyond the limit.

    Parameters
    ----------
    limits : Limits
    **uvicorn_arguments
        What uvicorn passes to its protocol class.
    """

    def __init__(self, limits: Limits, **uvicorn_arguments: Any) -> None:
        super().__init__(**uvicorn_arguments)
        self._limits = limits
        self._timer: asyncio.TimerHandle | None = None

    def _start_timer(self, seconds: float, action: Callable[[], None]) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(seconds, action)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # Callbacks of asyncio.Protocol

    def connection_made(self, transport: Any) -> None:
        """Refuse a connection beyond the limit, or wait for the headers of the first request."""
        super().connection_made(transport)
        if len(self.connections) > self._limits.connections:
            self._refuse(ApiError(503, "overloaded", "too many connections are open.", "Try again in a moment."))
            return
        self._start_timer(self._limits.header_seconds, transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._stop_timer()
        super().connection_lost(exc)

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """Still answer a client that has sent a whole request and then closed its sending half."""
        if self.cycle is None or self.cycle.response_complete or self.cycle.more_body:
            return None
        self.cycle.keep_alive = False
        return True

    def pause_writing(self) -> None:
        """Wait for the client to read the answer."""
        super().pause_writing()
        self._start_timer(self._limits.send_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop the timer: the client reads."""
        self._stop_timer()
        super().resume_writing()

    # Callbacks of httptools

    def on_message_begin(self) -> None:
        """Wait for the headers of the request."""
        super().on_message_begin()
        self._start_timer(self._limits.header_seconds, self.transport.abort)

    def on_headers_complete(self) -> None:
        """Stop the timer: the headers are complete."""
        self._stop_timer()
        super().on_headers_complete()

    # A method of uvicorn

    def send_400_response(self, msg: str) -> None:
        """Answer invalid HTTP with an error in JSON."""
        self._refuse(ApiError(400, "invalid_http", "this is not valid HTTP.", "Send a request of HTTP/1.1."))

    def _refuse(self, error: ApiError) -> None:
        response = error.response()
        headers = b"".join(b"%s: %s\r\n" % pair for pair in response.raw_headers)
        status = b"HTTP/1.1 %d \r\n" % error.status
        self.transport.write(status + headers + b"connection: close\r\n\r\n" + bytes(response.body))
        self.transport.close()
