"""``--vectors`` and ``--embedder``: vectors beside documents, and the function that makes them from texts."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sthash.cli.options import SourceOptions

if TYPE_CHECKING:
    from sthash.sources import Document


@dataclass(frozen=True)
class EmbedderOptions:
    """What turns texts into vectors."""

    embedder: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:FUNCTION",
            help="Function that makes vectors of texts: it takes a list of str, and returns an array. "
            "Modules are looked for in the current folder, too.",
        ),
    ] = None
    embedder_name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of the embedder in the collection.  [default: MODULE:FUNCTION]"),
    ] = None

    def keywords(self) -> dict[str, Any]:
        """Give the arguments of `Collection.create` and `Collection.open`."""
        if self.embedder is None:
            if self.embedder_name is not None:
                raise typer.BadParameter("--embedder-name goes with --embedder. Give both.")
            return {}
        return {"embedder": load_function(self.embedder), "embedder_name": self.embedder_name}


@dataclass(frozen=True)
class VectorOptions:
    """Where the vectors of documents are."""

    vectors: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD|FILE.npy",
            help="Field that holds a vector per document, or a NumPy file with one row per document. The vectors are "
            "then compared, instead of the texts.",
        ),
    ] = None

    @contextmanager
    def documents(
        self, source: SourceOptions, beside: str, *, width: int | None = None, metric: str
    ) -> Iterator[Iterator[Document]]:
        """Read documents with their vectors, which have ``width`` values, if that is given, and this metric."""
        with source.documents(beside, vectors=self.vectors, width=width, metric=metric) as documents:
            yield documents

    def keywords(self) -> dict[str, Any]:
        """Give the arguments of `Collection.create` and `Collection.add`: the documents have their vectors."""
        return {} if self.vectors is None else {"vectors": "vector"}


def load_function(name: str) -> Callable[[list[str]], Any]:
    """Import the function that the user has named, as ``module:function``."""
    module_name, colon, path = name.partition(":")
    if not (colon and module_name and path):
        raise typer.BadParameter(f"--embedder {name!r} is not of the form module:function.")
    if "" not in sys.path:
        sys.path.append("")  # at the end, so that nothing there hides an installed module
    found: Any = importlib.import_module(module_name)
    try:
        for part in path.split("."):
            found = getattr(found, part)
    except AttributeError as error:
        raise ImportError(f"--embedder {name}: {error}. Name a function of the module.") from error
    if not callable(found):
        raise TypeError(f"--embedder {name} is a {type(found).__name__}. Name a function.")
    function: Callable[[list[str]], Any] = found
    return function
