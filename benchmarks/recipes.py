"""What each ingredient of the recipes brings, on held-out training documents of the paper's three corpora.

Nothing here reads a test split. 20Newsgroups and Reuters hold out the last 30 % of each category's training documents
(their order stands in for time), TDT2 a random 30 % of a training split, as its protocol is. Parts: ``neighbors``,
``topics``, ``rerank``, ``dense``, ``time``; all of them without arguments.
"""

import sys
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import randomized_svd

from sthash import SelfTaughtHashing, TextVectorizer, baselines, codes, knn_graph, median_bits
from sthash.evaluation import Neighbours, Topics, nearest_neighbours, score
from sthash.hashing import landmarks, laplacian_eigenpairs, neighbors, ridge, topics
from sthash.hashing.neighbors import balanced_bits, neighbor_places, normal_scores
from sthash.hashing.rotation import principal_axes, quantizing_frames
from sthash.hashing.subspace import STRONG, WEAK, spectral_subspace
from sthash.reproduction.datasets import (
    load_20newsgroups,
    load_reuters21578_counts,
    load_tdt2,
    split_tdt2,
    tfidf_counts,
)
from sthash.reproduction.recipes import time_recipes, weighted_hits
from sthash.rows import unit_rows

MOST_QUERIES = 1000
RECIPES = ("paper", "topics", "neighbors")


@dataclass
class HeldOut:
    """Vectors and labels of kept documents and of held-out ones."""

    name: str
    X: sp.csr_array
    Q: sp.csr_array
    labels: np.ndarray
    query_labels: np.ndarray

    def __post_init__(self):
        """Take a sample of the queries, and find their true neighbours and the kept documents' graph."""
        sample = np.sort(np.random.default_rng(0).permutation(self.Q.shape[0])[:MOST_QUERIES])
        self.Q, self.query_labels = self.Q[sample], self.query_labels[sample]
        self.truth = nearest_neighbours(self.X, self.Q, 25)
        self.W = knn_graph(self.X, 25)


def later(labels):
    """The last 30 % of each category."""
    held = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        own = np.flatnonzero(labels == label)
        held[own[int(0.7 * len(own)) :]] = True
    return held


def corpora():
    """The three corpora, one at a time."""
    data = load_20newsgroups()
    held = later(data.train_labels)
    vectorizer = TextVectorizer()
    X = vectorizer.fit_transform([text for text, out in zip(data.train_texts, held, strict=True) if not out])
    Q = vectorizer.transform([text for text, out in zip(data.train_texts, held, strict=True) if out])
    yield HeldOut("20Newsgroups", X, Q, data.train_labels[~held], data.train_labels[held])
    data = load_reuters21578_counts()
    held = later(data.train_labels)
    yield from counts("Reuters", data, held)
    data = split_tdt2(load_tdt2(), 1000)
    yield from counts("TDT2", data, np.random.default_rng(0).random(len(data.train_labels)) < 0.3)


def counts(name, data, held):
    """A corpus of term counts."""
    X, Q = tfidf_counts(data.train[~held], data.train[held])
    yield HeldOut(name, X, Q, data.train_labels[~held], data.train_labels[held])


def found(corpus, queries, n_bits, truth, depth=100):
    """Share of the true neighbours among the ``depth`` nearest codes, ties in expectation."""
    signs, asked = (2.0 * codes.unpack(c, n_bits) - 1 for c in (corpus, queries))
    distances = np.rint((n_bits - asked.astype(np.float32) @ signs.T.astype(np.float32)) / 2)
    reach = np.partition(distances, depth - 1, axis=1)[:, depth - 1 : depth]
    inside, tied = (distances < reach).sum(axis=1), (distances == reach).sum(axis=1)
    own = np.take_along_axis(distances, truth, axis=1)
    return float(((own < reach) + (own == reach) * ((depth - inside) / tied)[:, None]).mean())


