"""Every method that the paper compares with or names, behind the interface of `SelfTaughtHashing`.

Each file opens with what its method is, where it comes from, its formulae, and the settings that its paper leaves
open. The names are imported when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sthash.lazy import lazy_names

if TYPE_CHECKING:
    from sthash.baselines.anchor_graph_hashing import AnchorGraphHashing
    from sthash.baselines.binarized_lsi import BinarizedLSI
    from sthash.baselines.boosted_ssc import BoostedSSC
    from sthash.baselines.forgiving_hashing import ForgivingHashing
    from sthash.baselines.iterative_quantization import IterativeQuantization
    from sthash.baselines.laplacian_co_hashing import LaplacianCoHashing
    from sthash.baselines.random_hyperplane_hashing import RandomHyperplaneHashing
    from sthash.baselines.spectral_hashing import SpectralHashing
    from sthash.baselines.stacked_rbm_hashing import StackedRBMHashing

__all__ = [
    "AnchorGraphHashing",
    "BinarizedLSI",
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
        "AnchorGraphHashing": "sthash.baselines.anchor_graph_hashing",
        "BinarizedLSI": "sthash.baselines.binarized_lsi",
        "BoostedSSC": "sthash.baselines.boosted_ssc",
        "ForgivingHashing": "sthash.baselines.forgiving_hashing",
        "IterativeQuantization": "sthash.baselines.iterative_quantization",
        "LaplacianCoHashing": "sthash.baselines.laplacian_co_hashing",
        "RandomHyperplaneHashing": "sthash.baselines.random_hyperplane_hashing",
        "SpectralHashing": "sthash.baselines.spectral_hashing",
        "StackedRBMHashing": "sthash.baselines.stacked_rbm_hashing",
    },
)


def __dir__() -> list[str]:
    return sorted(__all__)
