"""What `Collection.info` says: how a collection was learned, how much of it was, and whether to learn anew.

Everything follows from settings and counts that are at hand: no text is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sthash.checks import check_positive, check_whole
from sthash.collection.snapshot import Snapshot
from sthash.collection.store import Store
from sthash.model import TextModel
from sthash.model.learning_limits import LEARNING_SECONDS, Cost, LearningLimits, said_bytes, said_seconds

# Learning from a quarter more documents, or when so many words are new, finds noticeably more: docs/scaling.md.
MANY_DOCUMENTS, MANY_TERMS = 0.2, 0.05
SPARE = 1.2  # of limits that are advised
# Settings of the model that `info` shows, and under which name.
SHOWN = {
    "kind": "kind",
    "n_bits": "n_bits",
    "n_neighbors": "n_neighbors",
    "recipe": "recipe",
    "scatter": "scatter",
    "learnt_on": "learned_on",
    "n_terms": "n_terms",
    "n_columns": "n_columns",
    "weighting": "weighting",
    "language": "language",
    "stemmer": "stemmer",
    "fold_accents": "fold_accents",
}


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
        What it takes to learn from all of them; None for files of earlier versions.
    """

    learned_on: int
    documents: float
    terms: float
    new_documents: float
    new_terms: float
    count: int
    cost: Cost | None


def collection_facts(now: Snapshot) -> dict[str, Any]:
    """Return how many documents there are, and how the model was learned."""
    settings = now.model.settings
    shown = {shown: settings[name] for name, shown in SHOWN.items() if name in settings}
    metric = {"metric": now.model.metric} if now.model.dense else {}
    words = {"words": len(now.terms)} if now.has_words else {}
    embedder = {} if now.embedder_name is None else {"embedder": now.embedder_name}
    beside = {"text_search": now.has_words} if now.model.dense else {}
    return {"documents": len(now), **shown, **metric, "learned": now.learned, **words, **embedder, **beside}


def learning_facts(store: Store, now: Snapshot) -> dict[str, Any]:
    """Return what `Collection.info` says about learning."""
    settings = now.model.settings
    try:
        limits = LearningLimits(
            settings.get("sample_size"),
            settings.get("learning_seconds", LEARNING_SECONDS),
            settings.get("learning_bytes"),
        )
        seen = seen_of(now)
    except (TypeError, ValueError) as error:
        raise store.damaged(f"the settings of its model cannot be used ({error})") from error
    return {
        "sample_size": limits.sample_size,
        "learning_seconds": limits.seconds,
        "learning_bytes": limits.bytes,
        "unseen_documents": round(seen.documents, 4),
        "unseen_terms": round(seen.terms, 4),
        "advice": advice(now, seen, limits),
    }


def seen_of(now: Snapshot) -> Seen:
    """Return what the hash functions of a collection have seen of it."""
    settings, count = now.model.settings, len(now)
    learned_on = settings["learnt_on"]
    # Files of earlier versions do not say of how many documents the sample was, or which came later.
    learned_of = check_whole("learned_of", settings.get("learned_of", settings.get("n_documents", learned_on)), 0)
    if "next_id" in settings:
        old = int(np.searchsorted(now.ids, check_whole("next_id", settings["next_id"], 0, most=1 << 62)))
    else:
        old = min(learned_of, count)
    sampled = min(learned_on / learned_of, 1.0) if learned_of else 0.0
    if isinstance(now.model, TextModel):
        frequency = now.frequencies(np.arange(now.n_columns, dtype=np.int32)).astype(np.int64)
        values, own = int(frequency.sum()), int(frequency[: now.model.n_columns].sum())
        weighted = check_positive("seen_terms", settings.get("seen_terms", 1.0), or_zero=True, most=1.0)
    else:
        values = own = count * now.n_columns
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


def advice(now: Snapshot, seen: Seen, limits: LearningLimits) -> str:
    """Say in one sentence whether it is worth to learn anew, what it takes, and which command does it."""
    if not now.learned:
        return "Too little to learn from; every search compares all documents."
    command = "sth relearn COLLECTION"
    if seen.new_documents >= MANY_DOCUMENTS or seen.new_terms >= MANY_TERMS:
        return (
            f"{seen.new_documents:.0%} of the documents and {seen.new_terms:.0%} of the words came after learning; "
            f"learning anew {_takes(_within(seen, limits))}finds more: {command}"
        )
    if seen.learned_on < (1 - MANY_DOCUMENTS) * seen.count:
        return (
            f"Learned from {seen.learned_on:,} of {seen.count:,} documents; learning from all {_takes(seen.cost)}"
            f"finds more: {command}{_options(seen.cost, limits)}"
        )
    return "The hash functions fit the documents; there is no need to learn anew."


def _takes(cost: Cost | None) -> str:
    return "" if cost is None else f"takes about {said_seconds(cost.seconds)} and "


def _within(seen: Seen, limits: LearningLimits) -> Cost | None:
    """Return what learning takes within the limits."""
    if seen.cost is None:
        return None
    whole = seen.cost
    share = min(1.0, limits.seconds / max(whole.seconds, 1e-9), limits.most_bytes / max(whole.bytes, 1.0))
    if limits.sample_size is not None:
        share = min(share, limits.sample_size / max(seen.count, 1))
    return whole.times(share)


def _options(whole: Cost | None, limits: LearningLimits) -> str:
    """Return the options of the command that learns from all documents."""
    options = "" if limits.sample_size is None else " --learn-on all"
    if whole is not None and whole.seconds > limits.seconds:
        options += f" --learn-seconds {SPARE * whole.seconds:.0f}"
    if whole is not None and whole.bytes > limits.most_bytes:
        options += f" --learn-memory {said_bytes(SPARE * whole.bytes).replace(' ', '')}"
    return options
