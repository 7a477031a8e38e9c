"""From vectors to codes: graph, embedding, bits, hash functions, and the hasher that combines them."""

from sthash.hashing.binarizer import median_bits
from sthash.hashing.class_graph import ClassGraph
from sthash.hashing.classifier_per_bit import ClassifierPerBit
from sthash.hashing.embedding import laplacian_eigenmap, laplacian_eigenpairs
from sthash.hashing.embedding_quantizer import EmbeddingQuantizer
from sthash.hashing.gaussian_svm import GaussianSVM
from sthash.hashing.graph import graph_recall, knn_graph
from sthash.hashing.linear_embedding import LinearEmbedding
from sthash.hashing.nystrom import NystromExtension
from sthash.hashing.ridge import ridge_map
from sthash.hashing.sth import PredictionWarning, SelfTaughtHashing
from sthash.hashing.svm import LinearSVMBank

__all__ = [
    "ClassGraph",
    "ClassifierPerBit",
    "EmbeddingQuantizer",
    "GaussianSVM",
    "LinearEmbedding",
    "LinearSVMBank",
    "NystromExtension",
    "PredictionWarning",
    "SelfTaughtHashing",
    "graph_recall",
    "knn_graph",
    "laplacian_eigenmap",
    "laplacian_eigenpairs",
    "median_bits",
    "ridge_map",
]
