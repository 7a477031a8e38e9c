"""What the readers of single files share: whole files, bounded, and their text."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Callable, Iterator
from typing import IO, Any

from sthash.sources.encodings import Encoding, plain_stream
from sthash.sources.records import LARGEST_RECORD, too_large

KindReader = Callable[[IO[bytes], str, Encoding], Iterator[dict[str, Any]]]

_HEAD_BYTES = 8192
# Of the bytes of a text: tabs, line ends, form feeds, backspaces and escapes are the control characters that logs have.
_CONTROLS = bytes(set(range(32)) - {8, 9, 10, 12, 13, 27}) + b"\x7f"
_MOST_CONTROLS = 0.02
# Where the encoding is stated, if anywhere.
_STATED_WITHIN = 2048
# Strings that are joined to one, which takes less memory.
_PIECES = 1 << 16


def whole(stream: IO[bytes], name: str, remedy: str = "check the format of the source") -> bytes:
    """Read a file that is one document; ``remedy`` says what else can be done if it is too large."""
    content = stream.read(LARGEST_RECORD + 1)
    if len(content) > LARGEST_RECORD:
        raise ValueError(too_large(name, remedy).reason)
    return content


def decoded(content: bytes, name: str, encoding: Encoding) -> str:
    """Return the text of a file; bytes that are no text are an error."""
    stream, found = plain_stream(io.BytesIO(content), name, encoding)
    plain = stream.read()
    if plain.startswith(b"SQLite format 3\0") and name.endswith(".sth"):
        raise ValueError(f"{name} is a collection, not a source. Write its documents out first: sth export {name}")
    if is_binary(plain):
        raise ValueError(f"{name} is binary, not text. Convert it to text, or name it in exclude (--exclude).")
    try:
        return found.decode(plain)
    except UnicodeDecodeError as error:
        raise ValueError(found.problem(name, plain, 0, error)) from error


def stated(content: bytes, encoding: Encoding, pattern: re.Pattern[bytes]) -> Encoding:
    """Return the encoding that a file states itself, by a pattern for its name; the given one where that decides.

    Files often state another encoding than UTF-8 though they are UTF-8, so that is tried first.
    """
    head = content[:_STATED_WITHIN]
    found = pattern.search(head) if encoding.detect else None
    if found is None or b"\0" in head:
        return encoding
    try:
        name = codecs.lookup(found[1].decode()).name
        # Not all codecs are of text; and what states an encoding in ASCII is not in another one, such as UTF-16.
        is_possible = b"text".decode(name) == "text"
    except (LookupError, ValueError):
        return encoding
    if not is_possible:
        return encoding
    # Browsers read Latin-1 as Windows-1252.
    return Encoding(("utf-8", {"iso8859-1": "cp1252", "ascii": "cp1252"}.get(name, name)), detect=True)


def is_binary(content: bytes) -> bool:
    r"""Whether bytes are no text in any encoding: text has no zero bytes, and hardly any control characters.

    Examples
    --------
    >>> from sthash.sources.kinds.reading import is_binary
    >>> is_binary(b"caf\xe9 au lait"), is_binary(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")
    (False, True)
    """
    head = content[:_HEAD_BYTES]
    controls = len(head) - len(head.translate(None, _CONTROLS))
    return b"\0" in head or controls > _MOST_CONTROLS * len(head)


class TextTooLongError(ValueError):
    """A text has more characters than a document may have; the message is for after the name of the file."""


class Pieces:
    """Many short strings that become one text, in the memory of the text."""

    def __init__(self) -> None:
        self._blocks: list[str] = []
        self._last: list[str] = []
        self._size = 0

    def append(self, piece: str) -> None:
        """Put a string to the end; `TextTooLongError` if there is too much by now."""
        self._size += len(piece)
        refuse_too_many(self._size)
        self._last.append(piece)
        if len(self._last) == _PIECES:
            self._blocks.append("".join(self._last))
            self._last.clear()

    def __str__(self) -> str:
        return "".join([*self._blocks, *self._last])

    def lines(self) -> Iterator[str]:
        """Give the lines of the text, one after the other."""
        text, start = str(self), 0
        while (end := text.find("\n", start)) >= 0:
            yield text[start:end]
            start = end + 1
        yield text[start:]


def refuse_too_many(characters: int) -> None:
    """Raise `TextTooLongError` for a text of more characters than a document may have."""
    if characters > LARGEST_RECORD:
        raise TextTooLongError(f"it has more than {LARGEST_RECORD:,} characters")


def squeezed(pieces: Iterator[str]) -> str:
    """Join lines: spaces at their ends go, and more than one empty line becomes one."""
    text, empty = Pieces(), True
    for piece in pieces:
        line = piece.strip()
        if line or not empty:
            text.append(f"{line}\n")
        empty = not line
    return str(text).strip()


def record(text: str, **about: Any) -> dict[str, Any]:
    """Make a record of a text and what is known about it; what is empty is left out."""
    known = {name: value for name, value in about.items() if value not in (None, "", [])}
    return {"text": text, "metadata": known}
