"""The schema of a collection in Milvus: made if it is missing, and recognized."""

from __future__ import annotations

import json
from typing import Any

from pymilvus import MilvusClient

from sthash.codes import n_bytes
from sthash.milvus.entities import FIELDS
from sthash.milvus.entity_table import EntityTable
from sthash.milvus.generations import target_of
from sthash.milvus.local_model import LocalModel
from sthash.milvus.milvus_server import MilvusError, MilvusServer

FORMAT = 1


def open_table(server: MilvusServer, name: str, model: LocalModel, *, create: bool) -> EntityTable:
    """Open a collection of this model, by its name or an alias; make it if there is none and ``create`` is set."""
    check_name(name)
    # What is opened by an alias stays the same collection, however often the alias changes.
    name = target_of(server, name) or name
    table = EntityTable(server, name)
    if not server.call("has_collection", name):
        if not create:
            raise MilvusError(f"{server.uri} has no collection {name!r}. Push one there, or pass create=True.")
        table.call("create_collection", schema=_schema(model))
    _recognize(table.call("describe_collection"), f"the collection {name!r} of {server.uri}", model)
    # A killed process may have made the collection, but not its index; both requests may be repeated.
    if not table.call("list_indexes"):
        table.call("create_index", index_params=_index())
    table.call("load_collection")
    return table


def check_name(name: str) -> None:
    """Raise unless Milvus takes a name."""
    if not isinstance(name, str) or not name.isidentifier() or not name.isascii():
        raise ValueError(
            f"name={name!r} is not a valid name in Milvus. Use letters, digits and underscores, no digit first."
        )


def _schema(model: LocalModel) -> Any:
    # The description is the one thing that Milvus makes in the same step as the collection, and then never changes.
    marks = {"sthash": FORMAT, "n_bits": model.n_bits, "model": model.fingerprint}
    schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False, description=json.dumps(marks))
    for field, properties in FIELDS.items():
        # Milvus takes codes of whole bytes.
        more = {"dim": 8 * n_bytes(model.n_bits)} if field == "code" else {}
        schema.add_field(field, **properties, **more)
    return schema


def _index() -> Any:
    index = MilvusClient.prepare_index_params()
    index.add_index("code", index_type="BIN_FLAT", metric_type="HAMMING")
    return index


def _recognize(found: dict[str, Any], what: str, model: LocalModel) -> None:
    try:
        marks = json.loads(found["description"])
        version, n_bits, fingerprint = marks["sthash"], marks["n_bits"], marks["model"]
    except (ValueError, KeyError, TypeError) as error:
        raise MilvusError(f"{what} was not made by sthash. Use another name.") from error
    if version != FORMAT:
        raise MilvusError(f"{what} has format {version}, but this sthash knows format {FORMAT}. Upgrade sthash.")
    types = {field["name"]: field["type"] for field in found["fields"]}
    if types != {field: properties["datatype"] for field, properties in FIELDS.items()}:
        raise MilvusError(f"{what} has other fields than sthash makes: {', '.join(types)}. Use another name.")
    if n_bits != model.n_bits:
        raise MilvusError(
            f"{what} has codes of {n_bits} bits, but the model makes {model.n_bits}. "
            "Push with replace=True, or use another name."
        )
    if fingerprint != model.fingerprint:
        raise MilvusError(
            f"{what} was encoded by another model. Open it with that model, push with replace=True, or use another "
            "name."
        )
