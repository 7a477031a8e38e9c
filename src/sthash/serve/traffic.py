"""All that comes and goes: what is refused, how much is borne at once, what is counted and logged."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import time
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sthash.serve.errors import ApiError
from sthash.serve.guard import SECURITY_HEADERS, Guard
from sthash.serve.metrics import Metrics
from sthash.serve.settings import Limits

log = logging.getLogger("sthash.serve")
access = logging.getLogger("sthash.serve.access")

# These must be answered when nothing else is.
ALWAYS = frozenset({"/health", "/metrics"})
# A client that is told that its body is too large gets a moment to hear it, while it is still sending; not for ever.
LINGER_SECONDS, LINGER_BYTES = 1.0, 1 << 28


class Traffic:
    """The outermost layer around the application.

    Parameters
    ----------
    app : ASGI application
    guard : Guard
    limits : Limits
    metrics : Metrics
    """

    def __init__(self, app: ASGIApp, guard: Guard, limits: Limits, metrics: Metrics) -> None:
        self._app = app
        self._guard = guard
        self._limits = limits
        self._metrics = metrics
        self._in_flight = 0
        self._held_bytes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer it with an error."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(scope, send)
        try:
            await self._pass(scope, receive, exchange)
        except ApiError as error:
            self._metrics.errors.labels(error.code).inc()
            await self._refuse(error, scope, receive, exchange)
        except Exception:
            log.exception("request %s failed", exchange.identity)
            remedy = f"Tell its operator that request {exchange.identity} failed; the log says why."
            await self._refuse(ApiError(500, "internal", "the server failed.", remedy), scope, receive, exchange)
        finally:
            self._record(scope, exchange)

    async def _pass(self, scope: Scope, receive: Receive, exchange: _Exchange) -> None:
        self._guard.check(scope)
        if scope["path"] in ALWAYS:
            await self._app(scope, receive, exchange.send)
            return
        self._check_room()
        body = await self._body(scope, receive)
        exchange.received = len(body)
        try:
            self._check_room()
            await self._answer(scope, body, exchange)
        finally:
            self._held_bytes -= len(body)

    def _check_room(self) -> None:
        if self._in_flight >= self._limits.in_flight:
            raise ApiError(503, "overloaded", "too many requests are being answered.", "Try again in a moment.")

    async def _answer(self, scope: Scope, body: bytes, exchange: _Exchange) -> None:
        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        clock = asyncio.timeout(self._limits.seconds)
        counted = True

        def release() -> None:
            nonlocal counted
            self._count(-1 if counted else 0)
            counted = False

        def started() -> None:
            # How long the client takes to fetch the answer is the connection's business.
            release()
            clock.reschedule(None)

        exchange.on_start = started
        self._count(1)
        try:
            async with clock:
                await self._app(scope, receive, exchange.send)
        except TimeoutError as error:
            raise ApiError(
                503,
                "too_slow",
                f"this took longer than {self._limits.seconds:g} s.",
                "Ask for less, or try again later. A change may still be made: look before you repeat it.",
            ) from error
        finally:
            exchange.on_start = None
            release()

    def _count(self, change: int) -> None:
        self._in_flight += change
        self._metrics.in_flight.set(self._in_flight)

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        """Receive the body; what arrives is counted as it comes."""
        most = self._limits.body_bytes
        too_large = ApiError(
            413, "too_large", f"the body is larger than {most:,} bytes.", "Send less at once.", {"Connection": "close"}
        )
        declared = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if declared.isdigit() and int(declared) > most:
            raise too_large
        parts, size = list[bytes](), 0
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ApiError(400, "cut_short", "the body ended too early.", "Send all of it.")
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    self._held_bytes += len(parts[-1])
                    if size > most:
                        raise too_large
                    if self._held_bytes > self._limits.all_bodies_bytes:
                        raise ApiError(503, "overloaded", "too much is being received.", "Try again in a moment.")
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except BaseException as error:
            self._held_bytes -= size
            if isinstance(error, TimeoutError):
                raise ApiError(
                    408,
                    "body_too_slow",
                    f"the body took longer than {self._limits.body_seconds:g} s to arrive.",
                    "Send less at once, or over a faster connection.",
                    {"Connection": "close"},
                ) from error
            raise

    async def _refuse(self, error: ApiError, scope: Scope, receive: Receive, exchange: _Exchange) -> None:
        if exchange.status:  # too late: the head of another answer has been sent
            exchange.broken = True
            return
        response = error.response()
        closing = error.status in (408, 413)
        await exchange.send({"type": "http.response.start", "status": error.status, "headers": response.raw_headers})
        await exchange.send({"type": "http.response.body", "body": response.body, "more_body": closing})
        if closing:
            # Closing at once, with unread bytes waiting, would destroy the answer on its way to the client.
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
        # Never what the client wrote: a path may hold a key of a document, a query a text.
        route = getattr(scope.get("route"), "path", "none")
        self._metrics.requests.labels(scope["method"], route, exchange.status).inc()
        self._metrics.seconds.labels(route).observe(seconds)
        if access.isEnabledFor(logging.INFO):
            access.info(
                json.dumps(
                    {
                        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                        "id": exchange.identity,
                        "client": scope["client"][0] if scope.get("client") else None,
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


class _Exchange:
    """One request and its answer: what is added to the answer's head, and what is known of it for the log."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self.identity = secrets.token_hex(6)
        self.start = time.perf_counter()
        self.status = 0
        self.received = 0
        self.sent = 0
        self.broken = False
        self.on_start: Callable[[], None] | None = None
        self._send = send

    async def send(self, message: Message) -> None:
        """Pass an answer on, with the headers that all answers have."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            if self.on_start is not None:
                self.on_start()
            headers = list(message.get("headers", []))
            present = {name.lower() for name, _ in headers}
            headers.extend(pair for pair in SECURITY_HEADERS if pair[0] not in present)
            headers.append((b"x-request-id", self.identity.encode()))
            message = {**message, "headers": headers}
        else:
            self.sent += len(message.get("body", b""))
        await self._send(message)
