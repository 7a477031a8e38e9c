"""Near-duplicates: which documents are nearly the same, how similar they are, and which of them to keep.

The public names are listed in ``__init__.pyi`` and imported when they are first used.
"""

from __future__ import annotations

from sthash.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
