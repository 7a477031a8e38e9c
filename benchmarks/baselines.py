"""Every method on Reuters, and the seconds and memory that each one needs to learn 64 bits from 20Newsgroups.

Parts: ``reuters``, ``news``. ``reuters`` has the paper's measures at Hamming radius 1, for the 25 nearest neighbors by
cosine and for documents on the same topic. Precision is 0 for a query that retrieves nothing ("F1, authors" counts it
as 1, as the authors do). P@100 ranks by distance.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from sklearn.decomposition import TruncatedSVD
from sklearn.pipeline import make_pipeline

import data
from harness import OURS, Run, compare, main
from library import Neighbors, nearest_neighbors
from sthash import SelfTaughtHashing, TextVectorizer, baselines
from sthash.evaluation import Topics, score
from sthash.hashing import ClassGraph, GaussianSVM, LinearEmbedding, NystromExtension
from sthash.reproduction.datasets import tfidf_counts
from timing import in_own_process, time_in_turns, timed

RADIUS = 1


def on_lsi(method: Callable[[int], Any], n_bits: int) -> Any:
    """Put a method behind latent semantic indexing."""
    return make_pipeline(TruncatedSVD(64, random_state=0), method(n_bits))


METHODS: dict[str, Callable[[int], Any]] = {
    "STH": SelfTaughtHashing,
    "STH, topic recipe": lambda n_bits: SelfTaughtHashing(n_bits, recipe="topics"),
    "STH, Gaussian SVM": lambda n_bits: SelfTaughtHashing(n_bits, hash_function=GaussianSVM()),
    "STH, Nyström": lambda n_bits: SelfTaughtHashing(n_bits, hash_function=NystromExtension()),
    "STH, linear (LPI)": lambda n_bits: SelfTaughtHashing(n_bits, hash_function=LinearEmbedding()),
    "STH, supervised": lambda n_bits: SelfTaughtHashing(n_bits, graph=ClassGraph()),
    "LSH": baselines.RandomHyperplaneHashing,
    "binarized LSI": baselines.BinarizedLSI,
    "LCH": baselines.LaplacianCoHashing,
    "SpH": baselines.SpectralHashing,
    "stacked RBM": baselines.StackedRBMHashing,
    "boosted SSC": baselines.BoostedSSC,
    "boosted SSC on LSI": partial(on_lsi, baselines.BoostedSSC),
    "FgH": baselines.ForgivingHashing,
    "FgH on LSI": partial(on_lsi, baselines.ForgivingHashing),
    "PCA-ITQ": baselines.IterativeQuantization,
    "AGH, one layer": lambda n_bits: baselines.AnchorGraphHashing(n_bits, layers=1),
    "AGH, two layers": baselines.AnchorGraphHashing,
}
QUICK_METHODS = ("STH", "LSH", "PCA-ITQ")


def chosen(run: Run) -> tuple[str, ...]:
    """Give the methods of this run."""
    return run.choose(tuple(METHODS), QUICK_METHODS)


def reuters(run: Run) -> None:
    """Score each method at 16 and 32 bits. Each length is learned on its own."""
    found = data.reuters(run.quick)
    train, test = tfidf_counts(found.train, found.test)
    relevances = {
        "neighbors": Neighbors(nearest_neighbors(train, test, 25), train.shape[0]),
        "topic": Topics(found.train_labels, found.test_labels),
    }
    for n_bits in (16, 32):
        for name in chosen(run):
            hasher = METHODS[name](n_bits)
            fitting = timed(partial(hasher.fit, train, found.train_labels))
            encoding = time_in_turns({OURS: partial(hasher.transform, test)}, repetitions=3)[OURS]
            corpus = getattr(hasher, "steps", [(None, hasher)])[-1][1].codes_
            details = {"µs per document": 1e6 * encoding.best / test.shape[0]}
            for aim, relevance in relevances.items():
                details |= scores_of(corpus, encoding.result, relevance, n_bits, aim)
            run.add(
                compare(
                    f"{name}-{n_bits}",
                    f"learn {name}",
                    {OURS: fitting},
                    setting={"documents": train.shape[0], "bits": n_bits},
                    details=details,
                )
            )


def scores_of(corpus: Any, queries: Any, relevance: Any, n_bits: int, aim: str) -> dict[str, float]:
    """Score codes for one kind of relevance."""
    scores = score(corpus, queries, relevance, lengths=[n_bits], radii=[RADIUS])
    ball = scores.ball(n_bits, RADIUS)
    measures = {"P": ball.precision_strict, "R": ball.recall, "F1": ball.f1_strict, "F1, authors": ball.f1}
    if aim == "topic":
        measures["P@100"] = scores.rankings[0].precision_at_k
    return {f"{aim} {measure}": value for measure, value in measures.items()}


def learn(name: str, X: Any, labels: data.Labels) -> None:
    """Learn 64 bits."""
    METHODS[name](64).fit(X, labels)


def news(run: Run) -> None:
    """Measure what 64 bits of 20Newsgroups cost, each method in a process of its own."""
    found = data.news(run.quick)
    X = TextVectorizer().fit_transform(found.train)
    setting = {"documents": X.shape[0], "terms": X.shape[1], "bits": 64}
    for name in chosen(run)[: run.choose(None, 1)]:
        alone = in_own_process(learn, name, X, found.train_labels)
        details = {"MiB": alone.peak - alone.before}
        run.add(compare(name, f"learn {name}", {OURS: alone.timing}, setting=setting, details=details))


if __name__ == "__main__":
    main(__file__, __doc__, {"reuters": reuters, "news": news})
