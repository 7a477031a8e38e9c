"""`read_documents`: files, folders, standard input and tables, one document after the other."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, cast

from sthash.sources.compression import opened
from sthash.sources.documents import Document
from sthash.sources.encodings import Encoding
from sthash.sources.fields import SourceFields
from sthash.sources.folders import folder_files, format_of
from sthash.sources.formats import FORMATS, read_records
from sthash.sources.origin import Origin
from sthash.sources.records import LARGEST_RECORD, BadRecord, OnBad, refuse, too_large, unreadable
from sthash.sources.saved_datasets import saved_files, saved_records
from sthash.sources.vectors import VectorCheck, VectorFile
from sthash.tables import is_table, table_records
from sthash.vectors.metric import Metric

_USUAL_FIELDS = SourceFields()


def read_documents(
    sources: Any,
    fields: SourceFields = _USUAL_FIELDS,
    *,
    encoding: str | None = None,
    format: str | None = None,  # noqa: A002
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    on_bad: OnBad | None = None,
    on_skip: OnBad | None = None,
    vector_file: str | os.PathLike[str] | None = None,
    width: int | None = None,
    metric: Metric = "cosine",
    origin: Origin | None = None,
) -> Iterator[Document]:
    r"""Iterate over the documents of sources; they are read lazily.

    Parameters
    ----------
    sources : path, table, or iterable of them
        A path (str or path object) names a folder or a file; ``"-"`` is standard input. A file holds one document per
        JSON object (``.jsonl``; ``.json``, an array of them), per row (``.csv``, ``.tsv``, ``.parquet``) or per message
        (``.mbox``), or else is one document: text of any kind, ``.md``, ``.html``, ``.ipynb``, ``.eml``, ``.srt``,
        ``.docx``, ``.odt``, ``.pptx``, ``.xlsx``, ``.epub`` or ``.pdf``. It may be compressed (``.gz``, ``.xz``,
        ``.bz2``, ``.zst``). A folder holds one document per file: the path below the folder is the key, the first
        folder of this path is the label, hidden files are skipped, and so are binary files and others that cannot be
        read. The title of a file, the front matter of Markdown and the header of a message become metadata. A folder
        that ``save_to_disk`` of a Hugging Face dataset wrote holds one document per row. A table is such a dataset, a
        pandas or polars DataFrame, or anything with the Arrow stream interface, such as a pyarrow Table.
    fields : SourceFields
        Which fields hold the key, the text and the label.
    encoding : str, optional
        Encoding of text files; several, separated by commas, are tried in turn. Default: UTF-8, or UTF-16 or UTF-32 if
        detected. A byte order mark always decides.
    format : {"lines", "jsonl", "json", "csv", "tsv", "parquet", "txt", "md", "html", …}, optional
        Format of files whatever their names, and of standard input (``jsonl`` by default). ``lines`` is one document
        per line of text.
    include, exclude : list of str
        Patterns such as ``*.md`` or ``drafts``: which files of a folder to read, and which to skip. A pattern
        without a slash is compared with the names of the file and of the folders above it, one with a slash with the
        path below the folder. A star stands for anything, including slashes.
    on_bad : callable, optional
        Called with a `BadRecord` for each record that cannot be read, which is then skipped. By default the first one
        is an error.
    on_skip : callable, optional
        Called with a `BadRecord` for each file of a folder that cannot be read. By default this is ``on_bad``, or else
        one warning for all of them.
    vector_file : path, optional
        A ``.npy`` file of vectors, one row per record of the sources, including skipped ones. For vectors in
        a field of the records see `SourceFields`.
    width, metric : int, str, optional
        Number of values that each vector must have, by default that of the first one; and what vectors are compared by.
        Vectors of zeros are refused only for "cosine", not for "ip".
    origin : Origin, optional
        Tells how the document that was given last is written in its source.

    Notes
    -----
    A line, a record, or a file that is one document has at most 64 MiB. A compressed file, or a Parquet file, expands
    to at most 256 MiB, or to 250 times its size if that is more. A ``.json`` file may hold several arrays.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sthash.sources import SourceFields, read_documents
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "docs.csv")
    ...     _ = path.write_text("id,body,year\na,some text,2010\n")
    ...     list(read_documents(path, SourceFields(text="body")))
    [Document(key='a', text='some text', label=None, metadata={'year': '2010'})]
    """
    if format is not None and format not in FORMATS:
        raise ValueError(f"format={format!r} is not known. Use one of: {', '.join(FORMATS)}.")
    single = isinstance(sources, str | os.PathLike) or is_table(sources)
    file = None if vector_file is None else VectorFile(vector_file)
    check = VectorCheck(width, metric)
    if file is not None:
        fields = replace(fields, text_optional=True)
    reader = _Reader(
        fields,
        Encoding.of(encoding),
        format,
        tuple(include),
        tuple(exclude),
        on_bad or refuse,
        on_skip or on_bad,
        file,
        check,
        origin,
    )
    return reader.read(cast("Iterable[Any]", [sources] if single else sources))


@dataclass(frozen=True)
class _Reader:
    """How to read; the parameters of `read_documents`."""

    fields: SourceFields
    encoding: Encoding
    format: str | None
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    on_bad: OnBad
    on_skip: OnBad | None
    file: VectorFile | None
    check: VectorCheck
    origin: Origin | None

    def read(self, sources: Iterable[Any]) -> Iterator[Document]:
        """Read one source after the other."""
        for source in sources:
            if is_table(source):
                if self.origin is not None:
                    self.origin.begin("the table", "table")
                records = ((f"row {row} of the table", record) for row, record in enumerate(self._table(source)))
                yield from self._documents(records)
            elif isinstance(source, str) and source == "-":
                yield from self._from_stream(sys.stdin.buffer, "standard input", self.format or "jsonl")
            elif (files := saved_files(Path(source))) is not None:
                if self.origin is not None:
                    self.origin.begin(str(source), "table")
                yield from self._documents(saved_records(files, self.fields.vector))
            elif Path(source).is_dir():
                yield from self._from_folder(Path(source))
            else:
                path = Path(source)
                if not path.exists():
                    raise FileNotFoundError(f"{path} does not exist. Name a file or a folder that does.")
                kind = self.format or format_of(path)
                with opened(path) as stream:
                    yield from self._from_stream(stream, str(path), kind)
        if self.file is not None:
            self.file.finish()

    def _table(self, table: Any) -> Iterator[dict[str, Any]]:
        return table_records(table, self.fields.vector)

    def _bad_source(self, bad: BadRecord) -> None:
        """Note a record that cannot be parsed; it also has a row in the file of vectors."""
        if self.file is not None:
            self.file.take()
        self.on_bad(bad)

    def _from_stream(self, stream: IO[bytes], name: str, kind: str) -> Iterator[Document]:
        on_bad = refuse if self.on_bad is refuse else self._bad_source
        records = read_records(stream, name, kind, self.encoding, on_bad, self.fields.vector, self.origin)
        # Closed before the stream that they are read from, even if the rest is not read.
        with closing(records):
            yield from self._documents(self._until_broken(records, name))

    def _until_broken(self, records: Iterator[tuple[str, Any]], name: str) -> Iterator[tuple[str, Any]]:
        """Give the records; where the source itself cannot be read any further, the rest of it is one bad record."""
        while True:
            try:
                found = next(records, None)
            except ValueError as error:
                # It is not known how many vectors belong to the rest.
                if self.on_bad is refuse or self.file is not None:
                    raise
                self.on_bad(BadRecord(f"{name}, the rest of it", str(error)))
                return
            if found is None:
                return
            yield found

    def _documents(self, records: Iterable[tuple[str, dict[str, Any]]]) -> Iterator[Document]:
        for place, record in records:
            beside = None if self.file is None else self.file.take()
            try:
                document = self._with_vector(self.fields.document(record, place), beside, place)
            except ValueError as error:
                if self.on_bad is refuse:
                    raise
                self.on_bad(BadRecord(place, str(error), repr(record)))
                continue
            if len(document.text) > LARGEST_RECORD:
                self.on_bad(too_large(place))
                continue
            if self.origin is not None:
                self.origin.record = record
            if self.file is None or beside is not None:  # without a vector it only counts, for the error in the end
                yield document

    def _with_vector(self, document: Document, beside: Any, place: str) -> Document:
        vector = document.vector if self.file is None else beside
        if vector is None and self.fields.vector is None:
            return document
        named = place if document.key is None else f"{place} (key {document.key!r})"
        return replace(document, vector=self.check(vector, f"the vector of {named}"))

    def _from_folder(self, folder: Path) -> Iterator[Document]:
        if self.origin is not None:
            self.origin.begin(str(folder), "folder")
        matched, skipped = 0, list[BadRecord]()
        skip = self.on_skip or skipped.append
        for file in folder_files(folder, self.include, self.exclude, skip):
            matched += 1
            beside = None if self.file is None else self.file.take()
            if "label" in self.fields.required and file.label is None:
                raise ValueError(f"{file.path} has no label. Put it into a folder that has the name of its label.")
            try:
                documents = [
                    self._with_vector(document, beside, str(file.path)) for document in file.documents(self.encoding)
                ]
            except (ValueError, OSError, ImportError) as error:
                skip(unreadable(file.place, error))
                continue
            if self.file is None or beside is not None:
                yield from documents
        if skipped:
            count = f"{len(skipped):,} {'file' if len(skipped) == 1 else 'files'} of {folder}"
            warnings.warn(
                f"skipped {count}. The first one: {skipped[0].reason} Pass on_skip= to get all of them.",
                SkippedFilesWarning,
                stacklevel=2,
            )
        if self.include and not matched:
            raise ValueError(f"no file in {folder} matches {' or '.join(self.include)}. Change include (--include).")


class SkippedFilesWarning(UserWarning):
    """Some files of a folder could not be read."""
