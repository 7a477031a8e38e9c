"""Deduplication one document at a time: each new one is compared with all that came before."""

from __future__ import annotations

import json
import threading
from array import array
from collections.abc import Iterable
from os import PathLike
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from sthash import model_file
from sthash.duplicates.matchers import Matcher, SetMatcher, VectorMatcher, WordingMatcher
from sthash.duplicates.measures import Measure, check_measure
from sthash.duplicates.options import SHINGLE_WORDS, DuplicateOptions, Protect
from sthash.tables import texts_of
from sthash.vectors.checks import check_rows
from sthash.vectors.conversion import as_array


class Verdict(NamedTuple):
    """The verdict of a `Deduplicator` on a text.

    Attributes
    ----------
    key : str
    is_new : bool
    copy_of : str or None
        Key of the new text that it is a copy of; None if it is new itself. If the most similar text is a copy, that is
        the one of which that text is a copy.
    score : float
        How similar the most similar text is; 0 if there is none.
    """

    key: str
    is_new: bool
    copy_of: str | None
    score: float


class _Counts(NamedTuple):
    seen: int
    held: int
    new: int


class Deduplicator:
    """Detects near-duplicates in a stream: whether each new text is a copy of an earlier one, and of which.

    Texts are kept as hashes of what is compared, or as the vectors that you give for them. A text is a copy if any
    earlier one is similar to it, whether that was new or a copy itself, so verdicts follow chains of copies, as
    ``sth dedup --index`` does. `groups` has the groups that `near_duplicates` finds among all texts seen so far. The
    similarity does not depend on other texts, so later texts change no verdict; that is why the cosine of TF-IDF
    weights is not offered here.

    Parameters
    ----------
    threshold : float, optional
        Least similarity of a copy. Default: 0.75 for wording, 0.8 for shingles, 0.9 for cosine.
    measure : {"wording", "jaccard", "containment", "cosine"}, default="wording"
        ``wording`` and ``jaccard`` as in `near_duplicates`.
        ``containment``: the share of the shingles of the new text that the other one has, so that quotations
        are copies. ``cosine``: of embeddings that you give for the texts.
    shingle_words : int, default=5
        Number of words of a shingle.
    protect : {"numbers"}, optional
        For wording: a text that differs in a number is new, whatever else is the same.
    threads : int or None, default=None

    Attributes
    ----------
    n_seen : int
        Number of texts that were added, including copies.

    Notes
    -----
    It takes about 40 bytes of memory per different pair of words or shingle, or 4 per value of a vector, and the key of
    each text; texts that are equal to an earlier one take only the key. A blank text is always new, and so is a zero
    vector. Where a shingle is in more than 1,000 texts, the latest of them are compared; of more than 100 similar texts
    of one group, not all are. ``containment`` looks for the new text in earlier ones, and never the other way round, so
    its groups depend on the order. Vectors are compared with new ones only, so that copies take no memory, and if their
    sketches are close: 99 in 100 of those that just reach the threshold are found, and more of the closer ones.

    Examples
    --------
    >>> from sthash import Deduplicator
    >>> seen = Deduplicator()
    >>> text = "the quick brown fox jumps over the lazy dog near the river bank at dawn"
    >>> [verdict.is_new for verdict in seen.add([text, "something else"], keys=["a", "b"])]
    [True, True]
    >>> seen.add([text.upper()], keys=["c"])
    [Verdict(key='c', is_new=False, copy_of='a', score=1.0)]
    >>> len(seen), seen.groups()
    (2, [['a', 'c']])

    With embeddings:

    >>> seen = Deduplicator(0.9, measure="cosine")
    >>> [verdict.copy_of for verdict in seen.add(vectors=[[1.0, 0.0], [0.0, 1.0], [0.1, 2.0]])]
    [None, None, '1']
    """

    def __init__(
        self,
        threshold: float | None = None,
        *,
        measure: Measure = "wording",
        shingle_words: int = SHINGLE_WORDS,
        protect: Protect | None = None,
        threads: int | None = None,
    ) -> None:
        DuplicateOptions(threshold, measure, shingle_words=shingle_words, protect=protect)  # checked
        self.protect = protect
        self.measure, self.threshold = check_measure(measure, threshold)
        self.shingle_words = shingle_words
        self._matcher: Matcher
        if measure == "cosine":
            self._matcher = VectorMatcher(self.threshold, threads)
        elif measure == "wording":
            self._matcher = WordingMatcher(self.threshold, protect == "numbers", threads)
        else:
            self._matcher = SetMatcher(measure, self.threshold, self.shingle_words, threads)
        self._keys: list[str] = []
        # For each text that was seen, what the matcher holds for it: an equal text is held once.
        self._places = array("q")
        # For each text that is held, the one that was seen and stands for it.
        self._stands = array("q")
        # What counts: an `add` that fails or is interrupted leaves it as it was, and the next call removes the rest.
        self._counts = _Counts(0, 0, 0)
        self._whole = True
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Return the number of texts that were new."""
        return self._counts.new

    @property
    def n_seen(self) -> int:
        """Number of texts that were added, including copies."""
        return self._counts.seen

    def __repr__(self) -> str:
        return f"<Deduplicator: {len(self):,} of {self.n_seen:,} texts new at {self.measure} >= {self.threshold:g}>"

    def add(
        self,
        texts: Any = None,
        keys: Iterable[str] | None = None,
        *,
        text: str | None = None,
        vectors: npt.ArrayLike | None = None,
    ) -> list[Verdict]:
        """Compare texts with all that were added, including earlier ones of the same call, and add them.

        If it fails or is interrupted, nothing is added.

        Parameters
        ----------
        texts : iterable of str, Series or DataFrame
            With ``measure="cosine"``, leave it out.
        keys : iterable of str, optional
            Default: the number of the text, counted over all calls.
        text : str, optional
            For a DataFrame: the column that holds the texts.
        vectors : array of shape (n, m), optional
            For ``measure="cosine"``: the embeddings that are compared.
        """
        return self._judged(texts, keys, text, vectors, keep=True)

    def check(
        self,
        texts: Any = None,
        keys: Iterable[str] | None = None,
        *,
        text: str | None = None,
        vectors: npt.ArrayLike | None = None,
    ) -> list[Verdict]:
        """Return the verdict of `add` on each text alone, and add nothing."""
        return self._judged(texts, keys, text, vectors, keep=False)

    def _judged(
        self, texts: Any, keys: Iterable[str] | None, column: str | None, vectors: Any, *, keep: bool
    ) -> list[Verdict]:
        held = self._documents(texts, column, vectors)
        with self._lock:
            self._repair()
            names = _names(held, keys, self.n_seen)
            verdicts: list[Verdict] = []
            self._whole = not keep
            for others, scores, places in self._matcher.matches(held, keep=keep):
                own = names[len(verdicts) : len(verdicts) + len(others)]
                for name, other, score, place in zip(
                    own, others.tolist(), scores.tolist(), places.tolist(), strict=True
                ):
                    stands = -1 if other < 0 else self._stands[other]
                    if keep:
                        if place == len(self._stands):
                            self._stands.append(len(self._keys) if other < 0 else stands)
                        self._places.append(place)
                        self._keys.append(name)
                    verdicts.append(Verdict(name, other < 0, None if other < 0 else self._keys[stands], score))
            if keep:
                new = len(self) + sum(verdict.is_new for verdict in verdicts)
                self._counts = _Counts(len(self._keys), len(self._stands), new)
                self._whole = True
        return verdicts

    def groups(self) -> list[list[str]]:
        """Return the groups of near-duplicates among all texts that were added: their keys, in order.

        Each text is linked with all earlier ones that it is similar to, so a text can join groups that were apart.
        """
        with self._lock:
            self._repair()
            firsts = self._matcher.firsts()[np.array(self._places, dtype=np.int64)]
            found: dict[int, list[str]] = {}
            for key, first in zip(self._keys, firsts.tolist(), strict=True):
                found.setdefault(first, []).append(key)
        return [group for group in found.values() if len(group) > 1]

    def _repair(self) -> None:
        """Remove what a call that failed or was interrupted has left."""
        if not self._whole:
            self._matcher.truncate(self._counts.held)
            del self._keys[self._counts.seen :]
            del self._places[self._counts.seen :]
            del self._stands[self._counts.held :]
            self._whole = True

    def _documents(self, texts: Any, column: str | None, vectors: Any) -> Any:
        """Return what is compared: texts or vectors."""
        if self.measure == "cosine":
            if vectors is None or texts is not None or column is not None:
                raise TypeError("measure='cosine' compares embeddings. Pass them as vectors=, and no texts.")
            given = as_array(vectors)
            return check_rows(given) if len(given) else []
        if vectors is not None:
            raise TypeError(f"measure={self.measure!r} compares texts. Leave vectors= out, or take measure='cosine'.")
        if texts is None:
            raise TypeError("there are no texts. Pass a list of them.")
        return list(texts_of(texts, column)) if not isinstance(texts, str) else texts

    def save(self, path: str | PathLike[str]) -> None:
        """Write it to a file, which `load` and `sthash.load` read. An interrupted write leaves no trace."""
        with self._lock:
            self._repair()
            arrays = self._matcher.arrays()
            config = {
                "threshold": self.threshold,
                "measure": self.measure,
                "shingle_words": self.shingle_words,
                "protect": self.protect,
            }
            arrays |= {
                "keys": np.frombuffer(json.dumps(self._keys).encode(), dtype=np.uint8),
                "places": np.array(self._places, dtype=np.int64),
                "stands": np.array(self._stands, dtype=np.int64),
                "links": self._matcher.links(),
            }
        model_file.write(path, "Deduplicator", config, arrays)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read what `save` wrote."""
        return model_file.load_as(cls, path)

    @classmethod
    def _restored(cls, config: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Self:
        restored = cls(
            config["threshold"],
            measure=config["measure"],
            shingle_words=config["shingle_words"],
            protect=config.get("protect"),
        )
        keys = json.loads(arrays["keys"].tobytes())
        if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
            raise ValueError("keys must be a list of str")
        for name, count in (("places", len(keys)), ("stands", None), ("links", None)):
            model_file.check_array(arrays, name, np.int64, (count,))
        places, stands = arrays["places"], arrays["stands"]
        for numbers, count in ((places, len(stands)), (stands, len(keys))):
            if len(numbers) and not 0 <= numbers.min() <= numbers.max() < count:
                raise ValueError("places and stands must lead to what is there")
        restored._matcher.restore(arrays, len(stands))
        restored._keys, restored._places, restored._stands = keys, array("q", places), array("q", stands)
        restored._counts = _Counts(len(keys), len(stands), len(np.unique(stands)))
        return restored


def _names(texts: Any, keys: Iterable[str] | None, first: int) -> list[str]:
    if keys is None:
        return [str(first + place) for place in range(len(texts))]
    names = list(keys)
    if len(names) != len(texts):
        raise ValueError(f"there are {len(texts)} texts and {len(names)} keys. Pass one key per text.")
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"key {name!r} is a {type(name).__name__}, not a str. Convert it: str(key).")
    return names
