"""What every hasher does alike, whatever it learns: packed codes, and model files."""

from __future__ import annotations

from numbers import Integral
from os import PathLike
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from sthash import codes, model_file
from sthash.checks import check_whole
from sthash.rows import Vectors, check_vectors


class Hasher(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the hashers: a subclass gives ``fit`` (which sets ``codes_``) and ``_margins``."""

    n_bits: int
    codes_: codes.Codes

    def _margins(self, X: Vectors) -> npt.NDArray[Any]:
        raise NotImplementedError

    def decision_function(self, X: Vectors) -> npt.NDArray[Any]:
        """Return the real-valued margins of unseen documents, shape (n, n_bits); a bit is on where it is positive."""
        check_is_fitted(self)
        return self._margins(self._check(X, reset=False))

    def transform(self, X: Vectors) -> codes.Codes:
        """Return the packed codes of unseen documents."""
        return codes.pack(self.decision_function(X) > 0)

    def fit_transform(self, X: Vectors, y: object = None) -> codes.Codes:
        """Learn from a corpus and return its own codes, ``codes_``."""
        return self.fit(X, y).codes_  # type: ignore[no-any-return]

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[np.object_]:
        """Name the bytes of a packed code."""
        check_is_fitted(self)
        stem = type(self).__name__.lower()
        return np.array([f"{stem}{byte}" for byte in range(self.codes_.shape[1])], dtype=object)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a file, which `sthash.load` reads. An interrupted write leaves no trace."""
        check_is_fitted(self)
        config, arrays = self._state()
        model_file.write(path, type(self).__name__, config, arrays)

    def _state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """What a file keeps: settings as JSON values, and arrays."""
        raise NotImplementedError

    @classmethod
    def _restored(cls, config: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Self:
        raise NotImplementedError

    def _check(self, X: Vectors, *, reset: bool) -> Vectors:
        try:
            X = validate_data(self, X, accept_sparse="csr", dtype=np.float32, order="C", reset=reset)
        except ValueError as error:
            if "features, but" in str(error):
                raise ValueError(
                    f"{error} Make the rows with the same vectorizer or encoder as those it was fitted on."
                ) from None
            raise
        return check_vectors(X)

    def _check_corpus(self, X: Vectors) -> None:
        """Refuse what no hasher can learn from: an odd code length, or documents without a single weight."""
        check_whole("n_bits", self.n_bits)
        if not (X.data if hasattr(X, "indptr") else X).any():
            raise ValueError(
                f"all {X.shape[0]} documents are blank (every weight is zero): check the text, the stop words, and "
                "that not every document has the same terms, which then weigh nothing in TF-IDF."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def saved_seed(random_state: Any) -> int | None:
    """Return what a model file can keep of a random state."""
    return int(random_state) if isinstance(random_state, Integral) else None
