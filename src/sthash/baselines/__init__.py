"""Every method that the paper compares with or names, behind the interface of `SelfTaughtHashing`.

Each file opens with what its method is, where it comes from, its formulae, and the settings that its paper leaves
open. The names are imported when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sthash.lazy import lazy_names

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

__getattr__ = lazy_names(
    __name__,
    {
        "AnchorGraphHashing": "sthash.rivals.anchor_graph_hashing",
        "BinarisedLSI": "sthash.rivals.binarised_lsi",
        "BoostedSSC": "sthash.rivals.boosted_ssc",
        "ForgivingHashing": "sthash.rivals.forgiving_hashing",
        "IterativeQuantization": "sthash.rivals.iterative_quantization",
        "LaplacianCoHashing": "sthash.rivals.laplacian_co_hashing",
        "RandomHyperplaneHashing": "sthash.rivals.random_hyperplane_hashing",
        "SpectralHashing": "sthash.rivals.spectral_hashing",
        "StackedRBMHashing": "sthash.rivals.stacked_rbm_hashing",
    },
)


def __dir__() -> list[str]:
    return sorted(__all__)
