"""What a collection answers to judged queries."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Unpack

import numpy as np

from sthash.collection import DocumentCollection, SearchKeywords
from sthash.evaluation.retrieval import Qrels
from sthash.progress import Progress, silent

_AT_ONCE = 64  # queries whose hits are held in memory


def rank_queries(
    collection: DocumentCollection,
    queries: Mapping[str, str],
    k: int = 100,
    *,
    progress: Progress | None = None,
    **options: Unpack[SearchKeywords],
) -> dict[str, dict[str, float]]:
    """Search for queries; return a run: query id → document key → score.

    Scores of hits that have equal ones are lowered by the least amount that keeps their order in trec_eval, which
    ranks by score alone.

    Parameters
    ----------
    collection : Collection, Client or MilvusCollection
    queries : mapping
        Query id → text.
    k : int, default=100
        Number of hits per query.
    progress : callable, optional
    **options
        Those of `Collection.search`.

    Examples
    --------
    >>> import tempfile, sthash
    >>> from sthash.evaluation import evaluate_run, rank_queries
    >>> texts = {"a": "dogs like bones", "b": "cats like fish", "c": "rabbits like carrots"}
    >>> documents = [{"key": key, "text": text} for key, text in texts.items()]
    >>> with (
    ...     tempfile.TemporaryDirectory() as folder,
    ...     sthash.Collection.create(f"{folder}/animals.sth", documents) as animals,
    ... ):
    ...     run = rank_queries(animals, {"q1": "fish for a cat"})
    >>> evaluate_run(run, {"q1": {"b": 1}}, ["nDCG@10"])[0].mean
    1.0
    """
    report, run, rest = progress or silent, {}, iter(queries.items())
    while batch := list(itertools.islice(rest, _AT_ONCE)):
        for (query, _), hits in zip(
            batch, collection.search_many([text for _, text in batch], k, **options), strict=True
        ):
            run[query] = _falling([(hit.key, hit.score) for hit in hits])
        report("searching", len(run), len(queries))
    return run


def _falling(ranked: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Return scores in single precision, each below the one before."""
    scores: dict[str, float] = {}
    least = np.float32(np.inf)
    for key, score in ranked:
        least = min(np.float32(score), np.nextafter(least, np.float32(-np.inf)))
        scores[key] = float(least)
    return scores


def unknown_documents(collection: DocumentCollection, qrels: Qrels) -> list[str]:
    """Return the judged documents that a collection does not have; ValueError if it has none of them."""
    judged = dict.fromkeys(key for grades in qrels.values() for key in grades)
    unknown = [key for key in judged if key not in collection]
    if unknown and len(unknown) == len(judged):
        raise ValueError(
            f"none of the judged documents is in the collection; {unknown[0]!r} is not, for example. "
            "Build the collection with the keys that the judgments use: key (--key) names their field."
        )
    return unknown
