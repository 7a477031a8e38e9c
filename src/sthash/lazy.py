"""Public names that are imported when they are first used, so that a program pays only for what it uses.

The public names of a package stand in one place, its stub file ``__init__.pyi``::

    from sthash.client import Client as Client

Type checkers and editors read the stub as they read any other. At run time `public_names` reads it, too: the package
itself only says::

    __getattr__, __dir__, __all__ = public_names(__name__, __file__)
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any


def public_names(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package, as its stub lists its names.

    Parameters
    ----------
    package : str
        ``__name__`` of the package.
    file : str
        ``__file__`` of the package; the stub lies beside it. Every ``from module import name as name`` in the stub
        makes a public name; the module must be given in full. So does ``name: type``, for what the package sets
        itself. No module of the package may have the name of a public function, because importing the module would
        set that name to it.

    Examples
    --------
    >>> import sthash
    >>> from sthash.lazy import public_names
    >>> find, _, names = public_names("sthash", sthash.__file__)
    >>> find("HammingIndex").__module__, "load" in names
    ('sthash.index.hamming', True)
    """
    tree = ast.parse(Path(file).with_suffix(".pyi").read_bytes())
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    module_of = {alias.name: str(node.module) for node in imports for alias in node.names if alias.asname}
    own = [ast.unparse(node.target) for node in tree.body if isinstance(node, ast.AnnAssign)]
    names = sorted([*module_of, *own])

    def find(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(module_of[name]), name)

    return find, names.copy, names
