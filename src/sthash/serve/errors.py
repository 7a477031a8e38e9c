"""Errors as clients see them: JSON with a stable code, a message and a remedy, and never a traceback."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import Response

from sthash.collection import CollectionBusyError, CollectionError

RETRY_SECONDS = 1


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
    body = json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")
    return Response(body, status, headers, media_type="application/json")


def no_such_document(key: str) -> ApiError:
    """Return the error for a key that no document has."""
    return ApiError(
        404, "no_such_document", f"there is no document with the key {key[:100]!r}.", "Check the key, or search for it."
    )


def as_api_error(error: Exception, name: str, path: str) -> ApiError | None:
    """Translate an error of the library for the client; None if the client must not see it.

    Clients must not learn where the file is on the server: the name of the collection replaces its path.
    """
    message = str(error).replace(path, f"the collection {name!r}")
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
    if isinstance(error, TypeError):
        return ApiError(422, "wrong_type", message, "Send what the message asks for.")
    if isinstance(error, ValueError):
        return ApiError(422, "invalid_value", message, "Send a value that the message allows.")
    return None
