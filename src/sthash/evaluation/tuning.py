"""Choice of code length, neighbors and recipe on held-out documents, as the paper suggests.

Some documents are held out as queries. Every setting of a small grid learns from the other documents. Two shares judge
it: the share of each query's true nearest documents that it finds, and the share of the nearest codes that belong to
documents with the label of the query.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from sthash.checks import check_choice, check_whole, resolve_threads
from sthash.codes import n_bytes, pack
from sthash.evaluation.relevance import nearest_neighbors
from sthash.hashing import SelfTaughtHashing
from sthash.hashing.sth import Recipe
from sthash.index import HammingIndex
from sthash.index.hamming import MAX_BITS
from sthash.progress import Progress, silent
from sthash.sources import open_documents
from sthash.text import TextVectorizer
from sthash.text.options import TextOptions, new_vectorizer
from sthash.vectors.checks import check_vectors

Aim = Literal["neighbors", "topics"]
# Those for rows of any kind; "embeddings" takes dense vectors only.
RECIPES: tuple[str, ...] = ("paper", "topics", "neighbors")

N_BITS, N_NEIGHBORS = (32, 64, 128), (10, 25)
TRUE_NEIGHBORS = 10
NEAREST_CODES = 100
FEWEST_DOCUMENTS = 250
MOST_QUERIES = 500
RUNS = 3  # the fastest one counts
# The ball that is re-ranked holds this share of the corpus, but no more than a search for ten hits re-ranks.
BALL_SHARE, LARGEST_BALL = 0.05, 5000
# A shorter code is the better choice if its quality is at most this much lower.
TOLERANCE = 0.01


@dataclass(frozen=True)
class Trial:
    """One setting, and its measurements.

    Attributes
    ----------
    recipe, n_neighbors, n_bits
        The setting.
    recall : float
        Share of the ten true nearest documents (by cosine) that re-ranking the ball around the query finds.
    share_in_100 : float
        Share of the ten true nearest documents among the 100 nearest codes.
    precision_at_100 : float or None
        Share of the 100 nearest codes that have the query's label; None without labels.
    bytes : int
        Bytes per code.
    microseconds : float
        Time per query in a batch, from its vector to its ball. Re-ranking takes the same time with all settings and is
        not included.
    fit_seconds : float
        Time to learn from the sample.
    """

    recipe: str
    n_neighbors: int
    n_bits: int
    recall: float
    share_in_100: float
    precision_at_100: float | None
    bytes: int
    microseconds: float
    fit_seconds: float

    def quality(self, aim: Aim) -> float:
        """Return the measure that counts for an aim."""
        return self.recall if aim == "neighbors" else self.precision_at_100 or 0.0


@dataclass(frozen=True)
class Tuning:
    """All trials, and the recommended one: the shortest code among those almost as good as the best."""

    trials: tuple[Trial, ...]
    recommended: Trial
    aim: Aim
    n_corpus: int
    n_queries: int
    ball: int


@dataclass(frozen=True)
class _Data:
    corpus: Any
    queries: Any
    neighbors: npt.NDArray[np.int64]
    corpus_labels: npt.NDArray[np.int64]  # -1 where there is none
    query_labels: npt.NDArray[np.int64]
    ball: int


def tune(
    documents: Any = None,
    *,
    vectors: Any = None,
    labels: Sequence[Any] | None = None,
    n_bits: Sequence[int] = N_BITS,
    n_neighbors: Sequence[int] = N_NEIGHBORS,
    recipe: Sequence[str] = RECIPES,
    aim: Aim = "neighbors",
    sample_size: int | None = 20_000,
    text_options: TextOptions | TextVectorizer | None = None,
    random_state: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Tuning:
    """Try every combination of code length, neighbors and recipe on held-out documents.

    Parameters
    ----------
    documents : iterable of str, dict or Document; path object; table
        As `sthash.sources.open_documents` takes them. They are read once, and only the sample is kept.
    vectors : array or sparse array, one row per document
        Instead of documents.
    labels : sequence, optional
        Labels of the vectors, None where there is none. Documents bring their own.
    n_bits, n_neighbors, recipe : sequences
        The grid.
    aim : {"neighbors", "topics"}
        What the recommendation is for: the true nearest documents after re-ranking, or documents with the label of the
        query among the nearest codes.
    sample_size : int or None
        Try the settings on a random sample of this many documents; None takes all. A collection learns from all of
        its documents, so its codes find more than those of the trials.
    text_options : TextOptions or TextVectorizer, optional
        How texts become words, as in a collection.
    random_state : int
        Seed of the sample, the split and the hashers. The same seed gives the same trials, except for the times.
    threads : int or None
        None takes one per available core. The measures do not depend on it, the times do.
    progress : callable, optional
        Called with the name of the step, how much is done, and of how much (None if not known).

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.evaluation import tune
    >>> rng = np.random.default_rng(0)
    >>> centers = rng.normal(size=(20, 16))
    >>> X = centers[rng.integers(0, 20, 400)] + 0.3 * rng.normal(size=(400, 16))
    >>> tuning = tune(vectors=X, n_bits=[8, 32], n_neighbors=[10], recipe=["paper"])
    >>> [trial.n_bits for trial in tuning.trials], tuning.n_queries
    ([8, 32], 80)
    """
    report = progress or silent
    grid = _grid(n_bits, n_neighbors, recipe)
    check_choice("aim", aim, get_args(Aim))
    if (documents is None) == (vectors is None):
        raise TypeError("tune takes either documents or vectors. Pass one of them.")
    if sample_size is not None:
        check_whole("sample_size", sample_size, least=FEWEST_DOCUMENTS)
    n_threads = resolve_threads(threads)
    rng = np.random.default_rng(check_whole("random_state", random_state, least=0))
    if documents is not None:
        if labels is not None:
            raise TypeError("labels= goes with vectors=. Documents bring their own labels.")
        rows, found_labels = _sampled_documents(documents, sample_size, rng, report)
    else:
        rows, found_labels = _sampled_vectors(vectors, labels, sample_size, rng)
    if aim == "topics" and all(label is None for label in found_labels):
        raise ValueError("aim='topics' needs labels, and there are none. Bring labels, or use aim='neighbors'.")
    report("splitting", 0, None)
    vectorizer = new_vectorizer(text_options, n_threads)
    data = _split(rows, found_labels, max(bits for _, _, bits in grid), vectorizer, rng)
    trials = []
    for done, (name, k, bits) in enumerate(grid):
        report("trying", done, len(grid))
        hasher = SelfTaughtHashing(bits, k, recipe=name, random_state=random_state, threads=n_threads)
        trials.append(_try(data, hasher))
    report("trying", len(grid), len(grid))
    best = max(trial.quality(aim) for trial in trials)
    good = [trial for trial in trials if trial.quality(aim) >= best - TOLERANCE]
    recommended = min(good, key=lambda trial: (trial.bytes, -trial.quality(aim)))
    return Tuning(tuple(trials), recommended, aim, data.corpus.shape[0], data.queries.shape[0], data.ball)


def _grid(n_bits: Sequence[int], n_neighbors: Sequence[int], recipes: Sequence[str]) -> list[tuple[Recipe, int, int]]:
    for name, values in (("n_bits", n_bits), ("n_neighbors", n_neighbors), ("recipe", recipes)):
        if isinstance(values, str) or not len(values):
            raise ValueError(f"{name}={values!r} must be a sequence of at least one value to try.")
    for bits in n_bits:
        if check_whole("n_bits", bits) > MAX_BITS:
            raise ValueError(f"n_bits={bits} must be at most {MAX_BITS}.")
    for k in n_neighbors:
        check_whole("n_neighbors", k)
    for recipe in recipes:
        check_choice("recipe", recipe, get_args(Recipe))
    return list(dict.fromkeys(itertools.product(recipes, n_neighbors, n_bits)))  # type: ignore[arg-type]


def _sampled_documents(
    documents: Any, sample_size: int | None, rng: np.random.Generator, report: Progress
) -> tuple[list[str], list[Any]]:
    """Draw a reservoir sample: document i takes a random one of i + 1 places if the sample has that place."""
    kept: list[tuple[int, str, Any]] = []
    position = -1
    for position, document in enumerate(open_documents(documents)):
        row = (position, document.text, document.label)
        if sample_size is None or position < sample_size:
            kept.append(row)
        elif (place := int(rng.integers(position + 1))) < sample_size:
            kept[place] = row
        if position % 1000 == 0:
            report("reading", position, None)
    report("reading", position + 1, None)
    kept.sort()
    return [text for _, text, _ in kept], [label for _, _, label in kept]


def _sampled_vectors(
    vectors: Any, labels: Sequence[Any] | None, sample_size: int | None, rng: np.random.Generator
) -> tuple[Any, list[Any]]:
    rows = check_vectors(vectors)
    n = rows.shape[0]
    if labels is not None and len(labels) != n:
        raise ValueError(
            f"labels must be as many as the vectors, got {len(labels)} for {n} vectors. Pass one per vector."
        )
    chosen = np.arange(n)
    if sample_size is not None and sample_size < n:
        chosen = np.sort(rng.choice(n, sample_size, replace=False))
    return rows[chosen], [None if labels is None else labels[i] for i in chosen.tolist()]


def _split(rows: Any, labels: list[Any], most_bits: int, vectorizer: TextVectorizer, rng: np.random.Generator) -> _Data:
    n = len(labels)
    if n < FEWEST_DOCUMENTS:
        raise ValueError(f"tuning needs at least {FEWEST_DOCUMENTS} documents, got {n}. Bring more documents.")
    order = rng.permutation(n)
    held_out = min(MOST_QUERIES, n // 5)
    asked, kept = np.sort(order[:held_out]), np.sort(order[held_out:])
    if most_bits > len(kept) - 2:
        raise ValueError(
            f"n_bits={most_bits} needs at least {most_bits + 2} documents to learn from, got {len(kept)} besides the "
            f"{held_out} held-out ones. Ask for fewer bits or bring more documents."
        )
    if isinstance(rows, list):
        corpus = vectorizer.fit_transform([rows[i] for i in kept.tolist()])
        queries = vectorizer.transform([rows[i] for i in asked.tolist()])
    else:
        corpus, queries = rows[kept], rows[asked]
    # What has no term in common with the corpus has no nearest documents.
    known = np.flatnonzero(np.asarray(abs(queries).sum(axis=1)).ravel() > 0)
    if len(known) == 0:
        raise ValueError("no held-out document has a term in common with the other documents. Bring more documents.")
    queries, asked = queries[known], asked[known]
    numbers = {label: number for number, label in enumerate(dict.fromkeys(x for x in labels if x is not None))}
    numbered = np.array([numbers.get(label, -1) for label in labels], dtype=np.int64)
    ball = min(LARGEST_BALL, max(NEAREST_CODES, round(BALL_SHARE * len(kept))))
    neighbors = nearest_neighbors(corpus, queries, TRUE_NEIGHBORS)
    return _Data(corpus, queries, neighbors, numbered[kept], numbered[asked], ball)


def _try(data: _Data, hasher: SelfTaughtHashing) -> Trial:
    """Learn and search as a collection does: all codes of a collection are predicted ones."""
    start = time.perf_counter()
    hasher.fit(data.corpus)
    fit_seconds = time.perf_counter() - start
    index = HammingIndex.build(hasher.transform(data.corpus), n_bits=hasher.n_bits, strategy="scan")
    seconds = []
    for _run in range(RUNS):
        start = time.perf_counter()
        margins = hasher.decision_function(data.queries)
        ids, _ = index.search(pack(margins > 0), data.ball, weights=np.abs(margins), threads=hasher.threads)
        seconds.append(time.perf_counter() - start)
    labeled = data.query_labels >= 0
    same = data.corpus_labels[ids[labeled, :NEAREST_CODES]] == data.query_labels[labeled, None]
    return Trial(
        hasher.recipe,
        hasher.n_neighbors,
        hasher.n_bits,
        _share_found(ids, data.neighbors),
        _share_found(ids[:, :NEAREST_CODES], data.neighbors),
        float(same.mean()) if labeled.any() else None,
        n_bytes(hasher.n_bits),
        min(seconds) / len(ids) * 1e6,
        fit_seconds,
    )


def _share_found(ids: npt.NDArray[np.int64], wanted: npt.NDArray[np.int64]) -> float:
    return float(np.mean([np.isin(row, found).mean() for row, found in zip(wanted, ids, strict=True)]))
