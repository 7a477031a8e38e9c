"""What each ingredient of the recipes brings, on held-out training documents of the paper's three corpora.

Nothing here reads a test split. 20Newsgroups and Reuters hold out the last 30 % of each category's training documents
(their order stands in for time), TDT2 a random 30 % of a training split, as its protocol is. Parts: ``neighbors``,
``topics``, ``rerank``, ``dense``, ``time``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils.extmath import randomized_svd
from threadpoolctl import threadpool_limits

import data
from harness import Run, figure, main
from library import Neighbors, nearest_neighbors, unit_rows
from sthash import SelfTaughtHashing, TextVectorizer, baselines, codes
from sthash.evaluation import Topics, score
from sthash.hashing import knn_graph, landmarks, laplacian_eigenpairs, median_bits, neighbors, ridge, topics
from sthash.hashing.neighbors import balanced_bits, neighbor_places
from sthash.hashing.normal_scores import normal_scores
from sthash.hashing.rotation import principal_axes, quantizing_frames
from sthash.hashing.subspace import STRONG, WEAK, spectral_subspace
from sthash.reproduction.datasets import tfidf_counts
from sthash.reproduction.recipes import weighted_hits
from timing import time_in_turns

MOST_QUERIES = 1000
RECIPES: tuple[Any, ...] = ("paper", "topics", "neighbors")

Matrix = npt.NDArray[np.float64]
Rows = dict[str, dict[tuple[ModuleType, str], Any]]  # constants of modules that a variant of a recipe sets anew


@dataclass
class HeldOut:
    """Vectors and labels of kept documents and of held-out ones."""

    name: str
    X: sp.csr_array
    Q: sp.csr_array
    labels: data.Labels
    query_labels: data.Labels

    def __post_init__(self) -> None:
        """Take a sample of the queries, and find their true neighbors and the kept documents' graph."""
        sample = np.sort(np.random.default_rng(0).permutation(self.Q.shape[0])[:MOST_QUERIES])
        self.Q, self.query_labels = self.Q[sample], self.query_labels[sample]
        self.truth = nearest_neighbors(self.X, self.Q, 25)
        self.W = knn_graph(self.X, 25)


def later(labels: data.Labels) -> npt.NDArray[np.bool_]:
    """Mark the last 30 % of each category."""
    held = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        own = np.flatnonzero(labels == label)
        held[own[int(0.7 * len(own)) :]] = True
    return held


def corpora(run: Run) -> Iterator[HeldOut]:
    """Give the three corpora, one at a time; a quick run has only the first."""
    news = data.news(run.quick)
    held = later(news.train_labels)
    vectorizer = TextVectorizer()
    X = vectorizer.fit_transform([text for text, out in zip(news.train, held, strict=True) if not out])
    Q = vectorizer.transform([text for text, out in zip(news.train, held, strict=True) if out])
    yield HeldOut("20Newsgroups", X, Q, news.train_labels[~held], news.train_labels[held])
    if run.quick:
        return
    reuters = data.reuters(run.quick)
    yield from_counts("Reuters", reuters, later(reuters.train_labels))
    tdt2 = data.tdt2(run.quick)
    yield from_counts("TDT2", tdt2, np.random.default_rng(0).random(len(tdt2.train_labels)) < 0.3)


def from_counts(name: str, corpus: data.Split, held: npt.NDArray[np.bool_]) -> HeldOut:
    """Hold documents out of a corpus of term counts."""
    X, Q = tfidf_counts(corpus.train[~held], corpus.train[held])
    return HeldOut(name, X, Q, corpus.train_labels[~held], corpus.train_labels[held])


def found(corpus: data.Codes, queries: data.Codes, n_bits: int, truth: Any, depth: int = 100) -> float:
    """Give the share of the true neighbors among the ``depth`` nearest codes, ties in expectation."""
    depth = min(depth, len(corpus))
    signs, asked = (2.0 * codes.unpack(c, n_bits) - 1 for c in (corpus, queries))
    distances = np.rint((n_bits - asked.astype(np.float32) @ signs.T.astype(np.float32)) / 2)
    reach = np.partition(distances, depth - 1, axis=1)[:, depth - 1 : depth]
    inside, tied = (distances < reach).sum(axis=1), (distances == reach).sum(axis=1)
    own = np.take_along_axis(distances, truth, axis=1)
    return float(((own < reach) + (own == reach) * ((depth - inside) / tied)[:, None]).mean())


def given(W: sp.csr_array, _X: Any) -> sp.csr_array:
    """Take a graph that is there already as the graph of the vectors."""
    return W


