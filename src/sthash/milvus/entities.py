"""Entities of Milvus: the fields of a document there, and what Milvus can hold.

``key``
    The primary key: the key of the document, percent-encoded as in a URL, because Milvus builds its expressions, and
    Milvus Lite its SQL, from primary keys.
``id``
    Orders documents with equal distances. A pushed document has the id that it has in its file. A document that came
    by `MilvusCollection.add` or `MilvusCollection.upsert` has the time of that in nanoseconds since 1970, which is
    greater.
``stamp``
    The checksum of the document in its file, by which a push recognizes what is there already; -1 for a document that
    does not come from a file.
``text``, ``label``, ``labelled``, ``metadata``
    Of the document. Lone surrogates, which UTF-8 does not have, become U+FDD0 and four hexadecimal digits.
``code``
    The packed code; the bits after ``n_bits`` are zero.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from pymilvus import DataType

from sthash.batches import batched
from sthash.checks import check_key
from sthash.sources import Document

MAX_BYTES = 65_535  # of a string, or of JSON
# Of one request; a server takes 64 MiB.
BATCH_ENTITIES, BATCH_BYTES = 1000, 1 << 24
# Documents from a file have smaller ids, all others have greater ones.
FIRST_OWN_ID = 1 << 60
LAST_ID = (1 << 63) - 1

FIELDS = {
    "key": {"datatype": DataType.VARCHAR, "is_primary": True, "max_length": MAX_BYTES},
    "id": {"datatype": DataType.INT64},
    "stamp": {"datatype": DataType.INT64},
    "text": {"datatype": DataType.VARCHAR, "max_length": MAX_BYTES},
    "label": {"datatype": DataType.VARCHAR, "max_length": MAX_BYTES},
    "labelled": {"datatype": DataType.BOOL},  # Milvus Lite has no NULL; collections that exist have this spelling
    "metadata": {"datatype": DataType.JSON},
    "code": {"datatype": DataType.BINARY_VECTOR},
}
FILTERED_FIELDS = ["label", "labelled", "metadata"]
DOCUMENT_FIELDS = ["key", "id", "text", *FILTERED_FIELDS]

Entity = dict[str, Any]
_READABLE = " /:@+=,;&!?#$*()"
_NOT_IN_UTF8 = re.compile("[\ud800-\udfff\ufdd0]")
_ESCAPED = re.compile("\ufdd0([0-9a-f]{4})")


class OutgoingDocument(NamedTuple):
    """A document on its way to Milvus."""

    id: int
    stamp: int
    key: str
    document: Document


def as_primary_key(key: str) -> str:
    """Return the primary key of the key of a document."""
    return quote(check_key(key), safe=_READABLE, errors="surrogatepass")


def from_primary_key(primary: str) -> str:
    """Return what `as_primary_key` was given."""
    return unquote(primary, errors="surrogatepass")


def escape(text: str) -> str:
    r"""Make any str one that UTF-8 can hold.

    Examples
    --------
    >>> from sthash.milvus.entities import escape, unescape
    >>> escape("a\ud800") == "a\ufdd0d800", unescape(escape("a\ud800\ufdd0")) == "a\ud800\ufdd0"
    (True, True)
    """
    return _NOT_IN_UTF8.sub(lambda odd: f"\ufdd0{ord(odd[0]):04x}", text)


def unescape(text: str) -> str:
    """Return what `escape` was given."""
    return _ESCAPED.sub(lambda odd: chr(int(odd[1], 16)), text)


def make_entity(outgoing: OutgoingDocument, *, cut_long_texts: bool) -> Entity:
    """Return the entity of a document, without its code; ValueError if Milvus cannot hold it."""
    document = outgoing.document
    text = escape(document.text)
    if cut_long_texts:
        text = text.encode()[:MAX_BYTES].decode(errors="ignore")
    entity = {
        "key": as_primary_key(outgoing.key),
        "id": outgoing.id,
        "stamp": outgoing.stamp,
        "text": text,
        "label": escape(document.label or ""),
        "labelled": document.label is not None,
        "metadata": _metadata(outgoing),
    }
    for name in ("key", "text", "label"):
        size = len(entity[name].encode())
        if size > MAX_BYTES:
            remedy = "Split it, or pass cut_long_texts=True" if name == "text" else "Use a shorter one"
            raise ValueError(
                f"document {outgoing.key[:80]!r} has a {name} of {size} bytes, but Milvus holds at most {MAX_BYTES}. "
                f"{remedy}."
            )
    return entity


def _metadata(outgoing: OutgoingDocument) -> Any:
    try:
        content = escape(json.dumps(outgoing.document.metadata, ensure_ascii=False, allow_nan=False))
        if len(content.encode()) > MAX_BYTES:
            raise ValueError(f"{len(content.encode())} bytes, but Milvus holds at most {MAX_BYTES}")
        return json.loads(content, parse_int=_int64)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(
            f"metadata of document {outgoing.key[:80]!r} cannot be sent to Milvus ({error}). Convert or shorten it."
        ) from error


def _int64(digits: str) -> int:
    number = int(digits)
    if not -(1 << 63) <= number < 1 << 63:
        raise ValueError(f"{digits} has more than 64 bits")
    return number


def read_document(entity: Entity) -> Document:
    """Return the document of an entity."""
    key, label, metadata = read_filtered(entity)
    return Document(key, unescape(entity["text"]), label, metadata)


def read_label(entity: Entity) -> str | None:
    """Return the label of an entity."""
    return unescape(entity["label"]) if entity["labelled"] else None


def read_filtered(entity: Entity) -> tuple[str, str | None, dict[str, Any]]:
    """Return key, label and metadata of an entity, which conditions can be on."""
    return from_primary_key(entity["key"]), read_label(entity), read_metadata(entity)


def read_metadata(entity: Entity) -> dict[str, Any]:
    """Return the metadata of an entity."""
    metadata: dict[str, Any] = json.loads(unescape(json.dumps(entity["metadata"], ensure_ascii=False)))
    return metadata


def entity_batches(entities: Iterable[Entity]) -> Iterator[list[Entity]]:
    """Cut entities into lists that one request can carry."""
    return batched(entities, BATCH_ENTITIES, length=_most_bytes, most=BATCH_BYTES)


def _most_bytes(entity: Entity) -> int:
    texts = 4 * len(entity["text"]) + len(entity["key"]) + 4 * len(entity["label"])
    return texts + MAX_BYTES * bool(entity["metadata"])
