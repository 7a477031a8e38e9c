"""Error analysis: the quality of retrieval after each step of Self-Taught Hashing.

The paper says that almost all approximation errors come from the eigenmap, and that the median threshold and the SVMs
cost little. To test this, the same documents are searched for with the result of each step:

*Seen documents*, as in the paper's steps. Some documents of the corpus are the queries; each is left out of its own
answer. The corpus is ranked by cosine of the original vectors, by Euclidean distance in the eigenmap, by Hamming
distance of the codes cut at the medians, and by Hamming distance to the code that the SVMs predict for the query.

*Unseen documents*. A query is not part of the eigenmap of the corpus. So stage 1 runs once over corpus and queries
together, which gives the queries the eigenmap and the codes that they would have had. Then SVMs, learned from the part
of these codes that belongs to the corpus, predict the codes of the queries. Only one step changes from each row to the
next. The last row is the method itself, whose stage 1 has only the corpus.

There are two measures: the share of the k nearest original vectors among the k nearest in the new space (1 for the
original vectors, by definition), and the share of documents on the topic of the query among the nearest ones. Ties of
codes count in expectation. Documents at equal real-valued distances are taken in the order of the corpus.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from sthash import codes
from sthash.baselines.decompositions import leading_svd
from sthash.evaluation.measures import precision_at
from sthash.evaluation.relevance import Neighbors, Topics, nearest_neighbors
from sthash.evaluation.tallies import Tally, tally
from sthash.hashing.binarizer import median_thresholds
from sthash.hashing.embedding import laplacian_eigenmap
from sthash.hashing.graph import knn_graph
from sthash.hashing.svm import LinearSVMBank
from sthash.reproduction.corpora import CorpusSplit
from sthash.vectors.lengths import unit_rows

Array = npt.NDArray[Any]
_CELLS = 1 << 23


def measure_error(data: CorpusSplit, protocol: Mapping[str, Any]) -> dict[str, Any]:
    """Measure each step on seen and on unseen documents, at several code lengths."""
    settings = protocol["error_analysis"]
    alone = Stages.learn(data.train, data.train.shape[0], settings)
    return {
        "seen": _seen(data, settings, alone),
        "unseen": _unseen(data, settings, alone),
        "queries": {"seen": min(settings["queries"], data.train.shape[0]), "unseen": data.test.shape[0]},
    }


def _seen(data: CorpusSplit, settings: Mapping[str, Any], stages: Stages) -> list[dict[str, Any]]:
    n = data.train.shape[0]
    chosen = np.sort(np.random.default_rng(0).permutation(n)[: settings["queries"]])
    scorer = StepScorer(data.train, chosen, data.train[chosen], data.train_labels, data.train_labels[chosen], settings)
    predicted = stages.predict(data.train[chosen])
    lsi = data.train @ leading_svd(data.train, max(settings["lengths"])).right
    rows = [scorer.real("original vectors", 0, data.train, data.train[chosen], cosine=True)]
    for n_bits in settings["lengths"]:
        for step, places in (("eigenmap", stages.embedding), ("LSI", lsi)):
            for cosine in (False, True):
                name = f"{step}, by cosine" if cosine else step
                rows.append(scorer.real(name, n_bits, places[:, :n_bits], places[chosen, :n_bits], cosine=cosine))
        rows.append(scorer.hamming("median codes", n_bits, stages.bits, stages.bits[chosen]))
        rows.append(scorer.hamming("predicted codes", n_bits, stages.bits, predicted))
    return rows


def _unseen(data: CorpusSplit, settings: Mapping[str, Any], alone: Stages) -> list[dict[str, Any]]:
    n = data.train.shape[0]
    scorer = StepScorer(data.train, None, data.test, data.train_labels, data.test_labels, settings)
    parts = [data.train, data.test]
    together = Stages.learn(
        sp.vstack(parts, format="csr") if sp.issparse(data.train) else np.vstack(parts), n, settings
    )
    joint, itself = together.predict(data.test), alone.predict(data.test)
    rows = [scorer.real("original vectors", 0, data.train, data.test, cosine=True)]
    for n_bits in settings["lengths"]:
        corpus, queries = together.embedding[:n, :n_bits], together.embedding[n:, :n_bits]
        rows.append(scorer.real("eigenmap", n_bits, corpus, queries))
        rows.append(scorer.real("eigenmap, by cosine", n_bits, corpus, queries, cosine=True))
        rows.append(scorer.hamming("median codes", n_bits, together.bits[:n], together.bits[n:]))
        rows.append(scorer.hamming("predicted codes", n_bits, together.bits[:n], joint))
        rows.append(scorer.hamming("the method itself", n_bits, alone.bits, itself))
    return rows


@dataclass(frozen=True)
class Stages:
    """The steps of the method over some documents: their eigenmap, their bits, and SVMs that predict the bits."""

    embedding: Array
    bits: Array
    svms: LinearSVMBank

    @classmethod
    def learn(cls, X: Any, n: int, settings: Mapping[str, Any]) -> Stages:
        """Run the steps; thresholds and SVMs learn from the first ``n`` documents only."""
        rows = _csr(X)
        graph = knn_graph(rows, min(settings["neighbors"], rows.shape[0] - 1))
        embedding = laplacian_eigenmap(graph, max(settings["lengths"]))
        bits = embedding > median_thresholds(embedding[:n])
        return cls(embedding, bits, LinearSVMBank().fit(rows[:n], bits[:n]))

    def predict(self, X: Any) -> Array:
        """Predict bits of documents."""
        return np.asarray(self.svms.decision_function(_csr(X)) > 0)


class StepScorer:
    """Scores of the same queries in different spaces.

    Parameters
    ----------
    train : vectors of the corpus
    places : positions of the queries in the corpus, each to be left out of its own answer; None if they are unseen
    queries : vectors of the queries
    corpus_labels, query_labels : integer arrays
    settings : ``neighbors`` and ``ranking``, the numbers of documents to retrieve
    """

    def __init__(
        self,
        train: Any,
        places: npt.NDArray[np.intp] | None,
        queries: Any,
        corpus_labels: Array,
        query_labels: Array,
        settings: Mapping[str, Any],
    ) -> None:
        n = train.shape[0]
        self.places = places
        self.k, self.at = min(settings["neighbors"], n - 1), min(settings["ranking"], n - 1)
        nearest = nearest_neighbors(train, queries, self.k if places is None else self.k + 1)
        if places is not None:
            nearest = _without(nearest, places)
        self.neighbors = Neighbors(nearest, n)
        self.topics = Topics(corpus_labels, query_labels)

    def real(self, step: str, n_bits: int, corpus: Any, queries: Any, *, cosine: bool = False) -> dict[str, Any]:
        """Rank by cosine or by Euclidean distance."""
        found = ranked(corpus, queries, max(self.k, self.at), self.places, cosine=cosine)
        near = (found[:, : self.k, None] == self.neighbors.indices[:, None, :]).any(axis=2)
        same = self.topics.corpus[found[:, : self.at]] == self.topics.queries[:, None]
        return {"step": step, "bits": n_bits, "neighbors": float(near.mean()), "topics": float(same.mean())}

    def hamming(self, step: str, n_bits: int, corpus: Array, queries: Array) -> dict[str, Any]:
        """Rank by Hamming distance, ties in expectation."""
        packed = codes.pack(corpus[:, :n_bits]), codes.pack(queries[:, :n_bits])
        near, same = (tally(*packed, relevance, [n_bits])[0] for relevance in (self.neighbors, self.topics))
        if self.places is not None:
            itself = (corpus[self.places, :n_bits] != queries[:, :n_bits]).sum(axis=1)
            near, same = _leave_out(near, itself, relevant=False), _leave_out(same, itself, relevant=True)
        return {
            "step": step,
            "bits": n_bits,
            "neighbors": float(precision_at(near, self.k).mean()),
            "topics": float(precision_at(same, self.at).mean()),
        }


def ranked(
    corpus: Any, queries: Any, k: int, places: npt.NDArray[np.intp] | None = None, *, cosine: bool = False
) -> npt.NDArray[np.intp]:
    """Find the k nearest rows, nearest first, by cosine or by Euclidean distance; a query's own place is left out."""
    if sp.issparse(corpus):
        found = nearest_neighbors(corpus, queries, k if places is None else k + 1)
        return found if places is None else _without(found, places)
    if cosine:
        corpus, queries = unit_rows(corpus), unit_rows(queries)
    squares = (corpus**2).sum(axis=1)
    result = np.empty((len(queries), k), dtype=np.intp)
    step = max(1, _CELLS // len(corpus))
    for start in range(0, len(queries), step):
        rows = slice(start, start + step)
        distances = squares - 2 * (queries[rows] @ corpus.T)
        if places is not None:
            distances[np.arange(len(distances)), places[rows]] = np.inf
        nearest = np.sort(np.argpartition(distances, k - 1, axis=1)[:, :k], axis=1)
        order = np.argsort(np.take_along_axis(distances, nearest, axis=1), axis=1, kind="stable")
        result[rows] = np.take_along_axis(nearest, order, axis=1)
    return result


def _csr(X: Any) -> Any:
    return sp.csr_array(X) if sp.issparse(X) else X


def _without(nearest: npt.NDArray[Any], places: npt.NDArray[np.intp]) -> npt.NDArray[Any]:
    """Drop each query's own place from its row, or the last entry if equal documents have displaced it."""
    own = nearest == places[:, None]
    own[~own.any(axis=1), -1] = True
    return np.asarray(nearest[~own].reshape(len(nearest), -1))


def _leave_out(seen: Tally, distances: Array, *, relevant: bool) -> Tally:
    """Take each query's own document, at its distance, out of the counts."""
    rows = np.arange(len(distances))
    found, hits = seen.found.copy(), seen.relevant.copy()
    found[rows, distances] -= 1
    if relevant:
        hits[rows, distances] -= 1
    return Tally(seen.n_bits, found, hits)
