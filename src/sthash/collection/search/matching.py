"""Which documents meet what a query demands: the tree of `search.query`, evaluated over posting lists and texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

import numpy as np

from sthash.arrays import Ids
from sthash.collection.indexes.forms import FIRST_FORM
from sthash.collection.indexes.words import Words
from sthash.collection.search.conditions import PREFIX, field_value, values_of
from sthash.collection.search.filters import ids_where
from sthash.collection.search.phrases import Phrase, holds_phrases
from sthash.collection.search.query import Every, Field, Node, Prefix, Quoted, Some, Without, Word
from sthash.collection.search.ranking import Allowed
from sthash.collection.snapshot import Snapshot
from sthash.text.scanning import scan_words

# Of the words with a common beginning, the most common ones are looked at.
MOST_EXPANSIONS = 1000
# Documents whose texts are in memory at once.
TEXTS_TOGETHER = 256


def matching(snapshot: Snapshot, node: Node, within: Allowed | None) -> Allowed:
    """Return a byte per document: whether it is in ``within`` and meets a demand."""
    if within is None:
        within = np.ones(len(snapshot), dtype=np.uint8)
    found = _matching(snapshot, node, within)
    return within if found is None else found


def _matching(snapshot: Snapshot, node: Node, within: Allowed) -> Allowed | None:
    """Return which documents meet a demand; None if it has no words, and demands nothing."""
    match node:
        case Word(text):
            columns = columns_of(snapshot.words, text)
            return _having_all(snapshot.words, columns, within) if columns else None
        case Prefix(text):
            return within & _having_any(snapshot.words, expansions(snapshot.words, text))
        case Quoted():
            return with_phrase(snapshot, node, within)
        case Field(name, value):
            return within & _with_field(snapshot, name, value)
        case Every(parts):
            # What costs most comes last, for the fewest documents.
            for part in sorted(parts, key=_cost):
                found = _matching(snapshot, part, within)
                within = within if found is None else found
            return within
        case Some(parts):
            met = [own for part in parts if (own := _matching(snapshot, part, within)) is not None]
            return np.bitwise_or.reduce(met) if met else None
        case Without(part):
            found = _matching(snapshot, part, within)
            return None if found is None else within & (1 - found)
        case _:
            assert_never(node)


def _cost(node: Node) -> int:
    match node:
        case Every(parts) | Some(parts):
            return max(map(_cost, parts), default=0)
        case Without(part):
            return _cost(part)
        case Quoted():
            return 1
        case Field():
            return 2
        case _:
            return 0


def with_phrase(snapshot: Snapshot, quoted: Quoted, within: Allowed) -> Allowed | None:
    """Return which documents have a phrase; None if it has no words.

    The posting lists say which documents have all of its words, and the texts of these whether they stand together.
    """
    phrase = Phrase(quoted.text, snapshot.words.analyzer, quoted.slop)
    if not phrase.terms:
        return None
    having = _having_all(snapshot.words, columns_of(snapshot.words, quoted.text), within)
    if len(phrase.terms) == 1:
        return having
    positions = np.flatnonzero(having)
    for start in range(0, len(positions), TEXTS_TOGETHER):
        part = positions[start : start + TEXTS_TOGETHER]
        texts = list(snapshot.documents.texts(snapshot.ids[part].tolist()))
        held = holds_phrases([text for _, text in texts], [phrase], snapshot.words.analyzer)[:, 0]
        having[part[~held]] = 0
    return having


def columns_of(words: Words, text: str) -> list[int]:
    """Return the columns of the words of a text, those of stop words are of forms; -1 if no document has a word."""
    return [word.list_column for word in words.query_words.of([text])[0] if word.kind == "word"]


def expansions(words: Words, prefix: str) -> list[int]:
    """Return the columns of words that begin with a prefix, and of the word that it is itself."""
    own = [column for column in columns_of(words, prefix) if 0 <= column < FIRST_FORM]
    return sorted({*own, *words.terms.beginning_with(prefix.lower(), MOST_EXPANSIONS)})


def _having_all(words: Words, columns: list[int], within: Allowed) -> Allowed:
    having = within.copy()
    for column in set(columns):
        having &= _having_any(words, [column] if column >= 0 else [])
    return having


def _having_any(words: Words, columns: list[int]) -> Allowed:
    return matches(words, columns, None)()


def matches(words: Words, columns: list[int], within: Allowed | None) -> Callable[[], Allowed]:
    """Return what tells which documents have one of some terms; it can be asked after the file was closed."""
    lists, count = words.posting_lists(columns) if columns else None, len(words)

    def having() -> Allowed:
        found = np.zeros(count, dtype=np.uint8)
        if lists is not None:
            for column in columns:
                found[lists.positions(column)] = 1
        return found if within is None else found & within

    return having


def _with_field(snapshot: Snapshot, name: str, value: Word | Prefix | Quoted) -> Allowed:
    """Return which documents have a word in a field; ValueError if no document has the field."""
    having = np.zeros(len(snapshot), dtype=np.uint8)
    ids_where(snapshot, {name: {"exists": True}})  # names the fields if there is no such one
    wanted = _words(value.text)
    found = list[int]()
    for number, read in snapshot.documents.where("1", ()):
        own = {"key": read.key, "label": read.label}
        held = own[name] if name in own else field_value(read.shared_metadata, name.removeprefix(PREFIX))[1]
        prefix = isinstance(value, Prefix)
        if any(_is_in(wanted, str(one), prefix=prefix) for one in values_of(held) if one is not None):
            found.append(number)
    ids: Ids = np.array(found, dtype=np.int64)
    having[snapshot.positions(ids)] = 1
    return having


def _words(text: str) -> list[str]:
    scanned = scan_words([text])
    return [scanned.words[number] for number in scanned.numbers.tolist()]


def _is_in(wanted: list[str], text: str, *, prefix: bool) -> bool:
    words = _words(text)
    if prefix and len(wanted) == 1:
        return any(word.startswith(wanted[0]) for word in words)
    size = len(wanted)
    return bool(size) and any(words[at : at + size] == wanted for at in range(len(words) - size + 1))
