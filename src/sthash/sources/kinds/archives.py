"""Office documents and e-books: archives of XML files, read part by part and bounded in what they expand to."""

from __future__ import annotations

import io
import posixpath
import re
import urllib.parse
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any
from xml.parsers import expat

from sthash.sources.compression import expands_too_far, most_bytes
from sthash.sources.encodings import Encoding
from sthash.sources.kinds.html import html_text
from sthash.sources.kinds.reading import Pieces, TextTooLongError, record, refuse_too_many, squeezed, whole

_NUMBER = re.compile(r"\d+")
_CHUNK = 1 << 16
# What a string takes beside its characters, counted in these.
_PER_STRING = 16


class _Archive:
    """The files in an archive; together they may expand as far as any other compressed file."""

    def __init__(self, content: bytes, name: str) -> None:
        self._zip = zipfile.ZipFile(io.BytesIO(content))
        self._name, self._most, self._read = name, most_bytes(len(content)), 0

    def names(self, pattern: str) -> list[str]:
        """Return the names that match, by the numbers in them."""
        found = [name for name in self._zip.namelist() if re.fullmatch(pattern, name)]
        return sorted(found, key=lambda name: ([int(number) for number in _NUMBER.findall(name)], name))

    def read(self, part: str) -> bytes:
        return b"".join(self._chunks(part))

    def _chunks(self, part: str) -> Iterator[bytes]:
        with self._zip.open(part) as file:
            while chunk := file.read(_CHUNK):
                self._read += len(chunk)
                if self._read > self._most:
                    raise expands_too_far(self._name, self._most, "save it as text")
                yield chunk

    def parse(self, part: str, start: _Start, end: _End, text: _Text) -> None:
        """Call functions with the elements of an XML file, by their names without namespaces, and with its text."""
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.EntityDeclHandler = _refuse_entity  # entities can expand without end
        parser.StartElementHandler = lambda name, attributes: start(
            name.rpartition(" ")[2], {key.rpartition(" ")[2]: value for key, value in attributes.items()}
        )
        parser.EndElementHandler = lambda name: end(name.rpartition(" ")[2])
        parser.CharacterDataHandler = text
        for chunk in self._chunks(part):
            parser.Parse(chunk, False)
        parser.Parse(b"", True)


_Start = Callable[[str, dict[str, str]], None]
_End = Callable[[str], None]
_Text = Callable[[str], None]


def _refuse_entity(*_: object) -> None:
    raise RuntimeError("it declares entities, which office programs do not write")


@contextmanager
def _archive(stream: IO[bytes], name: str, kind: str) -> Iterator[_Archive]:
    content = whole(stream, name)
    problem: Exception
    try:
        yield _Archive(content, name)
        return
    except (zipfile.BadZipFile, zlib.error, expat.ExpatError, EOFError, NotImplementedError, OverflowError) as error:
        problem = error
    except (
        KeyError,
        RuntimeError,
        UnicodeDecodeError,
        TextTooLongError,
    ) as error:  # a missing part; an encrypted one, or what is refused
        problem = error
    raise ValueError(f"{name} cannot be read as .{kind} ({problem}). Open and save it again.") from problem


class _Paragraphs:
    """Collects text, one line per paragraph.

    Parameters
    ----------
    ends : set of str
        Elements that end a line.
    inside : set of str
        Elements whose text counts.
    """

    def __init__(self, ends: set[str], inside: set[str]) -> None:
        self._ends, self._inside, self._depth = ends, inside, 0
        self.pieces = Pieces()

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name in self._inside:
            self._depth += 1
        elif name in ("tab", "s"):
            self.pieces.append(" ")
        elif name in ("br", "cr", "line-break"):
            self.pieces.append("\n")

    def end(self, name: str) -> None:
        if name in self._inside:
            self._depth -= 1
        if name in self._ends:
            self.pieces.append("\n")

    def text(self, text: str) -> None:
        if self._depth:
            self.pieces.append(text)

    def all(self) -> str:
        return squeezed(self.pieces.lines())


def _paragraphs(archive: _Archive, parts: list[str], ends: set[str], inside: set[str]) -> str:
    found = _Paragraphs(ends, inside)
    for part in parts:
        archive.parse(part, found.start, found.end, found.text)
    return found.all()


def _title(archive: _Archive, part: str) -> str | None:
    """Return the title that a file of properties states."""
    if not archive.names(re.escape(part)):
        return None
    return _paragraphs(archive, [part], {"title"}, {"title"}).partition("\n")[0]


