"""The pigeonhole principle: cut codes into radius + 1 bands, and two codes within the radius agree in one of them.

What the executors do for a join: give each code the buckets of its bands, and find the pairs within a bucket. A pair
is given in the first band that both codes share, hence once.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sthash.codes import Codes, as_words, n_bytes, pack
from sthash.index import HammingIndex
from sthash.spark.arrow import binary_column, packed_codes

Words = npt.NDArray[np.uint64]

# What a row has to do in the task that it is sent to: be paired with the rows beside it, or with those across.
LEFT, RIGHT, BOTH = 0, 1, 2
_ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Bands:
    """Bands of codes of ``n_bits`` bits, for a radius.

    Where bands would be so narrow that comparing all codes takes no longer, there is one band without bits, which all
    codes share.

    Examples
    --------
    >>> from sthash.spark.bands import Bands
    >>> Bands(64, 3).limits
    [(0, 16), (16, 32), (32, 48), (48, 64)]
    >>> Bands(64, 64).limits
    [(0, 0)]
    """

    n_bits: int
    radius: int

    @property
    def limits(self) -> list[tuple[int, int]]:
        """First bit of each band, and the bit after its last."""
        count = self.radius + 1
        if count >= 2.0 ** (self.n_bits // count):
            return [(0, 0)]
        bounds = [band * self.n_bits // count for band in range(count + 1)]
        return list(itertools.pairwise(bounds))

    def masks(self) -> Words:
        """Bits of each band, one row per band."""
        positions = np.arange(self.n_bits)
        return as_words(pack(np.array([(positions >= start) & (positions < end) for start, end in self.limits])))

    def buckets(self, codes: Codes) -> npt.NDArray[np.int64]:
        """Return a number for what each code has in each band, one row per band; contents may share a number."""
        values = as_words(codes)
        mixed = np.empty((len(self.limits), len(codes)), dtype=np.uint64)
        for band, mask in enumerate(self.masks()):
            mixed[band] = band
            for word, part in zip(values.T, mask, strict=True):
                mixed[band] = (mixed[band] ^ (word & part)) * _ODD
                mixed[band] ^= mixed[band] >> np.uint64(29)
        return mixed.view(np.int64)

    def spread(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield each code (with its side) once per band: band, bucket, side, code."""
        for batch in batches:
            codes = packed_codes(batch.column(0), n_bytes(self.n_bits), "code")
            for band, buckets in enumerate(self.buckets(codes)):
                columns = [pa.array(np.full(len(codes), band, np.int32)), pa.array(buckets)]
                yield pa.RecordBatch.from_arrays(
                    [*columns, batch.column(1), batch.column(0)], ["band", "bucket", "side", "code"]
                )


@dataclass(frozen=True)
class Cell:
    """Codes that one task compares, all with all or left with right, for one band."""

    band: int
    codes: Codes
    side: npt.NDArray[np.int8]

    def pairs(
        self, bands: Bands
    ) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int32]]]:
        """Return the places of codes within the radius, and their distances, in blocks; also those of other bands."""
        places = [np.flatnonzero(self.side == side) for side in (LEFT, RIGHT, BOTH)]
        left, right, both = (HammingIndex(bands.n_bits) for _ in places)
        for index, own in zip((left, right, both), places, strict=True):
            index.add(self.codes[own], own)
        yield from left.pairs(bands.radius, right, threads=1)
        yield from both.pairs(bands.radius, threads=1)


def cells(batches: Iterator[pa.RecordBatch]) -> Iterator[Cell]:
    """Take the rows of a task (band, cell, side, code) apart into cells, each with its codes in ascending order.

    Rows come in any order. A task that is run again, because a worker was lost, must give the same rows, though.
    """
    parts = list(batches)
    if not any(part.num_rows for part in parts):
        return
    table = pa.Table.from_batches(parts).combine_chunks()
    band, cell, side = (table[name].to_numpy() for name in ("band", "cell", "side"))
    codes = packed_codes(table["code"].chunk(0), None, "code")
    order = np.lexsort((*as_words(codes).T, cell, band))
    changes = np.flatnonzero((np.diff(band[order]) != 0) | (np.diff(cell[order]) != 0)) + 1
    for rows in np.split(order, changes):
        yield Cell(int(band[rows[0]]), codes[rows], side[rows])


def find_pairs(batches: Iterator[pa.RecordBatch], bands: Bands) -> Iterator[pa.RecordBatch]:
    """Return the pairs of a task's codes: codeA, codeB, distance."""
    masks = bands.masks()
    for cell in cells(batches):
        values = as_words(cell.codes)
        for left, right, distances in cell.pairs(bands):
            first = first_shared(values[left] ^ values[right], masks) == cell.band
            columns = [binary_column(cell.codes[places[first]]) for places in (left, right)]
            yield pa.RecordBatch.from_arrays([*columns, pa.array(distances[first])], ["codeA", "codeB", "distance"])


def find_links(batches: Iterator[pa.RecordBatch], bands: Bands) -> Iterator[pa.RecordBatch]:
    """Return links that join the same codes as the pairs do, but only as many as needed: code, root."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    for cell in cells(batches):
        n = len(cell.codes)
        roots = np.arange(n)
        for left, right, _ in cell.pairs(bands):
            ends = np.concatenate([left, np.arange(n)]), np.concatenate([right, roots])
            graph = coo_array((np.ones(len(ends[0]), dtype=bool), ends), shape=(n, n))
            labels = connected_components(graph, directed=False)[1]
            roots = np.unique(labels, return_index=True)[1][labels]
        joined = np.flatnonzero(roots != np.arange(n))
        columns = [binary_column(cell.codes[places]) for places in (joined, roots[joined])]
        yield pa.RecordBatch.from_arrays(columns, ["code", "root"])


def first_shared(differences: Words, masks: Words) -> npt.NDArray[np.int64]:
    """Return the first band in which codes with these differing bits agree."""
    first = np.full(len(differences), len(masks), dtype=np.int64)
    for band in range(len(masks) - 1, -1, -1):
        first[~(differences & masks[band]).any(axis=1)] = band
    return first
