"""Compare src/sthash/_core.pyi with the compiled module: the same names, parameters and types.

nanobind's stubgen describes the module as it is. The stub is written by hand, because it can say more: what is inside
a tuple, a list or a dict. Everything that both say must agree. Prints each difference; exits with 1 if there are any.

Usage: python tools/check_stub.py
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

from nanobind.stubgen import StubGen

from sthash import _core

STUB = Path(__file__).parents[1] / "src" / "sthash" / "_core.pyi"
UNSAID = {"object", "tuple", "list", "dict"}  # what stubgen writes where C++ does not say more
Description = dict[str, str]


class Types(ast.NodeTransformer):
    """Writes types in one form: aliases resolved, no module prefixes, no constraints on arrays."""

    def __init__(self, aliases: dict[str, ast.expr]) -> None:
        self.aliases = aliases

    def visit_Name(self, node: ast.Name) -> ast.expr:  # noqa: D102
        return self.visit(self.aliases[node.id]) if node.id in self.aliases else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:  # noqa: D102
        return ast.Name(node.attr)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:  # noqa: D102
        if isinstance(node.value, ast.Name) and node.value.id == "Annotated" and isinstance(node.slice, ast.Tuple):
            return self.visit(node.slice.elts[0])
        return self.generic_visit(node)


def described(source: str) -> Description:
    """Describe each public name of a stub: parameters and result of a function, base of a class, type of a value."""
    tree = ast.parse(source)
    aliases = {
        target.id: statement.value
        for statement in tree.body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
    result: Description = {}
    _describe(tree.body, "", Types(aliases), result)
    return result


def _describe(body: list[ast.stmt], prefix: str, types: Types, result: Description) -> None:
    for statement in body:
        if isinstance(statement, ast.FunctionDef):
            decorators = "".join(f"@{ast.unparse(decorator)} " for decorator in statement.decorator_list)
            result[prefix + statement.name] = decorators + _signature(statement, types)
        elif isinstance(statement, ast.ClassDef):
            bases = ", ".join(ast.unparse(types.visit(base)) for base in statement.bases)
            result[prefix + statement.name] = f"class({bases})"
            _describe(statement.body, f"{prefix}{statement.name}.", types, result)
        elif isinstance(statement, ast.AnnAssign):
            result[prefix + ast.unparse(statement.target)] = ast.unparse(types.visit(statement.annotation))
        elif isinstance(statement, ast.Assign) and prefix:  # a member of an enumeration
            result[prefix + ast.unparse(statement.targets[0])] = ast.unparse(statement.value)


def _signature(function: ast.FunctionDef, types: Types) -> str:
    for argument in [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]:
        if argument.annotation is not None:
            argument.annotation = types.visit(argument.annotation)
    returned = ast.unparse(types.visit(function.returns)) if function.returns is not None else "object"
    return f"({ast.unparse(function.args)}) -> {returned}"


def _agree(stub: str, module: str) -> bool:
    parameters, _, result = stub.rpartition(" -> ")
    actual_parameters, _, actual = module.rpartition(" -> ")
    loose = actual in UNSAID and (actual == "object" or result == actual or result.startswith(f"{actual}["))
    return _loosely(parameters) == _loosely(actual_parameters) and (loose or result == actual)


def _loosely(parameters: str) -> str:
    """Drop what the C++ type of a parameter does not say: what is inside a tuple or a list, what a function takes."""
    loose = {
        "tuple[Any, ...]": "tuple",
        "list[str]": "list",
        "list[bytes]": "list",
        "Callable[[int, int], None]": "object",
    }
    for said, unsaid in loose.items():
        parameters = parameters.replace(said, unsaid)
    return parameters


def main() -> int:
    """Print the differences."""
    generator = StubGen(_core)
    generator.put(_core)
    module, stub = described(generator.get()), described(STUB.read_text(encoding="utf-8"))
    differences = [f"{name} is in the module but not in the stub" for name in module if name not in stub]
    differences += [f"{name} is in the stub but not in the module" for name in stub if name not in module]
    differences += [
        f"{name} differs\n  stub    {stub[name]}\n  module  {module[name]}"
        for name in stub
        if name in module and not _agree(stub[name], module[name])
    ]
    for difference in differences:
        sys.stderr.write(f"{STUB.name}: {difference}\n")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
