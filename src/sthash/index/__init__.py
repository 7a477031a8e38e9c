"""Search: by words, exact in Hamming space, and among embeddings."""

from sthash.index.hamming import HammingIndex, HammingStats, Pairs
from sthash.index.interface import Allowed, Index, IndexStats
from sthash.index.vectors import Selection, VectorIndex, VectorStats
from sthash.index.words import WordIndex, WordStats

__all__ = [
    "Allowed",
    "HammingIndex",
    "HammingStats",
    "Index",
    "IndexStats",
    "Pairs",
    "Selection",
    "VectorIndex",
    "VectorStats",
    "WordIndex",
    "WordStats",
]
