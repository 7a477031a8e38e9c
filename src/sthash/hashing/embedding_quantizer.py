"""Embeddings in a few bytes: codes made to estimate inner products with queries."""

from __future__ import annotations

from os import PathLike
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sthash import _core, model_file
from sthash.arrays import Floats
from sthash.blas import one_blas_thread
from sthash.checks import check_positive, check_whole, resolve_threads
from sthash.codes import Codes
from sthash.hashing.codebooks import (
    LEAST_LENGTH,
    WORDS,
    Codewords,
    choose_words,
    k_means,
    learn_books,
    learn_signs,
    nearest,
    signs_of,
    sums_of,
)
from sthash.hashing.fields import MADE_UP_ROWS, Fields
from sthash.hashing.hasher import check_features, check_seed, learner_of, saved_seed
from sthash.vectors.checks import check_rows
from sthash.vectors.lengths import squared_norms, unit_rows

BATCH = 1024
MOST_BYTES = 768
# Codes of this many bits per dimension have fields alone, up to one for each dimension. Shorter codes have none if they
# have few bytes; if they have more, this many bytes for books and signs come first.
BITS_OF_FIELDS_ALONE, WITHOUT_FIELDS, BYTES_BEFORE_FIELDS = 3, 96, 63
# So many bytes are allowed however few dimensions there are.
ALWAYS_ALLOWED = 256
# Learning takes at most this many rows, drawn at random.
LEARNING_ROWS = 20_000
# Number of books of codes up to a length in bytes. Longer codes have more signs, which take less time.
BOOKS = {16: 15, 32: 11, ALWAYS_ALLOWED: 6}
# Few rows cannot fill many books: (rows / 2500)² of them at most.
ROWS_PER_BOOK = 2500
# Rows, which are unit vectors minus their mean, are not longer than this, and not many times as long as those that were
# learned from.
LONGEST, MOST_TIMES_AS_LONG = 2.0, 2.0
# Flips of signs that gain less take a third of the time of long codes, and change the recall by less than .01.
LEAST_GAIN = 0.3
# A correction is chosen by the sum of its two errors, more than by each alone. The error of the factor is weighted by
# the product of neighbors minus the mean: at most this much, or this share of their mean square.
MOST_PRODUCT, PRODUCT_SHARE, SUM_WEIGHT = 0.5, 0.625, 2.0
QUERY_BYTES = 1 << 26  # of tables that are made at once
# All patterns of eight signs.
PATTERNS: Floats = signs_of(np.arange(256, dtype=np.uint8)[:, None])


class QueryTables(NamedTuple):
    """Tables of queries, from which scores are computed.

    The score of a code c for query q is ``offsets[q] + factor * sum(tables[q, j, c[j]]) + shift``, where factor and
    shift are the entries of ``corrections_`` for the last byte of the code, and j runs over the other bytes.
    """

    tables: Floats
    offsets: Floats


class EmbeddingQuantizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Codes of embeddings, a few bytes each, from which a query estimates its cosines.

    Only the stored vectors are quantized, not the query. The code of a vector x chooses a sum h of codewords
    that comes close to x − mean (see `sthash.hashing.codebooks`, and `sthash.hashing.fields` for codes of more than 96
    bytes). Its last byte chooses two numbers: a factor that
    gives h the length of x − mean, and the product of x − mean with the mean. So a query q estimates its cosine as

        q · mean + factor · (q − mean) · h + shift,

    one table lookup per byte. In codes with fields h tells the product with the mean well itself: there q takes the
    place of q − mean, and the shift is what h misses of that product. Codes of a byte per dimension are compared by
    distance, 1 − ‖q − mean − h‖² / 2 + shift, of which the tables have the parts, too; this tells very similar vectors
    apart.

    Parameters
    ----------
    n_bytes : int, default=16
        Bytes per vector, from 2 to 768, and more than 256 only up to one more than the vectors have dimensions. Nothing
        else is stored per vector. 32 bytes are 1 bit per dimension for 256 dimensions, 96 are 1 bit for 768, and 384
        are 4 bits.
    learned : bool, default=True
        Whether the codes are learned from the vectors. If not, `fit` looks at nothing but their width: the codes suit
        any vectors of that width, and need more bytes for the same recall.
    random_state : int, RandomState or None, default=0
    threads : int or None, default=None
        None takes one per available core. The codes do not depend on it.

    Attributes
    ----------
    mean_ : array of float32, shape (d,)
    books_ : array of float32, shape (number of books, 256, d)
    signs_ : array of float32, shape (d, number of bits)
    parts_ : Fields
    corrections_ : array of float32, shape (256, 2)
        Factor and shift for each value of the last byte.
    n_features_in_ : int

    Notes
    -----
    Rows are brought to unit length first. At most 20,000 of them, drawn at random, are learned from, which takes up to
    half a minute; a few thousand take seconds, and have fewer books. A fitted model gives the same codes on every
    machine; learning uses BLAS and may give other codes of the same quality on another kind of processor.

    References
    ----------
    Y. Chen, T. Guan, C. Wang. Approximate nearest neighbor search by residual vector quantization. Sensors 2010.
    A. Babenko, V. Lempitsky. Additive quantization for extreme vector compression. CVPR 2014.
    J. Gao, C. Long. RaBitQ: Quantizing high-dimensional vectors with a theoretical error bound. SIGMOD 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.hashing import EmbeddingQuantizer
    >>> X = np.random.default_rng(0).normal(size=(300, 16))
    >>> quantizer = EmbeddingQuantizer(n_bytes=8).fit(X)
    >>> codes = quantizer.transform(X)
    >>> codes.shape, codes.dtype
    ((300, 8), dtype('uint8'))
    >>> int(quantizer.scores(X[7], codes).argmax())
    7
    """

    mean_: Floats
    books_: Floats
    signs_: Floats
    parts_: Fields
    corrections_: Floats
    n_features_in_: int

    def __init__(
        self,
        n_bytes: int = 16,
        *,
        learned: bool = True,
        random_state: int | np.random.RandomState | None = 0,
        threads: int | None = None,
    ) -> None:
        self.n_bytes = n_bytes
        self.learned = learned
        self.random_state = random_state
        self.threads = threads

    def fit(self, X: npt.ArrayLike, y: object = None) -> Self:
        """Learn the codewords from vectors, one per row. A fit that fails leaves the quantizer as it was."""
        with learner_of(self) as learner:
            learner._fit(X)
        return self

    def transform(self, X: npt.ArrayLike) -> Codes:
        """Return the codes of vectors, one row of ``n_bytes`` bytes each."""
        check_is_fitted(self)
        rows = check_rows(X, width=self.n_features_in_)
        codes = np.empty((len(rows), self.n_bytes), dtype=np.uint8)
        with one_blas_thread():
            for first in range(0, len(rows), BATCH):
                codes[first : first + BATCH] = self._encode(unit_rows(rows[first : first + BATCH]) - self.mean_)
        return codes

    def inverse_transform(self, codes: Codes) -> Floats:
        """Return the vector that each code stands for, of unit length.

        Examples
        --------
        >>> import numpy as np
        >>> from sthash.hashing import EmbeddingQuantizer
        >>> X = np.random.default_rng(0).normal(size=(300, 16))
        >>> quantizer = EmbeddingQuantizer(n_bytes=16).fit(X)
        >>> cosines = np.einsum("ij,ij->i", quantizer.inverse_transform(quantizer.transform(X)), X)
        >>> bool((cosines / np.linalg.norm(X, axis=1)).mean() > 0.95)
        True
        """
        check_is_fitted(self)
        codes = self._checked_codes(codes)
        rows = np.empty((len(codes), self.n_features_in_), dtype=np.float32)
        for first in range(0, len(codes), BATCH):
            part = codes[first : first + BATCH]
            rows[first : first + BATCH] = unit_rows(self.mean_ + self.corrections_[part[:, -1], :1] * self._sums(part))
        return rows

    def _sums(self, codes: Codes) -> Floats:
        """Return the sums that codes stand for."""
        sums = self._first_sums(codes)
        if len(self.parts_):
            words = codes[:, -1 - len(self.parts_) : -1]
            sums += self.parts_.decode(words, resolve_threads(self.threads))
        return sums

    def _first_sums(self, codes: Codes) -> Floats:
        """Return the sums of the books and signs of codes, whatever follows these."""
        n_books, n_first = len(self.books_), len(self.books_) + self.signs_.shape[1] // 8
        sums = sums_of(codes[:, :n_books], self.books_)
        if n_first > n_books:
            signs, vectors = signs_of(np.ascontiguousarray(codes[:, n_books:n_first])), self.signs_.T
            sums += _core.multiply(signs, np.ascontiguousarray(vectors), threads=resolve_threads(self.threads))
        return sums

    def tables(self, queries: npt.ArrayLike) -> QueryTables:
        """Return the tables with which queries score codes."""
        check_is_fitted(self)
        rows = unit_rows(check_rows(queries, width=self.n_features_in_))
        compared = self._compared(rows)
        workers = resolve_threads(self.threads)
        of_words = _core.multiply(compared, self._turned, threads=workers).reshape(len(rows), -1, WORDS)
        of_signs = _core.multiply(compared, self.signs_, threads=workers).reshape(len(rows), -1, 8) @ PATTERNS.T
        of_fields, offsets = self.parts_.tables(compared, workers), rows @ self.mean_
        if self._compares_distances:
            of_fields -= self.parts_.squares(self.mean_)
            offsets += (1 - self.mean_ @ self.mean_) / 2
        return QueryTables(np.concatenate([of_words, of_signs, of_fields], axis=1), offsets)

    @property
    def _compares_distances(self) -> bool:
        """Whether scores are made of distances: in codes of fields alone, about one for each dimension."""
        return len(self.parts_) == self.n_bytes - 1 >= self.n_features_in_ - 1

    def _compared(self, queries: Floats) -> Floats:
        """Return what is multiplied by the sums: queries minus the mean, or with fields the queries themselves."""
        return queries if len(self.parts_) else queries - self.mean_

    def scores(self, queries: npt.ArrayLike, codes: Codes) -> Floats:
        """Estimate the cosine of each query with each code, shape (queries, codes)."""
        codes = self._checked_codes(codes)
        tables, offsets = self.tables(queries)
        factors, shifts = self.corrections_[codes[:, -1]].T
        sums = np.zeros((len(tables), len(codes)), dtype=np.float32)
        for place in range(self.n_bytes - 1):
            sums += tables[:, place, codes[:, place]]
        estimates: Floats = offsets[:, None] + factors * sums + shifts
        return estimates

    def search(self, queries: npt.ArrayLike, codes: Codes, k: int = 10) -> tuple[npt.NDArray[np.int64], Floats]:
        """Find the codes with the largest scores: their places and scores, best first, shape (queries, k).

        The answer is that of sorting `scores`; ties are broken by position. If there are fewer than k codes, all are
        returned.

        Examples
        --------
        >>> import numpy as np
        >>> from sthash.hashing import EmbeddingQuantizer
        >>> X = np.random.default_rng(0).normal(size=(300, 16))
        >>> quantizer = EmbeddingQuantizer(n_bytes=8).fit(X)
        >>> quantizer.search(X[:2], quantizer.transform(X), 1)[0].ravel().tolist()
        [0, 1]
        """
        check_whole("k", k)
        check_is_fitted(self)
        codes = self._checked_codes(codes)
        rows, found = check_rows(queries, width=self.n_features_in_), []
        together = max(1, QUERY_BYTES // (4 * WORDS * self.n_bytes))
        for first in range(0, max(len(rows), 1), together):
            tables, offsets = self.tables(rows[first : first + together])
            found.append(
                _core.scan_additive(
                    codes,
                    corrections=self.corrections_,
                    tables=tables.reshape(len(tables), -1),
                    offsets=offsets,
                    k=k,
                    threads=resolve_threads(self.threads),
                )
            )
        ids, scores = zip(*found, strict=True)
        return np.concatenate(ids), np.concatenate(scores)

    def _checked_codes(self, codes: Codes) -> Codes:
        codes = np.asarray(codes)
        if codes.dtype != np.uint8 or codes.ndim != 2 or codes.shape[1] != self.n_bytes:
            raise ValueError(
                f"codes must be rows of {self.n_bytes} bytes, got {codes.dtype} of shape {codes.shape}. "
                "Pass what transform returned."
            )
        return np.ascontiguousarray(codes)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name not in ("_turned", "_codewords")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "mean_"):
            self._prepare()

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a file for `load` and `sthash.load`. An interrupted write leaves no trace."""
        check_is_fitted(self)
        model_file.write(path, type(self).__name__, *self.state())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a quantizer that `save` wrote."""
        return model_file.load_as(cls, path)

    def state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return what `restored` makes the fitted quantizer of: settings, and arrays by their names."""
        config = {
            "n_bytes": int(self.n_bytes),
            **({} if self.learned else {"learned": False}),
            "random_state": saved_seed(self.random_state),
            "longest": self._longest,
        }
        names = ("mean_", "books_", "signs_", "corrections_")
        return config, {name: getattr(self, name) for name in names} | self.parts_.arrays()

    @classmethod
    def restored(cls, config: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Self:
        """Make a quantizer of what `state` returned, which may be untrusted; ValueError if it is not one."""
        check_seed(config["random_state"])
        quantizer = cls(
            _check_bytes(config["n_bytes"]),
            learned=bool(config.get("learned", True)),
            random_state=config["random_state"],
        )
        quantizer._longest = check_positive("longest", config["longest"], most=LONGEST)
        n_books, d = len(arrays["books_"]), check_features(len(arrays["mean_"]))
        if n_books > max(BOOKS.values()):
            raise ValueError(f"it has {n_books} books")
        n_fields = len(np.unique(arrays["fields_"])) if "fields_" in arrays else 0
        quantizer.parts_ = Fields.restored(arrays, d, n_fields) if n_fields else Fields.none(d)
        shapes = {
            "mean_": (d,),
            "books_": (n_books, WORDS, d),
            "signs_": (d, 8 * (quantizer.n_bytes - 1 - n_books - n_fields)),
            "corrections_": (WORDS, 2),
        }
        for name, shape in shapes.items():
            model_file.check_array(arrays, name, np.float32, shape)
            if not np.isfinite(arrays[name]).all():
                raise ValueError(f"{name} is not finite")
            setattr(quantizer, name, arrays[name])
        if (quantizer.corrections_[:, 0] <= 0).any():
            raise ValueError("a factor of corrections_ is not above 0")
        quantizer.n_features_in_ = d
        quantizer._prepare()
        return quantizer

    _restored = restored  # as a model file calls it

    def _fit(self, X: npt.ArrayLike) -> None:
        n_bytes, threads = _check_bytes(self.n_bytes), resolve_threads(self.threads)
        rows = unit_rows(check_rows(X))
        if not rows.any():
            raise ValueError(f"all {len(rows)} vectors are zero, so they have no direction. Check how they were made.")
        rng = np.random.default_rng(int(check_random_state(self.random_state).randint(2**31)))
        n_first, n_fields = _divided(n_bytes, rows.shape[1], learned=bool(self.learned))
        if not self.learned:
            rows = unit_rows(rng.standard_normal((MADE_UP_ROWS, rows.shape[1])).astype(np.float32))
        elif len(rows) > LEARNING_ROWS:
            rows = rows[np.sort(rng.choice(len(rows), LEARNING_ROWS, replace=False))]
        n_books = _number_of_books(n_first + 1, len(rows)) if self.learned else 0
        self.n_features_in_ = rows.shape[1]
        mean = rows.mean(axis=0, dtype=np.float64) if self.learned else np.zeros(rows.shape[1])
        self.mean_ = mean.astype(np.float32)
        rows = rows - self.mean_
        longest = MOST_TIMES_AS_LONG * float(np.sqrt(squared_norms(rows).max()))
        self._longest = min(LONGEST, max(longest, LEAST_LENGTH))
        with one_blas_thread():
            self.books_ = learn_books(rows, n_books, rng, self._longest, threads)
            left = rows - sums_of(choose_words(rows, self.books_, self._longest, threads), self.books_)
            self.signs_ = learn_signs(left, 8 * (n_first - n_books), rng, self._longest, threads, LEAST_GAIN)
            self.parts_ = Fields.none(rows.shape[1])
            self._prepare()
            if n_fields and self.learned:
                for first in range(0, len(rows), BATCH):
                    part = slice(first, first + BATCH)
                    left[part] = rows[part] - self._first_sums(self._choose(rows[part])[0])
                self.parts_ = Fields.learn(left, n_fields, rng)
            elif n_fields:
                self.parts_ = Fields.made(rows.shape[1], n_fields, rng)
            self.corrections_ = np.zeros((WORDS, 2), dtype=np.float32)
            self._learn_corrections(rows, rng)

    def _learn_corrections(self, rows: Floats, rng: np.random.Generator) -> None:
        """Group the corrections that rows need around 256 pairs."""
        parts = [rows[first : first + BATCH] for first in range(0, len(rows), BATCH)]
        needed = np.concatenate([self._needed(part, *self._choose(part)[1:]) for part in parts])
        places = self._places(needed)
        chosen = nearest(places, k_means(places, rng, turns=20))
        sizes = np.maximum(np.bincount(chosen, minlength=WORDS), 1)
        for column in range(2):
            self.corrections_[:, column] = np.bincount(chosen, needed[:, column], WORDS) / sizes
        empty = np.bincount(chosen, minlength=WORDS) == 0
        self.corrections_[empty] = self.corrections_[~empty][0]
        if self._compares_distances:
            self.corrections_[np.argmin(sizes)] = 1, -0.5  # for zero vectors, which may come later

    def _prepare(self) -> None:
        """Compute what encoding needs besides the learned arrays."""
        self._turned = np.ascontiguousarray(self.books_.reshape(-1, len(self.mean_)).T)
        self._codewords = Codewords(self.books_, self.signs_, self._longest, LEAST_GAIN)

    def _choose(self, rows: Floats) -> tuple[Codes, Floats, Any, Any]:
        """Choose the codewords, signs and words of rows minus the mean.

        Returns the codes, the squared lengths of their sums and, with fields, the products of the sums with the mean
        and with the rows.
        """
        threads = resolve_threads(self.threads)
        codes, squares = self._codewords.choose(rows, threads)
        if not len(self.parts_):
            return codes, squares, 0.0, 0.0
        before = self._first_sums(codes)
        words = self.parts_.encode(rows - before, threads)
        sums = before + self.parts_.decode(words, threads)
        along = np.einsum("ij,j->i", sums, self.mean_, dtype=np.float64)
        products = np.einsum("ij,ij->i", sums, rows, dtype=np.float64)
        return np.hstack([codes, words]), squared_norms(sums).astype(np.float32), along, products

    def _needed(self, rows: Floats, squares: Floats, along: Any, products: Any) -> npt.NDArray[np.float64]:
        """Return the factor and the shift that each row needs."""
        if self._compares_distances:
            errors = squared_norms(rows) - 2 * products + squares
            missing = 1 - squared_norms(rows + self.mean_)  # nothing, but for zero vectors
            return np.column_stack([np.ones(len(rows)), (errors - missing) / 2])
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
        heights = np.sqrt(np.maximum(squares.astype(np.float64), 0))
        factors = np.where(heights > 1e-6, lengths / np.maximum(heights, 1e-6), 1.0)
        factors = np.clip(factors, 1e-3, 1e3)
        shifts = np.einsum("ij,j->i", rows, self.mean_, dtype=np.float64) - factors * along
        return np.column_stack([factors, shifts])

    def _places(self, corrections: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return corrections as points whose distances measure the harm of a wrong one.

        At the product c, an error of the logarithm of the factor harms c times as much as one of the shift, and if both
        go the same way, they add up.
        """
        mean_square = 1 - float(self.mean_ @ self.mean_)  # of unit rows minus their mean
        factors = min(MOST_PRODUCT, PRODUCT_SHARE * mean_square) * np.log(corrections[:, 0])
        shifts = corrections[:, 1]
        return np.column_stack([factors, shifts, SUM_WEIGHT * (factors + shifts)])

    def _encode(self, rows: Floats) -> Codes:
        chosen, *told = self._choose(rows)
        last = nearest(self._places(self._needed(rows, *told)), self._places(self.corrections_.astype(np.float64)))
        return np.column_stack([chosen, last.astype(np.uint8)])


def _divided(n_bytes: int, width: int, *, learned: bool) -> tuple[int, int]:
    """Return the bytes for books and signs, and those for fields; one more is for the correction."""
    n_others = n_bytes - 1
    if n_others > max(width, ALWAYS_ALLOWED - 1):
        raise ValueError(
            f"n_bytes={n_bytes} is more than a byte for each of {width} dimensions. Use at most "
            f"{max(width + 1, ALWAYS_ALLOWED)}, or store the vectors themselves as int8."
        )
    if not learned or 8 * n_bytes >= BITS_OF_FIELDS_ALONE * width:
        return max(0, n_others - width), min(n_others, width)
    if n_bytes <= WITHOUT_FIELDS:
        return n_others, 0
    return BYTES_BEFORE_FIELDS, n_others - BYTES_BEFORE_FIELDS


def _number_of_books(n_bytes: int, n_rows: int) -> int:
    most = next(books for most_bytes, books in BOOKS.items() if n_bytes <= most_bytes)
    return min(n_bytes - 1, most, (n_rows * n_rows) // (ROWS_PER_BOOK * ROWS_PER_BOOK))


def _check_bytes(n_bytes: Any) -> int:
    if check_whole("n_bytes", n_bytes, 2) > MOST_BYTES:
        raise ValueError(
            f"n_bytes={n_bytes} must be at most {MOST_BYTES}. Store the vectors themselves as int8 instead."
        )
    return int(n_bytes)
