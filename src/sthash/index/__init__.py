"""Exact search in Hamming space."""

from sthash.index.hamming import HammingIndex, IndexStats, Pairs

__all__ = ["HammingIndex", "IndexStats", "Pairs"]
