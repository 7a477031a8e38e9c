"""Deduplication as documents come: each new text is compared with all that were kept before."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from os import PathLike
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np
import numpy.typing as npt

from sthash import _core, model_file
from sthash.checks import check_choice, check_whole
from sthash.duplicates.comparable_rows import Shingler
from sthash.duplicates.detection import SHINGLE_WORDS
from sthash.duplicates.measures import MEASURES, check_measure
from sthash.tables import texts_of
from sthash.text.counters import text_batches

SetMeasure = Literal["jaccard", "containment"]


class Verdict(NamedTuple):
    """What a `Deduplicator` says of a text.

    Attributes
    ----------
    key : str
    is_new : bool
    copy_of : str or None
        Key of the most similar text that was kept; None if the text is new.
    score : float
        How similar it is; 0 if the text is new.
    """

    key: str
    is_new: bool
    copy_of: str | None
    score: float


class Deduplicator:
    """Says of each text, as it comes, whether it is new, and if not, of which one it is a copy.

    Only new texts are kept, as hashes of their shingles. The similarity does not depend on other texts, so no verdict
    is changed by what comes later; that is why the cosine of TF-IDF weights is not offered here.

    Parameters
    ----------
    threshold : float, default=0.8
        Similarity from which on a text is a copy.
    measure : {"jaccard", "containment"}, default="jaccard"
        ``containment``: the share of the shingles of the new text that the other one has, so that quotations are
        copies, too.
    shingle_words : int, default=5
        Number of words of a shingle.
    threads : int or None, default=None

    Notes
    -----
    It takes about 40 bytes of memory per different shingle. A blank text is always new. Where a shingle is in more
    than 1,000 texts, the latest of them are compared.

    Examples
    --------
    >>> from sthash import Deduplicator
    >>> seen = Deduplicator()
    >>> text = "the quick brown fox jumps over the lazy dog near the river bank at dawn"
    >>> [verdict.is_new for verdict in seen.add([text, "something else"], keys=["a", "b"])]
    [True, True]
    >>> seen.add([text.upper()], keys=["c"])
    [Verdict(key='c', is_new=False, copy_of='a', score=1.0)]
    >>> len(seen)
    2
    """

    def __init__(
        self,
        threshold: float = 0.8,
        *,
        measure: SetMeasure = "jaccard",
        shingle_words: int = SHINGLE_WORDS,
        threads: int | None = None,
    ) -> None:
        check_choice("measure", measure, get_args(SetMeasure))
        self.threshold = check_measure(measure, threshold)[1]
        self.measure = measure
        self.shingle_words = check_whole("shingle_words", shingle_words)
        self.n_seen = 0
        self._threads = threads
        self._shingler = Shingler(self.shingle_words, threads)
        self._index = _core.SetIndex(measure=MEASURES.index(measure), threshold=self.threshold)
        self._keys: list[str] = []
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Return the number of texts that were kept."""
        return len(self._keys)

    def __repr__(self) -> str:
        return f"<Deduplicator: {len(self):,} of {self.n_seen:,} texts kept at {self.measure} >= {self.threshold:g}>"

    def add(self, texts: Any, keys: Iterable[str] | None = None, *, text: str | None = None) -> list[Verdict]:
        """Compare texts with all that were kept, also with those before them, and keep those that are new.

        Parameters
        ----------
        texts : iterable of str, Series or DataFrame
        keys : iterable of str, optional
            By default the number of the text, counted over all calls.
        text : str, optional
            For a DataFrame: the column that holds the texts.
        """
        return self._judged(texts, keys, text, keep=True)

    def check(self, texts: Any, keys: Iterable[str] | None = None, *, text: str | None = None) -> list[Verdict]:
        """Return what `add` would say of each text alone, and keep nothing."""
        return self._judged(texts, keys, text, keep=False)

    def _judged(self, texts: Any, keys: Iterable[str] | None, column: str | None, *, keep: bool) -> list[Verdict]:
        held = list(texts_of(texts, column)) if not isinstance(texts, str) else texts
        with self._lock:
            names = _names(held, keys, self.n_seen)
            verdicts: list[Verdict] = []
            for batch in text_batches(held):
                indptr, items = self._shingler(batch)
                match = self._index.find_or_add if keep else self._index.find
                sets, scores = match(indptr, items)
                own = names[len(verdicts) : len(verdicts) + len(batch)]
                for name, place, score in zip(own, sets.tolist(), scores.tolist(), strict=True):
                    verdicts.append(Verdict(name, place < 0, None if place < 0 else self._keys[place], score))
                    if keep and place < 0:
                        self._keys.append(name)
            if keep:
                self.n_seen += len(verdicts)
        return verdicts

    def save(self, path: str | PathLike[str]) -> None:
        """Write it to a file, which `open` and `sthash.load` read. An interrupted write leaves no trace."""
        with self._lock:
            indptr, items = self._index.sets()
            config = {
                "threshold": self.threshold,
                "measure": self.measure,
                "shingle_words": self.shingle_words,
                "n_seen": self.n_seen,
            }
            keys = np.frombuffer(json.dumps(self._keys).encode(), dtype=np.uint8)
        model_file.write(path, "Deduplicator", config, {"indptr": indptr, "shingles": items, "keys": keys})

    @classmethod
    def open(cls, path: str | PathLike[str]) -> Self:
        """Read what `save` wrote."""
        return model_file.load_as(cls, path)

    @classmethod
    def _restored(cls, config: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Self:
        restored = cls(config["threshold"], measure=config["measure"], shingle_words=config["shingle_words"])
        keys = json.loads(arrays["keys"].tobytes())
        if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
            raise ValueError("keys must be a list of str")
        model_file.check_array(arrays, "indptr", np.int64, (len(keys) + 1,))
        model_file.check_array(arrays, "shingles", np.uint64, (None,))
        restored._index.add(arrays["indptr"], arrays["shingles"])
        restored._keys = keys
        restored.n_seen = check_whole("n_seen", config["n_seen"], least=len(keys))
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
