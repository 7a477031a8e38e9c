"""Rows of Milvus: what is there of a document, and what Milvus can hold.

``key``
    The primary key: the document's key, percent-encoded as in a URL, because Milvus builds its expressions, and Milvus
    Lite its SQL, by pasting keys together.
``id``
    Orders documents of equal distance. A pushed document has the id of its file; one that `upsert` has put there has
    the time of it, in nanoseconds since 1970, which is greater.
``stamp``
    The checksum of the document in its file, by which `push` knows what is there already; -1 after `upsert`.
``text``, ``label``, ``labelled``, ``metadata``
    Of the document. Lone surrogates, which UTF-8 has not, become U+FDD0 and four hexadecimal digits.
``code``
    The packed code; bits beyond ``n_bits`` are zero.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from pymilvus import DataType

from sthash.codes import Codes
from sthash.sources import Document

LONGEST = 65_535  # bytes of a string, or of JSON
BATCH_ROWS, BATCH_BYTES = 1000, 1 << 24  # of one request; a server takes 64 MiB

FIELDS = {
    "key": {"datatype": DataType.VARCHAR, "is_primary": True, "max_length": LONGEST},
    "id": {"datatype": DataType.INT64},
    "stamp": {"datatype": DataType.INT64},
    "text": {"datatype": DataType.VARCHAR, "max_length": LONGEST},
    "label": {"datatype": DataType.VARCHAR, "max_length": LONGEST},
    "labelled": {"datatype": DataType.BOOL},  # Milvus Lite has no NULL
    "metadata": {"datatype": DataType.JSON},
    "code": {"datatype": DataType.BINARY_VECTOR},
}
DOCUMENT_FIELDS = ["key", "id", "text", "label", "labelled", "metadata"]

Row = dict[str, Any]
_READABLE = " /:@+=,;&!?#$*()"
_UNHOLDABLE = re.compile("[\ud800-\udfff\ufdd0]")
_ESCAPED = re.compile("\ufdd0([0-9a-f]{4})")


class Entry(NamedTuple):
    """A document on its way to Milvus."""

    id: int
    stamp: int
    key: str
    document: Document


def as_key(key: str) -> str:
    """Give the primary key of a document's key."""
    return quote(key, safe=_READABLE, errors="surrogatepass")


def from_key(primary: str) -> str:
    """Give back what `as_key` was given."""
    return unquote(primary, errors="surrogatepass")


def escape(text: str) -> str:
    r"""Make any str one that UTF-8 can hold.

    Examples
    --------
    >>> from sthash.milvus.rows import escape, unescape
    >>> escape("a\ud800") == "a\ufdd0d800", unescape(escape("a\ud800\ufdd0")) == "a\ud800\ufdd0"
    (True, True)
    """
    return _UNHOLDABLE.sub(lambda odd: f"\ufdd0{ord(odd[0]):04x}", text)


def unescape(text: str) -> str:
    """Give back what `escape` was given."""
    return _ESCAPED.sub(lambda odd: chr(int(odd[1], 16)), text)


def make_row(entry: Entry, *, cut_long_texts: bool) -> Row:
    """Give the row of a document, but for its code; ValueError if Milvus cannot hold it."""
    document = entry.document
    text = escape(document.text)
    if cut_long_texts:
        text = text.encode()[:LONGEST].decode(errors="ignore")
    row = {
        "key": as_key(entry.key),
        "id": entry.id,
        "stamp": entry.stamp,
        "text": text,
        "label": escape(document.label or ""),
        "labelled": document.label is not None,
        "metadata": _metadata(entry),
    }
    for name in ("key", "text", "label"):
        size = len(row[name].encode())
        if size > LONGEST:
            remedy = "split it, or pass cut_long_texts=True" if name == "text" else "use a shorter one"
            raise ValueError(
                f"document {entry.key[:80]!r} has a {name} of {size} bytes, of which Milvus holds {LONGEST}; {remedy}."
            )
    return row


def _metadata(entry: Entry) -> Any:
    try:
        content = escape(json.dumps(entry.document.metadata, ensure_ascii=False, allow_nan=False))
        if len(content.encode()) > LONGEST:
            raise ValueError(f"they have {len(content.encode())} bytes, of which Milvus holds {LONGEST}")
        return json.loads(content, parse_int=_int64)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"metadata of document {entry.key[:80]!r} cannot go to Milvus: {error}.") from error


def _int64(digits: str) -> int:
    number = int(digits)
    if not -(1 << 63) <= number < 1 << 63:
        raise ValueError(f"{digits} has more than 64 bits")
    return number


def read_row(row: Row) -> Document:
    """Give the document of a row."""
    metadata = json.loads(unescape(json.dumps(row["metadata"], ensure_ascii=False)))
    return Document(
        from_key(row["key"]), unescape(row["text"]), unescape(row["label"]) if row["labelled"] else None, metadata
    )


def with_codes(rows: list[Row], codes: Codes) -> list[Row]:
    """Put codes into rows."""
    return [row | {"code": code.tobytes()} for row, code in zip(rows, codes, strict=True)]


def batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Cut rows into lists that one request can carry."""
    batch: list[Row] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += 4 * len(row["text"]) + len(row["key"]) + 4 * len(row["label"]) + LONGEST * bool(row["metadata"])
        if len(batch) == BATCH_ROWS or size > BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
