"""What people do with codes: find near-duplicates, and classify."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sthash.applications.duplicates import Duplicates, near_duplicates
    from sthash.applications.knn import KNNHashClassifier
    from sthash.applications.votes import Prediction, classify

__all__ = ["Duplicates", "KNNHashClassifier", "Prediction", "classify", "near_duplicates"]

_MODULES = {
    "Duplicates": "duplicates",
    "KNNHashClassifier": "knn",
    "Prediction": "votes",
    "classify": "votes",
    "near_duplicates": "duplicates",
}


def __getattr__(name: str) -> Any:
    # The classifier needs scikit-learn; the others do not.
    if name not in _MODULES:
        raise AttributeError(f"module 'sthash.applications' has no attribute {name!r}")
    return getattr(importlib.import_module(f"sthash.applications.{_MODULES[name]}"), name)
