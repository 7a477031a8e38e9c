"""Documents that every machine has: the documentation strings of Python's standard library."""

from __future__ import annotations

import ast
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# Tests and generated code document little and repeat much.
LEFT_OUT = {
    "test",
    "tests",
    "idlelib",
    "lib2to3",
    "site-packages",
    "pydoc_data",
    "__phello__",
    "turtledemo",
    "idle_test",
}
FEWEST_WORDS = 8


@dataclass(frozen=True)
class DocString:
    """The documentation of a module, class or function; ``module`` is its top-level module or package."""

    name: str
    module: str
    text: str


def doc_strings() -> Iterator[DocString]:
    """Read documentation strings from the source files, in the order of their names; nothing is imported."""
    root = Path(sysconfig.get_paths()["stdlib"])
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        if LEFT_OUT & set(parts) or parts[0].startswith("_sysconfigdata"):
            continue
        name = ".".join(part for part in parts if part != "__init__") or parts[0]
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue
        yield from _documented(tree, name, parts[0])


def _documented(node: ast.AST, name: str, module: str) -> Iterator[DocString]:
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        text = ast.get_docstring(node)
        if text and len(text.split()) >= FEWEST_WORDS:
            yield DocString(name, module, text)
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _documented(child, f"{name}.{child.name}", module)
