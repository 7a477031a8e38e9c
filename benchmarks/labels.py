"""Labels of unseen documents: the vote of a collection and `KNNHashClassifier`, against exact cosine kNN and LinearSVC.

``texts``: 20Newsgroups by date, the ten largest topics of Reuters, Banking77, and Debian packages by section.
`Collection.classify` with its defaults chooses everything by leave-one-out on labeled documents. The peer is kNN by the
exact cosines of TF-IDF rows, whose k is chosen by leave-one-out, too. The details have scikit-learn's TF-IDF with
LinearSVC, both with their defaults; how well shares are calibrated (the mean difference between share and accuracy over
ten bins); and the time per text. ``rows``: the same for `KNNHashClassifier`, on digits and on TF-IDF rows of
20Newsgroups. At most 2,000 test documents of each corpus are classified, always the same.
"""

from __future__ import annotations

import json
import lzma
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.neighbors import NearestNeighbors
from sklearn.svm import LinearSVC

import data
from harness import Run, figure, main
from sthash import Collection, KNNHashClassifier, Learning
from sthash.collection import Prediction
from sthash.reproduction import datasets

MOST_QUERIES, QUICK_QUERIES = 2000, 60
CORPUS = 20_000
# kNN chooses its k among these, on so many documents.
NEIGHBORS = (1, 3, 5, 10, 15, 25, 50)
HELD_OUT = 2000
BINS = 10

Labels = npt.NDArray[Any]


@dataclass(frozen=True)
class Labeled:
    """A corpus and queries, texts or rows, with their labels."""

    train: Any
    train_labels: Labels
    test: Any
    test_labels: Labels

    def sampled(self, most: int) -> Labeled:
        """Keep some of the queries."""
        chosen = np.sort(np.random.default_rng(0).permutation(len(self.test_labels))[:most])
        test = [self.test[place] for place in chosen] if isinstance(self.test, list) else self.test[chosen]
        return Labeled(self.train, self.train_labels, test, self.test_labels[chosen])


def news() -> Labeled:
    """Texts of 20Newsgroups."""
    found = datasets.load_20newsgroups()
    return Labeled(found.train_texts, found.train_labels, found.test_texts, found.test_labels)


def reuters() -> Labeled:
    """Texts of Reuters-21578, the ten largest topics."""
    found = datasets.load_reuters21578()
    return Labeled(found.train_texts, found.train_labels, found.test_texts, found.test_labels)


def banking() -> Labeled:
    """Questions to a bank, and what is asked for."""
    with lzma.open(datasets.data_dir() / "banking77.json.xz", "rt", encoding="utf-8") as file:
        found = json.load(file)
    parts = [zip(*found[name], strict=True) for name in ("train", "test")]
    (train, labels), (test, test_labels) = parts
    return Labeled(list(train), np.array(labels), list(test), np.array(test_labels))


def packages() -> Labeled:
    """Descriptions of Debian packages, and their sections; in a random order that is always the same."""
    with lzma.open(datasets.data_dir() / "debian_packages.jsonl.xz", "rt", encoding="utf-8") as file:
        found = [record for record in map(json.loads, file) if record["section"]]
    order = np.random.default_rng(0).permutation(len(found))[: CORPUS + MOST_QUERIES].tolist()
    texts, sections = [found[place]["text"] for place in order], np.array([found[place]["section"] for place in order])
    return Labeled(texts[:CORPUS], sections[:CORPUS], texts[CORPUS:], sections[CORPUS:])


