"""The middleware around the application: access control, limits, metrics and the access log."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import time
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sthash.serve.auth import SECURITY_HEADERS, Authorizer
from sthash.serve.errors import ApiError
from sthash.serve.limits import Limits
from sthash.serve.metrics import Metrics

log = logging.getLogger("sthash.serve")
access = logging.getLogger("sthash.serve.access")

# Monitoring must work under any load: these paths have no limit.
UNLIMITED = frozenset({"/health", "/metrics"})
# A client may still be sending when its body is refused. It gets a moment to read the answer, but not for ever.
LINGER_SECONDS, LINGER_BYTES = 1.0, 1 << 28


class RequestMiddleware:
    """The outermost layer around the application.

    Parameters
    ----------
    app : ASGI application
    authorizer : Authorizer
    limits : Limits
    metrics : Metrics
    """

    def __init__(self, app: ASGIApp, authorizer: Authorizer, limits: Limits, metrics: Metrics) -> None:
        self._app = app
        self._authorizer = authorizer
        self._limits = limits
        self._metrics = metrics
        self._in_flight = 0
        self._held_bytes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on to the application, or answer it with an error."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(scope, send)
        try:
            await self._handle(scope, receive, exchange)
        except ApiError as error:
            self._metrics.errors.labels(error.code).inc()
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
        body = await self._body(scope, receive)
        exchange.received = len(body)
        try:
            self._check_load()
            await self._answer(scope, body, exchange)
        finally:
            self._held_bytes -= len(body)

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
            raise ApiError(
                503,
                "too_slow",
                f"the answer took longer than {self._limits.seconds:g} s.",
                "Ask for less, or try again later. A change may still take effect: check before you repeat it.",
            ) from error
        finally:
            exchange.on_start = None
            release()

    def _count(self, change: int) -> None:
        self._in_flight += change
        self._metrics.in_flight.set(self._in_flight)

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        """Receive the body, and check its size as it arrives."""
        max_bytes = self._limits.body_bytes
        too_large = ApiError(
            413,
            "too_large",
            f"the body is larger than {max_bytes:,} bytes.",
            "Send less at once.",
            {"Connection": "close"},
        )
        declared = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if declared.isdigit() and int(declared) > max_bytes:
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
                    if size > max_bytes:
                        raise too_large
                    if self._held_bytes > self._limits.all_bodies_bytes:
                        raise ApiError(
                            503, "overloaded", "the server is receiving too many bytes.", "Try again in a moment."
                        )
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
    """One request and its answer: adds the common headers, and keeps the numbers for the log."""

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
        """Send a part of the answer, with the headers that all answers have."""
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
