"""The middleware around the application: access control, limits, metrics and the access log."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sthash.serve.auth import SECURITY_HEADERS, Authorizer
from sthash.serve.bodies import Bodies
from sthash.serve.errors import ApiError, too_slow
from sthash.serve.limits import Limits
from sthash.serve.metrics import Metrics
from sthash.serve.throttle import Throttle

log = logging.getLogger("sthash.serve")
access = logging.getLogger("sthash.serve.access")

# Monitoring must work under any load: these paths have no limit.
UNLIMITED = frozenset({"/health", "/metrics"})
# A client may still be sending when its body is refused. It gets a moment to read the answer, but not for ever.
LINGER_SECONDS, LINGER_BYTES = 1.0, 1 << 28
# A larger answer is sent in pieces of this size, and counts among the large ones until the client has read it.
PIECE_BYTES = 1 << 16


class RequestMiddleware:
    """The outermost layer around the application.

    Parameters
    ----------
    app : ASGI application
    authorizer : Authorizer
    limits : Limits
    metrics : Metrics
    throttle : Throttle
    """

    def __init__(
        self, app: ASGIApp, authorizer: Authorizer, limits: Limits, metrics: Metrics, throttle: Throttle
    ) -> None:
        self._app = app
        self._authorizer = authorizer
        self._limits = limits
        self._metrics = metrics
        self._throttle = throttle
        self._in_flight = 0
        self._bodies = Bodies(limits)
        self._large_answers = _LargeAnswers(limits.all_answers_bytes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on to the application, or answer it with an error."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(send, self._large_answers)
        try:
            await self._handle(scope, receive, exchange)
        except ApiError as error:
            self._metrics.errors.labels(error.code).inc()
            if error.code == "key_wrong":
                await self._throttle.hold_back(client_address(scope))
            await self._refuse(error, scope, receive, exchange)
        except Exception:
            log.exception("request %s failed", exchange.identity)
            remedy = f"Tell the operator that request {exchange.identity} failed; the log says why."
            await self._refuse(ApiError(500, "internal", "the server failed.", remedy), scope, receive, exchange)
        finally:
            self._record(scope, exchange)

    async def _handle(self, scope: Scope, receive: Receive, exchange: _Exchange) -> None:
        self._authorizer.check(scope)
        if scope["path"] in UNLIMITED:
            await self._app(scope, receive, exchange.send)
            return
        self._check_load()
        body, weight = await self._bodies.receive(scope, receive)
        exchange.received = len(body)
        try:
            self._check_load()
            await self._answer(scope, body, exchange)
        finally:
            self._bodies.release(weight)

    def _check_load(self) -> None:
        if self._in_flight >= self._limits.in_flight:
            raise ApiError(503, "overloaded", "too many requests are being answered.", "Try again in a moment.")

    async def _answer(self, scope: Scope, body: bytes, exchange: _Exchange) -> None:
        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        timeout = asyncio.timeout(self._limits.seconds)
        is_counted = True

        def release() -> None:
            nonlocal is_counted
            self._count(-1 if is_counted else 0)
            is_counted = False

        def started() -> None:
            # From here on, `Connection` limits how long the client takes to read the answer.
            release()
            timeout.reschedule(None)

        exchange.on_start = started
        self._count(1)
        try:
            async with timeout:
                await self._app(scope, receive, exchange.send)
        except TimeoutError as error:
            raise too_slow(self._limits.seconds) from error
        finally:
            exchange.on_start = None
            release()

    def _count(self, change: int) -> None:
        self._in_flight += change
        self._metrics.in_flight.set(self._in_flight)

    async def _refuse(self, error: ApiError, scope: Scope, receive: Receive, exchange: _Exchange) -> None:
        if exchange.status:  # too late: the headers of another answer have been sent
            exchange.broken = True
            return
        response = error.response()
        closing = error.status in (408, 413)
        await exchange.send({"type": "http.response.start", "status": error.status, "headers": response.raw_headers})
        await exchange.send({"type": "http.response.body", "body": response.body, "more_body": closing})
        if closing:
            # Closing a connection with unread bytes would destroy the answer on its way to the client.
            left = LINGER_BYTES
            try:
                async with asyncio.timeout(LINGER_SECONDS):
                    while left > 0 and (message := await receive())["type"] == "http.request" and message["more_body"]:
                        left -= len(message["body"])
            except TimeoutError:
                pass
            await exchange.send({"type": "http.response.body", "body": b""})

    def _record(self, scope: Scope, exchange: _Exchange) -> None:
        seconds = time.perf_counter() - exchange.start
        # The route, not the path: a path may hold the key of a document, and a query may hold a text.
        route = getattr(scope.get("route"), "path", "none")
        self._metrics.requests.labels(scope["method"], route, exchange.status).inc()
        self._metrics.seconds.labels(route).observe(seconds)
        if access.isEnabledFor(logging.INFO):
            access.info(
                json.dumps(
                    {
                        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                        "id": exchange.identity,
                        "client": client_address(scope),
                        "method": scope["method"],
                        "route": route,
                        "status": exchange.status,
                        "ms": round(1000 * seconds, 2),
                        "received": exchange.received,
                        "sent": exchange.sent,
                        "whole": not exchange.broken,
                    }
                )
            )


def client_address(scope: Scope) -> str | None:
    """Return the address that a request comes from."""
    client = scope.get("client")
    return client[0] if client else None


class _LargeAnswers:
    """The bytes of all large answers that are being sent. Small ones are bounded by the number of connections."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0

    def check(self, size: int) -> None:
        if size > PIECE_BYTES and self._bytes + size > self._max_bytes:
            raise ApiError(
                503, "overloaded", "too many large answers are being sent.", "Try again in a moment, or ask for less."
            )

    @contextmanager
    def hold(self, size: int) -> Iterator[None]:
        self._bytes += size
        try:
            yield
        finally:
            self._bytes -= size


class _Exchange:
    """One request and its answer: adds the common headers, and keeps the numbers for the log."""

    def __init__(self, send: Send, large_answers: _LargeAnswers) -> None:
        self.identity = secrets.token_hex(6)
        self.start = time.perf_counter()
        self.status = 0
        self.received = 0
        self.sent = 0
        self.broken = False
        self.on_start: Callable[[], None] | None = None
        self._send = send
        self._large_answers = large_answers

    async def send(self, message: Message) -> None:
        """Send a part of the answer, with the headers that all answers have."""
        if message["type"] == "http.response.start":
            headers = list(message.get("headers", []))
            self._large_answers.check(int(next((value for name, value in headers if name == b"content-length"), 0)))
            self.status = message["status"]
            if self.on_start is not None:
                self.on_start()
            present = {name.lower() for name, _ in headers}
            headers.extend(pair for pair in SECURITY_HEADERS if pair[0] not in present)
            headers.append((b"x-request-id", self.identity.encode()))
            await self._send({**message, "headers": headers})
            return
        body = message.get("body", b"")
        self.sent += len(body)
        if len(body) <= PIECE_BYTES:
            await self._send(message)
            return
        with self._large_answers.hold(len(body)):  # each piece waits until the client has read most of what was sent
            more = message.get("more_body", False)
            for start in range(0, len(body), PIECE_BYTES):
                end = start + PIECE_BYTES
                piece = {"type": message["type"], "body": body[start:end], "more_body": more or end < len(body)}
                await self._send(piece)
