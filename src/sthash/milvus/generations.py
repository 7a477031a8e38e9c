"""Collections of Milvus that replace each other behind an alias: readers have a whole one at every moment.

With ``push(…, replace=True)`` a name is an alias. Each model has a collection of its own, named after the alias and the
model's fingerprint. When it is whole, one request lets the alias lead there. The collection before it stays until the
next replacement, because programs that opened it go on with the model of its codes.
"""

from __future__ import annotations

import re

import grpc
import pymilvus

from sthash.milvus.local_model import LocalModel
from sthash.milvus.milvus_server import MilvusError, MilvusServer

_NO_SUCH_ALIAS = 1600
_DIGITS = 16


def generation(name: str, model: LocalModel) -> str:
    """Return the name of the collection that an alias leads to once it holds the codes of a model."""
    return f"{name}__{model.fingerprint[:_DIGITS]}"


def target_of(server: MilvusServer, name: str) -> str | None:
    """Return the collection that an alias leads to; None if there is no such alias."""
    try:
        return str(server.call("describe_alias", name)["collection_name"])
    except MilvusError as error:
        if _has_no_aliases(error) or getattr(error.__cause__, "code", None) == _NO_SUCH_ALIAS:
            return None
        raise


def check_replaceable(server: MilvusServer, name: str) -> None:
    """Raise unless a name is an alias, or free to become one."""
    try:
        server.call("describe_alias", name)
    except MilvusError as error:
        if _has_no_aliases(error):
            raise MilvusError(
                f"{server.uri} is a Milvus Lite, which has no aliases, so nothing can be replaced there. Push under "
                "another name, or use a server."
            ) from error
        if name in server.call("list_collections"):
            raise MilvusError(
                f"{name!r} is a collection of {server.uri}, not an alias, so it cannot be replaced. Push under another "
                "name with replace=True, and open that one from then on."
            ) from error
        if getattr(error.__cause__, "code", None) != _NO_SUCH_ALIAS:
            raise


def switch(server: MilvusServer, name: str, new: str) -> None:
    """Let an alias lead to a collection, and drop those of the generations before the one that it led to."""
    old = target_of(server, name)
    if old is None:
        server.call("create_alias", new, name)
    elif old != new:
        server.call("alter_alias", new, name)
    else:
        return
    ours = re.compile(rf"{re.escape(name)}__[0-9a-f]{{{_DIGITS}}}")
    for other in server.call("list_collections"):
        if ours.fullmatch(other) and other not in (old, new):
            server.call("drop_collection", other)


def _has_no_aliases(error: MilvusError) -> bool:
    cause = error.__cause__
    if isinstance(cause, grpc.RpcError):
        return bool(cause.code() == grpc.StatusCode.UNIMPLEMENTED)
    return isinstance(cause, pymilvus.MilvusException) and "UNIMPLEMENTED" in str(cause)
