"""`VectorModel`: the one way from a dense vector to its code."""

from __future__ import annotations

import json
import zlib
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from sthash import _core, model_file
from sthash.checks import check_choice, check_positive, check_whole, resolve_threads
from sthash.model import base
from sthash.model.encoded import Encoded, Margins
from sthash.model.inner_products import InnerProducts
from sthash.model.learning import CorpusSize, Learning
from sthash.model.linear import check_settings, linear_parts, restored_weights, sample
from sthash.model.scatter import Scatter
from sthash.model.terms import padded
from sthash.pickling import reduced_to_file
from sthash.vectors.checks import check_rows
from sthash.vectors.lengths import completed_rows, unit_rows
from sthash.vectors.metric import METRICS, Metric
from sthash.vectors.rows import Rows

if TYPE_CHECKING:
    from sthash.hashing import SelfTaughtHashing


class VectorModel:
    """A hasher over dense vectors that the user brings: from a vector to its row and its code.

    Make one with `VectorModel.build`, or from a fitted hasher with `VectorModel.of`.

    Parameters
    ----------
    settings : dict
        How it was learned, as plain JSON values.
    weights : array of float32, shape (n_columns, n_bits)
        For inner products of shape (2 (n_columns + 1), n_bits): those of documents, with one more column (see
        `sthash.model.inner_products`), then those of queries.
    threads : int or None
        None takes one thread per available core. The codes do not depend on it.

    Attributes
    ----------
    metric : {"cosine", "ip"}
        What vectors are compared by. With cosines, rows have unit length; with inner products, they are unchanged.

    Examples
    --------
    >>> import numpy as np, sthash
    >>> vectors = np.random.default_rng(0).normal(size=(100, 8))
    >>> model = sthash.VectorModel.build(vectors, learning=sthash.Learning(n_bits=8, n_neighbors=5))
    >>> model.encode(vectors[:3]).codes.shape
    (3, 1)
    """

    dense = True

    def __init__(
        self, settings: dict[str, Any], weights: npt.NDArray[np.float32], *, threads: int | None = None
    ) -> None:
        self.settings = settings
        self.weights = weights
        self.metric: Metric = settings["metric"]
        self._threads = resolve_threads(threads)
        self._padded = padded(weights)
        if self.metric == "ip":
            self._padded, self._of_queries = map(np.ascontiguousarray, np.split(self._padded, 2))
        self._intercept = np.array(settings["intercept"], dtype=np.float32)

    @classmethod
    def build(
        cls,
        vectors: npt.ArrayLike,
        *,
        metric: Metric = "cosine",
        learning: Learning | None = None,
        threads: int | None = None,
    ) -> Self:
        """Learn a model from vectors, one row per document.

        Parameters
        ----------
        vectors : array of shape (n, d)
        metric : {"cosine", "ip"}
            What vectors are compared by; "ip" is the inner product, in which lengths count.
        learning : Learning, optional
            How the hash functions are learned. The default recipe is ``embeddings``, which finds the most among dense
            vectors.
        threads : int or None
        """
        check_choice("metric", metric, METRICS)
        learning = (learning or Learning()).with_default("embeddings")
        rows = rows_of(vectors, metric)
        size = CorpusSize(len(rows), rows.size, rows.shape[1])
        chosen = rows[sample(len(rows), learning.n_documents(size), learning.random_state)]
        products = InnerProducts.of(chosen) if metric == "ip" else None
        hasher = learning.new_hasher(threads=threads).fit(chosen if products is None else products.rows)
        return cls.of(
            hasher, products=products, scatter=learning.scatter, random_state=learning.random_state, threads=threads
        )

    @classmethod
    def of(
        cls,
        hasher: SelfTaughtHashing,
        *,
        products: InnerProducts | None = None,
        scatter: float = 0.0,
        random_state: int = 0,
        learned_on: int | None = None,
        threads: int | None = None,
    ) -> Self:
        """Make a model of a hasher that was fitted on dense unit rows.

        Parameters
        ----------
        hasher : SelfTaughtHashing
        products : InnerProducts, optional
            For inner products: it was fitted on the rows of these.
        scatter, random_state, learned_on, threads
            As in `sthash.TextModel.of`.
        """
        check_positive("scatter", scatter, or_zero=True)
        weights, intercept = linear_parts(hasher)
        # There are few columns: here the random weights are kept with the learned ones.
        every = np.arange(len(weights) + 1)
        one_per_column = Rows.sparse(
            every, every[:-1].astype(np.int32), np.ones(len(weights), np.float32), len(weights)
        )
        mixed = Scatter.relative_to(weights, scatter, random_state).added(weights, one_per_column, threads)
        settings = _settings(hasher, int(hasher.n_features_in_), scatter) | {
            "learned_on": len(hasher.codes_) if learned_on is None else learned_on,
            "intercept": [float(value) for value in intercept],
        }
        model = cls(settings, np.ascontiguousarray(mixed, dtype=np.float32), threads=threads)
        if products is None:
            return model
        both = np.vstack(
            [model.weights, products.query_weights(model.n_bits, lambda rows: model._margins(Rows.dense(rows)))]
        )
        settings |= {"n_columns": settings["n_columns"] - 1, "metric": "ip", "length": products.length}
        return cls(settings, both, threads=threads)

    @classmethod
    def unlearned(
        cls,
        n_columns: int,
        hasher: SelfTaughtHashing,
        *,
        metric: Metric = "cosine",
        scatter: float = 0.0,
        threads: int | None = None,
    ) -> Self:
        """Make a model of a hasher that is not fitted: all codes are zero; see `sthash.TextModel.unlearned`."""
        check_positive("scatter", scatter, or_zero=True)
        n_bits = int(hasher.n_bits)
        settings = _settings(hasher, n_columns, scatter) | {"learned_on": 0, "intercept": [0.0] * n_bits}
        if metric == "ip":
            settings |= {"metric": metric, "length": 0.0}
        return cls(settings, np.zeros(weights_shape(settings), np.float32), threads=threads)

    @property
    def learned(self) -> bool:
        """Whether hash functions have been learned; without them all codes are zero."""
        return bool(self.settings["learned_on"])

    def with_threads(self, threads: int | None) -> VectorModel:
        """Return the same model with another number of threads."""
        return VectorModel(self.settings, self.weights, threads=threads)

    @property
    def n_bits(self) -> int:
        """Number of bits of a code."""
        return int(self.settings["n_bits"])

    @property
    def n_columns(self) -> int:
        """Number of values of a vector."""
        return int(self.settings["n_columns"])

    @cached_property
    def fingerprint(self) -> str:
        """Identifies the model: equal wherever the model was loaded from, different for any other model."""
        settings = json.dumps(self.settings, sort_keys=True).encode()
        return base.fingerprint(settings, [zlib.crc32(self.weights.tobytes())])

    def encode(self, inputs: npt.ArrayLike) -> Encoded:
        """Return the rows and the margins of documents, given by their vectors."""
        rows = self._rows(inputs)
        return Encoded(rows, self.margins(rows))

    def encode_queries(self, inputs: npt.ArrayLike) -> Encoded:
        """Return the rows and the margins of queries. With inner products they have other margins than documents.

        Examples
        --------
        >>> import numpy as np, sthash
        >>> rng = np.random.default_rng(0)
        >>> vectors = rng.normal(size=(300, 8)) * rng.uniform(1, 9, size=(300, 1))
        >>> model = sthash.VectorModel.build(vectors, metric="ip", learning=sthash.Learning(n_bits=16))
        >>> index = sthash.HammingIndex(16)
        >>> ids = index.add(model.encode(vectors).codes)
        >>> query = model.encode_queries(vectors[0])
        >>> near, _ = index.search(query.codes, k=60, weights=np.abs(query.margins))
        >>> bool(np.argmax(vectors @ vectors[0]) in near)
        True
        """
        rows = self._rows(inputs)
        return Encoded(rows, self.query_margins(rows))

    def _rows(self, inputs: npt.ArrayLike) -> Rows:
        return Rows.dense(rows_of(inputs, self.metric, self.n_columns))

    def margins(self, rows: Rows) -> Margins:
        """Return the margins of documents: of rows that are dense or, with cosines, sparse."""
        if self.metric == "cosine":
            return self._margins(rows)
        return self._margins(Rows.dense(completed_rows(rows.values, self.settings["length"])))

    def query_margins(self, rows: Rows) -> Margins:
        """Return the margins of queries. Their lengths do not change the order of documents, so they do not count."""
        if self.metric == "cosine":
            return self._margins(rows)
        units = unit_rows(rows.values)
        return self._projected(Rows.dense(np.column_stack([units, np.ones(len(units), np.float32)])), self._of_queries)

    def _margins(self, rows: Rows) -> Margins:
        return self._projected(rows, self._padded) + self._intercept

    def _projected(self, rows: Rows, weights: npt.NDArray[np.float32]) -> Margins:
        return _core.project(rows.view(), weights, threads=self._threads)[:, : self.n_bits]

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a file, which `load` and `sthash.load` read. An interrupted write leaves no trace."""
        model_file.write(path, "VectorModel", self.settings, {"weights": self.weights})

    def __reduce__(self) -> tuple[Any, ...]:
        return reduced_to_file(self)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a model that `save` wrote."""
        return model_file.load_as(cls, path)

    @classmethod
    def _restored(cls, config: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Self:
        check_settings(config, "vectors")
        return cls(config, restored_weights(arrays, *weights_shape(config)))


def rows_of(vectors: npt.ArrayLike, metric: Metric, width: int | None = None) -> npt.NDArray[np.float32]:
    """Return vectors as rows that are compared by a metric: of unit length for cosines, otherwise unchanged."""
    rows = check_rows(vectors, metric, width=width, zeros=True)
    if metric == "ip":
        return rows
    units: npt.NDArray[np.float32] = unit_rows(rows)
    return units


def weights_shape(settings: dict[str, Any]) -> tuple[int, int]:
    """Return how many rows and columns the weights of a model with these settings have."""
    n_columns, n_bits = check_whole("n_columns", settings["n_columns"]), check_whole("n_bits", settings["n_bits"])
    return 2 * (n_columns + 1) if settings["metric"] == "ip" else n_columns, n_bits


def _settings(hasher: SelfTaughtHashing, n_columns: int, scatter: float) -> dict[str, Any]:
    return {
        "kind": "vectors",
        "metric": "cosine",
        "generation": 1,
        "n_bits": int(hasher.n_bits),
        "n_neighbors": int(hasher.n_neighbors),
        "recipe": hasher.recipe,
        "n_columns": n_columns,
        "scatter": scatter,
    }
