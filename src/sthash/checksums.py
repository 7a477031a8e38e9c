"""Text as bytes, and checksums of rows of values: what files and fingerprints are made of."""

from __future__ import annotations

from typing import Any

from sthash import _core


def row_checksum(values: tuple[Any, ...]) -> int:
    """CRC-32 of a row: of each value in turn, starting from the sum so far with the value's kind and size mixed in.

    Examples
    --------
    >>> from sthash.checksums import row_checksum
    >>> row_checksum((1, b"one")) == row_checksum((1, b"one", None))
    False
    """
    return _core.row_checksum(values)


def encode_text(text: str) -> bytes:
    """Return the UTF-8 of any str: lone surrogates, which proper UTF-8 does not have, are let through."""
    return text.encode("utf-8", "surrogatepass")


def decode_text(content: bytes) -> str:
    """Return what `encode_text` was given."""
    return content.decode("utf-8", "surrogatepass")
