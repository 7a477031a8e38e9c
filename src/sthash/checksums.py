"""Text as bytes, and checksums of rows of values: what files and fingerprints are made of."""

from __future__ import annotations

import zlib
from typing import Any


def row_checksum(values: tuple[Any, ...]) -> int:
    """CRC-32 of a row: of each value in turn, starting from the sum so far with the value's kind and size mixed in."""
    total = 0
    for value in values:
        kind = type(value)
        if kind is bytes:
            total = zlib.crc32(value, total ^ len(value))
        elif kind is int:
            total = zlib.crc32(b"%d" % value, total ^ 0x80000000)
        elif value is None:
            total = zlib.crc32(b"", total ^ 0xC0000000) ^ 0xFFFFFFFF
        elif kind is str:
            total = zlib.crc32(encode_text(value), total ^ 0xE0000000)
        else:
            raise TypeError(f"no checksum for a {kind.__name__}")
    return total


def encode_text(text: str) -> bytes:
    """Return the UTF-8 of any str: lone surrogates, which proper UTF-8 does not have, are let through."""
    return text.encode("utf-8", "surrogatepass")


def decode_text(content: bytes) -> str:
    """Return what `encode_text` was given."""
    return content.decode("utf-8", "surrogatepass")