def digits() -> Labeled:
    """Images of digits, as pixels."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    cut = int(0.7 * len(y))
    return Labeled(X[order[:cut]], y[order[:cut]], X[order[cut:]], y[order[cut:]])


def news_rows() -> Labeled:
    """TF-IDF rows of 20Newsgroups."""
    found = news()
    vectorizer = TfidfVectorizer(sublinear_tf=True)
    train = vectorizer.fit_transform(found.train)
    return Labeled(train, found.train_labels, vectorizer.transform(found.test), found.test_labels)


def made_up() -> Labeled:
    """Made-up texts, for quick runs."""
    found = data.news(quick=True)
    return Labeled(found.train, found.train_labels, found.test, found.test_labels)


def made_up_rows() -> Labeled:
    """Their TF-IDF rows."""
    found = made_up()
    vectorizer = TfidfVectorizer()
    train = vectorizer.fit_transform(found.train)
    return Labeled(train, found.train_labels, vectorizer.transform(found.test), found.test_labels)


def knn_accuracy(train: Any, labels: Labels, test: Any, test_labels: Labels) -> tuple[float, int]:
    """Accuracy of the majority among the nearest by exact cosines, and the k that leave-one-out has chosen."""
    nearest = NearestNeighbors(n_neighbors=max(NEIGHBORS) + 1, metric="cosine", algorithm="brute").fit(train)

    def accuracies(rows: Any, truth: Labels, own: npt.NDArray[np.int64] | None = None) -> list[float]:
        right = np.zeros(len(NEIGHBORS))
        for start in range(0, rows.shape[0], 500):
            for place, found in enumerate(nearest.kneighbors(rows[start : start + 500], return_distance=False), start):
                others = labels[found if own is None else found[found != own[place]]]
                right += [Counter(others[:k].tolist()).most_common(1)[0][0] == truth[place] for k in NEIGHBORS]
        return [float(value) for value in right / rows.shape[0]]

    sample = np.random.default_rng(0).permutation(len(labels))[:HELD_OUT]
    chosen = int(np.argmax(accuracies(train[sample], labels[sample], sample)))
    return accuracies(test, test_labels)[chosen], NEIGHBORS[chosen]


def calibration_error(shares: Sequence[float], right: Sequence[bool]) -> float:
    """Mean difference between the share of the winner and the accuracy, over bins of shares."""
    bins = np.minimum((np.array(shares) * BINS).astype(int), BINS - 1)
    differences = np.bincount(bins, np.array(shares) - np.array(right), minlength=BINS)
    return float(np.abs(differences).sum() / len(bins))


def timed_answers(collection: Collection, texts: list[str]) -> tuple[list[Prediction], float]:
    """Label texts one by one, and say how many seconds it took."""
    start = time.perf_counter()
    return [collection.classify(text) for text in texts], time.perf_counter() - start


def measure_texts(run: Run) -> None:
    """Measure `Collection.classify`."""
    corpora: dict[str, Callable[[], Labeled]] = {
        "20Newsgroups": news,
        "Reuters": reuters,
        "Banking77": banking,
        "Debian packages": packages,
    }
    for name, load in run.choose(corpora, {"made up": made_up}).items():
        found = load().sampled(run.choose(MOST_QUERIES, QUICK_QUERIES))
        truth = [str(label) for label in found.test_labels]
        documents = [
            {"text": text, "label": str(label)} for text, label in zip(found.train, found.train_labels, strict=True)
        ]
        with (
            tempfile.TemporaryDirectory() as folder,
            Collection.create(f"{folder}/labels.sth", documents, learning=Learning(sample_size=1000)) as collection,
        ):
            _, first = timed_answers(collection, found.test[:1])
            answers, seconds = timed_answers(collection, found.test)
        right = [answer.label == label for answer, label in zip(answers, truth, strict=True)]
        vectorizer = TfidfVectorizer()
        train, test = vectorizer.fit_transform(found.train), vectorizer.transform(found.test)
        theirs, k = knn_accuracy(train, found.train_labels, test, found.test_labels)
        svm = LinearSVC().fit(train, found.train_labels).score(test, found.test_labels)
        run.add(
            figure(
                name,
                "labels of unseen texts that are right",
                float(np.mean(right)),
                "share",
                peer="exact cosine kNN",
                theirs=theirs,
                least_ratio=None if run.quick else 1.0,
                setting={"data": name, "labeled": len(documents), "queries": len(truth), "labels": len({*truth})},
                details={
                    "TF-IDF and LinearSVC": float(svm),
                    "calibration error": calibration_error(
                        [max(answer.shares.values(), default=0.0) for answer in answers], right
                    ),
                    "their k": k,
                    "ms per text": 1000 * seconds / len(truth),
                    "s, first text": first,
                },
            )
        )


def measure_rows(run: Run) -> None:
    """Measure `KNNHashClassifier`."""
    sets: dict[str, Callable[[], Labeled]] = {"digits": digits, "20Newsgroups": news_rows}
    for name, load in run.choose(sets, {"made up": made_up_rows}).items():
        found = load().sampled(run.choose(MOST_QUERIES, QUICK_QUERIES))
        classifier = KNNHashClassifier().fit(found.train, found.train_labels)
        shares = classifier.predict_proba(found.test)
        right = classifier.classes_[shares.argmax(axis=1)] == found.test_labels
        theirs, k = knn_accuracy(found.train, found.train_labels, found.test, found.test_labels)
        run.add(
            figure(
                name,
                "KNNHashClassifier: labels that are right",
                float(right.mean()),
                "share",
                peer="exact cosine kNN",
                theirs=theirs,
                least_ratio=None if run.quick else 1.0,
                setting={"data": name, "labeled": len(found.train_labels), "queries": len(right)},
                details={
                    "calibration error": calibration_error(shares.max(axis=1).tolist(), right.tolist()),
                    "their k": k,
                },
            )
        )


if __name__ == "__main__":
    main(__file__, __doc__, {"texts": measure_texts, "rows": measure_rows}, peers=["scikit-learn"])
