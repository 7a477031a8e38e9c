"""How a collection of documents looks in Milvus: made, or recognised."""

from __future__ import annotations

import json
from typing import Any

from pymilvus import MilvusClient

from sthash.milvus.models import Encoding
from sthash.milvus.rows import FIELDS
from sthash.milvus.server import MilvusError, Server

FORMAT = 1


def prepare(server: Server, name: str, model: Encoding, *, create: bool) -> None:
    """Make the collection if there is none and ``create`` is set; see to it that it is one of this model's."""
    if not isinstance(name, str) or not name.isidentifier() or not name.isascii():
        raise ValueError(f"name={name!r} must be of letters, digits and underscores, the first one no digit.")
    if not server.call("has_collection", name):
        if not create:
            raise MilvusError(f"{server.uri} has no collection {name!r}; push one there, or pass create=True.")
        server.call("create_collection", name, schema=_schema(model))
    _recognise(server.call("describe_collection", name), f"the collection {name!r} of {server.uri}", model)
    # A killed process may have made the collection, but not its index; both requests may be repeated.
    if not server.call("list_indexes", name):
        server.call("create_index", name, index_params=_index())
    server.call("load_collection", name)


def _schema(model: Encoding) -> Any:
    # The description is the one thing that Milvus makes in the same step as the collection, and then never changes.
    marks = {"sthash": FORMAT, "n_bits": model.n_bits, "model": model.fingerprint}
    schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False, description=json.dumps(marks))
    for field, properties in FIELDS.items():
        more = {"dim": model.dim} if field == "code" else {}
        schema.add_field(field, **properties, **more)
    return schema


def _index() -> Any:
    index = MilvusClient.prepare_index_params()
    index.add_index("code", index_type="BIN_FLAT", metric_type="HAMMING")
    return index


def _recognise(found: dict[str, Any], what: str, model: Encoding) -> None:
    try:
        marks = json.loads(found["description"])
        version, n_bits, fingerprint = marks["sthash"], marks["n_bits"], marks["model"]
    except (ValueError, KeyError, TypeError) as error:
        raise MilvusError(f"{what} was not made by sthash; use another name.") from error
    if version != FORMAT:
        raise MilvusError(f"{what} has format {version}, but this sthash knows format {FORMAT}; upgrade sthash.")
    types = {field["name"]: field["type"] for field in found["fields"]}
    if types != {field: properties["datatype"] for field, properties in FIELDS.items()}:
        raise MilvusError(f"{what} has other fields than sthash makes: {', '.join(types)}; use another name.")
    if n_bits != model.n_bits:
        raise MilvusError(f"{what} has codes of {n_bits} bits, but the model makes {model.n_bits}; use another name.")
    if fingerprint != model.fingerprint:
        raise MilvusError(f"{what} was encoded by another model; open it with that one, or use another name.")
