"""What the page draws for a search: the number of documents per distance, and the map of the corpus.

The map shows two directions in the space of the margins, the real numbers whose signs are the bits. In the paper's
recipe, margin p predicts eigenvector p of the graph: the first two margins are the place of a document, seen or
unseen, in the Laplacian eigenmap. In other recipes every margin depends on all eigenvectors, for example after a
rotation. There the map shows the two principal axes.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import numpy.typing as npt

from sthash.collection import Collection, Hit, SearchOptions
from sthash.collection.encoder import Encoded, Margins, stored_row
from sthash.collection.search import documents_at, encode_queries, ids_where, stored_query
from sthash.collection.shelf import Vectors, as_words
from sthash.collection.store import encode
from sthash.collection.view import View
from sthash.collection.writing import find
from sthash.serve.schemas import hit_json

MAX_POINTS = 5000
DIGITS = 4

Place = list[float]


class MapAxes:
    """The directions of the map, computed once per model. All workers share them, so that all places agree."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._model: tuple[int, tuple[float, ...]] | None = None
        self._center: Margins = np.zeros(0, dtype=np.float32)
        self._directions: Margins = np.zeros((2, 0), dtype=np.float32)

    def places(self, view: View, rows: list[bytes]) -> list[Place]:
        """Return the places of stored rows on the map."""
        model = view.store.setting("model")
        of = (model["generation"], tuple(model["intercept"]))
        with self._lock:
            if of != self._model:
                self._center, self._directions = _axes(view, model)
                self._model = of
            center, directions = self._center, self._directions
        margins = view.encoder().margins_of(rows)
        places: list[Place] = np.round((margins - center).astype(np.float64) @ directions.T, DIGITS).tolist()
        return places


def _by_bits(model: dict[str, Any]) -> bool:
    """Whether the first two margins are those of the first two eigenvectors."""
    return model.get("recipe", "paper") == "paper" and not model.get("scatter")


def _axes(view: View, model: dict[str, Any]) -> tuple[Margins, Margins]:
    """Return center and directions of the map: the first two margins, or the principal axes of a sample."""
    n_bits = model["n_bits"]
    if _by_bits(model):
        return np.zeros(n_bits, dtype=np.float32), np.eye(2, n_bits, dtype=np.float32)
    margins = view.encoder().margins_of(_rows(view, _sample(view)))
    center = margins.mean(axis=0)
    axes = np.linalg.svd(margins - center, full_matrices=False)[2][:2]
    # The sign of an axis is arbitrary. The largest part is made positive, so that the map is always the same.
    axes *= np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])[:, None]
    return center, np.pad(axes, ((0, 2 - len(axes)), (0, 0)))


def _sample(view: View) -> npt.NDArray[np.int64]:
    ids = view.shelf().ids
    if len(ids) <= MAX_POINTS:
        return ids
    return np.sort(np.random.default_rng(0).choice(ids, MAX_POINTS, replace=False))


def search_view(
    collection: Collection, hits: list[Hit], key: str | None, query: Any, options: SearchOptions, axes: MapAxes
) -> dict[str, Any]:
    """Return hits with their codes, the number of documents per distance, and the places on the map."""
    view = collection._view
    with view.reading():
        encoded = _encoded(view, key, query)
        shelf = view.shelf()
        searched = shelf
        if options.where is not None:
            searched = shelf.at(shelf.places(ids_where(view.store, options.where)))
        differing = np.bitwise_count(searched.words ^ as_words(encoded.codes)[0])
        counts = np.bincount(differing.sum(axis=1, dtype=np.int64), minlength=shelf.n_bits + 1)
        ids = np.array([find(view.store, encode(hit.key)) for hit in hits], dtype=np.int64)
        codes = shelf.codes[shelf.places(ids)]
        row = stored_row(encoded, 0, dense=view.encoder().dense)
        rows = [row, *_rows(view, ids)]
        # A query without a known term has no place.
        places = axes.places(view, rows) if encoded.values.any() else [None] * len(rows)
    return {
        "hits": [hit_json(hit) | {"code": code.tobytes().hex()} for hit, code in zip(hits, codes, strict=True)],
        "code": encoded.codes[0].tobytes().hex(),
        "n_bits": shelf.n_bits,
        "counts": counts.tolist(),
        "place": places[0],
        "places": {hit.key: place for hit, place in zip(hits, places[1:], strict=True)},
        "radius_used": _radius_used(key, options, hits, counts),
    }


def corpus_map(collection: Collection, axes: MapAxes) -> dict[str, Any]:
    """Return the map: points, labels and keys of at most `MAX_POINTS` documents."""
    view = collection._view
    with view.reading():
        ids = _sample(view)
        documents = documents_at(view.store, ids.tolist())
        points = axes.places(view, _rows(view, ids)) if len(ids) else []
        names = ["bit 0", "bit 1"] if _by_bits(view.store.setting("model")) else ["first axis", "second axis"]
    return {
        "axes": names,
        "points": points,
        "labels": [document.label for document in documents.values()],
        "keys": [document.key for document in documents.values()],
    }


def _encoded(view: View, key: str | None, query: Any) -> Encoded:
    if key is None:
        return encode_queries(view, [query])
    return stored_query(view, find(view.store, encode(key)) or 0)


def _rows(view: View, ids: npt.NDArray[np.int64]) -> list[bytes]:
    """Stored rows of some documents, in any order."""
    order = np.argsort(ids, kind="stable")
    vectors: Vectors = view.vectors(ids[order])
    rows = [b""] * len(ids)
    for place, at in enumerate(order.tolist()):
        rows[at] = vectors.content[vectors.starts[place] : vectors.ends[place]].tobytes()
    return rows


def _radius_used(key: str | None, options: SearchOptions, hits: list[Hit], counts: npt.NDArray[np.int64]) -> int:
    """Return the radius of the ball that was searched, in bits."""
    if options.radius is not None:
        return min(options.radius, len(counts) - 1)
    if not options.rerank:
        return max((hit.distance for hit in hits), default=0)
    inside = np.cumsum(counts)
    # A search by key asks for one more document, because the document itself is the nearest.
    k = min(options.k + (key is not None), int(inside[-1]))
    return int(np.searchsorted(inside, min(k * options.factor, int(inside[-1]))))
