"""Hits and collections for people: as HTML in notebooks, as data frames, and with words in place of stems.

Everything that comes from documents is escaped, because a notebook runs what is in its cells.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from sthash.collection.search.conditions import PREFIX
from sthash.collection.search.hit import Hit

MOST_CHARACTERS = 200
_WORDS = re.compile(r"\w+")
_COLUMNS = ("score", "distance", "key", "label", "matched", "text")
_NUMBERS = ("score", "distance")


def matched_words(hit: Hit) -> tuple[str, ...]:
    """Return the words of a hit's text that its terms are the stems of; a term stays where its word is not found.

    Examples
    --------
    >>> from sthash.collection import Hit, matched_words
    >>> matched_words(Hit("a", "Happiness of the cats", None, {}, 0, 1.0, ("happi", "cat", "猫")))
    ('happiness', 'cats', '猫')
    """
    if not hit.terms:
        return ()
    words = sorted({word.lower() for word in _WORDS.findall(hit.text)}, key=lambda word: (len(word), word))
    return tuple(_word_of(term, words) for term in hit.terms)


def _word_of(term: str, words: list[str]) -> str:
    # A stem is the beginning of its word, but for a y at its end: "happi" is "happy".
    beginnings = (term, f"{term[:-1]}y") if term.endswith("i") else (term,)
    return next((word for start in beginnings for word in words if word.startswith(start)), term)


def title_of(hit: Hit) -> str | None:
    """Return the title of a hit: the field ``title`` of its metadata, if it is a text.

    Examples
    --------
    >>> from sthash.collection import Hit, title_of
    >>> title_of(Hit("a", "Once upon a time", None, {"title": "A tale"}, 1.0))
    'A tale'
    """
    title = hit.metadata.get("title")
    return title.strip() or None if isinstance(title, str) else None


def hits_html(hits: Sequence[Hit], words: Mapping[str, Sequence[str]] | None = None) -> str:
    """Return hits as an HTML table, preceded by notes on the words of the query.

    Examples
    --------
    >>> from sthash.collection import Hit, hits_html
    >>> "&lt;b&gt;" in hits_html([Hit("a", "<b>", None, {}, 0, 1.0)])
    True
    """
    named = {name: escape(_shown(", ".join(some))) for name, some in (words or {}).items() if some}
    above = "".join(f"<p>{name}: {said}</p>" for name, said in named.items())
    if not hits:
        return f"{above}<p>nothing found</p>"
    return above + _table(_COLUMNS, [_row(hit) for hit in hits])


def _row(hit: Hit) -> tuple[str, ...]:
    if hit.snippet is not None:
        text = hit.snippet.text
    else:
        text = hit.text[:MOST_CHARACTERS] + ("…" if len(hit.text) > MOST_CHARACTERS else "")
    words = ", ".join(matched_words(hit))
    return (
        f"{hit.score:.3f}",
        "" if hit.distance is None else str(hit.distance),
        hit.key,
        "" if hit.label is None else hit.label,
        words,
        text,
    )


def facts_html(facts: Mapping[str, Any]) -> str:
    """Return what `Collection.info` gives as a table in HTML."""
    rows = [(name.replace("_", " "), f"{fact:,}" if type(fact) is int else str(fact)) for name, fact in facts.items()]
    return _table((), rows)


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "".join(f"<tr>{''.join(map(_cell, row, headings or row))}</tr>" for row in rows)
    return f"<table>{f'<thead><tr>{head}</tr></thead>' if head else ''}<tbody>{body}</tbody></table>"


def _cell(value: str, heading: str) -> str:
    side = "right" if heading in _NUMBERS else "left"
    return f'<td style="text-align: {side}">{escape(_shown(value))}</td>'


def _shown(text: str) -> str:
    """Return a text without lone surrogates, which no page can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def hits_frame(hits: Sequence[Hit]) -> Any:
    """Return hits as a pandas DataFrame: a row per hit, a column per field, and one per field of the metadata.

    A field of the metadata whose name is taken is called ``metadata.NAME``, as in ``where``.

    Examples
    --------
    >>> from sthash.collection import Hit, hits_frame
    >>> hits_frame([Hit("a", "some text", None, {"year": 2010, "key": 7}, 0, 1.0)]).columns.tolist()
    ['key', 'score', 'distance', 'label', 'terms', 'text', 'year', 'metadata.key']
    """
    try:
        from pandas import DataFrame
    except ImportError as error:
        raise ImportError(f"a DataFrame needs pandas ({error}). Install it: pip install pandas.") from error
    own = ("key", "score", "distance", "label", "terms", "text")
    columns: dict[str, list[Any]] = {name: [getattr(hit, name) for hit in hits] for name in own}
    for name in dict.fromkeys(name for hit in hits for name in hit.metadata):
        spelled = f"{PREFIX}{name}" if name in own or name.startswith(PREFIX) else name
        columns[spelled] = [hit.metadata.get(name) for hit in hits]
    return DataFrame(columns)
