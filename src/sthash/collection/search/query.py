"""What people type: words, "phrases in quotes", ``+word`` (must be there) and ``-word`` (must not)."""

from __future__ import annotations

from dataclasses import dataclass

SIGNS = "+-"
QUOTE = '"'
# A longer text, or one of several lines, is a document and no typed query: its signs and quotes mean nothing.
TYPED_CHARACTERS = 1000


@dataclass(frozen=True)
class ParsedQuery:
    """A query in its parts.

    Attributes
    ----------
    text : str
        Everything that a document is ranked by: all words but the excluded ones.
    required, excluded : tuple of str
        Words that a document must have, or must not have.
    phrases, excluded_phrases : tuple of str
        The same for phrases.
    """

    text: str
    required: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    excluded_phrases: tuple[str, ...] = ()

    @property
    def plain(self) -> bool:
        """Whether there are only words."""
        return not (self.required or self.excluded or self.phrases or self.excluded_phrases)


def parse_query(text: str) -> ParsedQuery:
    """Return the parts of a query; ValueError if a quote is not closed, or if there are only excluded words.

    A sign counts at the start of a word only: ``x-ray`` and ``C++`` are plain words. So does a quote.

    Examples
    --------
    >>> from sthash.collection.search.query import parse_query
    >>> parse_query('+cat "likes fish" -dog')
    ParsedQuery(text='cat likes fish', required=('cat',), excluded=('dog',), phrases=('likes fish',), \
excluded_phrases=())
    """
    if not has_signs(text) or len(text) > TYPED_CHARACTERS or "\n" in text.strip():
        return ParsedQuery(text)
    wanted = list[str]()
    words: dict[str, list[str]] = {"": [], "+": [], "-": []}
    phrases: dict[str, list[str]] = {"": [], "+": [], "-": []}
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        sign = text[at] if text[at] in SIGNS and _begins(text, at + 1) else ""
        at += len(sign)
        if text[at] == QUOTE:
            end = text.find(QUOTE, at + 1)
            if end < 0:
                raise ValueError("The query has a quotation mark that is not closed. Close it, or leave it out.")
            part, found, at = text[at + 1 : end], phrases, end + 1
        else:
            end = next((place for place in range(at, len(text)) if text[place].isspace()), len(text))
            part, found, at = text[at:end], words, end
        if not part.strip():
            continue
        found[sign].append(part)
        if sign != "-":
            wanted.append(part)
    if not wanted and (words["-"] or phrases["-"]):
        raise ValueError("The query has only excluded words. Add a word to search for.")
    return ParsedQuery(
        " ".join(wanted),
        tuple(words["+"]),
        tuple(words["-"]),
        tuple(phrases[""] + phrases["+"]),
        tuple(phrases["-"]),
    )


def has_signs(text: str) -> bool:
    """Whether a query may have other parts than words."""
    return QUOTE in text or "+" in text or "-" in text


def _begins(text: str, at: int) -> bool:
    """Whether a word or a phrase begins here, to which a sign before it would belong."""
    return at < len(text) and (text[at].isalnum() or text[at] == QUOTE)
