"""From strings to sparse unit rows: words, stop words, stems, weights.

The public names are listed in ``__init__.pyi`` and imported when they are first used: the vectorizer needs
scikit-learn; counters and weights, which a query needs, do not.
"""

from __future__ import annotations

from sthash.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
