"""Postings: the exact best documents of short queries by BM25, against bm25s with its fastest backend.

Both get the same terms, made by bm25s, of 244,163 texts. Queries have 1 to 5 words of texts that are not among them.
``single`` asks one by one, ``batch`` asks all at once; both use one thread. ``lists`` packs the lists and reads them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import bm25s
import numpy as np
import numpy.typing as npt
import Stemmer

import data
from harness import OURS, Run, compare, figure, main
from library import Bm25Lists
from timing import Timing, time_in_turns, timed

KS = (10, 100, 1000)
MOST_WORDS = 5
K1, B = 1.5, 0.75
Query = list[int]


@dataclass(frozen=True)
class Terms:
    """The terms of the texts, by number and in their order, and queries of the same terms."""

    documents: list[npt.NDArray[np.int64]]
    vocabulary: dict[str, int]
    queries: list[Query]


@cache
def terms(quick: bool) -> Terms:
    """Let bm25s make terms of the texts; take 1 to 5 distinct words from each text that is a query."""
    found = data.descriptions(quick)
    words = {"stopwords": "en", "stemmer": Stemmer.Stemmer("english"), "show_progress": False}
    tokens: Any = bm25s.tokenize(found.texts, **words)
    asked: Any = bm25s.tokenize(found.queries, return_ids=False, **words)
    rng = np.random.default_rng(0)
    queries = []
    for place, text in enumerate(asked):
        known = [tokens.vocab[word] for word in dict.fromkeys(text) if word in tokens.vocab]
        size = min(place % MOST_WORDS + 1, len(known))
        queries.append(rng.choice(known, size, replace=False).tolist() if known else [])
    documents = [np.asarray(ids, dtype=np.int64) for ids in tokens.ids]
    return Terms(documents, tokens.vocab, [query for query in queries if query])


@cache
def our_lists(quick: bool) -> Bm25Lists:
    """Make our lists, and read all that the queries need."""
    given = terms(quick)
    return Bm25Lists(given.documents, len(given.vocabulary), k1=K1, b=B)


@cache
def their_index(quick: bool) -> Any:
    """Make the peer's index. A quick run does not wait for numba's compiler."""
    given = terms(quick)
    engine = bm25s.BM25(k1=K1, b=B, backend="numpy" if quick else "auto")
    engine.index((given.documents, given.vocabulary), show_progress=False)
    engine.retrieve(given.queries[:2], k=1, n_threads=1, show_progress=False)  # compiles it
    return engine


def peer(quick: bool) -> str:
    """Name the peer with its backend."""
    return f"bm25s ({their_index(quick).backend})"


def searchers(run: Run, k: int) -> dict[str, Callable[[list[Query]], Any]]:
    """Give both ways to search queries for their k best documents."""
    ours, theirs = our_lists(run.quick), their_index(run.quick)
    return {
        OURS: lambda queries: ours.search(queries, k),
        peer(run.quick): lambda queries: theirs.retrieve(queries, k=k, n_threads=1, show_progress=False),
    }


def lists(run: Run) -> None:
    """Pack the lists, and read those of the queries into memory."""
    given, ours = terms(run.quick), our_lists(run.quick)
    packing = timed(ours.pack)
    setting = {"documents": len(given.documents), "postings": ours.n_postings}
    details = {"bytes per posting": ours.n_packed_bytes / ours.n_postings}
    run.add(compare("pack", "pack all lists", {OURS: packing}, setting=setting, details=details))
    reading = timed(lambda: ours.read(given.queries))
    setting = {"lists": ours.n_read, "postings": ours.n_read_postings}
    run.add(compare("read", "read the lists of the queries", {OURS: reading}, "ms", setting=setting))
    ours.search(given.queries, 1)
    bytes_each = ours.n_bytes / ours.n_read_postings
    run.add(figure("memory", "a posting in memory", bytes_each, "bytes", setting=setting))


def single(run: Run) -> None:
    """Ask queries one by one."""
    given = terms(run.quick)
    for k in run.choose(KS, KS[:1]):
        both = searchers(run, k)
        timings = time_in_turns(
            {name: lambda search=search: [search([query]) for query in given.queries] for name, search in both.items()},
            repetitions=run.choose(5, 1),
        )
        add(run, k, "queries one by one", timings, least_ratio=1.0)


def batch(run: Run) -> None:
    """Ask all queries at once."""
    given = terms(run.quick)
    for k in run.choose(KS, KS[:1]):
        both = searchers(run, k)
        timings = time_in_turns(
            {name: lambda search=search: search(given.queries) for name, search in both.items()},
            repetitions=run.choose(5, 1),
        )
        add(run, k, "queries in one batch", timings, least_ratio=3.0)


def add(run: Run, k: int, what: str, timings: dict[str, Timing], least_ratio: float) -> None:
    """Add the row of one comparison, with the share of the exact best among what we found."""
    given = terms(run.quick)
    asked = given.queries[:: run.choose(5, 10)]
    found = our_lists(run.quick).search(asked, 10)[0]
    details = {"share of the exact top 10": exact_share(our_lists(run.quick), asked, found)}
    setting = {"documents": len(given.documents), "queries": len(given.queries), "k": k, "threads": 1}
    per_query = {name: timing.per(len(given.queries)) for name, timing in timings.items()}
    row = compare(f"k-{k}", what, per_query, "µs", setting=setting, details=details, least_ratio=least_ratio)
    run.add(row)


def exact_share(ours: Bm25Lists, queries: list[Query], found: npt.NDArray[np.int64]) -> float:
    """Give the share of the best documents that were found, where equal scores are equally good."""
    right = wanted = 0
    for query, positions in zip(queries, found, strict=True):
        scores = ours.all_scores(query)
        best = np.sort(scores)[::-1][: len(positions)]
        best = best[best > 0]
        wanted += len(best)
        if len(best):
            right += np.count_nonzero(scores[positions[positions >= 0]] >= best[-1] * (1 - 1e-5))
    return right / max(wanted, 1)


if __name__ == "__main__":
    main(__file__, __doc__, {"lists": lists, "single": single, "batch": batch}, peers=["bm25s", "numba"])
