"""Queries and conditions of all kinds: a query is answered, and conditions mean what plain Python says."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import sthash
from sthash import Collection, Document
from support.plain_conditions import matches

WORDS = (
    "star",
    "ship",
    "cat",
    "the",
    "of",
    "starship",
    "zzz",
    "naïve",
    "漢字",
    "x1",
    "C++",
    "a.b",
    "don't",
    "\ud800",
    "",
)
SIGNS = (
    '"',
    "-",
    "+",
    "(",
    ")",
    "*",
    "~",
    "~5",
    ":",
    "AND",
    "OR",
    "NOT",
    "text:",
    "label:",
    " ",
    "  ",
    "\n",
    "\\",
    "'",
    "^2",
)
FIELDS = ("number", "parity", "name", "value", "tags", "label", "key")
VALUES: tuple[Any, ...] = (None, True, False, 0, 1, 2.5, -1, 7, 2**53, "", "a", "n3", "red", "k5", "zz")
OPERATORS = ("=", "!=", "<", "<=", ">", ">=", "in", "not in", "exists")
NUMBER_OF_DOCUMENTS = 60
_opened: dict[Path, tuple[Collection, list[Document]]] = {}


def prepare(folder: Path) -> None:
    """Make a collection."""
    random = Random(0)
    documents = []
    for number in range(NUMBER_OF_DOCUMENTS):
        metadata: dict[str, Any] = {"number": number, "parity": number % 2, "name": f"n{number % 9}"}
        if number % 3:
            metadata["value"] = random.choice((None, True, 1, 2.5, "a"))
        if number % 4:
            metadata["tags"] = random.sample(("red", "blue", 7, "n3"), 2)
        text = " ".join(random.choice(WORDS[:6]) for _ in range(8))
        documents.append(Document(f"k{number}", text, random.choice(("a", "zz", None)), metadata))
    Collection.create(folder / "c.sth", documents, learning=sthash.Learning(n_bits=8, n_neighbors=5)).close()


def case(random: Random, folder: Path, scratch: Path) -> str:
    """Search for something odd, or under conditions."""
    path = folder / "c.sth"
    if path not in _opened:
        collection = Collection.open(path)
        _opened[path] = collection, list(collection)
    collection, documents = _opened[path]
    if random.random() < 0.5:
        return typed(random, collection)
    where = {random.choice(FIELDS): condition(random) for _ in range(random.choice((1, 1, 2, 3)))}
    try:
        hits = collection.search("star", NUMBER_OF_DOCUMENTS, where=where, rerank=False)
    except (TypeError, ValueError):
        return "refused"
    assert {hit.key for hit in hits} == {one.key for one in documents if matches(one, where)}, where
    return "filtered"


def condition(random: Random) -> Any:
    """Make a condition on one field: a value, values, or operators."""
    how = random.randrange(3)
    if how == 0:
        return random.choice(VALUES)
    if how == 1:
        return random.sample(VALUES, random.randrange(5))
    signs = random.sample(OPERATORS, random.choice((1, 1, 2)))
    special = {"in": lambda: random.sample(VALUES, 3), "not in": lambda: random.sample(VALUES, 3)}
    special["exists"] = lambda: random.random() < 0.5
    return {sign: special.get(sign, lambda: random.choice(VALUES))() for sign in signs}


def typed(random: Random, collection: Collection) -> str:
    """Search for words and signs in any order, alone and in a batch with a query that has hits."""
    query = "".join(random.choice((*WORDS, *SIGNS, " ", " ")) for _ in range(random.randrange(1, 14)))
    options = {"k": random.choice((1, 5, 100)), "explain": random.random() < 0.3, "correct": random.random() < 0.3}
    options["snippet"] = random.choice((0, 40))
    try:
        alone = collection.search(query, **options)
    except ValueError:
        return "query refused"
    other, batched = collection.search_many(["star", query], **options)
    assert [hit.key for hit in batched] == [hit.key for hit in alone], query
    assert len(other) > 0
    assert [hit.score for hit in alone] == sorted((hit.score for hit in alone), reverse=True), query
    return "found" if alone else "nothing found"
