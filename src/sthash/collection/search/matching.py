"""Which documents meet what a query demands: the tree of `search.query`, evaluated over posting lists and texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import assert_never

import numpy as np

from sthash.arrays import Ids
from sthash.collection.indexes.query_words import QueryWord
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
# A stem that is shorter than the prefix has at least so many letters, and so many of its documents are read.
LEAST_STEM, MOST_READ = 2, 256
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
            alternatives = alternatives_of(snapshot.words, text)
            return _having_all(snapshot.words, alternatives, within) if alternatives else None
        case Prefix(text):
            return within & _having_any(snapshot.words, expansions(snapshot, text))
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
    # Accents, typed or not, hide no document.
    analyzer = replace(snapshot.words.analyzer, fold_accents=True)
    phrase = Phrase(quoted.text, analyzer, quoted.slop)
    if not phrase.terms:
        return None
    having = _having_all(snapshot.words, alternatives_of(snapshot.words, quoted.text), within)
    if len(phrase.terms) == 1:
        return having
    positions = np.flatnonzero(having)
    for start in range(0, len(positions), TEXTS_TOGETHER):
        part = positions[start : start + TEXTS_TOGETHER]
        texts = list(snapshot.documents.texts(snapshot.ids[part].tolist()))
        held = holds_phrases([text for _, text in texts], [phrase], analyzer)[:, 0]
        having[part[~held]] = 0
    return having


def alternatives_of(words: Words, text: str) -> list[list[int]]:
    """Return, for each word of a text, the columns of which a document that has it has one; none if no document does.

    A word is in a document by its stem, or as a form that differs in its accents only.
    """
    scanned = scan_words([text])
    typed = [scanned.words[number] for number in scanned.numbers.tolist()]
    return [_columns_of(own) for own in words.query_words.of(typed)]


def _columns_of(word: list[QueryWord]) -> list[int]:
    terms = {own.column for own in word if own.column >= 0}
    return sorted(terms | {own.form for own in word if own.kind in ("word", "plain") and own.form_frequency})


def expansions(snapshot: Snapshot, prefix: str) -> list[int]:
    """Return the columns of words that begin with a prefix: stems, and forms whose stems are shorter than it."""
    words, prefix = snapshot.words, prefix.lower()
    own = {column for columns in alternatives_of(words, prefix) for column in columns}
    own.update(words.terms.beginning_with(prefix, MOST_EXPANSIONS))
    if words.analyzer.stemmer is not None:
        own.update(_forms_beginning_with(snapshot, prefix))
    return sorted(own)


def _forms_beginning_with(snapshot: Snapshot, prefix: str) -> set[int]:
    """Return forms such as that of "installation" for "installat": its stem is "instal", as some documents tell."""
    words = snapshot.words
    stems = [words.terms.get(prefix[:size]) for size in range(LEAST_STEM, len(prefix))]
    forms = set[int]()
    for stem in stems:
        if stem < 0:
            continue
        positions = words.posting_lists([stem]).positions(stem)
        shortest = positions[np.argsort(words.lengths[positions], kind="stable")[:MOST_READ]]
        texts = snapshot.documents.texts(np.sort(snapshot.ids[shortest]).tolist())
        found = scan_words([text for _, text in texts]).words
        for own in words.query_words.of([word for word in found if word.startswith(prefix)]):
            forms.update(word.form for word in own if word.kind == "word" and word.form_frequency)
    return forms


def _having_all(words: Words, alternatives: list[list[int]], within: Allowed) -> Allowed:
    having = within.copy()
    for columns in alternatives:
        having &= _having_any(words, columns)
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
