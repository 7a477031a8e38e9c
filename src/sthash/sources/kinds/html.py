"""HTML: what a reader of the page sees, and its title."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import IO, Any

from sthash.sources.encodings import Encoding
from sthash.sources.kinds.reading import Pieces, decoded, record, squeezed, stated, whole

_HIDDEN = {"script", "style", "noscript", "template", "svg", "math", "object", "iframe", "select", "textarea"}
_INLINE = {
    *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins"),
    *("kbd", "label", "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u"),
    *("var", "wbr"),
}
_CHARSET = re.compile(rb"<(?:meta|\?xml)[^>]*?(?:charset|encoding)\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]+)", re.IGNORECASE)
_SPACES = re.compile(r"\s+")


def read_html(stream: IO[bytes], name: str, encoding: Encoding) -> Iterator[dict[str, Any]]:
    """Read a page, in the encoding that it states unless one is given."""
    content = whole(stream, name)
    title, text = html_text(decoded(content, name, stated(content, encoding, _CHARSET)))
    yield record(text, title=title)


def html_text(markup: str) -> tuple[str, str]:
    r"""Return the title of a page, or its first heading, and its text.

    Examples
    --------
    >>> from sthash.sources.kinds.html import html_text
    >>> html_text("<title>Cats</title><script>x()</script><h1>On cats</h1><p>They <b>purr</b>.<p>A&amp;B")
    ('Cats', 'On cats\n\nThey purr.\nA&B')
    """
    page = _Page()
    page.feed(markup)
    page.close()
    title = " ".join("".join(page.title).split())
    heading = " ".join("".join(page.heading).split())
    return title or heading, squeezed(_SPACES.sub(" ", line) for line in page.pieces.lines())


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces = Pieces()
        self.title: list[str] = []
        self.heading: list[str] = []
        self._hidden: str | None = None
        self._into: list[str] | None = None
        self._pre = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._hidden is not None:
            return
        if tag in _HIDDEN:
            self._hidden = tag
        elif tag == "title" and not self.title:
            self._into = self.title
        elif tag == "h1" and not self.heading:
            self._into = self.heading
        if tag not in _INLINE:
            self.pieces.append("\n" if tag not in ("td", "th") else "\t")
        if tag == "pre":
            self._pre = True

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _INLINE and self._hidden is None:
            self.pieces.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if self._hidden is not None:
            self._hidden = None if tag == self._hidden else self._hidden
            return
        if tag in ("title", "h1"):
            self._into = None
        if tag == "pre":
            self._pre = False
        if tag not in _INLINE:
            self.pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if self._hidden is not None:
            return
        if self._into is not None:
            self._into.append(data)
        if self._into is not self.title or self._into is None:
            self.pieces.append(data if self._pre else _SPACES.sub(" ", data))
