"""`Embedder`: a function of the user's that turns texts into vectors, and its name in the file.

A file holds the name only. Nothing is imported or run because of it: who opens the file passes the function again.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sthash.batches import batched
from sthash.collection.store import Store
from sthash.rows import as_array, check_dense
from sthash.sources import Document

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
    >>> from sthash.collection.embedder import Embedder
    >>> Embedder.of(lambda texts: [[len(text), 1] for text in texts], "lengths")(["a", "bcd"])
    array([[1., 1.],
           [3., 1.]], dtype=float32)
    """

    function: Callable[[list[str]], Any]
    name: str

    @classmethod
    def of(cls, function: Callable[[list[str]], Any], name: str | None = None) -> Embedder:
        """Make an embedder of a function; its name is ``module:qualname`` unless another one is given."""
        if not callable(function):
            raise TypeError(
                f"embedder is a {type(function).__name__}. Pass a function from a list of str to an array, such as "
                "the encode of a sentence-transformers model."
            )
        if name is not None and (not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME):
            raise ValueError(f"embedder_name must be a str of 1 to {LONGEST_NAME} characters. Pass another one.")
        return cls(function, name or _own_name(function))

    def __call__(self, texts: list[str], width: int | None = None, what: str = "") -> npt.NDArray[np.float32]:
        """Return the vectors of texts; EmbedderError if there is not one of ``width`` finite values for each.

        ``what`` names the texts in the message of an error.
        """
        named = f"the embedder {self.name!r}"
        try:
            rows = as_array(self.function(texts))
        except Exception as error:
            said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            raise EmbedderError(f"{named} failed{what} ({said}). Nothing was changed.") from error
        if rows.ndim != 2 or len(rows) != len(texts) or rows.shape[1] == 0:
            raise EmbedderError(
                f"{named} returned an array of shape {rows.shape} for {len(texts)} texts{what}. "
                "It must return one row per text."
            )
        if width is not None and rows.shape[1] != width:
            raise EmbedderError(
                f"{named} returned vectors of {rows.shape[1]} values{what}, but this collection has {width}. "
                "Use the embedder that it was built with."
            )
        if not np.isfinite(rows).all():
            raise EmbedderError(f"{named} returned NaN or infinity{what}. Check the model, or leave the text out.")
        return rows

    def embedded(
        self, documents: Iterable[tuple[Document, Any]], width: int | None = None
    ) -> Iterator[list[tuple[Document, Any]]]:
        """Give documents in batches, each with the vector of its text."""
        done = 0
        for batch in batched(documents, TEXTS_TOGETHER, length=lambda pair: len(pair[0].text)):
            own = [document for document, _ in batch]
            what = f", document {done}" if len(own) == 1 else f", documents {done} to {done + len(own) - 1}"
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
    store.put("settings", SETTING, json.dumps({"name": name}).encode())


def read_name(store: Store) -> str | None:
    """Return the name of the embedder that the texts of a file were embedded by; None if there is none."""
    if next(store.rows("settings", "WHERE name = ?", (SETTING,)), None) is None:
        return None
    noted = store.setting(SETTING)
    name = noted.get("name") if isinstance(noted, dict) else None
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME:
        raise store.damaged("the name of its embedder cannot be read")
    return name


def check_name(store: Store, embedder: Embedder) -> None:
    """Refuse an embedder that is not the one of the file, and one for a file of texts."""
    if store.setting("model").get("kind") != "vectors":
        raise TypeError(f"{store.path} is of texts, and makes its own vectors. Leave the embedder out.")
    recorded = read_name(store)
    if recorded is not None and recorded != embedder.name:
        raise ValueError(
            f"{store.path} was embedded by {recorded!r}, but got {embedder.name!r}. If both give the same vectors, "
            f"say so with embedder_name={recorded!r} (--embedder-name)."
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
            given = as_array(query)
            if given.size != width:
                raise ValueError(
                    f"a query has the shape {given.shape}, but this collection has vectors of {width} values. "
                    "Pass one such vector, or several of them to search_many."
                )
            rows[place] = check_dense(given.reshape(-1), width)[0]
    return rows
