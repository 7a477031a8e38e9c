"""How routes are described in the OpenAPI document: their answers, their errors, and the meaning of error codes."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from sthash.serve.answer_schemas import ErrorAnswer

Responses = dict[int | str, dict[str, Any]]

_CODES = {
    400: "`invalid_json`, `cut_short`, `collection_needed`",
    401: "`key_needed`, `key_wrong`",
    403: "`cross_site`, `read_only`, `key_may_not_write`",
    404: "`no_such_document`, `no_such_collection`, `no_such_route`, `empty`",
    405: "`method_not_allowed`",
    408: "`body_too_slow`",
    409: "`key_exists`",
    413: "`too_large`, `too_many_values`",
    415: "`not_json`",
    421: "`wrong_host`",
    422: "`invalid_request`, `invalid_value`, `wrong_type`, `answer_too_large`",
    431: "`head_too_large`",
    503: "`overloaded`, `busy`, `too_slow`, `collection_busy`, `collection_unavailable`, `collection_replaced`, "
    "`not_ready`; Retry-After says when to try again",
}
ERRORS: Responses = {
    status: {"model": ErrorAnswer, "description": codes} for status, codes in _CODES.items() if status != 409
}
CONFLICT: Responses = {409: {"model": ErrorAnswer, "description": _CODES[409]}}


def answers(model: type[BaseModel]) -> Responses:
    """Describe the answer of a route that succeeds."""
    return {200: {"model": model, "description": (model.__doc__ or "").partition("\n")[0]}}
