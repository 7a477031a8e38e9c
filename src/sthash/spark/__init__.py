"""Self-Taught Hashing on Spark: the same codes and the same answers, where the corpus lies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sthash.lazy import lazy_names

if TYPE_CHECKING:
    from sthash.spark.columns import hamming_distance
    from sthash.spark.estimator import SelfTaughtHashing
    from sthash.spark.export import export_collection
    from sthash.spark.groups import connected_groups, near_duplicates
    from sthash.spark.join import hamming_join, hamming_self_join
    from sthash.spark.learnt import Learnt
    from sthash.spark.model import SelfTaughtHashingModel

__all__ = [
    "Learnt",
    "SelfTaughtHashing",
    "SelfTaughtHashingModel",
    "connected_groups",
    "export_collection",
    "hamming_distance",
    "hamming_join",
    "hamming_self_join",
    "near_duplicates",
]

_find = lazy_names(
    __name__,
    {
        "Learnt": "sthash.spark.learnt",
        "SelfTaughtHashing": "sthash.spark.estimator",
        "SelfTaughtHashingModel": "sthash.spark.model",
        "connected_groups": "sthash.spark.groups",
        "export_collection": "sthash.spark.export",
        "hamming_distance": "sthash.spark.columns",
        "hamming_join": "sthash.spark.join",
        "hamming_self_join": "sthash.spark.join",
        "near_duplicates": "sthash.spark.groups",
    },
)


def __getattr__(name: str) -> Any:
    try:
        return _find(name)
    except ModuleNotFoundError as error:
        if error.name not in ("pandas", "pyarrow", "pyspark"):
            raise
        raise ModuleNotFoundError(
            f"sthash.spark needs {error.name}, which is not installed; pip install 'sthash[spark]'.", name=error.name
        ) from error
