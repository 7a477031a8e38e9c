"""What people do with codes: find near-duplicates, and classify."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sthash.lazy import lazy_names

if TYPE_CHECKING:
    from sthash.applications.duplicates import Duplicates, near_duplicates
    from sthash.applications.knn import KNNHashClassifier
    from sthash.applications.votes import Prediction, classify

__all__ = ["Duplicates", "KNNHashClassifier", "Prediction", "classify", "near_duplicates"]

# The classifier needs scikit-learn; the others do not.
__getattr__ = lazy_names(
    __name__,
    {
        "Duplicates": "sthash.applications.duplicates",
        "KNNHashClassifier": "sthash.applications.knn",
        "Prediction": "sthash.applications.votes",
        "classify": "sthash.applications.votes",
        "near_duplicates": "sthash.applications.duplicates",
    },
)
