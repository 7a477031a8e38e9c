"""Objects that have a file format are pickled and copied through it: what is pickled are the bytes of such a file.

sthash itself never loads a pickle. It only says how one may be made.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any


def reduced_to_file(item: Any, **options: Any) -> tuple[Any, ...]:
    """Return what ``__reduce__`` returns for an object with ``save``, and ``open`` or ``load``.

    Examples
    --------
    >>> import copy
    >>> import numpy as np
    >>> from sthash import VectorIndex
    >>> index = VectorIndex.build(np.random.default_rng(0).normal(size=(50, 8)))
    >>> other = copy.copy(index)
    >>> other.remove([0])
    >>> len(index), len(other)
    (50, 49)
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "file")
        item.save(path)
        return restored_from_file, (type(item), path.read_bytes(), options)


def restored_from_file(kind: Any, content: bytes, options: dict[str, Any]) -> Any:
    """Return the object whose file has this content."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "file")
        path.write_bytes(content)
        if hasattr(kind, "load"):
            return kind.load(path)
        if "mmap" in (kind.open.__kwdefaults__ or {}):  # the file goes away
            options = {**options, "mmap": False}
        return kind.open(path, **options)
