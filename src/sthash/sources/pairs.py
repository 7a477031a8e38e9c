"""What users pass as documents: one iterator of checked documents, alone or each with its vector."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Unpack

from sthash.sources.documents import Document
from sthash.sources.fields import FieldNames, SourceFields, as_document
from sthash.tables import column_texts, is_column, is_table


def open_documents(documents: Any, **fields: Unpack[FieldNames]) -> Iterator[Document]:
    """Give checked documents, whatever they are passed as.

    Parameters
    ----------
    documents : iterable of str, dict or Document; path object; table
        A str in an iterable is a text, and a dict is a record. A path object, alone or in an iterable, is a file or a
        folder, and a table is a pandas or polars DataFrame or an Arrow table; both are read as `read_documents` reads
        them. A series is a column of texts.
    key, text, label : str, optional
        Which field of a record, or column of a table, holds what; see `SourceFields`.

    Examples
    --------
    >>> from sthash.sources import open_documents
    >>> [document.text for document in open_documents(["one", {"text": "two"}])]
    ['one', 'two']
    """
    return _opened(documents, SourceFields(**fields))


def _opened(documents: Any, fields: SourceFields) -> Iterator[Document]:
    if isinstance(documents, str | bytes | Mapping | Document):
        raise TypeError(
            f"documents must be an iterable of documents, got a single {type(documents).__name__}. "
            "Put it into a list, or pass a pathlib.Path to read a file."
        )
    if is_column(documents):
        return (Document(None, text) for text in column_texts(documents))
    single = isinstance(documents, os.PathLike) or is_table(documents)
    return _checked([documents] if single else documents, fields)


def _checked(documents: Iterable[Any], fields: SourceFields) -> Iterator[Document]:
    position = 0
    for value in documents:
        # Most values are texts and dictionaries, so these are told first.
        if not isinstance(value, str | dict | Document) and (isinstance(value, os.PathLike) or is_table(value)):
            from sthash.sources.reader import read_documents

            for document in read_documents(value, fields):
                yield document
                position += 1
        else:
            yield as_document(value, position, fields)
            position += 1


def with_fields(documents: Any, fields: FieldNames) -> Any:
    """Return documents whose fields are named; as they are if no field is."""
    unknown = set(fields) - set(FieldNames.__annotations__)
    if unknown:
        raise TypeError(f"there is no parameter {min(unknown)!r}. The fields of documents are: key, text, label.")
    if documents is None or not any(name is not None for name in fields.values()):
        return documents
    return open_documents(documents, **fields)


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
    checked = _opened(documents, SourceFields(text_optional=vectors is not None))
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
