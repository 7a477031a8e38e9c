"""E-mail: the subject as title, who wrote it and when, and the text; attachments by name only."""

from __future__ import annotations

import email
import email.policy
from collections.abc import Iterator
from email.message import EmailMessage
from typing import IO, Any

from sthash.sources.encodings import Encoding
from sthash.sources.kinds.html import html_text
from sthash.sources.kinds.reading import record, whole
from sthash.sources.records import LARGEST_RECORD, too_large


def read_mail(stream: IO[bytes], name: str, encoding: Encoding) -> Iterator[dict[str, Any]]:
    """Read one message."""
    yield _record(whole(stream, name), name, encoding)


def read_mailbox(stream: IO[bytes], name: str, encoding: Encoding) -> Iterator[dict[str, Any]]:
    """Read a file of messages, each after a line that begins with "From "."""
    lines, size, after_blank, number = list[bytes](), 0, True, 0
    for line in iter(lambda: stream.readline(1 << 20), b""):
        if after_blank and line.startswith(b"From "):
            if lines:
                number += 1
                yield _record(b"".join(lines), f"{name}, message {number}", encoding)
            lines, size = [], 0
        else:
            lines.append(line[1:] if line.startswith(b">From ") else line)
            size += len(line)
            if size > LARGEST_RECORD:
                raise ValueError(too_large(f"{name}, message {number + 1}").reason)
        after_blank = line in (b"\n", b"\r\n")
    if lines:
        yield _record(b"".join(lines), f"{name}, message {number + 1}", encoding)


def _record(content: bytes, name: str, encoding: Encoding) -> dict[str, Any]:
    try:
        message = email.message_from_bytes(content, policy=email.policy.default)
        text = _text(message, encoding)
        about = {field: str(message[field]) if message[field] else None for field in ("From", "To", "Date", "Subject")}
        attached = [part.get_filename() or part.get_content_type() for part in message.iter_attachments()]
    except (LookupError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise ValueError(f"{name} cannot be read as e-mail ({error}). Get the file again.") from error
    if not any(about.values()):
        raise ValueError(f"{name} cannot be read as e-mail: it has no header. Rename it to .txt if it is a text.")
    known = {field.lower(): _clean(value) for field, value in about.items() if field != "Subject"}
    return record(text, title=_clean(about["Subject"]), **known, attachments=list(map(_clean, attached)))


def _text(message: EmailMessage, encoding: Encoding) -> str:
    body = message.get_body(preferencelist=("plain", "html"))
    if body is None:
        return ""
    content = body.get_payload(decode=True)
    if not isinstance(content, bytes):
        return ""
    stated = body.get_content_charset()
    text = None
    for charset in (stated, *encoding.names, "cp1252", "latin-1"):
        try:
            text = content.decode(charset) if charset else None
        except (LookupError, UnicodeError):
            continue
        if text is not None:
            break
    text = (text or "").replace("\r\n", "\n")
    return html_text(text)[1] if body.get_content_type() == "text/html" else text


def _clean(value: str | None) -> str | None:
    """Return a header without the surrogates of bytes that are in no known encoding."""
    return value if value is None else value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
