"""The paper's experiments: data sets, conditions as data, one runner, and the page that they produce."""

from sthash.reproduction.datasets import DatasetError, LabeledCounts, LabeledTexts, data_dir
from sthash.reproduction.labeled_texts import load_labeled

__all__ = ["DatasetError", "LabeledCounts", "LabeledTexts", "data_dir", "load_labeled"]
