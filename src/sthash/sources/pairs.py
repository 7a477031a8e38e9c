"""What users pass as documents: one iterator of checked documents, alone or each with its vector."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sthash.sources.documents import Document, as_document
from sthash.sources.tables import is_table


def open_documents(documents: Any) -> Iterator[Document]:
    """Give checked documents, whatever they are passed as.

    Parameters
    ----------
    documents : iterable of str, dict or Document; path object; table
        A str in an iterable is a text. A path object, alone or in an iterable, is a file or a folder, and a table is a
        pandas DataFrame or an Arrow table; both are read as `read_documents` reads them, with the usual fields.

    Examples
    --------
    >>> from sthash.sources import open_documents
    >>> [document.text for document in open_documents(["one", {"text": "two"}])]
    ['one', 'two']
    """
    if isinstance(documents, str | bytes | Mapping | Document):
        raise TypeError(
            f"documents must be an iterable of documents, got a single {type(documents).__name__}. "
            "Put it into a list, or pass a pathlib.Path to read a file."
        )
    single = isinstance(documents, os.PathLike) or is_table(documents)
    return _checked([documents] if single else documents)


def _checked(documents: Iterable[Any]) -> Iterator[Document]:
    position = 0
    for value in documents:
        # Most values are texts and dictionaries, so these are told first.
        if not isinstance(value, str | dict | Document) and (isinstance(value, os.PathLike) or is_table(value)):
            from sthash.sources.reader import read_documents

            for document in read_documents(value):
                yield document
                position += 1
        else:
            yield as_document(value, position)
            position += 1


def paired(documents: Any, vectors: Iterable[Any] | None) -> Iterator[tuple[Document, Any]]:
    """Give checked documents, each with its vector, or with None if there are no vectors.

    Parameters
    ----------
    documents : as in `open_documents`, or None
        None gives every vector a document without text.
    vectors : iterable of arrays, optional

    Examples
    --------
    >>> from sthash.sources import paired
    >>> [(document.text, vector) for document, vector in paired(["one", "two"], [[0.5], [1.5]])]
    [('one', [0.5]), ('two', [1.5])]
    """
    if documents is None:
        return ((Document(None), vector) for vector in (() if vectors is None else vectors))
    checked = open_documents(documents)
    if vectors is None:
        return ((document, None) for document in checked)
    return _zipped(checked, vectors)


def _zipped(documents: Iterator[Document], vectors: Iterable[Any]) -> Iterator[tuple[Document, Any]]:
    nothing: Any = object()
    pairs = itertools.zip_longest(documents, vectors, fillvalue=nothing)
    for position, (document, vector) in enumerate(pairs):
        if document is nothing or vector is nothing:
            raise ValueError(
                f"documents and vectors are not equally many: one of them ends after {position}. "
                "Pass one vector per document."
            )
        yield document, vector
