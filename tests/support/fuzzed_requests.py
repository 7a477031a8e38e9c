"""Requests that are wrong in one way or several, made from valid ones and a seed."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

MAX_BODY_BYTES = 6 * 2**20

ROUTES: list[tuple[str, str, Any]] = [
    ("POST", "/search", {"text": "a kitten with fur", "k": 3, "explain": True}),
    ("POST", "/search", {"key": "d1", "k": 5, "view": True, "radius": 8}),
    ("POST", "/search", {"text": "sails", "where": {"year": [2025, 2026], "kind": "ship"}, "factor": 10}),
    ("POST", "/search", {"vector": [0.5, 1, -2e3]}),
    ("GET", "/search?text=kitten&k=3", None),
    ("POST", "/search_many", {"texts": ["a kitten", "the moon"], "k": 2, "rerank": False}),
    ("POST", "/encode", {"texts": ["a kitten", "the moon"]}),
    ("POST", "/classify", {"text": "a kitten", "k": 7, "voting": "distance"}),
    ("POST", "/documents", {"documents": [{"key": "new", "text": "fur", "metadata": {"a": [1]}}], "mode": "upsert"}),
    ("POST", "/documents", {"documents": [{"text": "fur", "label": "cat"}, {}], "mode": "add"}),
    ("POST", "/delete", {"keys": ["new", "d299"], "missing_ok": True}),
    ("DELETE", "/documents/d298", None),
    ("GET", "/documents?after=10&limit=3", None),
    ("GET", "/documents/d1", None),
    ("GET", "/duplicates?radius=3&threshold=0.9", None),
    ("GET", "/random", None),
    ("GET", "/map", None),
    ("GET", "/stats?collection=some", None),
    ("GET", "/collections", None),
    ("GET", "/health", None),
    ("GET", "/metrics", None),
    ("GET", "/openapi.json", None),
    ("GET", "/docs", None),
    ("GET", "/", None),
    ("HEAD", "/page/main.js", None),
    ("OPTIONS", "/search", None),
]

SCALARS: list[Any] = [
    None, True, False, 0, -1, 1, 2, 64, 65, 1000, 1001, 10**6, 2**31, 2**63, -(2**63) - 1, 10**400, 0.5, -0.0, 1e308,
    float("nan"), float("inf"), "", " ", "a", "d1", "kitten", "\0", "\ud800", "\U0001f600", "é", "a\nb", "../x", "%00",
    "<script>", "' OR 1=1 --", "${x}", "{}", [], {}, [[]], {"": None}, "text", "add",
]  # fmt: skip
NAMES = ["", "k", "text", "key", "vector", "view", "where", "radius", "__class__", "\0", "\ud800", "x" * 2000, "$ref"]
HEADERS = [
    b"Content-Length: 0", b"Content-Length: -1", b"Content-Length: 99999999999999999999", b"Content-Length: 5",
    b"Content-Length: abc", b"Transfer-Encoding: gzip", b"Transfer-Encoding: chunked", b"Content-Encoding: gzip",
    b"Content-Type: text/plain", b"Content-Type: application/json; charset=utf-16", b"Content-Type: \xff\xfe",
    b"Expect: 100-continue", b"Connection: Upgrade\r\nUpgrade: websocket", b"Connection: close", b"Connection: \x00",
    b"Host: evil.example", b"Host: [::1", b"Origin: null", b"Origin: http://[", b"Sec-Fetch-Site: cross-site",
    b"Authorization: Bearer x", b"Authorization: \xff", b"Authorization: Bearer", b"Range: bytes=0-1,5-",
    b"If-None-Match: *", b"Cookie: " + b"a=b;" * 500, b"X: " + b"y" * 40_000, b"a: b\r\n" * 150 + b"c: d",
    b"X\x00Y: z", b" folded: value", b"no colon", b": empty name", b"Accept-Encoding: \r\n\tgzip", b"Referer: \x7f",
]  # fmt: skip
PATHS = [
    "/%", "/%00", "/%ff%fe", "//", "/..", "/documents/%2e%2e/%2e%2e", "/page/..%2fapp.py", "/documents/" + "%20" * 900,
    "*", "http://127.0.0.1/health", "/search#x", "/documents/%ED%A0%80", "/?" + "a=b&" * 500, "/page/", "/docs/x",
]  # fmt: skip


@dataclass(frozen=True)
class FuzzedRequest:
    """The bytes of a request. If it is whole, the connection can be used again."""

    content: bytes
    whole: bool
    method: str


class RequestMaker:
    """Makes requests from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def request(self) -> FuzzedRequest:
        """Make the next one."""
        rng = self.random
        method, path, value = rng.choice(ROUTES)
        if rng.random() < 0.15:
            path = rng.choice(PATHS)
        elif "?" in path and rng.random() < 0.6:
            path = self._query(path)
        elif rng.random() < 0.05:
            path = path.rpartition("/")[0] + "/" + quote(str(rng.choice(SCALARS))[:2000], errors="surrogatepass")
        if rng.random() < 0.05:
            method = rng.choice(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "TRACE", "CONNECT", "BREW", "get"])
        if value is not None:
            value = self._mutated(json.loads(json.dumps(value)), rng.choice([0, 1, 1, 2, 5]))
        body = b"" if value is None else self._body(value)
        return self._framed(method, path, body, has_body=value is not None)

    def _query(self, path: str) -> str:
        start, _, query = path.partition("?")
        pairs = [part.partition("=")[::2] for part in query.split("&")]
        at = self.random.randrange(len(pairs))
        pairs[at] = (pairs[at][0], quote(str(self.random.choice(SCALARS))[:2000], errors="surrogatepass"))
        if self.random.random() < 0.3:
            pairs.append(self.random.choice([*pairs, ("collection", "none"), ("k", "0"), ("where", "{")]))
        return start + "?" + "&".join(f"{name}={value}" for name, value in pairs)

    def _mutated(self, value: Any, changes: int) -> Any:
        for _ in range(changes):
            value = self._changed(value)
        return value

    def _changed(self, value: Any) -> Any:
        rng = self.random
        if isinstance(value, dict) and value and rng.random() < 0.8:
            name = rng.choice(list(value))
            kind = rng.random()
            if kind < 0.15:
                del value[name]
            elif kind < 0.3:
                value[rng.choice(NAMES)] = self._odd()
            else:
                value[name] = self._changed(value[name])
            return value
        if isinstance(value, list) and value and rng.random() < 0.7:
            at = rng.randrange(len(value))
            kind = rng.random()
            if kind < 0.2:
                times = min(rng.choice([0, 2, 100, 2000]), MAX_BODY_BYTES // len(json.dumps(value)))
                # Copies that share nothing: a change of one must not grow all of them.
                return json.loads(json.dumps(value * times))
            if kind < 0.3:
                return [*value, self._odd()]
            value[at] = self._changed(value[at])
            return value
        return self._odd()

    def _odd(self) -> Any:
        rng = self.random
        kind = rng.random()
        if kind < 0.75:
            return json.loads(json.dumps(rng.choice(SCALARS)))
        if kind < 0.85:
            return rng.choice(["a", "é", "\0", "\U0001f600", "[", '"', "kitten "]) * rng.choice([100, 5000, 1_000_001])
        if kind < 0.95:
            deep: Any = rng.choice(SCALARS)
            for _ in range(rng.choice([5, 70, 600])):
                deep = {"a": deep} if rng.random() < 0.5 else [deep]
            return deep
        return [rng.choice([0, {}, [], "x", 0.1])] * rng.choice([100, 10_001, 300_000])

    def _body(self, value: Any) -> bytes:
        rng = self.random
        text = json.dumps(value, ensure_ascii=rng.random() < 0.5)
        kind = rng.random()
        if kind < 0.7:
            return text.encode("utf-8", "surrogatepass")
        if kind < 0.78:
            return text.encode(rng.choice(["utf-16", "utf-32", "latin-1", "utf-8-sig", "utf-7"]), "replace")
        content = bytearray(text.encode("utf-8", "surrogatepass"))
        if kind < 0.9:
            for _ in range(rng.choice([1, 3, 20])):
                content[rng.randrange(len(content))] = rng.choice(
                    [0, 34, 44, 91, 92, 123, 125, 255, rng.randrange(256)]
                )
            return bytes(content)
        if kind < 0.95:
            return bytes(content[: rng.randrange(len(content))])
        return bytes(content) + rng.choice([b"\0", b"{}", b"]", b" " * 1000, b"\xff", b"[" * 100_000, b'{"a":' * 1000])

    def _framed(self, method: str, path: str, body: bytes, *, has_body: bool) -> FuzzedRequest:
        rng = self.random
        head = [f"{method} {path} HTTP/1.1".encode("latin-1", "replace"), b"Host: 127.0.0.1"]
        if has_body:
            head.append(b"Content-Type: application/json")
        kind = rng.random()
        if kind < 0.55:
            if has_body or rng.random() < 0.2:
                head.append(b"Content-Length: %d" % len(body))
            return FuzzedRequest(b"\r\n".join([*head, b"", b""]) + body, whole=True, method=method)
        if kind < 0.7:
            return FuzzedRequest(
                b"\r\n".join([*head, b"Transfer-Encoding: chunked", b"", b""]) + self._chunks(body), False, method
            )
        if kind < 0.9:
            head[1:1] = rng.choices(HEADERS, k=rng.choice([1, 1, 2, 4]))
            if rng.random() < 0.2:
                head.remove(b"Host: 127.0.0.1")
            if rng.random() < 0.2:
                head[0] = head[0].replace(b"1.1", rng.choice([b"1.0", b"0.9", b"2.0", b"1.", b"x"]))
            if has_body:
                head.append(b"Content-Length: %d" % len(body))
            return FuzzedRequest(b"\r\n".join([*head, b"", b""]) + body, False, method)
        content = b"\r\n".join([*head, b"Content-Length: %d" % (len(body) + rng.choice([-1, 1, 100])), b"", b""]) + body
        if kind < 0.95:
            return FuzzedRequest(content[: rng.randrange(len(content))], False, method)
        return FuzzedRequest(content * rng.choice([1, 3, 30]), False, method)

    def _chunks(self, body: bytes) -> bytes:
        rng = self.random
        size = rng.choice([1, 7, 1000, 10**6])
        if len(body) > 20_000:
            size = max(size, 1000)
        parts = [body[start : start + size] for start in range(0, len(body), size)]
        extension = rng.choice([b"", b"", b";a=b", b";" + b"x" * 50_000])
        chunks = b"".join(
            b"%x%s\r\n%s\r\n" % (len(part), extension if not at else b"", part) for at, part in enumerate(parts)
        )
        end = rng.choice(
            [b"0\r\n\r\n", b"0\r\n\r\n", b"0\r\na: b\r\n\r\n", b"0\r\n" + b"a: b\r\n" * 200 + b"\r\n", b"", b"-1\r\n"]
        )
        return chunks + end
