"""The paper's experiments: data sets, conditions as data, one runner, and the page that they produce."""

from sthash.reproduction.datasets import DatasetError, LabelledCounts, LabelledTexts, data_dir
from sthash.reproduction.labelled import load_labelled

__all__ = ["DatasetError", "LabelledCounts", "LabelledTexts", "data_dir", "load_labelled"]
