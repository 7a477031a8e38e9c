"""``--vectors`` and ``--embedder``: vectors beside documents, and the function that makes them from texts."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sthash.cli.options import SourceOptions

if TYPE_CHECKING:
    from sthash.collection import VectorOptions
    from sthash.sources import Document


@dataclass(frozen=True)
class EmbedderOptions:
    """What turns texts into vectors."""

    embedder: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:FUNCTION",
            help="Function that turns texts into vectors: it takes a list of str and returns an array with one row per "
            "text. The module can be in the current folder.",
        ),
    ] = None
    embedder_name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of the embedder in the collection.  [default: MODULE:FUNCTION]"),
    ] = None

    @property
    def given(self) -> bool:
        """Whether there is an embedder."""
        return self.embedder is not None

    def keywords(self) -> dict[str, Any]:
        """Return the arguments of `Collection.create` and `Collection.open`."""
        if self.embedder is None:
            if self.embedder_name is not None:
                raise typer.BadParameter("--embedder-name goes with --embedder. Give both.")
            return {}
        from sthash.collection import Embedder

        return {"embedder": Embedder.of(load_function(self.embedder), self.embedder_name)}


@dataclass(frozen=True)
class VectorSource:
    """Where the vectors of documents are."""

    vectors: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD|FILE.npy",
            help="Field that holds the vector of a document, or a NumPy file with one row per document. Documents are "
            "then compared by their vectors.",
        ),
    ] = None

    @property
    def given(self) -> bool:
        """Whether there are vectors."""
        return self.vectors is not None

    @contextmanager
    def documents(
        self,
        source: SourceOptions,
        beside: str,
        *,
        width: int | None = None,
        metric: str,
        default_text: tuple[str, ...] = (),
    ) -> Iterator[Iterator[Document]]:
        """Read documents with their vectors, which have ``width`` values, if that is given, and this metric."""
        with source.documents(
            beside, vectors=self.vectors, width=width, metric=metric, default_text=default_text
        ) as documents:
            yield documents

    def keywords(self) -> dict[str, Any]:
        """Return the arguments of `Collection.create` and `Collection.add`: the documents have their vectors."""
        return {} if self.vectors is None else {"vectors": "vector"}


@dataclass(frozen=True)
class ComparisonOptions:
    """How vectors are compared and kept: fields of `sthash.VectorOptions`, None where the user gave nothing."""

    metric: Annotated[
        str | None,
        typer.Option(help="Similarity metric of vectors: cosine, or ip (inner product).  [default: cosine]"),
    ] = None
    precision: Annotated[
        str | None, typer.Option(help="How vectors are kept: float32, float16, int8 or codes.  [default: float32]")
    ] = None

    def options(self, *, of_vectors: bool) -> VectorOptions | None:
        """Return what the user gave, as `Collection.create` takes it; None if nothing, an error if there are texts."""
        from sthash.collection import VectorOptions

        given = {name: value for name, value in asdict(self).items() if value is not None}
        if given and not of_vectors:
            remedy = "Leave it out, or give --vectors or --embedder."
            raise typer.BadParameter(f"--{min(given)} is for vectors, but these are texts. {remedy}")
        return VectorOptions(**given) if given else None


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
