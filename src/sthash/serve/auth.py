"""Access control: the host that a request names, the site that a browser comes from, and the key."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from sthash.serve.errors import ApiError
from sthash.serve.keys import Key, matching
from sthash.serve.settings import Settings

# Every other path needs the read key for GET and the write key for other methods.
PUBLIC = frozenset({"/", "/docs", "/health", "/ready", "/openapi.json", "/collections", "/favicon.ico"})
PUBLIC_PREFIX = "/page/"
READING_POSTS = frozenset({"/search", "/search_many", "/encode", "/classify", "/duplicates"})
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

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


class Authorizer:
    """Refuses requests that are not allowed, before any part of their body is read."""

    def __init__(self, settings: Settings) -> None:
        self._keys = settings.all_keys
        self._writable = settings.writable
        self.needs_key = settings.needs_key
        self._write_needs_key = bool(self._keys)
        self._hosts = {"localhost", "127.0.0.1", "::1", settings.host.strip("[]").lower()}

    def check(self, scope: Any) -> Key | None:
        """Return the key of a request that is allowed, if it has one; raise `ApiError` for any other request."""
        headers = Headers(scope=scope)
        self._check_host(headers)
        method, path = scope["method"], scope["path"]
        if method not in SAFE_METHODS or not _is_public(path):  # any site may link to the page
            _check_site(headers)
        if method not in SAFE_METHODS:
            _check_content_type(headers)
        return self._check_key(method, path, headers)

    def _check_host(self, headers: Headers) -> None:
        # A foreign site can let its name resolve to this machine (DNS rebinding). The browser then sends that name.
        # Where reading needs a key, such a site gets nothing, and a proxy on this machine may pass on its own name.
        if not self.needs_key and _host_of(headers.get("host", "")) not in self._hosts:
            raise ApiError(
                421,
                "wrong_host",
                "without a read key this server answers only under its own address.",
                "Use http://localhost or 127.0.0.1, or start the server with --read-key.",
            )

    def _check_key(self, method: str, path: str, headers: Headers) -> Key | None:
        if _is_public(path):
            return None
        is_write = method not in SAFE_METHODS and path not in READING_POSTS
        if is_write and not self._writable:
            raise ApiError(403, "read_only", "this server is read-only.", "Start it with --write-key.")
        if not (self._write_needs_key if is_write else self.needs_key):
            return None
        sent = _sent_key(headers)
        key = matching(self._keys, sent)
        if key is None:
            raise _wrong_key("write" if is_write else "read", sent)
        if is_write and not key.may_write:
            raise ApiError(403, "key_may_not_write", "this key allows reading only.", "Send the write key.")
        return key

    def reader(self, headers: Headers) -> tuple[bool, Key | None]:
        """Whether a request may read, and its key, if one is needed. A wrong key is an `ApiError`."""
        if not self.needs_key:
            return True, None
        sent = _sent_key(headers)
        key = matching(self._keys, sent)
        if key is None and sent:
            raise _wrong_key("read", sent)
        return key is not None, key


def _wrong_key(kind: str, key: str) -> ApiError:
    return ApiError(
        401,
        "key_wrong" if key else "key_needed",
        f"the {kind} key is needed{', and the request has another key' if key else ''}.",
        "Send it as: Authorization: Bearer KEY",
        {"WWW-Authenticate": "Bearer"},
    )


def _is_public(path: str) -> bool:
    return path in PUBLIC or path.startswith(PUBLIC_PREFIX)


def _sent_key(headers: Headers) -> str:
    scheme, _, key = headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else ""


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
            "a page of another site sent this request.",
            "Send it from a program, or from the page of this server.",
        )


def _netloc(origin: str) -> str | None:
    """Return host and port of an origin; None if it has none, like ``null``."""
    try:
        return urlsplit(origin).netloc.lower() or None
    except ValueError:
        return None


def _check_content_type(headers: Headers) -> None:
    # Browsers send other content types to other sites without a preflight request.
    has_body = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
    content_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    if has_body and content_type != "application/json":
        raise ApiError(415, "not_json", "the body must be JSON.", "Send Content-Type: application/json.")