def variant(W, n_bits, *, per_bit=3, eigen="weak", ranks=True, power=None, unit=True, rotate=True, axes_per_bit=1):
    """`neighbor_places` with ingredients left out."""
    d = min(per_bit * n_bits, W.shape[0] // 5)
    if eigen == "exact":
        values, vectors = laplacian_eigenpairs(W, d)
    else:
        values, vectors = spectral_subspace(W, d, degrees={"weak": WEAK, "strong": STRONG}[eigen])
    rows = normal_scores(vectors) if ranks else vectors
    rows = rows * np.maximum(1 - values, 0) ** (min(1, 32 / n_bits) if power is None else power)
    rows = unit_rows(rows) if unit else rows
    rows = rows @ principal_axes(rows)[:, : axes_per_bit * n_bits]
    return rows @ quantizing_frames(rows, n_bits, np.random.default_rng(0)) if rotate else rows[:, :n_bits]


NEIGHBOR_ROWS = {
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


def table_of_neighbors(data):
    """Share of the true 10 within 100, and F1 of the true 25 at the best radius."""
    print(f"\n{data.name}: true 10 in the 100 nearest codes at 32, 64, 128 bits; F1 at 32 bits")
    relevance = Neighbours(data.truth, data.X.shape[0])

    def line(name, **stages):
        hashers = [SelfTaughtHashing(n, graph=lambda _: data.W, **stages).fit(data.X) for n in (32, 64, 128)]
        coded = [(hasher.codes_, hasher.transform(data.Q)) for hasher in hashers]
        shares = [found(*pair, h.n_bits, data.truth[:, :10]) for pair, h in zip(coded, hashers, strict=True)]
        f1 = max(ball.f1 for ball in score(*coded[0], relevance, lengths=(32,)).balls)
        print(f"{name:<32}" + "".join(f"{value:8.3f}" for value in [*shares, f1]), flush=True)

    line("paper")
    for name, changes in NEIGHBOR_ROWS.items():
        line(name, embedding=partial(variant, **changes), binarizer=balanced_bits)
    line("cut at the median", embedding=variant, binarizer=median_bits)
    line("SVMs with C = 0.3", embedding=variant, binarizer=balanced_bits, C=0.3)
    line("SVMs with C = 3", embedding=variant, binarizer=balanced_bits, C=3.0)


def within_axes(rows, n_bits, rng):
    """Frames that stay on as many principal axes as there are bits, as iterative quantisation has it."""
    axes = principal_axes(rows)[:, :n_bits]
    return axes @ quantizing_frames(rows @ axes, n_bits, rng)


def in_sample_predictions(X, targets, alpha, _rng, *, tol, threads):
    """What the map predicts for the documents it was learnt from."""
    weights = ridge.ridge_map(X, targets, alpha, tol=tol, threads=threads)
    return ridge.LeftOut(weights, (X @ weights).astype(np.float64))


# Each row sets constants of the recipe's modules anew.
TOPIC_ROWS = {
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
def constants(changes):
    """Set constants of modules for a while."""
    before = {(module, name): getattr(module, name) for module, name in changes}
    for (module, name), value in changes.items():
        setattr(module, name, value)
    try:
        yield
    finally:
        for (module, name), value in before.items():
            setattr(module, name, value)


def table_of_topics(data):
    """Precision at 100 by Hamming distance and by margins, mean over three seeds, and of the real-valued places."""
    lengths = (16, 32, 64, 128, 256)
    print(f"\n{data.name}: precision at 100 at {', '.join(map(str, lengths))} bits; by margins at 16, 32; by places")
    relevance = Topics(data.labels, data.query_labels)

    def measured(recipe, seed, as_unseen):
        plain, weighted = [], []
        for n_bits in lengths:
            hasher = SelfTaughtHashing(n_bits, recipe=recipe, graph=lambda _: data.W, random_state=seed).fit(data.X)
            corpus = hasher.transform(data.X) if as_unseen else hasher.codes_
            margins = hasher.decision_function(data.Q)
            scores = score(corpus, codes.pack(margins > 0), relevance, lengths=(n_bits,))
            plain.append(scores.rankings[0].precision_at_k)
            if n_bits <= 32:
                weighted.append(weighted_hits(corpus, margins, [relevance], 100).mean() / 100)
        return [*plain, *weighted]

    def line(name, recipe, *more, as_unseen=False):
        shares = np.mean([measured(recipe, seed, as_unseen) for seed in (0, 1, 2)], axis=0)
        print(f"{name:<32}" + "".join(f"{value:8.3f}" for value in [*shares, *more]), flush=True)

    line("paper", "paper")
    line("corpus coded as by transform", "topics", as_unseen=True)
    for name, changes in TOPIC_ROWS.items():
        with constants(changes):
            line(name, "topics", *([bound(data)] if not changes else []))


def bound(data):
    """Precision at 100 by the cosine of the places themselves, from which bits are made."""
    learnt = topics.topic_places(data.X, data.W, np.random.default_rng(0), None)
    cosines = unit_rows(data.Q @ learnt.weights) @ unit_rows(learnt.predictions).T
    nearest = np.argpartition(-cosines, 99, axis=1)[:, :100]
    return float((data.labels[nearest] == data.query_labels[:, None]).mean())


def rerank(data):
    """What a user gets: recall of the true 10 when the nearest codes are ranked again by cosine."""
    depths = (100, 500, 1000)
    print(f"\n{data.name}: recall at 10 after exact re-ranking of the {depths} nearest codes; precision at 100")
    for n_bits in (64, 128):
        for recipe in RECIPES:
            hasher = SelfTaughtHashing(n_bits, recipe=recipe, graph=lambda _: data.W).fit(data.X)
            queries = hasher.transform(data.Q)
            shares = [found(hasher.codes_, queries, n_bits, data.truth[:, :10], depth) for depth in depths]
            same = score(hasher.codes_, queries, Topics(data.labels, data.query_labels), lengths=(n_bits,))
            values = [*shares, same.rankings[0].precision_at_k]
            print(f"{n_bits:>4} {recipe:<27}" + "".join(f"{value:8.3f}" for value in values), flush=True)


# Each row sets constants of the recipe for neighbours anew.
DENSE_ROWS = {
    "as many principal axes as bits": {(neighbors, "SHORT_AXES_PER_BIT"): 1},
    "three times as many": {(neighbors, "SHORT_AXES_PER_BIT"): 3},
    "the vectors take no part": {(neighbors, "SHORT"): 0},
    "their share 0.6": {(neighbors, "VECTOR_SHARE"): 0.6},
    "their share 0.95": {(neighbors, "VECTOR_SHARE"): 0.95},
}


def dense(data):
    """Vectors of 256 dimensions, as a stand-in for embeddings."""
    axes = randomized_svd(data.X, 256, random_state=0)[2].T.astype(np.float32)
    X, Q = (unit_rows(part @ axes).astype(np.float32) for part in (data.X, data.Q))
    truth = nearest_neighbours(X, Q, 10)
    W = knn_graph(X, 25)
    print(f"\n{data.name}, 256 dense dimensions: true 10 in the 100 nearest codes at 64, 128 bits")
    hashers = {
        "sign of a random rotation": baselines.RandomHyperplaneHashing,
        "PCA-ITQ": baselines.IterativeQuantization,
        **{recipe: partial(SelfTaughtHashing, recipe=recipe, graph=lambda _: W) for recipe in RECIPES},
    }

    def line(name, make):
        fitted = [make(n_bits).fit(X) for n_bits in (64, 128)]
        shares = [found(hasher.codes_, hasher.transform(Q), hasher.n_bits, truth) for hasher in fitted]
        print(f"{name:<32}" + "".join(f"{value:8.3f}" for value in shares), flush=True)

    for name, make in hashers.items():
        line(name, make)
    for name, changes in DENSE_ROWS.items():
        with constants(changes):
            line(name, hashers["neighbors"])


def seconds(data):
    """Best of three fits and thirty encodings in turns; the shares for which the rarest and commonest bits are on."""
    print(
        f"\n{data.name}: fit s, ratio; encode µs a document, ratio; least and most on, of the corpus and by transform"
    )
    for n_bits in (16, 64, 128):
        best = time_recipes(SimpleNamespace(train=data.X, test=data.Q), list(RECIPES), n_bits)
        for recipe, took in best.items():
            hasher = SelfTaughtHashing(n_bits, recipe=recipe).fit(data.X)
            shares = [codes.unpack(c, n_bits).mean(axis=0) for c in (hasher.codes_, hasher.transform(data.X))]
            encoding = took["encode"] / data.Q.shape[0] * 1e6
            print(
                f"{n_bits:>4} {recipe:<12}{took['fit']:8.2f}{took['fit'] / best['paper']['fit']:7.2f}"
                f"{encoding:9.1f}{took['encode'] / best['paper']['encode']:7.2f}"
                + "".join(f"{on.min():9.3f}{on.max():7.3f}" for on in shares),
                flush=True,
            )


PARTS = {"neighbors": table_of_neighbors, "topics": table_of_topics, "rerank": rerank, "dense": dense, "time": seconds}


def main():
    """Print the tables."""
    wanted = sys.argv[1:] or list(PARTS)
    if unknown := set(wanted) - set(PARTS):
        sys.exit(f"no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    for data in corpora():
        # The ablation's own assembly must be the recipe that ships.
        shipped = neighbor_places(data.W, 32, np.random.default_rng(0))
        np.testing.assert_allclose(variant(data.W, 32), shipped, atol=1e-6)
        for part in wanted:
            PARTS[part](data)


if __name__ == "__main__":
    main()
