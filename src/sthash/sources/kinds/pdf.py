"""PDF, through pypdf."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from typing import IO, Any

from sthash.extras import install_command
from sthash.sources.encodings import Encoding
from sthash.sources.kinds.reading import record, squeezed, whole


def read_pdf(stream: IO[bytes], name: str, _: Encoding) -> Iterator[dict[str, Any]]:
    """Read the text of all pages, and the title that the file states."""
    try:
        import pypdf
    except ImportError as error:
        raise ImportError(f"{name}: PDF needs pypdf. Install it: {install_command('files')}.") from error
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it logs each oddity of each file
    content = whole(stream, name)
    try:
        reader = pypdf.PdfReader(io.BytesIO(content))
        locked = reader.is_encrypted and not reader.decrypt("")
        pages = [] if locked else [page.extract_text() for page in reader.pages]
        title = None if locked or reader.metadata is None else reader.metadata.title
        text = squeezed(line for page in pages for line in page.split("\n"))
    except (MemoryError, KeyboardInterrupt):
        raise
    except Exception as error:  # a broken file can raise anything in there
        raise ValueError(f"{name} cannot be read as PDF ({error or type(error).__name__}). Get it again.") from error
    if locked:
        raise ValueError(f"{name} has a password. Save it without one.")
    if not text:
        raise ValueError(f"{name} has no text, only pictures. Run it through a program for text recognition (OCR).")
    yield record(text, title=str(title).strip() if title else None)
