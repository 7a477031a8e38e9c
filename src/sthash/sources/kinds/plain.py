"""Plain text: notes, source code, logs; and subtitles, without their times."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import IO, Any

from sthash.sources.encodings import Encoding
from sthash.sources.kinds.reading import decoded, record, squeezed, stated, whole

# In the declaration of XML, or in one of the first two lines: of Python, Emacs and Vim.
_CODING = re.compile(
    rb"\A(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*?\bencoding\s*=\s*[\"']|(?:[^\n]*\n)?[^\n]*?coding[:=]\s*)([A-Za-z0-9_.-]+)"
)
_CUE = re.compile(r"\s*(\d+:)?\d+:\d+[.,]\d+ *-->")
_TAG = re.compile(r"</?[a-z][^<>]*>|\{\\[^{}]*\}", re.IGNORECASE)


def read_text(stream: IO[bytes], name: str, encoding: Encoding) -> Iterator[dict[str, Any]]:
    """Read a file as it is, in the encoding that it states, as XML and source code do, unless one is given."""
    remedy = "name it as a source of its own, with one document per line: format='lines' (--lines)"
    content = whole(stream, name, remedy)
    yield record(decoded(content, name, stated(content, encoding, _CODING)))


def read_subtitles(stream: IO[bytes], name: str, encoding: Encoding) -> Iterator[dict[str, Any]]:
    """Read what is said in subtitles (SubRip, WebVTT)."""
    lines = decoded(whole(stream, name), name, encoding).splitlines()
    yield record(squeezed(iter(_said(lines))))


def _said(lines: list[str]) -> Iterator[str]:
    """Give the lines of the cues: those after a line of times, up to an empty one."""
    inside = False
    for line in lines:
        if _CUE.match(line):
            inside = True
        elif not line.strip():
            inside = False
        elif inside:
            yield _TAG.sub("", line)
