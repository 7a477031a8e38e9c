"""Corpora, prepared for the experiments: vectors, labels, and both definitions of relevance."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from sthash.evaluation.relevance import Neighbors, Relevance, Topics, nearest_neighbors
from sthash.reproduction import datasets
from sthash.reproduction.conditions import Experiment, RowKind
from sthash.reproduction.datasets import DatasetError, LabeledCounts, LabeledTexts, LabeledVectors, Labels
from sthash.reproduction.labeled_texts import load_labeled
from sthash.reproduction.labeled_vectors import load_cifar10, load_vectors
from sthash.vectors.lengths import unit_rows

RELEVANCES = ("neighbors", "topics")


@dataclass(frozen=True)
class CorpusSplit:
    """One split of a corpus: unit rows of the documents (train) and of the queries (test), with labels.

    Texts and counts give sparse rows of TF-IDF; other vectors are dense.

    ``train_counts`` and ``test_counts`` hold the counts that the weights are made of, for methods that need counts.
    """

    train: Any
    test: Any
    train_labels: Labels
    test_labels: Labels
    train_counts: Any = None
    test_counts: Any = None

    @functools.cached_property
    def ranked(self) -> dict[int, Neighbors]:
        """Nearest neighbors already found, by their number."""
        return {}

    def neighbors(self, k: int) -> Neighbors:
        """Relevance by the k nearest neighbors in the original space; they are searched for once."""
        k = min(k, self.train.shape[0])
        if k not in self.ranked:
            widest = max(self.ranked, default=0)
            known = self.ranked[widest].indices if widest > k else nearest_neighbors(self.train, self.test, k)
            indices = known[:, :k]
            self.ranked[k] = Neighbors(indices, self.train.shape[0])
        return self.ranked[k]

    @property
    def topics(self) -> Topics:
        """Relevance by the same label."""
        return Topics(self.train_labels, self.test_labels)

    def rows(self, kind: RowKind) -> tuple[Any, Any]:
        """Give the rows of documents and queries that a method learns from and encodes."""
        if kind == "tfidf":
            return self.train, self.test
        if self.train_counts is None:
            raise ValueError("the method needs the counts of terms, which vectors do not have. Leave it out.")
        return self.train_counts, self.test_counts

    def relevance(self, name: str, k: int) -> Relevance:
        """Give the definition of relevance with this name."""
        return self.topics if name == "topics" else self.neighbors(k)


def prepare(experiment: Experiment, split: int) -> CorpusSplit:
    """Load a corpus, split it, and weight its terms by the training documents."""
    loaded = _load(experiment, split)
    if isinstance(loaded, LabeledTexts):
        from sthash.text import TextVectorizer

        vectorizer = TextVectorizer()
        train = vectorizer.fit_transform(loaded.train_texts)
        test = vectorizer.transform(loaded.test_texts)
        counts = vectorizer.term_counts(loaded.train_texts), vectorizer.term_counts(loaded.test_texts)
    elif isinstance(loaded, LabeledVectors):
        train, test = unit_rows(loaded.train), unit_rows(loaded.test)
        counts = None, None
    else:
        train, test = datasets.tfidf_counts(loaded.train, loaded.test)
        counts = loaded.train, loaded.test
    found = {
        "train": train.shape[0],
        "test": test.shape[0],
        "categories": len(set(loaded.train_labels.tolist()) | set(loaded.test_labels.tolist())),
    }
    for what, count in (experiment.documents or {}).items():
        if found.get(what) != count:
            raise DatasetError(
                f"{experiment.name} has {found.get(what)} {what}, its conditions say {count}. "
                "Check the corpus or correct the conditions."
            )
    return CorpusSplit(train, test, loaded.train_labels, loaded.test_labels, *counts)


def _load(experiment: Experiment, split: int) -> LabeledTexts | LabeledCounts | LabeledVectors:
    if experiment.source == "labeled" and experiment.path is not None:
        return load_labeled(experiment.path, random_state=split)
    if experiment.source == "vectors" and experiment.path is not None:
        return load_vectors(experiment.path, last=experiment.last, random_state=split)
    if experiment.source == "tdt2":
        collection = datasets.load_tdt2()
        _check_content(experiment, collection)
        return datasets.split_tdt2(collection, split)
    loaders: dict[str, Any] = {
        "reuters21578_counts": datasets.load_reuters21578_counts,
        "reuters21578": datasets.load_reuters21578,
        "20newsgroups": datasets.load_20newsgroups,
        "cifar10_hog": load_cifar10,
    }
    loaded: LabeledTexts | LabeledCounts | LabeledVectors = loaders[experiment.source]()
    _check_content(experiment, loaded)
    return loaded


def _check_content(
    experiment: Experiment, loaded: LabeledTexts | LabeledCounts | LabeledVectors | datasets.UnsplitCounts
) -> None:
    if experiment.digest is not None and (found := datasets.content_digest(loaded)) != experiment.digest:
        raise DatasetError(
            f"the content of {experiment.name} has the digest {found}, its conditions say {experiment.digest}. It is "
            "another version of the corpus. Download it again, or correct the conditions."
        )
