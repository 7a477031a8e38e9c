"""Errors as clients see them: JSON with a stable code, a message and a remedy, and never a traceback."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from starlette.responses import Response

from sthash.collection import AnswerTooLargeError, CollectionBusyError, CollectionError, EmbedderError

RETRY_SECONDS = 1
# Made once, because `json.dumps` with settings makes an encoder per call.
_encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


class ApiError(Exception):
    """An error that is reported to the client.

    Parameters
    ----------
    status : int
        Status code of HTTP.
    code : str
        Name of the error for programs. It never changes its meaning.
    message, remedy : str
        For people: what is wrong, and what to do.
    headers : dict, optional
    """

    def __init__(
        self, status: int, code: str, message: str, remedy: str, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.remedy = status, code, message, remedy
        self.headers = headers or {}
        if status == 503:
            self.headers.setdefault("Retry-After", str(RETRY_SECONDS))

    def response(self) -> Response:
        """Return the response that reports this error."""
        content = {"error": {"code": self.code, "message": self.message, "remedy": self.remedy}}
        return json_response(content, self.status, self.headers)


def json_response(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a JSON response. It is in ASCII, because a document may hold lone surrogates, which UTF-8 cannot."""
    return Response(_encode(content).encode("ascii"), status, headers, media_type="application/json")


def limited_response(content: Any, max_bytes: int) -> Response:
    """Return a JSON response, or refuse it if it is larger than ``max_bytes``.

    The documents in it have been read within a limit, so it cannot be much larger before it is refused.
    """
    response = json_response(content)
    if len(response.body) > max_bytes:
        raise answer_too_large(max_bytes)
    return response


class EncodedRows(NamedTuple):
    """As many rows as fit, as JSON, and how many were asked for."""

    parts: list[bytes]
    asked: int


def encode_rows(rows: Iterable[Any], max_bytes: int) -> EncodedRows:
    """Encode rows one by one, for as long as they fit into ``max_bytes``."""
    parts, size = list[bytes](), 0
    for count, row in enumerate(rows, 1):
        part = _encode(row).encode("ascii")
        size += len(part) + 1
        if size > max_bytes:
            return EncodedRows(parts, count)
        parts.append(part)
    return EncodedRows(parts, len(parts))


def rows_response(name: str, parts: list[bytes], rest: dict[str, Any]) -> Response:
    """Return a JSON response with a list of encoded rows, and what else belongs to it."""
    tail = _encode(rest).encode("ascii")
    body = b"".join((b'{"%s":[' % name.encode(), b",".join(parts), b"]" + (b"," if rest else b""), tail[1:]))
    return Response(body, media_type="application/json")


def answer_too_large(max_bytes: int) -> ApiError:
    """Return the error for an answer that is too large."""
    return ApiError(
        422,
        "answer_too_large",
        f"the answer has more than {max_bytes:,} bytes.",
        "Ask for fewer documents at once. A document that is too large by itself can only be read from the file.",
    )


def too_slow(seconds: float) -> ApiError:
    """Return the error for a request that takes too long."""
    return ApiError(
        503,
        "too_slow",
        f"the answer took longer than {seconds:g} s.",
        "Ask for less, or try again later. A change may still take effect: check before you repeat it.",
    )


def no_such_document(key: str) -> ApiError:
    """Return the error for a key that no document has."""
    return ApiError(
        404, "no_such_document", f"there is no document with the key {key[:100]!r}.", "Check the key, or search for it."
    )


def as_api_error(error: Exception, name: str, path: str) -> ApiError | None:
    """Translate an error of the library for the client; None if the client must not see it.

    Clients must not learn where the file is on the server: the name of the collection replaces its path.
    """
    message = str(error).replace(path, f"the collection {name!r}") if path else str(error)
    if isinstance(error, ApiError):
        return error
    if isinstance(error, CollectionBusyError):
        return ApiError(503, "collection_busy", message, "Try again in a moment.")
    if isinstance(error, CollectionError | OSError):
        return ApiError(
            503,
            "collection_unavailable",
            f"the collection {name!r} cannot be used now.",
            "Its file is missing, damaged or read-only; the log of the server says which. Try again later.",
        )
    if isinstance(error, EmbedderError):
        return ApiError(
            503, "embedder_failed", "the embedder of the server failed.", "The log of the server says why. Try again."
        )
    if isinstance(error, AnswerTooLargeError):
        return ApiError(422, "answer_too_large", message, "Ask for fewer documents at once.")
    if isinstance(error, TypeError):
        return ApiError(422, "wrong_type", message, "Send what the message asks for.")
    if isinstance(error, ValueError):
        return ApiError(422, "invalid_value", message, "Send a value that the message allows.")
    return None
