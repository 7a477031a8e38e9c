"""Encodings of text files: recognized by a byte order mark, tried in turn, or guessed for an error message."""

from __future__ import annotations

import codecs
import io
import re
from dataclasses import dataclass
from typing import IO, Any

DEFAULT = "utf-8"
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
HEAD_BYTES = 4096
_CHUNK = 1 << 16
# Encodings that are guessed, each with the characters that its texts are made of, and some that they must have.
_FULL_WIDTH = "\u3000-\u303f\uff01-\uff5e"
_HAN = ("[\u4e00-\u9fa5\u2014-\u2026" + _FULL_WIDTH + "]", "[的一是不了在人有]")
_KANA = ("[\u3041-\u30ff\u4e00-\u9fa5" + _FULL_WIDTH + "]", "[\u3041-\u30f6]")
_CYRILLIC = ("[а-яё]", "[а-яё]{3}")
_GUESSES = {
    "euc_jp": _KANA,
    "shift_jis": _KANA,
    "euc_kr": ("[\uac00-\ud7a3" + _FULL_WIDTH + "]", "[\uac00-\ud7a3]{2}"),
    "gb18030": _HAN,
    "big5": _HAN,
    "cp1251": _CYRILLIC,
    "koi8_r": _CYRILLIC,
}


@dataclass(frozen=True)
class Encoding:
    """How to read the bytes of a source.

    Parameters
    ----------
    names : tuple of str
        Encodings as Python knows them, tried in this order.
    detect : bool
        Whether text without a byte order mark may turn out to be UTF-16 or UTF-32. A mark always decides.
    mark : bytes
        The byte order mark that was found.
    original : str, optional
        The encoding of the source, if what is read of it is made UTF-8 first.
    """

    names: tuple[str, ...] = (DEFAULT,)
    detect: bool = True
    mark: bytes = b""
    original: str | None = None

    @classmethod
    def of(cls, encoding: str | None) -> Encoding:
        """Return the encoding for a setting: None, a name, or several that are separated by commas."""
        if encoding is None:
            return cls()
        names = []
        for name in encoding.split(","):
            try:
                names.append(codecs.lookup(name.strip()).name)
            except LookupError as error:
                raise ValueError(
                    f"encoding={name.strip()!r} is not known. Use one that Python knows, such as latin-1."
                ) from error
        return cls(tuple(name.removesuffix("-sig") for name in names), detect=False)

    def decode(self, content: bytes) -> str:
        """Decode by the first encoding that fits; the error is that of the first one."""
        try:
            return content.decode(self.names[0])
        except UnicodeDecodeError:
            for name in self.names[1:]:
                try:
                    return content.decode(name)
                except UnicodeDecodeError:
                    continue
            raise

    def problem(self, name: str, content: bytes, offset: int, error: UnicodeDecodeError) -> str:
        """Describe what is wrong with the bytes at an offset of a source."""
        guess = likely_encoding(content)
        tried = " or ".join(each.upper() for each in self.names)
        wrong = error.object[error.start]
        several = ",".join(dict.fromkeys((*self.names, guess)))
        return (
            f"{name} is not {tried}: the byte 0x{wrong:02X} at offset {offset + error.start:,} does not fit. "
            f"It may be {guess}. Set encoding='{guess}' (--encoding {guess}), or several that are tried in turn: "
            f"encoding='{several}' (--encoding {several})."
        )


def plain_stream(stream: IO[bytes], name: str, encoding: Encoding) -> tuple[IO[bytes], Encoding]:
    """Return a stream whose lines end with the byte 10, without a byte order mark, and its encoding.

    UTF-16 and UTF-32, and whatever else has other line ends, become UTF-8.
    """
    head = stream.read(HEAD_BYTES)
    for mark, found in _MARKS:
        if head.startswith(mark):
            head, encoding = head[len(mark) :], Encoding((found,), mark=mark)
            break
    else:
        mark = b""
        wide = _without_mark(head) if encoding.detect else None
        encoding = encoding if wide is None else Encoding((wide,))
    rest = io.BufferedReader(_Rest(head, stream), _CHUNK)
    if _has_plain_lines(encoding.names[0]):
        return rest, encoding
    recoded = io.BufferedReader(_Recoded(rest, name, encoding, len(mark)), _CHUNK)
    return recoded, Encoding(detect=False, mark=mark, original=encoding.names[0])


def _without_mark(head: bytes) -> str | None:
    """Recognize UTF-16 and UTF-32 by their zero bytes, which other text does not have."""
    zeros = [head[start::4].count(0) for start in range(4)]
    most = max(1, len(head) // 4 * 3 // 4)
    if len(head) < 4 or max(zeros) < most:
        return None
    known = {
        (False, True, True, True): "utf-32-le",
        (True, True, True, False): "utf-32-be",
        (False, True, False, True): "utf-16-le",
        (True, False, True, False): "utf-16-be",
    }
    return known.get((zeros[0] >= most, zeros[1] >= most, zeros[2] >= most, zeros[3] >= most))


def _has_plain_lines(encoding: str) -> bool:
    try:
        return "a\n".encode(encoding) == b"a\n"
    except (UnicodeError, LookupError):
        return False


class _Rest(io.RawIOBase):
    """What has been read of a stream, and the rest of it; closing it leaves the stream open."""

    def __init__(self, head: bytes, stream: IO[bytes]) -> None:
        super().__init__()
        self._head, self._stream = head, stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        content = self._head[: len(buffer)] or self._stream.read(len(buffer))
        self._head = self._head[len(buffer) :]
        buffer[: len(content)] = content
        return len(content)


class _Recoded(io.RawIOBase):
    """A stream in UTF-8, whatever its original encoding."""

    def __init__(self, stream: IO[bytes], name: str, encoding: Encoding, offset: int) -> None:
        super().__init__()
        self._stream, self._name, self._encoding, self._offset = stream, name, encoding, offset
        self._decoder = codecs.getincrementaldecoder(encoding.names[0])()
        self._ready, self._ended = b"", False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready and not self._ended:
            content = self._stream.read(_CHUNK)
            self._ended = not content
            try:
                self._ready = self._decoder.decode(content, final=self._ended).encode("utf-8", "surrogatepass")
            except UnicodeDecodeError as error:
                before = self._offset - (len(error.object) - len(content))
                message = self._encoding.problem(self._name, error.object, before, error)
                raise ValueError(message) from error
            self._offset += len(content)
        given = self._ready[: len(buffer)]
        self._ready = self._ready[len(buffer) :]
        buffer[: len(given)] = given
        return len(given)


def likely_encoding(content: bytes) -> str:
    """Guess the encoding of text that is not UTF-8, from the characters that it would have.

    Examples
    --------
    >>> from sthash.sources.encodings import likely_encoding
    >>> likely_encoding("Привет, мир".encode("koi8_r")), likely_encoding("Schäfer".encode("latin-1"))
    ('koi8_r', 'latin-1')
    """
    sample = content[:HEAD_BYTES]
    for name, (usual, needed) in _GUESSES.items():
        try:
            text = codecs.getincrementaldecoder(name)().decode(sample)  # the end of the sample may be cut
        except UnicodeDecodeError:
            continue
        foreign = [character for character in text if not character.isascii()]
        if len(re.findall(usual, text)) >= 0.8 * len(foreign) and re.search(needed, text):
            return name
    return "cp1252" if any(0x80 <= byte < 0xA0 for byte in sample) else "latin-1"
