"""Where documents come from: files, folders, standard input, tables in memory, and Python objects.

Every part of the package reads documents here, so all of them know the same formats and follow the same rules. The
public names are listed in ``__init__.pyi`` and imported when they are first used.
"""

from __future__ import annotations

from sthash.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
