"""The peer of fit.py and encoding.py: Self-Taught Hashing as one puts it together from scikit-learn and SciPy.

Same tokens, same weights, same graph, same recipe. Each part is used as its library offers it, with its defaults.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import Stemmer
from scipy.sparse.linalg import eigsh
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer, TfidfTransformer
from sklearn.neighbors import NearestNeighbors
from sklearn.svm import LinearSVC

from timing import timed

NAME = "scikit-learn assembly"
WORD = re.compile(r"[^\W_]+")
STEMMER = Stemmer.Stemmer("porter")

Codes = npt.NDArray[np.uint8]


def analyze(text: str) -> list[str]:
    """Split into lower-cased words, drop stop words, stem."""
    words: list[str] = STEMMER.stemWords([w for w in WORD.findall(text.lower()) if w not in ENGLISH_STOP_WORDS])
    return words


class AuthorsTfidf:
    """scikit-learn's TfidfVectorizer, taken apart to use ln(N / df), which it offers only with one added to it."""

    def __init__(self) -> None:
        self.counter = CountVectorizer(analyzer=analyze)
        self.weights = TfidfTransformer(sublinear_tf=True, smooth_idf=False)

    def fit_transform(self, texts: list[str]) -> Any:
        """Count, then weigh."""
        counts = self.counter.fit_transform(texts)
        self.weights.fit(counts)
        self.weights.idf_ = self.weights.idf_ - 1
        return self.weights.transform(counts)

    def transform(self, texts: list[str]) -> Any:
        """Count, then weigh."""
        return self.weights.transform(self.counter.transform(texts))


@dataclass
class Assembly:
    """The fitted pipeline, with the seconds that each stage took."""

    n_bits: int = 64
    n_neighbors: int = 25
    svm_tol: float = 1e-4
    seconds: dict[str, float] = field(default_factory=dict)

    def _timed(self, stage: str, function: Any, *arguments: Any) -> Any:
        timing = timed(lambda: function(*arguments))
        self.seconds[stage] = timing.best
        return timing.result

    def fit(self, texts: list[str]) -> Self:
        """Go from raw text to one fitted classifier per bit."""
        self.vectorizer = AuthorsTfidf()
        X = self._timed("text", self.vectorizer.fit_transform, texts)
        W = self._timed("graph", self._graph, X)
        embedding = self._timed("embedding", self._embed, W)
        bits = self._timed("binarizer", lambda: embedding > np.median(embedding, axis=0))
        self.codes = np.packbits(bits, axis=1, bitorder="little")
        self.classifiers = self._timed("hash_function", self.fit_classifiers, X, bits)
        return self

    def _graph(self, X: Any) -> sp.csr_array:
        n = X.shape[0]
        search = NearestNeighbors(n_neighbors=self.n_neighbors, metric="cosine", algorithm="brute").fit(X)
        distances, indices = search.kneighbors()
        rows = np.repeat(np.arange(n), self.n_neighbors)
        W = sp.csr_array((1 - distances.ravel(), (rows, indices.ravel())), shape=(n, n))
        return W.maximum(W.T)

    def _embed(self, W: sp.csr_array) -> npt.NDArray[np.float64]:
        degrees = W.sum(axis=1)
        scale = sp.diags_array(1 / np.sqrt(degrees))
        _, vectors = eigsh(scale @ W @ scale, k=self.n_bits + 1, which="LA")
        embedding: npt.NDArray[np.float64] = (vectors / np.sqrt(degrees)[:, None])[:, -2::-1]
        return embedding

    def fit_classifiers(self, X: Any, bits: npt.NDArray[np.bool_]) -> list[LinearSVC]:
        """Fit one linear SVM per bit."""
        return [LinearSVC(fit_intercept=False, tol=self.svm_tol).fit(X, bit) for bit in bits.T]

    def encode(self, texts: list[str]) -> Codes:
        """Go from raw text to packed codes."""
        Q = self.vectorizer.transform(texts)
        bits = np.column_stack([classifier.predict(Q) for classifier in self.classifiers])
        return np.packbits(bits, axis=1, bitorder="little")
