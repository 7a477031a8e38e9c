"""Search texts and embeddings, and find near-duplicates: documents and indexes in one file.

sthash runs on one ordinary machine, without a server, a GPU or a pretrained model.

The public names are listed in ``__init__.pyi`` and imported when they are first used.
"""

from __future__ import annotations

from sthash import _core  # noqa: F401 - kernels that do not fit the machine are told at once, not at first use
from sthash.lazy import public_names

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
