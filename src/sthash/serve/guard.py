"""Who may come in: the host that was asked, the site that a browser comes from, and the key."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from sthash.serve.errors import ApiError
from sthash.serve.settings import Settings

# Everything else needs the read key if it is a GET, and the write key if not.
OPEN = frozenset({"/", "/health", "/openapi.json", "/collections", "/favicon.ico"})
OPEN_BELOW = "/page/"
READS_BY_POST = frozenset({"/search", "/search_many", "/encode", "/classify"})
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})

SECURITY_HEADERS = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)


class Guard:
    """Refuses who may not come in, before anything of the request's body is read."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._read = _digest(settings.read_key)
        self._write = _digest(settings.write_key)
        self._hosts = {"localhost", "127.0.0.1", "::1", settings.host.strip("[]").lower()}

    def check(self, scope: Any) -> None:
        """Raise `ApiError` for a request that is refused."""
        headers = Headers(scope=scope)
        self._check_host(headers)
        method, path = scope["method"], scope["path"]
        if method not in SAFE or not _is_open(path):  # anybody may link to the page
            _check_site(headers)
        if method not in SAFE:
            _check_kind(headers)
        self._check_key(method, path, headers)

    def _check_host(self, headers: Headers) -> None:
        # A page of a stranger's site can have its name resolve to this machine; its browser then sends that name.
        if self._settings.loopback and _host_of(headers.get("host", "")) not in self._hosts:
            raise ApiError(
                421, "wrong_host", "this server answers only to its own address.", "Use http://localhost or 127.0.0.1."
            )

    def _check_key(self, method: str, path: str, headers: Headers) -> None:
        if _is_open(path):
            return
        writing = method not in SAFE and path not in READS_BY_POST
        if writing and not self._settings.writable:
            raise ApiError(403, "read_only", "this server lets nobody write.", "Start it with --write-key.")
        needed = self._write if writing else self._read
        if needed is None:
            return
        key = _key_in(headers)
        if self._opens(key, (needed, self._write)):
            return
        if writing and self._opens(key, (self._read,)):
            raise ApiError(403, "key_may_not_write", "this key opens reading only.", "Send the write key.")
        raise ApiError(
            401,
            "key_needed" if not key else "key_wrong",
            f"the {'write' if writing else 'read'} key is needed{' and the one sent is not it' if key else ''}.",
            "Send it as: Authorization: Bearer KEY",
            {"WWW-Authenticate": "Bearer"},
        )

    def may_read(self, headers: Headers) -> bool:
        """Whether a request shows a key that opens reading, if one is needed."""
        return self._read is None or self._opens(_key_in(headers), (self._read, self._write))

    @staticmethod
    def _opens(key: str, wanted: tuple[bytes | None, ...]) -> bool:
        given = _digest(key) or b""
        # All are compared, whatever comes of the first: how long it takes tells nothing of the keys.
        return sum(hmac.compare_digest(given, digest) for digest in wanted if digest is not None) > 0


def _is_open(path: str) -> bool:
    return path in OPEN or path.startswith(OPEN_BELOW)


def _key_in(headers: Headers) -> str:
    scheme, _, key = headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else ""


def _digest(key: str | None) -> bytes | None:
    # Of digests all have one length, so that the comparison does not tell that of the key.
    return None if key is None else hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def _host_of(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _check_site(headers: Headers) -> None:
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    foreign = site is not None and site not in ("same-origin", "none")
    if origin is not None:
        foreign = foreign or _netloc(origin) != headers.get("host", "").lower()
    if foreign:
        raise ApiError(
            403,
            "cross_site",
            "a page of another site sent this.",
            "Send it from a program, or from this server's page.",
        )


def _netloc(origin: str) -> str | None:
    """Host and port of an origin; None for one that has none, like ``null``."""
    try:
        return urlsplit(origin).netloc.lower() or None
    except ValueError:
        return None


def _check_kind(headers: Headers) -> None:
    # Browsers send other kinds across sites without asking first.
    has_body = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if has_body and kind != "application/json":
        raise ApiError(415, "not_json", "the body must be JSON.", "Send Content-Type: application/json.")
