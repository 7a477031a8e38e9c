"""Compressed files: opened by their names, and bounded in what they expand to.

A few kilobytes can expand to gigabytes. So a compressed file may expand to `FREE_BYTES`, or `MOST_EXPANSION` times its
own size, whichever is more. Beyond that it is an error.
"""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from sthash.extras import install_command

FREE_BYTES = 256 * 2**20
MOST_EXPANSION = 250
# Zstandard expands a byte to up to 32 KiB: this much is decompressed at once.
_ZSTANDARD_BYTES = 4096


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file to read its content, decompressed if its name ends with one of `SUFFIXES`."""
    opener = _OPENERS.get(path.suffix.lower())
    if opener is None:
        with path.open("rb") as plain:
            yield plain
        return
    most = most_bytes(path.stat().st_size)
    with opener(path) as inner, io.BufferedReader(_Bounded(inner, str(path), most), 1 << 17) as stream:
        yield cast("IO[bytes]", stream)


def most_bytes(size: int) -> int:
    """Return to how many bytes a compressed file of ``size`` bytes may expand."""
    return max(FREE_BYTES, MOST_EXPANSION * size)


def expands_too_far(name: str, most: int, remedy: str) -> ValueError:
    """Return the error for a file that expands to more than ``most`` bytes."""
    return ValueError(
        f"{name} expands to more than {most:,} bytes, and {MOST_EXPANSION} times its own size. "
        f"If you trust it, {remedy}."
    )


class _Bounded(io.RawIOBase):
    """A decompressor's output, up to a number of bytes, with clear errors."""

    def __init__(self, stream: Any, name: str, most: int) -> None:
        super().__init__()
        self._stream, self._name, self._most, self._count = stream, name, most, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            content = self._stream.read1(len(buffer))
        except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # the system's own error, not that of a decompressor
            raise _damaged(self._name, error) from error
        except Exception as error:
            # Zstandard's own; which package it comes from depends on the version of Python.
            if type(error).__name__ != "ZstdError":
                raise
            raise _damaged(self._name, error) from error
        self._count += len(content)
        if self._count > self._most:
            raise expands_too_far(self._name, self._most, "decompress it first")
        buffer[: len(content)] = content
        return len(content)


class _ZstandardFile:
    """A file read by the package zstandard, whose own reader accepts a truncated file as complete."""

    def __init__(self, path: Path, package: Any) -> None:
        self._file = path.open("rb")
        self._package = package
        self._frame: Any = None
        self._rest = b""
        self._ready, self._taken = b"", 0

    def __enter__(self) -> _ZstandardFile:
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.close()

    def read1(self, size: int) -> bytes:
        """Return up to ``size`` bytes; none at the end."""
        while self._taken == len(self._ready):
            given = self._rest or self._file.read(_ZSTANDARD_BYTES)
            if not given:
                if self._frame is not None:
                    raise EOFError("the last frame has no end")
                return b""
            self._frame = self._frame or self._package.ZstdDecompressor().decompressobj()
            self._ready, self._taken = self._frame.decompress(given), 0
            self._rest = self._frame.unused_data if self._frame.eof else b""
            if self._frame.eof:
                self._frame = None
        content = self._ready[self._taken : self._taken + size]
        self._taken += len(content)
        return content


def _open_zstandard(path: Path) -> Any:
    try:
        standard = importlib.import_module("compression.zstd")  # from Python 3.14 on
        return standard.ZstdFile(path)
    except ImportError:
        pass
    try:
        return _ZstandardFile(path, importlib.import_module("zstandard"))
    except ImportError as error:
        raise ImportError(f"{path}: .zst needs zstandard. Install it: {install_command('zstd')}.") from error


def _damaged(name: str, error: Exception) -> ValueError:
    return ValueError(f"{name} is damaged or cut short ({error}). Get the file again.")


_OPENERS: dict[str, Callable[[Path], Any]] = {
    ".gz": gzip.open,
    ".xz": lzma.open,
    ".bz2": bz2.open,
    ".zst": _open_zstandard,
}
SUFFIXES = tuple(_OPENERS)
