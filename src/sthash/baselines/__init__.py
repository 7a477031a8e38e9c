"""Every method that the paper compares with or names, with the interface of `SelfTaughtHashing`.

Each file opens with what its method is, where it comes from, its formulae, and the settings that its paper leaves
open. The public names are listed in ``__init__.pyi`` and imported when they are first used.
"""

from __future__ import annotations

from sthash.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