def add(run: Run, held: HeldOut, name: str, what: str, values: dict[str, float]) -> None:
    """Add a row: the first value is the one that counts."""
    (first, ours), *others = values.items()
    run.add(
        figure(
            f"{held.name}: {name}", name, ours, what, setting={"corpus": held.name, "at": first}, details=dict(others)
        )
    )


# What each ingredient of the recipe for neighbors brings


def variant(
    W: sp.csr_array,
    n_bits: int,
    *,
    per_bit: int = 3,
    eigen: str = "weak",
    ranks: bool = True,
    power: float | None = None,
    unit: bool = True,
    rotate: bool = True,
    axes_per_bit: int = 1,
) -> Matrix:
    """Do what `neighbor_places` does, with ingredients left out."""
    d = min(per_bit * n_bits, W.shape[0] - 2)
    if eigen == "exact":
        values, vectors = laplacian_eigenpairs(W, d)
    else:
        values, vectors = spectral_subspace(W, d, degrees={"weak": WEAK, "strong": STRONG}[eigen])
    rows = normal_scores(vectors) if ranks else vectors
    rows = rows * np.maximum(1 - values, 0) ** (min(1, 32 / n_bits) if power is None else power)
    rows = unit_rows(rows) if unit else rows
    with threadpool_limits(limits=1, user_api="blas"):  # as the recipe: rounding in another order ends in other frames
        rows = rows @ principal_axes(rows)[:, : axes_per_bit * n_bits]
        if rotate:
            rows = rows @ quantizing_frames(rows, n_bits, np.random.default_rng(0))
    placed: Matrix = rows[:, :n_bits]
    return placed


NEIGHBOR_ROWS: dict[str, dict[str, Any]] = {
    "the recipe": {},
    "as many eigenvectors as bits": {"per_bit": 1},
    "twice as many": {"per_bit": 2},
    "four times as many": {"per_bit": 4},
    "strong filter": {"eigen": "strong"},
    "exact eigenvectors": {"eigen": "exact"},
    "values, not normal scores": {"ranks": False},
    "not scaled by 1 − λ": {"power": 0},
    "scaled by 1 − λ at any length": {"power": 1},
    "rows not of unit length": {"unit": False},
    "principal axes not rotated": {"rotate": False},
    "twice as many principal axes": {"axes_per_bit": 2},
}


def ablate_neighbors(run: Run) -> None:
    """Measure the share of the true 10 within 100, and F1 of the true 25 at the best radius."""
    lengths = run.choose((32, 64, 128), (32,))
    for held in corpora(run):
        # This assembly must be the recipe that ships.
        shipped = neighbor_places(held.W, 32, np.random.default_rng(0))
        np.testing.assert_allclose(variant(held.W, 32), shipped, atol=1e-6)
        relevance = Neighbors(held.truth, held.X.shape[0])

        def measure(name: str, held: HeldOut = held, relevance: Any = relevance, **stages: Any) -> None:
            hashers = [SelfTaughtHashing(n, graph=partial(given, held.W), **stages).fit(held.X) for n in lengths]
            coded = [(hasher.codes_, hasher.transform(held.Q)) for hasher in hashers]
            shares = [found(*pair, h.n_bits, held.truth[:, :10]) for pair, h in zip(coded, hashers, strict=True)]
            values = {f"{n} bits": share for n, share in zip(lengths, shares, strict=True)}
            values["F1 at 32 bits"] = max(ball.f1 for ball in score(*coded[0], relevance, lengths=(32,)).balls)
            add(run, held, name, "share", values)

        measure("paper")
        for name, changes in list(NEIGHBOR_ROWS.items())[: run.choose(None, 1)]:
            measure(name, embedding=partial(variant, **changes), binarizer=balanced_bits)
        if not run.quick:
            measure("cut at the median", embedding=variant, binarizer=median_bits)
            measure("SVMs with C = 0.3", embedding=variant, binarizer=balanced_bits, C=0.3)
            measure("SVMs with C = 3", embedding=variant, binarizer=balanced_bits, C=3.0)


# What each ingredient of the recipe for topics brings


def within_axes(rows: Matrix, n_bits: int, rng: np.random.Generator) -> Matrix:
    """Keep frames on as many principal axes as there are bits, as iterative quantization has it."""
    axes = principal_axes(rows)[:, :n_bits]
    kept: Matrix = axes @ quantizing_frames(rows @ axes, n_bits, rng)
    return kept


def in_sample_predictions(X: Any, targets: Matrix, alpha: float, _rng: Any, *, tol: float, threads: int) -> Any:
    """Predict the documents from which the map was learned."""
    weights = ridge.ridge_map(X, targets, alpha, tol=tol, threads=threads)
    return ridge.LeftOut(weights, (X @ weights).astype(np.float64))


