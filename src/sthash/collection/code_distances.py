"""Distances between the codes of hits and of their queries, which are computed when one is asked for.

Few who search look at them, and to encode a typed query takes as long as to rank its hits.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import overload

import numpy as np
import numpy.typing as npt

from sthash.codes import Codes, pack, row_distances
from sthash.collection.query_words import ModelTerm
from sthash.model import TextModel
from sthash.model.terms import TermRows, padded


class CodeDistances(Sequence[int]):
    """The distances of the hits of some queries, one query after the other. They need the file no more.

    Parameters
    ----------
    model : TextModel
    indptr, columns, counts
        The term counts of the queries: the parts of a CSR matrix with ascending columns.
    terms : list of ModelTerm or None
        What the model knows of each entry; None where it does not know the term.
    codes : array of uint8
        Packed codes of the hits.
    sizes : list of int
        How many hits each query has.
    """

    def __init__(
        self,
        model: TextModel,
        indptr: npt.NDArray[np.int64],
        columns: npt.NDArray[np.int32],
        counts: npt.NDArray[np.int32],
        terms: list[ModelTerm | None],
        codes: Codes,
        sizes: list[int],
    ) -> None:
        self._model = model
        self._rows = indptr, columns, counts
        self._terms = terms
        self._codes = codes
        self._sizes = sizes

    def __len__(self) -> int:
        return len(self._codes)

    @overload
    def __getitem__(self, place: int) -> int: ...
    @overload
    def __getitem__(self, place: slice) -> list[int]: ...
    def __getitem__(self, place: int | slice) -> int | list[int]:
        return self._distances[place]

    @cached_property
    def _distances(self) -> list[int]:
        distances: list[int] = row_distances(self._codes, np.repeat(self._query_codes(), self._sizes, axis=0)).tolist()
        return distances

    def _query_codes(self) -> Codes:
        indptr, columns, counts = self._rows
        known = np.array([term is not None for term in self._terms], dtype=bool)
        bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(known)])[indptr]
        terms = [term for term in self._terms if term is not None]
        first = padded(np.zeros((1, self._model.n_bits), np.float32))
        rows = TermRows(
            np.array([term.frequency for term in terms], dtype=np.int64),
            np.arange(1, len(terms) + 1, dtype=np.int32),
            np.concatenate([first, *(term.weights[np.newaxis] for term in terms)]),
        )
        position = np.arange(len(terms))
        return pack(self._model.encode_terms(bounds, columns[known], counts[known], rows, position).margins > 0)
