"""What users pass as documents: one iterator of checked documents, alone or each with its vector."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Unpack

from sthash.sources.documents import Document
from sthash.sources.fields import FieldNames, SourceFields, as_document
from sthash.sources.vectors import VectorCheck, is_vector_file, open_vectors, unequal
from sthash.tables import column_texts, dataset_records, is_column, is_table
from sthash.vectors.metric import Metric

_RECORDS = (str, dict, Document)


def open_documents(documents: Any, **fields: Unpack[FieldNames]) -> Iterator[Document]:
    """Give checked documents, whatever they are passed as.

    Parameters
    ----------
    documents : iterable of str, dict, dataclass, named tuple or Document; path object; table
        A str in an iterable is a text; a dict, a dataclass, a named tuple and a model of pydantic, attrs or msgspec are
        records. A path object, alone or in an iterable, is a file or a folder, and a table is a pandas or polars
        DataFrame, an Arrow table or a Hugging Face dataset; both are read as `read_documents` reads them. A series is a
        column of texts.
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
    if isinstance(documents, Mapping) and documents and all(map(_is_data_set, documents.values())):
        name = next(iter(documents))
        kind = type(documents).__name__
        raise TypeError(f"documents is a {kind} of several tables. Pass one of them, such as documents[{name!r}].")
    if isinstance(documents, str | bytes | Mapping | Document):
        raise TypeError(
            f"documents must be an iterable of documents, got a single {type(documents).__name__}. "
            "Put it into a list, or pass a pathlib.Path to read a file."
        )
    if is_column(documents):
        return (Document(None, text) for text in column_texts(documents))
    single = isinstance(documents, os.PathLike) or is_table(documents)
    return _checked([documents] if single else dataset_records(documents) or documents, fields)


def _is_data_set(value: Any) -> bool:
    return is_table(value) or hasattr(value, "features")  # of Hugging Face


def _checked(documents: Iterable[Any], fields: SourceFields) -> Iterator[Document]:
    position = 0
    for value in documents:
        # Most values are texts and dictionaries, so these are checked first.
        if not isinstance(value, _RECORDS) and (isinstance(value, os.PathLike) or is_table(value)):
            from sthash.sources.reader import read_documents

            for document in read_documents(value, fields):
                yield document
                position += 1
        else:
            yield as_document(value, position, fields)
            position += 1


def with_fields(documents: Any, fields: FieldNames, vectors: Any = None, *, default_text: tuple[str, ...] = ()) -> Any:
    """Return documents whose fields are named; unchanged if none is.

    ``vectors`` is as in `paired`, and ``default_text`` as in `SourceFields`.
    """
    unknown = set(fields) - set(FieldNames.__annotations__)
    if unknown:
        raise TypeError(f"there is no parameter {min(unknown)!r}. The fields of documents are: key, text, label.")
    if documents is None or not (default_text or any(name is not None for name in fields.values())):
        return documents
    return _opened(documents, replace(_fields(vectors, fields), default_text=default_text))


def _fields(vectors: Any, names: FieldNames) -> SourceFields:
    field = vectors if isinstance(vectors, str) and not is_vector_file(vectors) else None
    return SourceFields(**names, vector=field, text_optional=vectors is not None)


def paired(
    documents: Any, vectors: Any, width: int | None = None, metric: Metric | None = "cosine"
) -> Iterator[tuple[Document, Any]]:
    """Give checked documents, each with its checked vector, or with None if there are no vectors.

    Parameters
    ----------
    documents : as in `open_documents`, or None
        None gives every vector a document without text.
    vectors : str, path, array, tensor or iterable of arrays, optional
        A str is the name of a field of the documents, or of a column of a table; one that ends with ``.npy``, or a path
        object, is a NumPy file with one row per document, which is mapped into memory.
    width : int, optional
        Number of values that each vector must have; by default that of the first one.
    metric : {"cosine", "ip"} or None
        What the vectors are compared by, if that is known: vectors of zeros are refused only for cosines.

    Examples
    --------
    >>> from sthash.sources import paired
    >>> [(document.text, vector) for document, vector in paired(["one", "two"], [[0.5], [1.5]])]
    [('one', array([0.5], dtype=float32)), ('two', array([1.5], dtype=float32))]
    """
    check = VectorCheck(width, metric)
    if documents is None:
        rows = () if vectors is None else open_vectors(vectors)
        return ((Document(None), check(vector, f"vector {number}")) for number, vector in enumerate(rows))
    fields = _fields(vectors, {})
    opened = _opened(documents, fields)
    if vectors is None:
        return ((document, None) for document in opened)
    if fields.vector is not None:
        return _with_own(opened, check)
    return _zipped(opened, open_vectors(vectors), check)


def _with_own(documents: Iterator[Document], check: VectorCheck) -> Iterator[tuple[Document, Any]]:
    for position, document in enumerate(documents):
        yield document, check(document.vector, f"the vector of {_named(position, document)}")


def _zipped(
    documents: Iterator[Document], vectors: Iterable[Any], check: VectorCheck
) -> Iterator[tuple[Document, Any]]:
    rows, nothing, count = iter(vectors), object(), 0
    for document in documents:
        vector = next(rows, nothing)
        if vector is nothing:
            raise unequal(count + 1 + sum(1 for _ in documents), count)
        yield document, check(vector, f"the vector of {_named(count, document)}")
        count += 1
    if left := sum(1 for _ in rows):
        raise unequal(count, count + left)


def _named(position: int, document: Document) -> str:
    return f"document {position}" if document.key is None else f"document {position} (key {document.key!r})"
