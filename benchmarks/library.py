"""What the benchmarks take from inside the library, in one place: a change of an inner name is followed here."""

from __future__ import annotations

from sthash import HammingIndex
from sthash.applications.duplicates import sketch
from sthash.evaluation import Neighbors, nearest_neighbors
from sthash.hashing.graph import symmetric_graph
from sthash.rows import unit_rows

__all__ = ["Neighbors", "nearest_neighbors", "scanning_index", "sketch", "symmetric_graph", "unit_rows"]


def scanning_index(n_bits: int) -> HammingIndex:
    """Make an index that never uses tables."""
    return HammingIndex(n_bits, strategy="scan")
