"""What people do with collections and codes: classify, recognize copies.

The public names are listed in ``__init__.pyi`` and imported when they are first used: only the classifier needs
scikit-learn.
"""

from __future__ import annotations

from sthash.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
