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

from sthash.codes import distances
from sthash.collection import Hits, SearchOptions, Snapshot, ids_where
from sthash.model import Encoded, Margins, Model
from sthash.serve.conversions import hit_json, hits_json

MAX_POINTS = 5000
DIGITS = 4
# What a search with ``view`` tells besides the hits.
VIEWED = ("code", "n_bits", "counts", "place", "places", "radius_used")

Place = list[float]


class MapAxes:
    """The directions of the map, computed once per model. All workers share them, so that all places agree."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._model: str | None = None
        self._center: Margins = np.zeros(0, dtype=np.float32)
        self._directions: Margins = np.zeros((2, 0), dtype=np.float32)

    def places(self, snapshot: Snapshot, margins: Margins) -> list[Place]:
        """Return the places on the map of documents with these margins."""
        with self._lock:
            if self._model != snapshot.codes.model.fingerprint:
                self._center, self._directions = _axes(snapshot)
                self._model = snapshot.codes.model.fingerprint
            center, directions = self._center, self._directions
        places: list[Place] = np.round((margins - center).astype(np.float64) @ directions.T, DIGITS).tolist()
        return places


def _is_eigenmap(model: Model) -> bool:
    """Whether the first two margins are those of the first two eigenvectors."""
    return model.settings["recipe"] == "paper" and not model.settings["scatter"]


def _axes(snapshot: Snapshot) -> tuple[Margins, Margins]:
    """Return center and directions of the map: the first two margins, or the principal axes of a sample."""
    n_bits = snapshot.codes.n_bits
    if _is_eigenmap(snapshot.codes.model):
        return np.zeros(n_bits, dtype=np.float32), np.eye(2, n_bits, dtype=np.float32)
    margins = snapshot.codes.margins(_sample(snapshot))
    center = margins.mean(axis=0)
    axes = np.linalg.svd(margins - center, full_matrices=False)[2][:2]
    # The sign of an axis is arbitrary. The largest part is made positive, so that the map is always the same.
    axes *= np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])[:, None]
    return center, np.pad(axes, ((0, 2 - len(axes)), (0, 0)))


def _sample(snapshot: Snapshot) -> npt.NDArray[np.int64]:
    """Return the ids of the documents on the map, ascending."""
    if len(snapshot) <= MAX_POINTS:
        return snapshot.ids
    return np.sort(np.random.default_rng(0).choice(snapshot.ids, MAX_POINTS, replace=False))


def search_view(
    snapshot: Snapshot, number: int | None, query: Any, options: SearchOptions, hits: Hits, axes: MapAxes
) -> dict[str, Any]:
    """Return hits with their codes, the number of documents per distance, and the places on the map.

    All of these are None if the query has no code.

    Parameters
    ----------
    snapshot : Snapshot
    number, query
        The id of a document, or a text or vector.
    options : SearchOptions
    hits : Hits
        What this search found in the same snapshot.
    axes : MapAxes
    """
    encoded = _encoded(snapshot, number, query)
    if encoded is None:
        return hits_json(hits) | dict.fromkeys(VIEWED)
    counts = _counts(snapshot, encoded.codes, options)
    ids = np.array([_id(snapshot, hit.key) for hit in hits], dtype=np.int64)
    codes = snapshot.codes.table.codes[snapshot.positions(ids)]
    for hit, distance in zip(hits, distances(encoded.codes, codes)[0].tolist() if hits else [], strict=True):
        hit.distance = distance
    places: list[Place | None] = [None] * (1 + len(hits))
    if encoded.rows.values.any():  # a query without a known term has no place
        # The map is of documents. With inner products, a query has other margins than a document with its vector.
        margins = encoded.margins if snapshot.content.metric == "cosine" else snapshot.codes.model.margins(encoded.rows)
        places[:] = axes.places(snapshot, np.concatenate([margins, snapshot.codes.margins(ids)]))
    return {
        **hits_json(hits),
        "hits": [hit_json(hit) | {"code": code.tobytes().hex()} for hit, code in zip(hits, codes, strict=True)],
        "code": encoded.codes[0].tobytes().hex(),
        "n_bits": snapshot.codes.n_bits,
        "counts": counts.tolist(),
        "place": places[0],
        "places": {hit.key: place for hit, place in zip(hits, places[1:], strict=True)},
        "radius_used": _radius_used(number, options, hits, counts),
    }


def _encoded(snapshot: Snapshot, number: int | None, query: Any) -> Encoded | None:
    """Return the code of a query, if it has one."""
    if not snapshot.has_codes:
        return None
    if number is not None:
        return snapshot.codes.encode_stored(number)
    if isinstance(query, str) and not snapshot.takes_texts:
        return None
    return snapshot.encode([query])


def corpus_map(snapshot: Snapshot, axes: MapAxes) -> dict[str, Any]:
    """Return the map: points, labels and keys of at most `MAX_POINTS` documents; none without codes."""
    if not snapshot.has_codes:
        return {"axes": None, "points": [], "labels": [], "keys": []}
    ids = _sample(snapshot)
    found = snapshot.documents.names(ids.tolist())
    names = [found[number] for number in ids.tolist()]
    return {
        "axes": ["bit 0", "bit 1"] if _is_eigenmap(snapshot.codes.model) else ["first axis", "second axis"],
        "points": axes.places(snapshot, snapshot.codes.margins(ids)) if len(ids) else [],
        "labels": [label for _, label in names],
        "keys": [key for key, _ in names],
    }


def _id(snapshot: Snapshot, key: str) -> int:
    found = snapshot.documents.find(key)
    if found is None:  # cannot be: the search found the key in the same snapshot
        raise KeyError(key)
    return found


def _counts(snapshot: Snapshot, code: npt.NDArray[np.uint8], options: SearchOptions) -> npt.NDArray[np.int64]:
    """Return the number of documents per distance from a code, of those that the options allow."""
    codes = snapshot.codes.table.codes
    if options.where is not None:
        codes = codes[snapshot.positions(ids_where(snapshot, options.where))]
    return np.bincount(distances(code, codes)[0], minlength=snapshot.codes.n_bits + 1)


def _radius_used(number: int | None, options: SearchOptions, hits: Hits, counts: npt.NDArray[np.int64]) -> int:
    """Return the radius of the ball that was searched, in bits."""
    if options.radius is not None:
        return min(options.radius, len(counts) - 1)
    if not options.rerank:
        return max((hit.distance or 0 for hit in hits), default=0)
    inside = np.cumsum(counts)
    # A search by key asks for one more document, because the document itself is the nearest.
    k = min(options.k + (number is not None), int(inside[-1]))
    return int(np.searchsorted(inside, min(k * options.factor, int(inside[-1]))))