def read_docx(stream: IO[bytes], name: str, _: Encoding) -> Iterator[dict[str, Any]]:
    """Read a document of Word, with its notes."""
    with _archive(stream, name, "docx") as archive:
        parts = ["word/document.xml", *archive.names(r"word/(footnotes|endnotes)\.xml")]
        text = _paragraphs(archive, parts, {"p"}, {"t"})
        title = _title(archive, "docProps/core.xml")
    yield record(text, title=title)


def read_pptx(stream: IO[bytes], name: str, _: Encoding) -> Iterator[dict[str, Any]]:
    """Read the slides of a presentation, and the notes on them."""
    with _archive(stream, name, "pptx") as archive:
        parts = archive.names(r"ppt/slides/slide\d+\.xml") + archive.names(r"ppt/notesSlides/notesSlide\d+\.xml")
        text = _paragraphs(archive, parts, {"p"}, {"t"})
        title = _title(archive, "docProps/core.xml")
    yield record(text, title=title)


def read_odt(stream: IO[bytes], name: str, _: Encoding) -> Iterator[dict[str, Any]]:
    """Read an OpenDocument text."""
    with _archive(stream, name, "odt") as archive:
        text = _paragraphs(archive, ["content.xml"], {"p", "h"}, {"p", "h"})
        title = _title(archive, "meta.xml")
    yield record(text, title=title)


def read_xlsx(stream: IO[bytes], name: str, _: Encoding) -> Iterator[dict[str, Any]]:
    """Read the cells of a workbook, one line per row."""
    with _archive(stream, name, "xlsx") as archive:
        shared: list[str] = []
        if archive.names(r"xl/sharedStrings\.xml"):
            strings = _Strings()
            archive.parse("xl/sharedStrings.xml", strings.start, strings.end, strings.text)
            shared = strings.values
        cells = Pieces()
        for part in archive.names(r"xl/worksheets/sheet\d+\.xml"):
            sheet = _Sheet(shared, cells)
            archive.parse(part, sheet.start, sheet.end, sheet.text)
            cells.append("\n")
        title = _title(archive, "docProps/core.xml")
    yield record(squeezed(cells.lines()), title=title)


class _Strings:
    """The strings that the cells of a workbook share."""

    def __init__(self) -> None:
        self.values: list[str] = []
        self._pieces: list[str] = []
        self._inside, self._size = False, 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._inside = name == "t"

    def end(self, name: str) -> None:
        self._inside = False
        if name == "si":
            self.values.append(" ".join("".join(self._pieces).split()))
            self._pieces = []
            self._size += len(self.values[-1]) + _PER_STRING
            refuse_too_many(self._size)

    def text(self, text: str) -> None:
        if self._inside:
            self._pieces.append(text)


class _Sheet:
    """The rows of a sheet, cells separated by tabs, with a line end after each."""

    def __init__(self, shared: list[str], cells: Pieces) -> None:
        self._shared = shared
        self._cells = cells
        self._pieces: list[str] = []
        self._kind, self._inside, self._before = "", False, ""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "c":
            self._kind, self._pieces = attributes.get("t", ""), []
        self._inside = name in ("v", "t")

    def end(self, name: str) -> None:
        self._inside = False
        if name == "c":
            value = "".join(self._pieces)
            if self._kind == "s" and value.isascii() and value.isdigit() and int(value) < len(self._shared):
                value = self._shared[int(value)]
            if value.strip():
                self._cells.append(self._before + " ".join(value.split()))
                self._before = "\t"
        elif name == "row" and self._before:
            self._cells.append("\n")
            self._before = ""

    def text(self, text: str) -> None:
        if self._inside:
            self._pieces.append(text)


def read_epub(stream: IO[bytes], name: str, _: Encoding) -> Iterator[dict[str, Any]]:
    """Read the chapters of a book, in their order."""
    with _archive(stream, name, "epub") as archive:
        package: list[str] = []
        archive.parse(
            "META-INF/container.xml",
            lambda element, attributes: package.append(attributes["full-path"]) if element == "rootfile" else None,
            lambda _: None,
            lambda _: None,
        )
        if not package:
            raise KeyError("the list of its parts is missing")
        items: dict[str, str] = {}
        spine: list[str] = []

        def start(element: str, attributes: dict[str, str]) -> None:
            if element == "item" and "html" in attributes.get("media-type", ""):
                items[attributes.get("id", "")] = attributes.get("href", "")
            elif element == "itemref":
                spine.append(attributes.get("idref", ""))

        archive.parse(package[0], start, lambda _: None, lambda _: None)
        folder = posixpath.dirname(package[0])
        parts = [
            posixpath.normpath(posixpath.join(folder, urllib.parse.unquote(items[i]))) for i in spine if i in items
        ]
        chapters = [html_text(archive.read(part).decode("utf-8", "replace"))[1] for part in parts]
        title = _title(archive, package[0])
    yield record("\n\n".join(chapters), title=title)
