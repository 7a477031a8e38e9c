"""Every method that the paper compares with or names, behind the interface of `SelfTaughtHashing`.

Each file opens with what its method is, where it comes from, its formulae, and the settings that its paper leaves
open. The names are imported when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sthash.rivals.anchor_graph_hashing import AnchorGraphHashing
    from sthash.rivals.binarised_lsi import BinarisedLSI
    from sthash.rivals.boosted_ssc import BoostedSSC
    from sthash.rivals.forgiving_hashing import ForgivingHashing
    from sthash.rivals.iterative_quantization import IterativeQuantization
    from sthash.rivals.laplacian_co_hashing import LaplacianCoHashing
    from sthash.rivals.random_hyperplane_hashing import RandomHyperplaneHashing
    from sthash.rivals.spectral_hashing import SpectralHashing
    from sthash.rivals.stacked_rbm_hashing import StackedRBMHashing

__all__ = [
    "AnchorGraphHashing",
    "BinarisedLSI",
    "BoostedSSC",
    "ForgivingHashing",
    "IterativeQuantization",
    "LaplacianCoHashing",
    "RandomHyperplaneHashing",
    "SpectralHashing",
    "StackedRBMHashing",
]

_MODULES = {
    "AnchorGraphHashing": "anchor_graph_hashing",
    "BinarisedLSI": "binarised_lsi",
    "BoostedSSC": "boosted_ssc",
    "ForgivingHashing": "forgiving_hashing",
    "IterativeQuantization": "iterative_quantization",
    "LaplacianCoHashing": "laplacian_co_hashing",
    "RandomHyperplaneHashing": "random_hyperplane_hashing",
    "SpectralHashing": "spectral_hashing",
    "StackedRBMHashing": "stacked_rbm_hashing",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'sthash.rivals' has no attribute {name!r}")
    return getattr(importlib.import_module(f"sthash.rivals.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
