"""`Embedder`: a function of the user's that turns texts into vectors, and its name in the file.

A file holds the name only. Nothing is imported or run because of it: pass the function again to open the file.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sthash.batches import batched
from sthash.collection.file.store import Store
from sthash.sources import Document
from sthash.vectors.checks import check_rows

SETTING = "embedder"
LONGEST_NAME = 1000
# Texts that are embedded between two reports of progress.
TEXTS_TOGETHER = 256


class EmbedderError(ValueError):
    """The embedder failed, or did not give one vector per text."""


@dataclass(frozen=True)
class Embedder:
    """A function from a list of str to an array with one row per text, and its name.

    Examples
    --------
    >>> from sthash.collection.indexes.embedder import Embedder
    >>> Embedder.of(lambda texts: [[len(text), 1] for text in texts], "lengths")(["a", "bcd"])
    array([[1., 1.],
           [3., 1.]], dtype=float32)
    """

    function: Callable[[list[str]], Any]
    name: str

    @classmethod
    def of(cls, function: Callable[[list[str]], Any] | Embedder, name: str | None = None) -> Embedder:
        """Make an embedder of a function; its name is ``module:qualname`` unless another one is given."""
        if isinstance(function, Embedder):
            return function
        if not callable(function):
            raise TypeError(
                f"embedder is a {type(function).__name__}. Pass a function from a list of str to an array, such as "
                "the encode of a sentence-transformers model."
            )
        if name is not None and (not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME):
            raise ValueError(
                f"the name of an embedder must be a str of 1 to {LONGEST_NAME} characters. Pass another one."
            )
        return cls(function, name or _own_name(function))

    def __call__(self, texts: list[str], width: int | None = None, what: str = "") -> npt.NDArray[np.float32]:
        """Return the vectors of texts; EmbedderError if there is not one of ``width`` finite values for each.

        ``what`` says in the message of an error for which texts, such as " for document 3".
        """
        named = f"the embedder {self.name!r}"
        try:
            given = self.function(texts)
        except Exception as error:
            said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            raise EmbedderError(f"{named} failed{what} ({said}). Nothing was changed.") from error
        try:
            rows = check_rows(given, width=width, what=f"what {named} returned{what}")
        except (TypeError, ValueError, RuntimeError) as error:
            raise EmbedderError(str(error)) from error
        if len(rows) != len(texts) or np.ndim(given) == 1:
            raise EmbedderError(
                f"{named} returned an array of shape {np.shape(given)}{what}, but was given {len(texts)} texts. "
                "It must return one row per text."
            )
        return rows

    def embedded(
        self, documents: Iterable[tuple[Document, Any]], width: int | None = None
    ) -> Iterator[list[tuple[Document, Any]]]:
        """Give documents in batches, each with the vector of its text."""
        done = 0
        for batch in batched(documents, TEXTS_TOGETHER, length=lambda pair: len(pair[0].text)):
            own = [document for document, _ in batch]
            what = f" for document {done}" if len(own) == 1 else f" for documents {done} to {done + len(own) - 1}"
            rows = self([document.text for document in own], width, what)
            width, done = rows.shape[1], done + len(own)
            yield list(zip(own, rows, strict=True))


def _own_name(function: Callable[..., Any]) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}:{named.__qualname__}"[:LONGEST_NAME]


def write_name(store: Store, name: str) -> None:
    """Write the name of the embedder into the file."""
    store.put_setting(SETTING, {"name": name})


def read_name(store: Store) -> str | None:
    """Return the name of the embedder that the texts of a file were embedded by; None if there is none."""
    if not store.has_setting(SETTING):
        return None
    noted = store.setting(SETTING)
    name = noted.get("name") if isinstance(noted, dict) else None
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME:
        raise store.damaged("the name of its embedder cannot be read")
    return name


def check_name(store: Store, embedder: Embedder) -> None:
    """Refuse an embedder that is not the one of the file, and one for a file of texts."""
    if not store.has_setting("cells"):
        raise TypeError(f"{store.path} is of texts, and makes its own vectors. Leave the embedder out.")
    recorded = read_name(store)
    if recorded is not None and recorded != embedder.name:
        raise ValueError(
            f"{store.path} was embedded by {recorded!r}, but got {embedder.name!r}. If both give the same vectors, "
            f"pass Embedder.of(function, {recorded!r}) (--embedder-name)."
        )


def embedder_needed(store: Store) -> str:
    """Say, for the message of an error, how texts can be embedded."""
    recorded = read_name(store)
    if recorded is None:
        return "Pass a vector, or open the collection with an embedder (embedder=, --embedder)."
    return f"Its texts were embedded by {recorded!r}: open it with that embedder (embedder=, --embedder)."


def query_vectors(store: Store, queries: list[Any], width: int, embedder: Embedder | None) -> npt.NDArray[np.float32]:
    """Return the vectors of queries, each of which is a vector, or a text for the embedder."""
    rows = np.empty((len(queries), width), dtype=np.float32)
    texts = [place for place, query in enumerate(queries) if isinstance(query, str)]
    if texts and embedder is None:
        raise TypeError(f"this collection is of vectors, but a query is a str. {embedder_needed(store)}")
    if texts and embedder is not None:
        rows[texts] = embedder([queries[place] for place in texts], width)
    for place, query in enumerate(queries):
        if not isinstance(query, str):
            own = check_rows(query, width=width, what="a query")
            if len(own) != 1:
                raise ValueError(f"a query must be one vector, got {len(own)}. Pass several of them to search_many.")
            rows[place] = own[0]
    return rows
