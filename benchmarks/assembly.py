"""Self-Taught Hashing as one would put it together from scikit-learn and SciPy: the peer to measure against.

Same tokens, same weights, same graph, same recipe; every part as its library offers it, with its defaults.
"""

import re
import time
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
import Stemmer
from scipy.sparse.linalg import eigsh
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer, TfidfTransformer
from sklearn.neighbors import NearestNeighbors
from sklearn.svm import LinearSVC

WORD = re.compile(r"[^\W_]+")
STEMMER = Stemmer.Stemmer("porter")


def analyze(text):
    """Split into lower-cased words, drop stop words, stem."""
    return STEMMER.stemWords([word for word in WORD.findall(text.lower()) if word not in ENGLISH_STOP_WORDS])


class AuthorsTfidf:
    """scikit-learn's TfidfVectorizer, taken apart to use ln(N / df), which it offers only with one added to it."""

    def __init__(self):
        self.counter = CountVectorizer(analyzer=analyze)
        self.weights = TfidfTransformer(sublinear_tf=True, smooth_idf=False)

    def fit_transform(self, texts):
        """Count, then weigh."""
        counts = self.counter.fit_transform(texts)
        self.weights.fit(counts)
        self.weights.idf_ = self.weights.idf_ - 1
        return self.weights.transform(counts)

    def transform(self, texts):
        """Count, then weigh."""
        return self.weights.transform(self.counter.transform(texts))


@dataclass
class Assembly:
    """The fitted pipeline, with the seconds that each stage took."""

    n_bits: int = 64
    n_neighbors: int = 25
    svm_tol: float = 1e-4
    seconds: dict = field(default_factory=dict)

    def _timed(self, stage, function, *arguments):
        start = time.perf_counter()
        result = function(*arguments)
        self.seconds[stage] = time.perf_counter() - start
        return result

    def fit(self, texts):
        """From raw text to 64 fitted classifiers."""
        self.vectorizer = AuthorsTfidf()
        X = self._timed("text", self.vectorizer.fit_transform, texts)
        W = self._timed("graph", self._graph, X)
        embedding = self._timed("embedding", self._embed, W)
        bits = self._timed("binarizer", lambda: embedding > np.median(embedding, axis=0))
        self.codes = np.packbits(bits, axis=1, bitorder="little")
        self.classifiers = self._timed("hash_function", self._classifiers, X, bits)
        return self

    def _graph(self, X):
        n = X.shape[0]
        search = NearestNeighbors(n_neighbors=self.n_neighbors, metric="cosine", algorithm="brute").fit(X)
        distances, indices = search.kneighbors()
        rows = np.repeat(np.arange(n), self.n_neighbors)
        W = sp.csr_array((1 - distances.ravel(), (rows, indices.ravel())), shape=(n, n))
        return W.maximum(W.T)

    def _embed(self, W):
        degrees = W.sum(axis=1)
        scale = sp.diags_array(1 / np.sqrt(degrees))
        _, vectors = eigsh(scale @ W @ scale, k=self.n_bits + 1, which="LA")
        return (vectors / np.sqrt(degrees)[:, None])[:, -2::-1]

    def _classifiers(self, X, bits):
        return [LinearSVC(fit_intercept=False, tol=self.svm_tol).fit(X, bit) for bit in bits.T]

    def encode(self, texts):
        """From raw text to packed codes."""
        Q = self.vectorizer.transform(texts)
        bits = np.column_stack([classifier.predict(Q) for classifier in self.classifiers])
        return np.packbits(bits, axis=1, bitorder="little")
