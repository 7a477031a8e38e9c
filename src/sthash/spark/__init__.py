"""Self-Taught Hashing on Spark: the same codes and the same answers, where the corpus is.

The public names are listed in ``__init__.pyi`` and imported when they are first used.
"""

from __future__ import annotations

from typing import Any

from sthash.extras import install_command
from sthash.lazy import public_names

_find, __dir__, __all__ = public_names(__name__, __file__)


def __getattr__(name: str) -> Any:
    try:
        return _find(name)
    except ModuleNotFoundError as error:
        if error.name not in ("pandas", "pyarrow", "pyspark"):
            raise
        raise ModuleNotFoundError(
            f"sthash.spark needs {error.name}, which is not installed. Run: {install_command('spark')}.",
            name=error.name,
        ) from error
