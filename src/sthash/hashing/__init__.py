"""From vectors to codes: graph, embedding, bits, hash functions, and the hasher that composes them."""

from sthash.hashing.binarize import median_bits
from sthash.hashing.embedding import laplacian_eigenmap, laplacian_eigenpairs
from sthash.hashing.graph import knn_graph
from sthash.hashing.per_bit import ClassifierPerBit
from sthash.hashing.ridge import ridge_map
from sthash.hashing.sth import SelfTaughtHashing
from sthash.hashing.svm import LinearSVMBank

__all__ = [
    "ClassifierPerBit",
    "LinearSVMBank",
    "SelfTaughtHashing",
    "knn_graph",
    "laplacian_eigenmap",
    "laplacian_eigenpairs",
    "median_bits",
    "ridge_map",
]
