"""Where documents come from: files, folders, standard input, and Python objects."""

from __future__ import annotations

from sthash.sources.documents import Document, as_document

__all__ = ["Document", "as_document"]
