"""How a record is written in its source: for those who write it again as it came."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from sthash.sources.encodings import Encoding


class _Lines(Protocol):
    """Lines of text, as far as they tell how the last record is written."""

    name: str
    encoding: Encoding
    parts: Any
    head: bytes
    dialect: tuple[Any, ...]
    offset: int


@dataclass
class Origin:
    r"""How the document that was read last is written in its source; readers that are given one keep it up to date.

    Nothing is copied until it is asked for, so those who do not ask pay nothing.

    Attributes
    ----------
    name, kind : str
        The source, and its format; ``folder`` and ``table`` for those.
    record : dict or None
        The fields of the record; None for a file of a folder.
    lines : object or None
        The lines of a text format with one record after the other: their ``encoding``; for tables, their ``head`` and
        ``dialect``.
    schema, batch, row : Arrow schema, Arrow record batch, int
        Of Parquet.
    n_rows, n_read : int
        Of Parquet: how many rows there are, and how many were read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sthash.sources import Origin, read_documents
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "docs.csv")
    ...     _ = path.write_bytes(b'text;year\r\n"a; b";2010\r\n')
    ...     origin = Origin()
    ...     [(document.text, origin.content) for document in read_documents(path, origin=origin)]
    [('a; b', b'"a; b";2010\r\n')]
    """

    name: str = ""
    kind: str = ""
    record: dict[str, Any] | None = None
    lines: _Lines | None = None
    schema: Any = None
    batch: Any = None
    row: int = 0
    n_rows: int = 0
    n_read: int = 0

    def begin(self, name: str, kind: str) -> None:
        """Note that another source begins."""
        self.name, self.kind = name, kind
        self.record = self.lines = self.schema = self.batch = None
        self.n_rows = self.n_read = 0

    @property
    def content(self) -> bytes:
        """The bytes of the record, its line end included; of UTF-16 and UTF-32, as UTF-8."""
        return b"" if self.lines is None else b"".join(self.lines.parts)
