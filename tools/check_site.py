"""Check a built site: every internal link leads to a file and to an anchor in it, and nothing is loaded from elsewhere.

``python tools/check_site.py build/site``
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

LOADING = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "srcset")}


class Page(HTMLParser):
    """What a page links to, what it loads, and the anchors that it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = {"", "top"}
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Note what a tag refers to."""
        given = {name: value or "" for name, value in attributes}
        self.anchors.update(given[name] for name in ("id", "name") if name in given)
        if given.get("rel") == "canonical":
            return
        for name in ("href", "src", "srcset"):
            if name in given:
                (self.loads if (tag, name) in LOADING else self.links).append(given[name])


@cache
def read(path: Path) -> Page:
    """Read a page, once."""
    return Page(path.read_text(encoding="utf-8"))


def complaints(folder: Path) -> Iterator[str]:
    """Say what is wrong with the site in a folder."""
    folder = folder.resolve()
    for path in sorted(folder.rglob("*.html")):
        page, name = read(path), path.relative_to(folder).as_posix()
        for address in page.loads:
            if "//" in address and not address.startswith("data:"):
                yield f"{name} loads {address} from another site"
        for address in (*page.links, *page.loads):
            target, anchor = urldefrag(address)
            if ":" in target.partition("/")[0] or target.startswith("//"):
                continue
            place = (path.parent / unquote(target.partition("?")[0])).resolve() if target else path
            if not place.is_file() or not place.is_relative_to(folder):
                yield f"{name} links to {address}, but there is no such file"
            elif place.suffix == ".html" and unquote(anchor) not in read(place).anchors:
                yield f"{name} links to {address}, but that page has no such anchor"


def main(folder: Path) -> None:
    """Print all complaints; fail if there are any."""
    found = list(complaints(folder))
    if found:
        sys.exit("\n".join(found))
    if not any(folder.rglob("*.html")):
        sys.exit(f"{folder} has no pages. Build the site first: make docs")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