# Each row sets constants of the recipe's modules anew.
TOPIC_ROWS: Rows = {
    "the recipe": {},
    "no round": {(topics, "ROUNDS"): 0},
    "1 round": {(topics, "ROUNDS"): 1},
    "2 rounds": {(topics, "ROUNDS"): 2},
    "4 rounds": {(topics, "ROUNDS"): 4},
    "documents not left out": {(topics, "left_out_predictions"): in_sample_predictions},
    "frames within principal axes": {(topics, "quantizing_frames"): within_axes},
    "edges weigh nearly alike": {(landmarks, "SAME_PLACE"): 10.0},
    "500 landmarks": {(landmarks, "LANDMARKS"): 500},
    "2000 landmarks": {(landmarks, "LANDMARKS"): 2000},
    "joined to 1 % of them": {(landmarks, "NEAREST_SHARE"): 0.01},
    "joined to 4 % of them": {(landmarks, "NEAREST_SHARE"): 0.04},
    "28 eigenvectors": {(topics, "COMPONENTS"): 28},
    "60 eigenvectors": {(topics, "COMPONENTS"): 60},
    "a quarter of the ridge": {(topics, "ALPHA"): 2.0},
    "four times the ridge": {(topics, "ALPHA"): 32.0},
    "ridge solved to 0.001": {(topics, "RIDGE_TOLERANCE"): 1e-3},
    "not scaled by (1 − λ)³": {(topics, "SCALING_POWER"): 0},
    "not scaled by (1 − λ)^½": {(landmarks, "SCALING_POWER"): 0},
    "zero thresholds": {(topics, "LEAST_ON"): 0.0, (topics, "MOST_ON"): 1.0},
    "median thresholds": {(topics, "LEAST_ON"): 0.5, (topics, "MOST_ON"): 0.5},
}


@contextmanager
def constants(changes: dict[tuple[ModuleType, str], Any]) -> Iterator[None]:
    """Set constants of modules for a while."""
    before = {(module, name): getattr(module, name) for module, name in changes}
    for (module, name), value in changes.items():
        setattr(module, name, value)
    try:
        yield
    finally:
        for (module, name), value in before.items():
            setattr(module, name, value)


def ablate_topics(run: Run) -> None:
    """Measure precision at 100 by Hamming distance and by margins, mean over three seeds, and of the places."""
    lengths, seeds = run.choose((16, 32, 64, 128, 256), (16,)), range(run.choose(3, 1))
    for held in corpora(run):
        add(run, held, "places, by cosine", "precision", {"no bits": bound(held)})

        def measure(name: str, recipe: Any, held: HeldOut = held, *, as_unseen: bool = False) -> None:
            each = [topic_scores(held, recipe, lengths, seed, as_unseen=as_unseen) for seed in seeds]
            values = {key: float(np.mean([one[key] for one in each])) for key in each[0]}
            add(run, held, name, "precision", values)

        measure("paper", "paper")
        measure("corpus coded as by transform", "topics", as_unseen=True)
        for name, changes in list(TOPIC_ROWS.items())[: run.choose(None, 1)]:
            with constants(changes):
                measure(name, "topics")


def topic_scores(
    held: HeldOut, recipe: Any, lengths: tuple[int, ...], seed: int, *, as_unseen: bool
) -> dict[str, float]:
    """Score one recipe at all lengths."""
    relevance = Topics(held.labels, held.query_labels)
    plain, weighted = {}, {}
    for n_bits in lengths:
        hasher = SelfTaughtHashing(n_bits, recipe=recipe, graph=partial(given, held.W), random_state=seed).fit(held.X)
        corpus = hasher.transform(held.X) if as_unseen else hasher.codes_
        margins = hasher.decision_function(held.Q)
        scores = score(corpus, codes.pack(margins > 0), relevance, lengths=(n_bits,))
        plain[f"{n_bits} bits"] = float(scores.rankings[0].precision_at_k)
        if n_bits <= 32:
            hits = weighted_hits(corpus, margins, [relevance], 100)
            weighted[f"{n_bits} bits, by margins"] = float(hits.mean() / 100)
    return plain | weighted


def bound(held: HeldOut) -> float:
    """Give the precision at 100 by the cosine of the places themselves, from which bits are made."""
    learned = topics.topic_places(held.X, held.W, np.random.default_rng(0), None)
    cosines = unit_rows(held.Q @ learned.weights) @ unit_rows(learned.predictions).T
    nearest = np.argpartition(-cosines, 99, axis=1)[:, :100]
    return float((held.labels[nearest] == held.query_labels[:, None]).mean())


# What a user gets


