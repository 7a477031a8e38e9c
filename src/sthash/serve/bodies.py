"""The bodies of requests: received within limits of size, time and memory, before anything is made of them."""

from __future__ import annotations

import asyncio
import re

from starlette.types import Receive, Scope

from sthash.serve.errors import ApiError
from sthash.serve.limits import MAX_JSON_CONTAINERS, MAX_JSON_VALUES, Limits

# What Python takes at most for a parsed value, and for a list or an object with one entry.
VALUE_BYTES, CONTAINER_BYTES = 60, 250
# A string, or one that does not end. Possessive, so that no input takes more than one pass.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_OTHER_ENCODINGS = (b"\xff\xfe", b"\xfe\xff")


class Bodies:
    """The bodies of all requests that are being received or answered.

    Parameters
    ----------
    limits : Limits
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.held_bytes = 0

    async def receive(self, scope: Scope, receive: Receive) -> tuple[bytes, int]:
        """Return the body of a request and its weight, which the caller gives back by `release`."""
        max_bytes = self._limits.body_bytes
        declared = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if declared.isdigit() and int(declared) > max_bytes:
            raise _too_large(max_bytes)
        parts, held = list[bytes](), 0
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ApiError(400, "cut_short", "the body ended too early.", "Send all of it.")
                    parts.append(message.get("body", b""))
                    self._hold(len(parts[-1]))
                    held += len(parts[-1])
                    if held > max_bytes:
                        raise _too_large(max_bytes)
                    if not message.get("more_body", False):
                        break
            body = b"".join(parts)
            weight = weigh(body) if body else 0
            self._hold(weight)
            return body, held + weight
        except BaseException as error:
            self.release(held)
            if isinstance(error, TimeoutError):
                raise ApiError(
                    408,
                    "body_too_slow",
                    f"the body took longer than {self._limits.body_seconds:g} s to arrive.",
                    "Send less at once, or over a faster connection.",
                    {"Connection": "close"},
                ) from error
            raise

    def _hold(self, size: int) -> None:
        if self.held_bytes + size > self._limits.all_bodies_bytes:
            raise ApiError(503, "overloaded", "the server is receiving too many bytes.", "Try again in a moment.")
        self.held_bytes += size

    def release(self, weight: int) -> None:
        """Forget a body that has been answered."""
        self.held_bytes -= weight


def weigh(body: bytes) -> int:
    """Return how many bytes the values of a JSON body may take once they are parsed, or refuse the body."""
    if b"\0" in body[:4] or body.startswith(_OTHER_ENCODINGS):
        raise invalid_json()
    values, containers = _count(body)
    if values > MAX_JSON_VALUES or containers > MAX_JSON_CONTAINERS:
        values, containers = _count(_STRING.sub(b"", body))  # a text may hold as many brackets as it likes
    if values > MAX_JSON_VALUES or containers > MAX_JSON_CONTAINERS:
        raise ApiError(
            413,
            "too_many_values",
            f"the body has more than {MAX_JSON_VALUES:,} values or {MAX_JSON_CONTAINERS:,} lists and objects.",
            "Send less at once.",
            {"Connection": "close"},
        )
    return VALUE_BYTES * values + CONTAINER_BYTES * containers


def _count(body: bytes) -> tuple[int, int]:
    containers = body.count(b"{") + body.count(b"[")
    return containers + body.count(b",") + body.count(b":"), containers


def invalid_json() -> ApiError:
    """Return the error for a body that cannot be parsed."""
    return ApiError(
        400, "invalid_json", "the body is not valid JSON.", "Check its syntax, and that its encoding is UTF-8."
    )


def _too_large(max_bytes: int) -> ApiError:
    return ApiError(
        413,
        "too_large",
        f"the body is larger than {max_bytes:,} bytes.",
        "Send less at once.",
        {"Connection": "close"},
    )
