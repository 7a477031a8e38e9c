"""The paper's experiments: data sets, conditions as data, one runner, and the page that they produce."""

from sthash.reproduction.datasets import DatasetError, LabeledCounts, LabeledTexts, LabeledVectors, data_dir
from sthash.reproduction.labeled_texts import load_labeled
from sthash.reproduction.labeled_vectors import load_vectors

__all__ = [
    "DatasetError",
    "LabeledCounts",
    "LabeledTexts",
    "LabeledVectors",
    "data_dir",
    "load_labeled",
    "load_vectors",
]
