"""Markdown: the text as it is, and the front matter as metadata."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import IO, Any

from sthash.sources.encodings import Encoding
from sthash.sources.kinds.reading import decoded, record, whole

_FRONT = re.compile(r"\A---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*\r?(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"([A-Za-z_][\w .-]*):(?:[ \t]+(.*))?$")
_HEADING = re.compile(r"^#[ \t]+(.+?)[ \t]*#*[ \t]*\r?$", re.MULTILINE)


def read_markdown(stream: IO[bytes], name: str, encoding: Encoding) -> Iterator[dict[str, Any]]:
    """Read a Markdown file; its title is that of the front matter, or the first heading."""
    text = decoded(whole(stream, name), name, encoding)
    front = _FRONT.match(text)
    about = {} if front is None else front_matter(front.group(1))
    body = text if front is None else text[front.end() :].lstrip("\r\n")
    yield record(body, **({"title": first_heading(body)} | about))


def first_heading(text: str) -> str | None:
    """Return the first heading of the first level."""
    heading = _HEADING.search(text)
    return heading.group(1) if heading is not None else None


def front_matter(text: str) -> dict[str, Any]:
    r"""Read the part of YAML that front matter uses: fields with strings, numbers, switches and lists of them.

    Examples
    --------
    >>> from sthash.sources.kinds.markdown import front_matter
    >>> front_matter("title: 'A day: out'\ntags: [sea, 2020]\nauthors:\n  - Ann\n  - Bo\ndraft: true")
    {'title': 'A day: out', 'tags': ['sea', 2020], 'authors': ['Ann', 'Bo'], 'draft': True}
    """
    fields: dict[str, Any] = {}
    name = None
    for line in text.splitlines():
        found = _FIELD.match(line)
        item = line.strip()
        if found is not None:
            name = found.group(1).strip()
            fields[name] = _value(found.group(2) or "")
        elif name is not None and item.startswith("- "):
            fields[name] = [*(fields[name] if isinstance(fields[name], list) else []), _value(item[2:])]
        elif name is not None and item and isinstance(fields[name], str):
            before = "" if fields[name] in ("|", ">", "|-", ">-") else fields[name]
            fields[name] = f"{before} {item}".strip()
    return fields


def _value(written: str) -> Any:
    text = written.strip()
    if text.startswith("[") and text.endswith("]"):
        return [_value(each) for each in text[1:-1].split(",") if each.strip()]
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    if text.lower() in ("true", "false", "null", "~"):
        return {"true": True, "false": False}.get(text.lower())
    try:
        number = json.loads(text)
    except ValueError:
        return text
    return number if isinstance(number, int | float) and abs(number) < 1e300 else text
