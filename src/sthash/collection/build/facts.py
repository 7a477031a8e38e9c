"""What `Collection.info` says: how a collection was learned, how much of it was, and whether to relearn.

Everything follows from settings and counts that are at hand: no text is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sthash.checks import check_positive, check_whole
from sthash.collection.file.store import Store
from sthash.collection.snapshot import Snapshot
from sthash.model import Learning, TextModel
from sthash.model.learning import Cost, format_seconds
from sthash.sizes import format_size

# From these shares of new documents or new words on, relearning improves recall noticeably: docs/scaling.md.
MANY_DOCUMENTS, MANY_TERMS = 0.2, 0.05
SPARE = 1.2  # of limits that are advised


@dataclass(frozen=True)
class Seen:
    """What the hash functions have seen of the documents that are there now.

    Attributes
    ----------
    learned_on : int
        Documents that they were learned from.
    documents, terms : float
        Shares of the documents, and of the pairs of a document and a word of it, that they have not seen.
    new_documents, new_terms : float
        Those that came after learning: the others were not in the sample.
    count : int
        All documents.
    cost : Cost or None
        What it takes to learn from all of them, if that is known.
    """

    learned_on: int
    documents: float
    terms: float
    new_documents: float
    new_terms: float
    count: int
    cost: Cost | None


def collection_facts(now: Snapshot) -> dict[str, Any]:
    """Return how many documents there are, and what indexes they have."""
    facts: dict[str, Any] = {"documents": len(now), "kind": now.content.kind, "n_bits": 0}
    for index in reversed(now.indexes.all):
        facts |= index.facts()
    if now.embedder_name is not None:
        facts["embedder"] = now.embedder_name
    return facts


# What the bytes of a file are for: queries that give names and bytes. Beside these there are pages of SQLite.
_SIZES = (
    "SELECT 'texts', total(length(text)) FROM documents",
    "SELECT 'keys, labels, metadata', total(2 * length(key) + coalesce(length(label), 0) + length(metadata)) "
    "FROM documents",  # there is an index of the keys
    "SELECT 'term counts', total(length(content)) FROM counts",
    "SELECT 'vocabulary', total(2 * length(term)) FROM terms",
    "SELECT 'vocabulary', total(length(content)) FROM frequencies",
    "SELECT 'hash functions', total(length(content)) FROM weights",
    "SELECT coalesce(kind, ''), total(length(content)) FROM parts LEFT JOIN segments ON segment = place >> 32 "
    "GROUP BY kind",
    "SELECT 'changes', total(length(content)) FROM pending",
    "SELECT 'changes', total(length(content)) FROM removals",
    "SELECT 'changes', total(length(content)) FROM deletions",
    "SELECT 'settings', total(length(content)) FROM settings",
)
_KINDS = {"words": "posting lists", "vectors": "vectors", "cells": "cells", "lengths": "lengths", "codes": "codes"}


def part_sizes(store: Store, file_bytes: int) -> dict[str, int]:
    """Return what the bytes of a file are for, the most first; all rows are counted, but no text is read."""
    sizes = dict[str, int]()
    for query in _SIZES:
        for name, size in store.execute(query):
            part = _KINDS.get(name, name)
            sizes[part] = sizes.get(part, 0) + int(size)
    unused = int(store.value("PRAGMA freelist_count")) * int(store.value("PRAGMA page_size"))
    sizes |= {"unused": unused, "tables": max(file_bytes - unused - sum(sizes.values()), 0)}
    return dict(sorted(((name, size) for name, size in sizes.items() if size), key=lambda item: -item[1]))


def learning_facts(store: Store, now: Snapshot) -> dict[str, Any]:
    """Return what `Collection.info` says about learning; nothing where there are no hash functions."""
    if not now.has_codes:
        return {}
    settings = now.codes.model.settings
    try:
        learning = Learning(
            sample_size=settings.get("sample_size"),
            seconds=settings.get("seconds", Learning.seconds),
            memory=settings.get("memory"),
        )
        seen = seen_of(now)
    except (TypeError, ValueError, KeyError) as error:
        raise store.damaged(f"the settings of its model cannot be used ({error})") from error
    return {
        "sample_size": learning.sample_size,
        "seconds": learning.seconds,
        "memory": learning.memory,
        "unseen_documents": round(seen.documents, 4),
        "unseen_terms": round(seen.terms, 4),
        "advice": advice(now, seen, learning),
    }


def seen_of(now: Snapshot) -> Seen:
    """Return what the hash functions of a collection have seen of it."""
    model, count = now.codes.model, len(now)
    settings = model.settings
    learned_on = settings["learned_on"]
    # A model that was learned elsewhere does not say of how many documents, or which came later.
    learned_of = check_whole("learned_of", settings.get("learned_of", settings.get("n_documents", learned_on)), 0)
    old = min(learned_of, count)
    if "next_id" in settings:
        old = int(np.searchsorted(now.ids, check_whole("next_id", settings["next_id"], 0, most=1 << 62)))
    sampled = min(learned_on / learned_of, 1.0) if learned_of else 0.0
    if isinstance(model, TextModel):
        frequency = now.words.frequencies(np.arange(now.words.n_columns, dtype=np.int32)).astype(np.int64)
        values, own = int(frequency.sum()), int(frequency[: model.n_columns].sum())
        weighted = check_positive("seen_terms", settings.get("seen_terms", 1.0), or_zero=True, most=1.0)
    else:
        values = own = count * model.n_columns
        weighted = 1.0
    return Seen(
        learned_on,
        documents=1 - sampled * old / max(count, 1),
        terms=1 - weighted * own / max(values, 1),
        new_documents=1 - old / max(count, 1),
        new_terms=1 - own / max(values, 1),
        count=count,
        cost=_cost(settings.get("cost_of_all"), count / max(learned_of, 1)),
    )


def _cost(noted: Any, growth: float) -> Cost | None:
    """Return what it takes to learn from all documents, which were ``1 / growth`` of them when it was noted."""
    if noted is None:
        return None
    if not isinstance(noted, dict):
        raise TypeError(f"cost_of_all={noted!r} must be a dict")
    values = (check_positive(name, noted.get(name), or_zero=True, most=1e30) for name in ("seconds", "bytes"))
    return Cost(*values).times(growth)


def advice(now: Snapshot, seen: Seen, limits: Learning) -> str:
    """Say in one sentence whether to relearn, what it costs, and with which command."""
    if not now.codes.learned:
        if refused := now.codes.model.settings.get("refused"):
            return f"Searches scan all documents: {refused} Then run: sth relearn COLLECTION"
        if now.codes.model.settings.get("postponed"):
            return (
                "Hash functions have not been learned yet, so whole documents are compared with all others; learning "
                f"{_takes(_within(seen, limits))}makes that fast: sth relearn COLLECTION"
            )
        return "Too few documents to learn from; searches scan all documents."
    command = "sth relearn COLLECTION"
    if seen.new_documents >= MANY_DOCUMENTS or seen.new_terms >= MANY_TERMS:
        return (
            f"{seen.new_documents:.0%} of the documents and {seen.new_terms:.0%} of the words came after learning; "
            f"relearning {_takes(_within(seen, limits))}improves recall: {command}"
        )
    if seen.learned_on < (1 - MANY_DOCUMENTS) * seen.count:
        return (
            f"Learned from {seen.learned_on:,} of {seen.count:,} documents; learning from all {_takes(seen.cost)}"
            f"improves recall: {command}{_options(seen, limits)}"
        )
    return "The hash functions are up to date; no need to relearn."


def _takes(cost: Cost | None) -> str:
    return "" if cost is None else f"takes about {format_seconds(cost.seconds)} and "


def _within(seen: Seen, limits: Learning) -> Cost | None:
    """Return what learning takes within the limits."""
    if seen.cost is None:
        return None
    whole = seen.cost
    share = min(1.0, limits.seconds / max(whole.seconds, 1e-9), limits.most_bytes / max(whole.bytes, 1.0))
    if limits.sample_size is not None:
        share = min(share, limits.sample_size / max(seen.count, 1))
    return whole.times(share)


def _options(seen: Seen, limits: Learning) -> str:
    """Return the options of the command that learns from all documents."""
    whole, options = seen.cost, "" if limits.sample_size is None else f" --sample-size {seen.count}"
    if whole is not None and whole.seconds > limits.seconds:
        options += f" --seconds {SPARE * whole.seconds:.0f}"
    if whole is not None and whole.bytes > limits.most_bytes:
        options += f" --memory {format_size(SPARE * whole.bytes).replace(' ', '').replace(',', '')}"
    return options
