"""Distances between the codes of hits and of their queries, which are computed when one is asked for.

Few who search look at them, and to encode a typed query takes as long as to rank its hits.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cached_property
from typing import overload

import numpy as np

from sthash.codes import Codes, pack, row_distances
from sthash.collection.query_words import ModelTerm
from sthash.model import TextModel
from sthash.model.terms import TermRows, padded

# Column, count, and what the model knows of the term, for each term of a query by ascending column.
QueryTerms = list[tuple[int, int, ModelTerm | None]]


class CodeDistances(Sequence[int]):
    """The distances of the hits of some queries, one query after the other. They need the file no more.

    Parameters
    ----------
    model : TextModel
    queries : list of QueryTerms
    codes : array of uint8
        Packed codes of all documents.
    positions : list of lists of int
        For each query, where its hits are among the codes.
    """

    def __init__(self, model: TextModel, queries: list[QueryTerms], codes: Codes, positions: list[list[int]]) -> None:
        self._model = model
        self._queries = queries
        self._codes = codes
        self._positions = positions

    def __len__(self) -> int:
        return sum(map(len, self._positions))

    @overload
    def __getitem__(self, place: int) -> int: ...
    @overload
    def __getitem__(self, place: slice) -> list[int]: ...
    def __getitem__(self, place: int | slice) -> int | list[int]:
        return self._distances[place]

    @cached_property
    def _distances(self) -> list[int]:
        sizes = [len(own) for own in self._positions]
        found = self._codes[list(itertools.chain.from_iterable(self._positions))]
        distances: list[int] = row_distances(found, np.repeat(self._query_codes(), sizes, axis=0)).tolist()
        return distances

    def _query_codes(self) -> Codes:
        known = [
            [(column, count, term) for column, count, term in query if term is not None] for query in self._queries
        ]
        indptr = np.cumsum([0, *map(len, known)])
        entries = list(itertools.chain.from_iterable(known))
        first = padded(np.zeros((1, self._model.n_bits), np.float32))
        rows = TermRows(
            np.array([term.frequency for _, _, term in entries], dtype=np.int64),
            np.arange(1, len(entries) + 1, dtype=np.int32),
            np.concatenate([first, *(term.weights[np.newaxis] for _, _, term in entries)]),
        )
        columns = np.array([column for column, _, _ in entries], dtype=np.int32)
        counts = np.array([count for _, count, _ in entries], dtype=np.int32)
        return pack(self._model.encode_terms(indptr, columns, counts, rows, np.arange(len(entries))).margins > 0)
