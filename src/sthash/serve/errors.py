"""Errors as clients see them: JSON with a code that stays, a message and a remedy; never a traceback."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import Response

from sthash.collection.store import CollectionBusyError, CollectionError

RETRY_SECONDS = 1


class ApiError(Exception):
    """Something that a client is told.

    Parameters
    ----------
    status : int
        Of HTTP.
    code : str
        Never changes its meaning: programs may depend on it.
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
        """Give the answer."""
        content = {"error": {"code": self.code, "message": self.message, "remedy": self.remedy}}
        return json_response(content, self.status, self.headers)


def json_response(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Give an answer in JSON; in ASCII, because lone surrogates, which documents may hold, have no UTF-8."""
    body = json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")
    return Response(body, status, headers, media_type="application/json")


def no_such_document(key: str) -> ApiError:
    """Say that there is no document with a key."""
    return ApiError(
        404, "no_such_document", f"there is no document with the key {key[:100]!r}.", "Check the key, or search for it."
    )


def told(error: Exception, name: str, path: str) -> ApiError | None:
    """Give what a client is told of an error of the library, if it is the client's to know.

    Where the file lies on the server is nobody's business: its path gives way to the collection's name.
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
            "Its file is missing, damaged or cannot be changed; the server's log says which. Try again later.",
        )
    if isinstance(error, TypeError):
        return ApiError(422, "wrong_type", message, "Send what the message asks for.")
    if isinstance(error, ValueError):
        return ApiError(422, "invalid_value", message, "Send a value that the message allows.")
    return None
