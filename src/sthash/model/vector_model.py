"""`VectorModel`: the one way from a dense vector to its code."""

from __future__ import annotations

import json
import zlib
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
import numpy.typing as npt

from sthash import _core, model_file
from sthash.checks import check_positive, check_whole, resolve_threads
from sthash.model import base
from sthash.model.encoded import EncodedRows, Margins
from sthash.model.linear import check_settings, linear_parts, new_hasher, restored_weights, sample
from sthash.model.scatter import Scatter
from sthash.model.terms import padded
from sthash.rows import check_dense, unit_rows

if TYPE_CHECKING:
    from sthash.hashing import SelfTaughtHashing
    from sthash.hashing.sth import Recipe


class VectorModel:
    """A hasher over dense vectors that the user brings: from a vector to its unit row and its code.

    Make one with `VectorModel.fit`, or from a fitted hasher with `VectorModel.of`.

    Parameters
    ----------
    settings : dict
        How it was learned, as plain JSON values.
    weights : array of float32, shape (n_columns, n_bits)
    threads : int or None
        None takes one thread per available core. The codes do not depend on it.

    Examples
    --------
    >>> import numpy as np, sthash
    >>> vectors = np.random.default_rng(0).normal(size=(100, 8))
    >>> model = sthash.VectorModel.fit(vectors, n_bits=8, n_neighbors=5)
    >>> model.encode(vectors[:3]).codes.shape
    (3, 1)
    """

    dense = True

    def __init__(
        self, settings: dict[str, Any], weights: npt.NDArray[np.float32], *, threads: int | None = None
    ) -> None:
        self.settings = settings
        self.weights = weights
        self._threads = resolve_threads(threads)
        self._padded = padded(weights)
        self._intercept = np.array(settings["intercept"], dtype=np.float32)

    @classmethod
    def fit(
        cls,
        vectors: npt.ArrayLike,
        n_bits: int = 64,
        n_neighbors: int = 25,
        *,
        recipe: Recipe = "neighbors",
        scatter: float = 0.0,
        sample_size: int | None = None,
        hasher: SelfTaughtHashing | None = None,
        random_state: int = 0,
        threads: int | None = None,
    ) -> Self:
        """Learn a model from vectors, one row per document; the parameters are those of `sthash.TextModel.fit`."""
        rows = unit_rows(check_dense(vectors))
        chosen = sample(len(rows), sample_size, random_state)
        function = new_hasher(hasher, n_bits, n_neighbors, recipe, random_state, threads).fit(rows[chosen])
        return cls.of(function, scatter=scatter, random_state=random_state, threads=threads)

    @classmethod
    def of(
        cls,
        hasher: SelfTaughtHashing,
        *,
        scatter: float = 0.0,
        random_state: int = 0,
        learned_on: int | None = None,
        threads: int | None = None,
    ) -> Self:
        """Make a model of a hasher that was fitted on dense unit rows; for the parameters see `sthash.TextModel.of`."""
        check_positive("scatter", scatter, or_zero=True)
        weights, intercept = linear_parts(hasher)
        # There are few columns: here the random weights are kept with the learned ones.
        every = np.arange(len(weights) + 1, dtype=np.int64)
        ones = np.ones(len(weights), dtype=np.float32)
        mixed = Scatter.relative_to(weights, scatter, random_state).added(
            weights, every, every[:-1].astype(np.int32), ones, threads
        )
        settings = {
            "kind": "vectors",
            "generation": 1,
            "n_bits": int(hasher.n_bits),
            "n_neighbors": int(hasher.n_neighbors),
            "recipe": hasher.recipe,
            "learnt_on": len(hasher.codes_) if learned_on is None else learned_on,
            "n_columns": int(hasher.n_features_in_),
            "intercept": [float(value) for value in intercept],
            "scatter": scatter,
        }
        return cls(settings, np.ascontiguousarray(mixed, dtype=np.float32), threads=threads)

    @classmethod
    def unlearned(
        cls, n_columns: int, hasher: SelfTaughtHashing, *, scatter: float = 0.0, threads: int | None = None
    ) -> Self:
        """Make a model of a hasher that is not fitted: all codes are zero; see `sthash.TextModel.unlearned`."""
        check_positive("scatter", scatter, or_zero=True)
        n_bits = int(hasher.n_bits)
        settings = {
            "kind": "vectors",
            "generation": 1,
            "n_bits": n_bits,
            "n_neighbors": int(hasher.n_neighbors),
            "recipe": hasher.recipe,
            "learnt_on": 0,
            "n_columns": n_columns,
            "intercept": [0.0] * n_bits,
            "scatter": scatter,
        }
        return cls(settings, np.zeros((n_columns, n_bits), np.float32), threads=threads)

    @property
    def learned(self) -> bool:
        """Whether hash functions have been learned; without them all codes are zero."""
        return bool(self.settings["learnt_on"])

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
        """The same for the same model, wherever it was loaded from; another one for any other model."""
        settings = json.dumps(self.settings, sort_keys=True).encode()
        return base.fingerprint(settings, [zlib.crc32(self.weights.tobytes())])

    def encode(self, inputs: npt.ArrayLike) -> EncodedRows:
        """Return the unit rows and the margins of vectors."""
        rows = unit_rows(check_dense(inputs, self.n_columns))
        n, m = rows.shape
        indptr = np.arange(n + 1, dtype=np.int64) * m
        return EncodedRows(indptr, np.tile(np.arange(m, dtype=np.int32), n), rows.reshape(-1), self._margins(rows))

    def margins(self, rows: EncodedRows) -> Margins:
        """Return the margins of unit rows, dense or sparse."""
        if len(rows.values) == len(rows) * self.n_columns:
            return self._margins(rows.values.reshape(-1, self.n_columns))
        view = _core.CsrView(rows.indptr, rows.indices, rows.values)
        margins = _core.project(view, self._padded, threads=self._threads)
        return cast("Margins", margins[:, : self.n_bits] + self._intercept)

    def _margins(self, rows: npt.NDArray[np.float32]) -> Margins:
        n, m = rows.shape
        indptr, columns = np.arange(n + 1, dtype=np.int64) * m, np.arange(m, dtype=np.int32)
        view = _core.CsrView(indptr, columns, rows.reshape(-1), dense=True)
        margins = _core.project(view, self._padded, threads=self._threads)
        learned: Margins = margins[:, : self.n_bits] + self._intercept
        return learned

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a file, which `load` and `sthash.load` read. An interrupted write leaves no trace."""
        model_file.write(path, "VectorModel", self.settings, {"weights": self.weights})

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a model that `save` wrote."""
        return model_file.load_as(cls, path)

    @classmethod
    def _restored(cls, config: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Self:
        check_settings(config, "vectors")
        n_columns, n_bits = check_whole("n_columns", config["n_columns"]), check_whole("n_bits", config["n_bits"])
        return cls(config, restored_weights(arrays, n_columns, n_bits))
