"""One connection of a client, with the limits that an ASGI application cannot enforce.

uvicorn has no documented way to limit the head of a request, the time for it or for reading an answer, or the number
of requests that a client sends ahead; to refuse a connection before its first request, to answer invalid HTTP in JSON,
or to answer a client that closed its sending half. So this module, and no other, extends uvicorn's protocol class. It
overrides callbacks of `asyncio.Protocol` and of httptools, whose meaning is documented, and uses these names of uvicorn
itself: ``send_400_response``, ``on_response_complete``, ``connections``, ``pipeline``, and ``cycle`` with
``response_complete``, ``more_body`` and ``keep_alive``. tests/serve/test_faults.py fails if a new version of uvicorn
changes one of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from sthash.serve.errors import ApiError
from sthash.serve.limits import MAX_HEADERS, MAX_PIPELINED, Limits

# The parser gets this many bytes at a time, so that a limit is noticed before much is parsed.
PIECE_BYTES = 1 << 14


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
        self._send_timer: asyncio.TimerHandle | None = None
        self._is_paused = False
        self._head_bytes = 0
        self._headers = 0
        self._silent_bytes = 0  # that the parser has taken without a word
        self._refusal: ApiError | None = None

    def _start_timer(self, seconds: float, action: Callable[[], None]) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(seconds, action)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _stop_send_timer(self) -> None:
        if self._send_timer is not None:
            self._send_timer.cancel()
            self._send_timer = None

    # Callbacks of asyncio.Protocol

    def connection_made(self, transport: Any) -> None:
        """Refuse a connection beyond the limit, or wait for the headers of the first request."""
        super().connection_made(transport)
        if len(self.connections) > self._limits.connections:
            self._refuse(ApiError(503, "overloaded", "too many connections are open.", "Try again in a moment."))
            return
        self._start_timer(self._limits.header_seconds, transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
        self._stop_timer()
        self._stop_send_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what has arrived, in pieces."""
        for start in range(0, len(data), PIECE_BYTES):
            piece = data if len(data) <= PIECE_BYTES else data[start : start + PIECE_BYTES]
            self._silent_bytes += len(piece)
            super().data_received(piece)
            if self._silent_bytes > self._limits.head_bytes and not self.transport.is_closing():
                self._refuse(self._head_too_large())  # a header that does not end
            if self.transport.is_closing():
                return

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """Still answer a client that has sent a whole request and then closed its sending half."""
        if self.cycle is None or self.cycle.response_complete or self.cycle.more_body:
            return None
        self.cycle.keep_alive = False
        return True

    def pause_writing(self) -> None:
        """Wait for the client to read the answer, all parts of it together."""
        super().pause_writing()
        self._is_paused = True
        if self._send_timer is None:
            self._send_timer = self.loop.call_later(self._limits.send_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop the timer if this was the last part of the answer."""
        self._is_paused = False
        if self.cycle is None or self.cycle.response_complete:
            self._stop_send_timer()
        super().resume_writing()

    def on_response_complete(self) -> None:
        """Stop the timer if the client has read the answer. This is a method of uvicorn."""
        if not self._is_paused:
            self._stop_send_timer()
        super().on_response_complete()

    # Callbacks of httptools

    def on_message_begin(self) -> None:
        """Wait for the headers of the request."""
        super().on_message_begin()
        self._head_bytes = self._headers = self._silent_bytes = 0
        self._start_timer(self._limits.header_seconds, self.transport.abort)

    def on_url(self, url: bytes) -> None:
        """Take a part of the path."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; those after a chunked body count too."""
        self._headers += 1
        self._count(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Stop the timer: the headers are complete."""
        self._stop_timer()
        if len(self.pipeline) >= MAX_PIPELINED:
            self._refusal = ApiError(
                503, "overloaded", "too many requests were sent ahead.", "Read the answers before you send more."
            )
            raise self._refusal
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        self._silent_bytes = 0
        super().on_body(body)

    def _count(self, size: int) -> None:
        self._silent_bytes = 0
        self._head_bytes += size
        if self._head_bytes > self._limits.head_bytes or self._headers > MAX_HEADERS:
            self._refusal = self._head_too_large()
            raise self._refusal

    def _head_too_large(self) -> ApiError:
        return ApiError(
            431,
            "head_too_large",
            f"the head has more than {self._limits.head_bytes:,} bytes or {MAX_HEADERS} headers.",
            "Send fewer and shorter headers, and long texts in the body.",
        )

    # A method of uvicorn

    def send_400_response(self, msg: str) -> None:
        """Answer invalid HTTP with an error in JSON, and what a callback has refused with its reason."""
        self._refuse(
            self._refusal or ApiError(400, "invalid_http", "this is not valid HTTP.", "Send a request of HTTP/1.1.")
        )

    def _refuse(self, error: ApiError) -> None:
        response = error.response()
        headers = b"".join(b"%s: %s\r\n" % pair for pair in response.raw_headers)
        status = b"HTTP/1.1 %d \r\n" % error.status
        self.transport.write(status + headers + b"connection: close\r\n\r\n" + bytes(response.body))
        self.transport.close()
