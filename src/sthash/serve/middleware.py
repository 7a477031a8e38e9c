"""The middleware around the application: access control, limits, fair shares, metrics and the access log."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sthash.serve.addresses import TrustedProxies
from sthash.serve.auth import SECURITY_HEADERS, Authorizer
from sthash.serve.bodies import Bodies
from sthash.serve.errors import ApiError, too_slow
from sthash.serve.fair import Gate, client
from sthash.serve.keys import Key
from sthash.serve.limits import Limits
from sthash.serve.logs import request_id, timestamp
from sthash.serve.metrics import Metrics
from sthash.serve.throttle import Throttle

log = logging.getLogger("sthash.serve")
access = logging.getLogger("sthash.serve.access")

# Monitoring must work under any load: these paths have no limit.
UNLIMITED = frozenset({"/health", "/ready", "/metrics"})
# What a request may call itself, so that a proxy and this server log the same.
_IDENTITY = re.compile(rb"[A-Za-z0-9._:/+=@-]{1,128}")
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
    proxies : TrustedProxies
    prefix : str
        Taken off the paths of requests that have it: the proxy in front passes it on, or does not.
    """

    def __init__(
        self,
        app: ASGIApp,
        authorizer: Authorizer,
        limits: Limits,
        metrics: Metrics,
        throttle: Throttle,
        proxies: TrustedProxies,
        prefix: str = "",
    ) -> None:
        self._app = app
        self._authorizer = authorizer
        self._limits = limits
        self._metrics = metrics
        self._throttle = throttle
        self._proxies = proxies
        self._prefix = prefix
        self._gate = Gate(limits.in_flight, limits.waiting, limits.waiting_seconds)
        self._bodies = Bodies(limits)
        self._large_answers = _LargeAnswers(limits.all_answers_bytes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on to the application, or answer it with an error."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(scope, send, self._large_answers)
        exchange.address = self._proxies.client_of(scope)
        request_id.set(exchange.identity)
        scope = self._rewritten(scope, exchange)
        try:
            if scope["path"] == "":
                await self._redirect(exchange)
            else:
                await self._handle(scope, receive, exchange)
        except ApiError as error:
            if error.code == "key_wrong":
                await self._throttle.hold_back(exchange.address)
            await self._refuse(error, scope, receive, exchange)
        except Exception:
            log.exception("request %s failed", exchange.identity)
            remedy = f"Tell the operator that request {exchange.identity} failed; the log says why."
            await self._refuse(ApiError(500, "internal", "the server failed.", remedy), scope, receive, exchange)
        finally:
            self._record(scope, exchange)

    def _rewritten(self, scope: Scope, exchange: _Exchange) -> Scope:
        """Return the request as the routes know it: without the prefix, and GET for HEAD, whose body is left out."""
        new = {**scope, "exchange": exchange}
        if self._prefix and (scope["path"] + "/").startswith(self._prefix + "/"):
            new["path"] = scope["path"][len(self._prefix) :]
            new["raw_path"] = new["path"].encode("utf-8", "surrogateescape")
        if scope["method"] == "HEAD":
            new["method"] = "GET"
        return new

    async def _redirect(self, exchange: _Exchange) -> None:
        headers = [(b"location", self._prefix.encode() + b"/"), (b"content-length", b"0")]
        await exchange.send({"type": "http.response.start", "status": 308, "headers": headers})
        await exchange.send({"type": "http.response.body", "body": b""})

    async def _handle(self, scope: Scope, receive: Receive, exchange: _Exchange) -> None:
        exchange.key = self._authorizer.check(scope)
        if scope["path"] in UNLIMITED:
            await self._app(scope, receive, exchange.send)
            return
        name = exchange.key.name if exchange.key is not None else exchange.address or ""
        client.set(name)
        self._gate.check()
        body, weight = await self._bodies.receive(scope, receive)
        exchange.received = len(body)
        try:
            await self._gate.enter(name)
            await self._answer(scope, body, exchange)
        finally:
            self._bodies.release(weight)

    async def _answer(self, scope: Scope, body: bytes, exchange: _Exchange) -> None:
        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        timeout = asyncio.timeout(self._limits.seconds)
        is_counted = True

        def release() -> None:
            nonlocal is_counted
            if is_counted:
                self._gate.leave()
                self._metrics.in_flight.set(self._gate.inside)
            is_counted = False

        def started() -> None:
            # From here on, `Connection` limits how long the client takes to read the answer.
            release()
            timeout.reschedule(None)

        exchange.on_start = started
        self._metrics.in_flight.set(self._gate.inside)
        try:
            async with timeout:
                await self._app(scope, receive, exchange.send)
        except TimeoutError as error:
            raise too_slow(self._limits.seconds) from error
        finally:
            exchange.on_start = None
            release()

    async def _refuse(self, error: ApiError, scope: Scope, receive: Receive, exchange: _Exchange) -> None:
        if exchange.status:  # too late: the headers of another answer have been sent
            exchange.broken = True
            return
        exchange.error = error.code
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
        self._metrics.record(exchange.method, route, exchange.status, exchange.collection, exchange.error, seconds)
        if access.isEnabledFor(logging.INFO):
            access.info(
                json.dumps(
                    {
                        "time": timestamp(time.time()),
                        "id": exchange.identity,
                        "client": exchange.address,
                        "key": None if exchange.key is None else exchange.key.name,
                        "method": exchange.method,
                        "route": route,
                        "collection": exchange.collection,
                        "status": exchange.status,
                        "error": exchange.error,
                        "ms": round(1000 * seconds, 2),
                        "received": exchange.received,
                        "sent": exchange.sent,
                        "whole": not exchange.broken,
                    }
                )
            )


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
    """One request and its answer: adds the common headers, and keeps what the log and the metrics tell."""

    def __init__(self, scope: Scope, send: Send, large_answers: _LargeAnswers) -> None:
        given = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"")
        self.identity = given.decode() if _IDENTITY.fullmatch(given) else secrets.token_hex(6)
        self.method: str = scope["method"]
        self.address: str | None = None
        self.key: Key | None = None
        self.collection: str | None = None
        self.error: str | None = None
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
        if self.method == "HEAD" and body:
            body, message = b"", {**message, "body": b""}
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
