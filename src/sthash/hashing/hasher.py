"""What all hashers have in common, whatever they learn: packed codes, and model files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral
from os import PathLike
from typing import Any, Literal, Self, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import TransformerTags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from sthash import codes, model_file
from sthash.arrays import Vectors
from sthash.checks import check_whole
from sthash.hashing.embedding import TooFewDocumentsError
from sthash.vectors.checks import check_input, check_vectors

Estimator = TypeVar("Estimator", bound=BaseEstimator)


@dataclass(slots=True)
class HasherTags(TransformerTags):  # type: ignore[misc]
    """What scikit-learn's tags say of a transformer, and which codes the corpus gets from ``fit_transform``.

    ``corpus_codes`` is "predicted" if they are those of ``transform``, and "learned" if they may differ from these:
    the corpus then has the codes that the hash functions were to learn, or had without the document itself.
    """

    corpus_codes: Literal["predicted", "learned"] = "predicted"


class Hasher(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the hashers. A subclass gives ``_fit``, which sets ``codes_``, and ``_margins``."""

    n_bits: int
    codes_: codes.Codes

    def _fit(self, X: Vectors, y: object) -> None:
        raise NotImplementedError

    def _margins(self, X: Vectors) -> npt.NDArray[Any]:
        raise NotImplementedError

    def fit(self, X: Vectors, y: object = None) -> Self:
        """Learn the codes of a corpus and the functions that give unseen documents theirs.

        A fit that fails or is interrupted leaves the hasher as it was.

        Parameters
        ----------
        X : sparse or dense matrix of shape (n, m)
            One row per document.
        y : array of shape (n,), optional
            Categories of the documents. Only a supervised graph uses them; see `SelfTaughtHashing`.
        """
        with learner_of(self) as learner:
            learner._fit(X, y)
        return self

    def decision_function(self, X: Vectors) -> npt.NDArray[Any]:
        """Return the margins of unseen documents, shape (n, n_bits); a bit is on where its margin is positive."""
        check_is_fitted(self)
        return self._margins(self._check(X, reset=False))

    def transform(self, X: Vectors) -> codes.Codes:
        """Return the packed codes of unseen documents."""
        return codes.pack(self.decision_function(X) > 0)

    def fit_transform(self, X: Vectors, y: object = None, **fit_params: Any) -> codes.Codes:
        """Learn from a corpus and return its own codes, ``codes_``; other arguments are those of `fit`.

        `HasherTags` says whether ``transform`` would give the corpus the same codes.
        """
        return self.fit(X, y, **fit_params).codes_

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[np.object_]:
        """Name the bytes of a packed code."""
        check_is_fitted(self)
        stem = type(self).__name__.lower()
        return np.array([f"{stem}{byte}" for byte in range(self.codes_.shape[1])], dtype=object)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a file for `load` and `sthash.load`. An interrupted write leaves no trace."""
        check_is_fitted(self)
        config, arrays = self._state()
        model_file.write(path, type(self).__name__, config, arrays)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a hasher that `save` wrote."""
        return model_file.load_as(cls, path)

    def _state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return what a file keeps: settings as JSON values, and arrays."""
        raise NotImplementedError

    @classmethod
    def _restored(cls, config: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Self:
        raise NotImplementedError

    def _generator(self) -> np.random.Generator:
        """Return the source of randomness of ``random_state``."""
        state: Any = getattr(self, "random_state", 0)
        return np.random.default_rng(int(check_random_state(state).randint(2**31)))

    def _check(self, X: Vectors, *, reset: bool) -> Vectors:
        try:
            X = validate_data(self, check_input(X), accept_sparse="csr", dtype=np.float32, order="C", reset=reset)
        except ValueError as error:
            if "features, but" in str(error):
                raise ValueError(
                    f"{error} Make the rows with the same vectorizer or encoder as those it was fitted on."
                ) from None
            raise
        return check_vectors(X)

    def _check_corpus(self, X: Vectors) -> None:
        """Refuse what no hasher can learn from: an invalid code length, or documents without any weight."""
        check_whole("n_bits", self.n_bits)
        if not (X.data if hasattr(X, "indptr") else X).any():
            raise TooFewDocumentsError(
                f"all {X.shape[0]} documents are blank, because every weight is zero. Check the text and the stop "
                "words, and whether all documents have the same terms, which then weigh nothing in TF-IDF."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags = HasherTags(preserves_dtype=[])
        return tags


@contextmanager
def learner_of(estimator: Estimator) -> Iterator[Estimator]:
    """Give a copy to fit; the estimator takes over what the copy has learned if the block ends without an error."""
    learner = object.__new__(type(estimator))
    learner.__dict__.update(estimator.__dict__)
    yield learner
    estimator.__dict__ = learner.__dict__


def check_features(number: Any) -> int:
    """Return the number of features that a model file states; columns are numbered with 32 bits."""
    if check_whole("n_features", number) >= 1 << 31:
        raise ValueError(f"n_features={number} must be below 2**31.")
    return int(number)


def check_seed(random_state: Any) -> None:
    """Refuse what `saved_seed` does not give."""
    if random_state is not None and check_whole("random_state", random_state, 0) >= 1 << 32:
        raise ValueError(f"random_state={random_state} must be below 2**32.")


def saved_seed(random_state: Any) -> int | None:
    """Return what a model file can keep of a random state."""
    return int(random_state) if isinstance(random_state, Integral) else None
