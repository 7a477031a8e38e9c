"""Search: exact in Hamming space, and among embeddings."""

from sthash.index.hamming import HammingIndex, IndexStats, Pairs
from sthash.index.vectors import VectorIndex

__all__ = ["HammingIndex", "IndexStats", "Pairs", "VectorIndex"]