def rerank(run: Run) -> None:
    """Measure the recall of the true 10 when the nearest codes are ranked again by cosine, and precision at 100."""
    depths = run.choose((100, 500, 1000), (100,))
    for held in corpora(run):
        relevance = Topics(held.labels, held.query_labels)
        for n_bits in run.choose((64, 128), (64,)):
            for recipe in RECIPES:
                hasher = SelfTaughtHashing(n_bits, recipe=recipe, graph=partial(given, held.W)).fit(held.X)
                queries = hasher.transform(held.Q)
                values = {
                    f"the nearest {depth}": found(hasher.codes_, queries, n_bits, held.truth[:, :10], depth)
                    for depth in depths
                }
                same = score(hasher.codes_, queries, relevance, lengths=(n_bits,))
                values["precision at 100"] = float(same.rankings[0].precision_at_k)
                add(run, held, f"{recipe}, {n_bits} bits", "recall", values)


# Each row sets constants of the recipe for neighbors anew.
DENSE_ROWS: Rows = {
    "as many principal axes as bits": {(neighbors, "SHORT_AXES_PER_BIT"): 1},
    "three times as many": {(neighbors, "SHORT_AXES_PER_BIT"): 3},
    "the vectors take no part": {(neighbors, "SHORT"): 0},
    "their share 0.6": {(neighbors, "VECTOR_SHARE"): 0.6},
    "their share 0.95": {(neighbors, "VECTOR_SHARE"): 0.95},
}


def dense(run: Run) -> None:
    """Measure vectors of 256 dimensions, as a stand-in for embeddings: the share of the true 10 within 100."""
    lengths = run.choose((64, 128), (64,))
    for held in corpora(run):
        axes = randomized_svd(held.X, run.choose(256, 64), random_state=0)[2].T.astype(np.float32)
        X, Q = (unit_rows(part @ axes).astype(np.float32) for part in (held.X, held.Q))
        truth, W = nearest_neighbors(X, Q, 10), knn_graph(X, 25)
        hashers: dict[str, Callable[[int], Any]] = {
            "sign of a random rotation": baselines.RandomHyperplaneHashing,
            "PCA-ITQ": baselines.IterativeQuantization,
        }
        for recipe in RECIPES:
            hashers[recipe] = partial(SelfTaughtHashing, recipe=recipe, graph=partial(given, W))

        def measure(
            name: str, make: Callable[[int], Any], held: HeldOut = held, X: Any = X, Q: Any = Q, truth: Any = truth
        ) -> None:
            fitted = [make(n_bits).fit(X) for n_bits in lengths]
            shares = [found(hasher.codes_, hasher.transform(Q), hasher.n_bits, truth) for hasher in fitted]
            values = {f"{n_bits} bits": share for n_bits, share in zip(lengths, shares, strict=True)}
            add(run, held, name, "share", values)

        for name, make in hashers.items():
            measure(name, make)
        for name, changes in DENSE_ROWS.items():
            with constants(changes):
                measure(name, hashers["neighbors"])


def seconds(run: Run) -> None:
    """Time fits and encodings of the recipes in turns."""
    for held in corpora(run):
        for n_bits in run.choose((16, 64, 128), (16,)):
            time_recipes(run, held, n_bits)


def time_recipes(run: Run, held: HeldOut, n_bits: int) -> None:
    """Time all recipes at one length; tell for which shares of documents the rarest and commonest bits are on."""
    hashers = {recipe: SelfTaughtHashing(n_bits, recipe=recipe) for recipe in RECIPES}
    fits = time_in_turns({recipe: partial(hashers[recipe].fit, held.X) for recipe in RECIPES}, repetitions=3)
    works = {recipe: partial(hashers[recipe].transform, held.Q) for recipe in RECIPES}
    encodings = time_in_turns(works, repetitions=run.choose(30, 2))
    for recipe, hasher in hashers.items():
        corpus, unseen = (codes.unpack(c, n_bits).mean(axis=0) for c in (hasher.codes_, hasher.transform(held.X)))
        details = {
            "encode, µs per document": 1e6 * encodings[recipe].best / held.Q.shape[0],
            "encode, times that of paper": encodings[recipe].best / encodings["paper"].best,
            "least on": float(corpus.min()),
            "most on": float(corpus.max()),
            "least on, by transform": float(unseen.min()),
            "most on, by transform": float(unseen.max()),
        }
        theirs: dict[str, Any] = {"peer": "paper", "theirs": fits["paper"].best} if recipe != "paper" else {}
        name, setting = f"fit {recipe}, {n_bits} bits", {"corpus": held.name, "bits": n_bits}
        ours = fits[recipe].best
        run.add(figure(f"{held.name}: {name}", name, ours, "s", setting=setting, details=details, **theirs))


PARTS = {"neighbors": ablate_neighbors, "topics": ablate_topics, "rerank": rerank, "dense": dense, "time": seconds}


if __name__ == "__main__":
    main(__file__, __doc__, PARTS)
