"""Files that hold one document, or a few: from their bytes to texts, with a title and other metadata.

A reader takes the stream, the name of the file (for messages) and the encoding, and gives records: ``text``, and
``metadata`` with what else the file says. What cannot be read is a ValueError.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import IO, Any

from sthash.sources.encodings import Encoding
from sthash.sources.kinds.reading import KindReader


def _reader(module: str, function: str) -> KindReader:
    """Return a reader whose module is imported when there is a file for it; some take longer than a search."""

    def read(stream: IO[bytes], name: str, encoding: Encoding) -> Iterator[dict[str, Any]]:
        reader: KindReader = getattr(importlib.import_module(f"{__name__}.{module}"), function)
        return reader(stream, name, encoding)

    return read


KINDS: dict[str, KindReader] = {
    "txt": _reader("plain", "read_text"),
    "md": _reader("markdown", "read_markdown"),
    "html": _reader("html", "read_html"),
    "ipynb": _reader("notebook", "read_notebook"),
    "eml": _reader("mail", "read_mail"),
    "mbox": _reader("mail", "read_mailbox"),
    "srt": _reader("plain", "read_subtitles"),
    "docx": _reader("archives", "read_docx"),
    "odt": _reader("archives", "read_odt"),
    "pptx": _reader("archives", "read_pptx"),
    "xlsx": _reader("archives", "read_xlsx"),
    "epub": _reader("archives", "read_epub"),
    "pdf": _reader("pdf", "read_pdf"),
}
