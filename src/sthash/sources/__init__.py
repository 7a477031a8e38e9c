"""Where documents come from: files, folders, standard input, tables in memory, and Python objects.

Every part of the package reads documents here, so all of them know the same formats and follow the same rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sthash.lazy import lazy_names
from sthash.sources.documents import Document, as_document
from sthash.sources.pairs import open_documents, paired

if TYPE_CHECKING:
    from sthash.sources.fields import SourceFields
    from sthash.sources.formats import FORMATS
    from sthash.sources.reader import read_documents

__all__ = ["FORMATS", "Document", "SourceFields", "as_document", "open_documents", "paired", "read_documents"]

# A program that reads no files does not pay for the modules that do.
__getattr__ = lazy_names(
    __name__,
    {
        "FORMATS": "sthash.sources.formats",
        "SourceFields": "sthash.sources.fields",
        "read_documents": "sthash.sources.reader",
    },
)
