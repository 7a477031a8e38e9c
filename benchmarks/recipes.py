"""What each ingredient of the recipes brings, on held-out training documents of the paper's three corpora.

Nothing here reads a test split. 20Newsgroups and Reuters hold out the last 30 % of each category's training documents
(their order stands in for time), TDT2 a random 30 % of a training split, as its protocol is. Parts: ``neighbors``,
``topics``, ``rerank``, ``dense``, ``time``; all of them without arguments.
"""

import sys
import time
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import randomized_svd

from sthash import SelfTaughtHashing, TextVectorizer, codes, knn_graph, median_bits, rivals
from sthash.evaluation import Neighbours, Topics, nearest_neighbours, score
from sthash.evaluation.datasets import load_20newsgroups, load_reuters21578_counts, load_tdt2, split_tdt2, tfidf_counts
from sthash.hashing import laplacian_eigenpairs, topics
from sthash.hashing.neighbors import balanced_bits, neighbor_places, normal_scores
from sthash.hashing.rotation import quantizing_frames
from sthash.hashing.subspace import STRONG, WEAK, spectral_subspace
from sthash.hashing.vectors import unit_rows

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


def variant(W, n_bits, *, per_bit=3, eigen="weak", ranks=True, power=None, unit=True, rotate=True):
    """`neighbor_places` with ingredients left out."""
    d = min(per_bit * n_bits, W.shape[0] // 5)
    if eigen == "exact":
        values, vectors = laplacian_eigenpairs(W, d)
    else:
        values, vectors = spectral_subspace(W, d, degrees={"weak": WEAK, "strong": STRONG}[eigen])
    rows = normal_scores(vectors) if ranks else vectors
    rows = rows * np.maximum(1 - values, 0) ** (min(1, 32 / n_bits) if power is None else power)
    rows = unit_rows(rows) if unit else rows
    if rotate:
        return rows @ quantizing_frames(rows, n_bits, np.random.default_rng(0))
    return rows @ np.linalg.eigh(rows.T @ rows)[1][:, ::-1][:, :n_bits]


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
}


def neighbors(data):
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


TOPIC_ROWS = {
    "the recipe": {},
    "not scaled by (1 − λ)³": {"SCALING_POWER": 0},
    "scaled by 1 − λ": {"SCALING_POWER": 1},
    "less regularised": {"FIRST_ALPHA": 0.3, "SECOND_ALPHA": 0.8},
    "more regularised": {"FIRST_ALPHA": 6.0, "SECOND_ALPHA": 16.0},
    "second graph of 25 neighbours": {"SECOND_SHARE": 0.0},
    "fewer eigenvectors (32, 16)": {"FIRST_COMPONENTS": 32, "SECOND_COMPONENTS": 16},
    "more eigenvectors (128, 64)": {"FIRST_COMPONENTS": 128, "SECOND_COMPONENTS": 64},
    "zero thresholds": {"LEAST_ON": 0.0, "MOST_ON": 1.0},
    "median thresholds": {"LEAST_ON": 0.5, "MOST_ON": 0.5},
}


def topic(data):
    """Precision at 100; a row sets constants of the recipe anew."""
    lengths = (16, 32, 64, 128, 256)
    print(f"\n{data.name}: precision at 100 at {', '.join(map(str, lengths))} bits")
    relevance = Topics(data.labels, data.query_labels)

    def line(name, recipe):
        shares = []
        for n_bits in lengths:
            hasher = SelfTaughtHashing(n_bits, recipe=recipe, graph=lambda _: data.W).fit(data.X)
            scores = score(hasher.codes_, hasher.transform(data.Q), relevance, lengths=(n_bits,))
            shares.append(scores.rankings[0].precision_at_k)
        print(f"{name:<32}" + "".join(f"{value:8.3f}" for value in shares), flush=True)

    line("paper", "paper")
    for name, changes in TOPIC_ROWS.items():
        before = {setting: getattr(topics, setting) for setting in changes}
        for setting, value in changes.items():
            setattr(topics, setting, value)
        line(name, "topics")
        for setting, value in before.items():
            setattr(topics, setting, value)


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


def dense(data):
    """Vectors of 256 dimensions, as a stand-in for embeddings."""
    axes = randomized_svd(data.X, 256, random_state=0)[2].T.astype(np.float32)
    X, Q = (unit_rows(part @ axes).astype(np.float32) for part in (data.X, data.Q))
    truth = nearest_neighbours(X, Q, 10)
    W = knn_graph(X, 25)
    print(f"\n{data.name}, 256 dense dimensions: true 10 in the 100 nearest codes at 64, 128 bits")
    hashers = {
        "sign of a random rotation": rivals.RandomHyperplaneHashing,
        "PCA-ITQ": rivals.IterativeQuantization,
        **{recipe: partial(SelfTaughtHashing, recipe=recipe, graph=lambda _: W) for recipe in RECIPES},
    }
    for name, make in hashers.items():
        fitted = [make(n_bits).fit(X) for n_bits in (64, 128)]
        shares = [found(hasher.codes_, hasher.transform(Q), hasher.n_bits, truth) for hasher in fitted]
        print(f"{name:<32}" + "".join(f"{value:8.3f}" for value in shares), flush=True)


def seconds(data):
    """Best of three fits and encodings; also the share of the corpus for which the rarest and commonest bits are on."""
    print(f"\n{data.name}: fit s, ratio; encode µs a document, ratio; least and most on")
    for n_bits in (16, 64, 128):
        paper = None
        for recipe in RECIPES:
            fits, encodings = [], []
            for _ in range(3):
                start = time.perf_counter()
                hasher = SelfTaughtHashing(n_bits, recipe=recipe).fit(data.X)
                fits.append(time.perf_counter() - start)
                start = time.perf_counter()
                hasher.transform(data.Q)
                encodings.append((time.perf_counter() - start) / data.Q.shape[0] * 1e6)
            own = min(fits), min(encodings)
            paper = paper or own
            on = codes.unpack(hasher.codes_, n_bits).mean(axis=0)
            print(
                f"{n_bits:>4} {recipe:<12}{own[0]:8.2f}{own[0] / paper[0]:7.2f}{own[1]:9.1f}{own[1] / paper[1]:7.2f}"
                f"{on.min():9.3f}{on.max():7.3f}",
                flush=True,
            )


PARTS = {"neighbors": neighbors, "topics": topic, "rerank": rerank, "dense": dense, "time": seconds}


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
