r"""What people type: words, and operators where a query reads as if they were meant.

A query in the language has words, ``"phrases"``, ``"words near each other"~5``, ``prefix*``, ``field:word``,
``+required``, ``-excluded``, ``AND``, ``OR``, ``NOT`` and parentheses. Side by side, words are preferred; phrases,
fields and groups in parentheses are required.

People also paste messages, commands and titles. So with ``syntax="auto"`` operators act only if *all* of them look
deliberate, and otherwise none does:

- The text is one line of at most 1,000 characters, quotes and parentheses are closed, and no operand is missing.
- Nothing outside of quotes looks like code or a log: no ``= | < > ; { } [ ] \ ` $ ^``, no path, no ``--option`` or
  ``-x``, no colon before a space, no call such as ``open(``, no ``*`` alone.
- A quote begins and ends at a space. Beside a phrase there are at most four plain words; beside a quoted single word,
  none.
- ``+word`` and ``-word`` have at least two and three letters, and are no common option, such as ``-name`` or ``-xzf``.
- ``AND``, ``OR`` and ``NOT`` are capitals among small letters, and parentheses come with one of them.
- The field of ``field:word`` is ``key``, ``label`` or one that a document has.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

Syntax = Literal["auto", "plain", "strict"]
SYNTAXES: tuple[str, ...] = get_args(Syntax)
# A longer text, or one of several lines, is a document and no typed query.
TYPED_CHARACTERS = 1000
DEEPEST = 40
MOST_WORDS_BESIDE_A_PHRASE = 4
OPERATORS = ("AND", "OR", "NOT")


@dataclass(frozen=True)
class Word:
    """A word; a document has it if it has all of its terms."""

    text: str


@dataclass(frozen=True)
class Prefix:
    """The beginning of words."""

    text: str


@dataclass(frozen=True)
class Quoted:
    """Words side by side or, with ``slop``, all within a span that has so many other words."""

    text: str
    slop: int = 0


@dataclass(frozen=True)
class Field:
    """A word, a prefix or a phrase in a field."""

    name: str
    value: Word | Prefix | Quoted


@dataclass(frozen=True)
class Every:
    """All parts must hold."""

    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Some:
    """One part must hold."""

    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Without:
    """A part must not hold."""

    part: Node


Node = Word | Prefix | Quoted | Field | Every | Some | Without


@dataclass(frozen=True)
class ParsedQuery:
    """A query as it was read.

    Attributes
    ----------
    text : str
        What documents are ranked by.
    demand : Node or None
        What documents must meet; None if there are no operators, which is the plain reading.
    phrases : tuple of Quoted
        In a plain reading, phrases that are preferred.
    prefixes : tuple of str
        Beginnings of words that documents are ranked by, too.
    """

    text: str
    demand: Node | None = None
    phrases: tuple[Quoted, ...] = ()
    prefixes: tuple[str, ...] = ()

    @property
    def has_field(self) -> bool:
        """Whether a field is searched."""
        return _has_field(self.demand)

    @property
    def phrases_and_words(self) -> list[str]:
        """The phrases that are preferred, and what a document must have: phrases and words, which may be stop words."""
        return [quoted.text for quoted in self.phrases] + _demanded(self.demand)

    @property
    def requires_words(self) -> bool:
        """Whether every document that meets the demand is a hit: it has words, or is one of several that may do."""
        return _requires_words(self.demand)


TOKEN = re.compile(
    r"""\s*(?:(?P<open>\()|(?P<close>\))
    |(?P<sign>(?<![^\s(])[+-])(?=[\w"(])
    |(?P<field>[A-Za-z_][\w.]*):(?=[\w"])
    |"(?P<phrase>[^"]*)"(?:~(?P<slop>\d{1,3}))?
    |(?P<word>[^\s()"]+)
    |(?P<quote>"))""",
    re.VERBOSE,
)
PASTED = re.compile(
    r"""[=|<>;{}\[\]\\`$^]|(?:^|\s)(?:--|\.{0,2}/|~/|-\w?(?:\s|$)|\*(?:\s|$))|\w/\w|\w:(?:\s|$)|\w\(|://""", re.VERBOSE
)
COMMAND = re.compile(
    r"""^\s*(?:[a-z][\w.+-]*(?:\[\d+\])?|[EW]):\s|\S\s+--?[A-Za-z][\w-]*(?:[\s=,]|$)|(?:^|[\s='"])(?:~|\.{1,2})?/\w[\w.+-]*/
    |\s\|\s|\s2?>\s?[/&]|\s&&\s|\$\(""",
    re.VERBOSE,
)
SLOP = re.compile(r'"~\d{1,3}(?!\w)')
QUOTED = re.compile(r'"([^"]*)"')
PREFIX = re.compile(r"\w{2,}\*")
OPTIONS = frozenset(
    [
        "Wall",
        "Wextra",
        "aux",
        "avz",
        "days",
        "delete",
        "empty",
        "exec",
        "execdir",
        "group",
        "help",
        "iname",
        "input",
        "jar",
        "lrt",
        "ltr",
        "maxdepth",
        "mindepth",
        "name",
        "newer",
        "nodes",
        "output",
        "path",
        "perm",
        "print",
        "prune",
        "regex",
        "size",
        "std",
        "subj",
        "type",
        "user",
        "verbose",
        "version",
    ]
)


def parse_query(text: str, syntax: Syntax = "auto", is_field: Callable[[str], bool] = lambda _: False) -> ParsedQuery:
    """Read a query; with ``syntax="strict"`` a ValueError says what is wrong with it.

    Examples
    --------
    >>> from sthash.collection.search.query import parse_query
    >>> parse_query('+cat "likes fish" dog').demand
    Every(parts=(Word(text='cat'), Quoted(text='likes fish', slop=0)))
    >>> parse_query("tar -xzf archive.tgz").demand is None
    True
    """
    if syntax == "plain" or not _may_have_operators(text):
        return ParsedQuery(text)
    if syntax == "strict":
        return _Parser(text).parse()
    if len(text) > TYPED_CHARACTERS or "\n" in text.strip():
        return ParsedQuery(text)
    if is_deliberate(text, is_field):
        try:
            return _Parser(text).parse()
        except ValueError:
            pass
    return plain_reading(text)


def plain_reading(text: str) -> ParsedQuery:
    """Return the reading without operators, in which phrases are preferred."""
    text = SLOP.sub('"', text)
    quoted = tuple(Quoted(found) for found in QUOTED.findall(text[:TYPED_CHARACTERS]) if len(found.split()) > 1)
    return ParsedQuery(text, None, quoted)


def is_command(text: str) -> bool:
    """Whether a text looks like a command or a message of a program: options, paths, pipes, or its name and a colon.

    Examples
    --------
    >>> from sthash.collection.search.query import is_command
    >>> is_command("tar -xzf archive.tgz"), is_command("sed: no input files"), is_command("Birds: a guide - part 2")
    (True, True, False)
    """
    return COMMAND.search(text) is not None


def _may_have_operators(text: str) -> bool:
    return any(sign in text for sign in '"+-*:') or any(name in text for name in OPERATORS)


def is_deliberate(text: str, is_field: Callable[[str], bool]) -> bool:
    """Whether every operator of a text looks as if it were meant; see the head of this file."""
    if PASTED.search(QUOTED.sub("quoted", text)):
        return False
    found = list(TOKEN.finditer(text))
    words = [match["word"] for match in found if match["word"]]
    plain = [word for word in words if word not in OPERATORS]
    has_names = len(plain) < len(words)
    if (
        has_names
        and not any(
            character.islower() or character.lower() == character.upper()
            for word in plain
            for character in word
            if character.isalpha()
        )
        and plain
    ):
        return False
    if not has_names and any(match["open"] or match["close"] for match in found):
        return False
    for place, match in enumerate(found):
        after = found[place + 1] if place + 1 < len(found) else None
        if match["quote"]:
            return False
        if match["phrase"] is not None and not _is_phrase(text, match, len(plain)):
            return False
        if match["sign"] and after is not None and after["word"] and not _takes_sign(match["sign"], after["word"]):
            return False
        if match["field"] and not is_field(match["field"]):
            return False
    return True


def _is_phrase(text: str, match: re.Match[str], n_others: int) -> bool:
    start, end = text.index('"', match.start()), match.end()
    begins = start == 0 or text[start - 1].isspace() or text[start - 1] in "(+-:"
    ends = end == len(text) or text[end].isspace() or text[end] == ")"
    signed = start > 0 and text[start - 1] in "+-:"
    most = MOST_WORDS_BESIDE_A_PHRASE if signed or len(match["phrase"].split()) > 1 else 0
    return begins and ends and n_others <= most


def _takes_sign(sign: str, word: str) -> bool:
    if not word[0].isalpha() or len(word) < (2 if sign == "+" else 3) or word in OPTIONS:
        return False
    # Letters of options, such as -xzf, have no vowel; words of three Latin letters do.
    return sign == "+" or len(word) > 4 or not word.isascii() or any(letter in "aeiouy" for letter in word.lower())


class _Parser:
    """Reads tokens from left to right: ``a OR b`` binds less than ``a AND b``, and that less than ``NOT a``."""

    def __init__(self, text: str) -> None:
        self._tokens = list(TOKEN.finditer(text))
        self._at = 0
        self._depth = 0
        self._ranked: list[str] = []
        self._prefixes: list[str] = []
        if any(match["quote"] for match in self._tokens):
            raise ValueError("The query has a quotation mark that is not closed. Close it, or leave it out.")

    def parse(self) -> ParsedQuery:
        demand = self._either(ranked=True, top=True)
        if self._at < len(self._tokens):
            raise ValueError('The query has a ")" without a "(". Leave it out, or search with syntax="plain".')
        if demand is not None and not self._ranked and not self._prefixes and not _has_field(demand):
            raise ValueError("The query has only excluded words. Add a word to search for.")
        return ParsedQuery(" ".join(self._ranked), demand, (), tuple(self._prefixes))

    def _next(self) -> re.Match[str] | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _takes(self, name: str) -> bool:
        token = self._next()
        if token is None or token["word"] != name:
            return False
        self._at += 1
        return True

    def _either(self, *, ranked: bool, top: bool = False) -> Node | None:
        parts = [self._both(ranked=ranked, top=top)]
        while self._takes("OR"):
            parts.append(self._both(ranked=ranked, operand=True))
        if len(parts) == 1:
            return parts[0]
        if parts[0] is None:
            raise ValueError("The query has an OR without words on both sides. Add them.")
        return Some(tuple(part for part in parts if part is not None))

    def _both(self, *, ranked: bool, top: bool = False, operand: bool = False) -> Node | None:
        """Read what stands side by side, with or without AND."""
        required, preferred = list[Node](), list[Node]()
        joined = False
        while True:
            token = self._next()
            if token is None or token["close"] or token["word"] == "OR":
                break
            if token["word"] == "AND":
                if not (required or preferred) or joined:
                    raise ValueError("The query has an AND without words on both sides. Add them.")
                self._at += 1
                joined = True
                if preferred:  # what stands before AND is required, too
                    required.append(preferred.pop())
                continue
            part, must = self._clause(ranked=ranked)
            if part is not None:
                (required if must or joined else preferred).append(part)
            joined = False
        if joined:
            raise ValueError("The query has an AND without words on both sides. Add them.")
        after = self._next()
        beside_or = operand or (after is not None and after["word"] == "OR")
        if beside_or and not required and not preferred:
            raise ValueError("The query has an OR without words on both sides. Add them.")
        positive = [part for part in required if not isinstance(part, Without)]
        if preferred and not positive and (beside_or or not top):
            required.append(preferred[0] if len(preferred) == 1 else Some(tuple(preferred)))
        elif preferred and not required:
            return None  # words only: they rank, and demand nothing
        if not required:
            return None
        return required[0] if len(required) == 1 else Every(tuple(required))

    def _clause(self, *, ranked: bool) -> tuple[Node | None, bool]:
        """Read one part, and say whether it is required."""
        token = self._next()
        if token is None:
            raise ValueError("The query ends with an operator. Add a word, or leave it out.")
        if token["sign"] == "-" or token["word"] == "NOT":
            self._at += 1
            after = self._next()
            if after is None or after["close"] or after["word"] in ("AND", "OR"):
                raise ValueError("The query has a NOT without a word after it. Add one.")
            self._depth += 1
            self._check_depth()
            part, _ = self._clause(ranked=False)
            self._depth -= 1
            return (None if part is None else Without(part)), True
        if token["sign"] == "+":
            self._at += 1
            return self._clause(ranked=ranked)[0], True
        if token["open"]:
            self._at += 1
            self._depth += 1
            self._check_depth()
            inner = self._either(ranked=ranked)
            self._depth -= 1
            closing = self._next()
            if closing is None:
                raise ValueError('The query has a "(" that is not closed. Close it, or leave it out.')
            self._at += 1
            return inner, True
        if token["field"]:
            self._at += 1
            value, _ = self._clause(ranked=False)
            if not isinstance(value, Word | Prefix | Quoted):
                raise ValueError("The query has a field without a word after the colon. Add one.")
            return Field(token["field"], value), True
        self._at += 1
        if token["phrase"] is not None:
            if not token["phrase"].strip():
                return None, False
            if ranked:
                self._ranked.append(token["phrase"])
            return Quoted(token["phrase"], int(token["slop"] or 0)), True
        word = token["word"]
        if PREFIX.fullmatch(word):
            if ranked:
                self._prefixes.append(word[:-1])
            return Prefix(word[:-1]), False
        if ranked:
            self._ranked.append(word)
        return Word(word), False

    def _check_depth(self) -> None:
        if self._depth > DEEPEST:
            raise ValueError(f"The query is nested deeper than {DEEPEST} levels. Leave out some parentheses.")


def _has_field(node: Node | None) -> bool:
    if isinstance(node, Every | Some):
        return any(map(_has_field, node.parts))
    return isinstance(node, Field)


def _requires_words(node: Node | None) -> bool:
    if isinstance(node, Every | Some):
        return any(map(_requires_words, node.parts))
    return isinstance(node, Word | Prefix | Quoted)


def _demanded(node: Node | None) -> list[str]:
    if isinstance(node, Every | Some):
        return [text for part in node.parts for text in _demanded(part)]
    return [node.text] if isinstance(node, Word) or (isinstance(node, Quoted) and not node.slop) else []
