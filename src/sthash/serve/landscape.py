"""What the page draws around a search: how many documents lie at each distance, and where it all is on a map.

The map shows two directions of the real numbers whose signs are the bits. In the paper's recipe number p predicts
eigenvector p of the graph: the first two are the place of a document, seen or unseen, in the Laplacian eigenmap. Where
all numbers have a part in everything, as after a rotation, the map shows the two directions in which they vary most.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sthash.codes import row_distances
from sthash.collection import Collection, Hit
from sthash.collection.encoder import Encoded, Margins, stored_row
from sthash.collection.search import documents_at, encode_queries, ids_where, stored_query
from sthash.collection.shelf import Vectors
from sthash.collection.store import encode
from sthash.collection.view import View
from sthash.collection.writing import find
from sthash.serve.errors import no_such_document

MOST_POINTS = 5000
DIGITS = 4

Place = list[float]


@dataclass(frozen=True)
class Query:
    """A text, a vector, or the key of a document; and how to look for it."""

    key: str | None
    content: Any
    k: int
    radius: int | None
    rerank: bool
    where: dict[str, Any] | None
    factor: int
    explain: bool


class Axes:
    """The directions of the map, found once for each model; all lanes share them, so that all places fit together."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._of: tuple[int, tuple[float, ...]] | None = None
        self._centre: Margins = np.zeros(0, dtype=np.float32)
        self._directions: Margins = np.zeros((2, 0), dtype=np.float32)

    def places(self, view: View, rows: list[bytes]) -> list[Place]:
        """Where stored rows are on the map."""
        model = view.store.setting("model")
        of = (model["generation"], tuple(model["intercept"]))
        with self._lock:
            if of != self._of:
                self._centre, self._directions = _directions(view, model)
                self._of = of
            centre, directions = self._centre, self._directions
        margins = view.encoder().margins_of(rows)
        places: list[Place] = np.round((margins - centre).astype(np.float64) @ directions.T, DIGITS).tolist()
        return places


def _by_bits(model: dict[str, Any]) -> bool:
    """Whether the first two numbers are those of the first two eigenvectors."""
    return model.get("recipe", "paper") == "paper" and not model.get("scatter")


def _directions(view: View, model: dict[str, Any]) -> tuple[Margins, Margins]:
    """Centre and directions of the map: the first two numbers, or the principal axes of a sample."""
    n_bits = model["n_bits"]
    if _by_bits(model):
        return np.zeros(n_bits, dtype=np.float32), np.eye(2, n_bits, dtype=np.float32)
    margins = view.encoder().margins_of(_rows(view, _sample(view)))
    centre = margins.mean(axis=0)
    axes = np.linalg.svd(margins - centre, full_matrices=False)[2][:2]
    # An axis has no sign of its own: its largest part is made positive, so that the map is always the same.
    axes *= np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])[:, None]
    return centre, np.pad(axes, ((0, 2 - len(axes)), (0, 0)))


def _sample(view: View) -> npt.NDArray[np.int64]:
    ids = view.shelf().ids
    if len(ids) <= MOST_POINTS:
        return ids
    return np.sort(np.random.default_rng(0).choice(ids, MOST_POINTS, replace=False))


def found(collection: Collection, query: Query) -> list[Hit]:
    """Search."""
    if query.key is not None and query.key not in collection:
        raise no_such_document(query.key)
    return collection.search(
        query.content,
        query.k,
        key=query.key,
        radius=query.radius,
        rerank=query.rerank,
        where=query.where,
        factor=query.factor,
        explain=query.explain,
    )


def survey(collection: Collection, query: Query, axes: Axes) -> dict[str, Any]:
    """Search, and give with the hits the codes, the counts at each distance, and the places on the map."""
    view = collection._view
    with view.reading():
        hits = found(collection, query)
        encoded = _encoded(view, query)
        shelf = view.shelf()
        searched = shelf
        if query.where is not None:
            searched = shelf.at(shelf.places(ids_where(view.store, query.where)))
        counts = np.bincount(row_distances(searched.codes, encoded.codes), minlength=shelf.n_bits + 1)
        ids = np.array([find(view.store, encode(hit.key)) for hit in hits], dtype=np.int64)
        codes = shelf.codes[shelf.places(ids)]
        row = stored_row(encoded, 0, dense=view.encoder().dense)
        rows = [row, *_rows(view, ids)]
        # A query without a known term is nowhere.
        places = axes.places(view, rows) if encoded.values.any() else [None] * len(rows)
    return {
        "hits": [shown(hit) | {"code": code.tobytes().hex()} for hit, code in zip(hits, codes, strict=True)],
        "code": encoded.codes[0].tobytes().hex(),
        "n_bits": shelf.n_bits,
        "counts": counts.tolist(),
        "place": places[0],
        "places": {hit.key: place for hit, place in zip(hits, places[1:], strict=True)},
        "radius_used": _radius_used(query, hits, counts),
    }


def shown(hit: Hit) -> dict[str, Any]:
    """Give a hit as JSON has it."""
    return {
        "key": hit.key,
        "text": hit.text,
        "label": hit.label,
        "metadata": hit.metadata,
        "distance": hit.distance,
        "score": hit.score,
        "terms": list(hit.terms),
    }


def draw(collection: Collection, axes: Axes) -> dict[str, Any]:
    """Give the map: points, labels and keys of at most `MOST_POINTS` documents."""
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


def _encoded(view: View, query: Query) -> Encoded:
    if query.key is None:
        return encode_queries(view, [query.content])
    return stored_query(view, find(view.store, encode(query.key)) or 0)


def _rows(view: View, ids: npt.NDArray[np.int64]) -> list[bytes]:
    """Stored rows of some documents, in any order."""
    order = np.argsort(ids, kind="stable")
    vectors: Vectors = view.vectors(ids[order])
    rows = [b""] * len(ids)
    for place, at in enumerate(order.tolist()):
        rows[at] = vectors.content[vectors.starts[place] : vectors.ends[place]].tobytes()
    return rows


def _radius_used(query: Query, hits: list[Hit], counts: npt.NDArray[np.int64]) -> int:
    """Bits around the query that were looked at."""
    if query.radius is not None:
        return min(query.radius, len(counts) - 1)
    if not query.rerank:
        return max((hit.distance for hit in hits), default=0)
    inside = np.cumsum(counts)
    # A document that is looked for by its key is one more, as in `Collection.search`.
    k = min(query.k + (query.key is not None), int(inside[-1]))
    return int(np.searchsorted(inside, min(k * query.factor, int(inside[-1]))))
