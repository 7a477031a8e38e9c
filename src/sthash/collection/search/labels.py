"""The label of a query in a collection: who is near it, and has a label."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import gcd
from typing import Any

import numpy as np
import numpy.typing as npt

from sthash.arrays import Positions
from sthash.collection.indexes.cells import Cells
from sthash.collection.search.by_words import AnalyzedQuery, rank_by_bm25
from sthash.collection.search.votes import GROWTH, Ball, Labeled, Prediction, Vote, count_ball, count_nearest, no_labels
from sthash.collection.snapshot import Snapshot
from sthash.index.bm25 import inverse_frequencies
from sthash.vectors.rows import Rows

# Entries of the posting lists that propose documents; a text with more of them is looked for by its weightiest terms.
MOST_ENTRIES = 1_000_000
# Documents that the lists propose per voter; the cosines decide among them.
PROPOSED = 2
# Documents whose labels are read at once.
READ_TOGETHER = 1000
GOLDEN = 0.6180339887


def predict(snapshot: Snapshot, query: str | npt.ArrayLike, vote: Vote) -> Prediction:
    """Return the label of a text or a vector."""
    content = snapshot.content
    row = content.compared(content.of_queries([query], snapshot.embedder))
    ignored, unknown = snapshot.words.unused(query) if isinstance(query, str) else ((), ())
    if not row.values.any():
        return Prediction(None, {}, 0, False, ignored, unknown)
    if vote.by_codes:
        found = count_ball(lambda wanted: _ball(snapshot, query, vote.radius, wanted), vote)
    else:
        found = count_nearest(StoredVoters(snapshot), row, vote, snapshot.kept)
    return replace(found, ignored=ignored, unknown=unknown)


class StoredVoters:
    """The labeled documents of a file, found by their words or by the cells of their vectors."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._labels: dict[int, str | None] = snapshot.kept.setdefault("labels", {})

    def nearest(self, row: Rows, wanted: int, without: int | None = None) -> Labeled:
        """Return labeled documents nearest to a row, as many as wanted or all; ``without`` one of them."""
        snapshot, content = self._snapshot, self._snapshot.content
        width = PROPOSED * wanted + 1
        while True:
            ids = self._proposed(row, width)
            labels = self._labels_of(ids)
            voters = [number for number in ids if labels[number] is not None and number != without]
            if len(voters) >= wanted or len(ids) < min(width, len(snapshot)) or len(ids) == len(snapshot):
                break
            width *= GROWTH
        if not voters and len(ids) == len(snapshot) and not any(labels.values()):
            raise no_labels()
        chosen = np.array(sorted(voters), dtype=np.int64)
        vectors = content.vectors(chosen)
        scores = row.products_with(vectors)
        order = np.lexsort((chosen, -scores))[:wanted]
        if content.metric == "cosine" and not vectors.is_dense:
            order = order[scores[order] > 0]
        nearest = vectors.at(order)
        if content.metric == "ip":
            nearest = nearest.unit()
            cosines = row.unit().products_with(nearest)
        else:
            cosines = scores[order]
        return Labeled([labels[number] or "" for number in chosen[order].tolist()], cosines, nearest)

    def sample(self, size: int) -> Iterator[tuple[int, str, Rows]]:
        """Iterate over labeled documents, spread evenly over the collection."""
        snapshot, content, found = self._snapshot, self._snapshot.content, 0
        order = spread_evenly(len(snapshot))
        for start in range(0, len(order), READ_TOGETHER):
            ids = snapshot.ids[order[start : start + READ_TOGETHER]].tolist()
            labels = self._labels_of(ids)
            own = [number for number in ids if labels[number] is not None][: size - found]
            found += len(own)
            for number in own:
                raw = next(content.of_stored(np.array([number], dtype=np.int64)))
                yield number, labels[number] or "", content.compared(raw)
            if found == size:
                return
        if not found:
            raise no_labels()

    def _labels_of(self, ids: list[int]) -> dict[int, str | None]:
        known = self._labels
        missing = [number for number in ids if number not in known]
        known.update(zip(missing, self._snapshot.documents.labels(missing), strict=True))
        return {number: known[number] for number in ids}

    def _proposed(self, row: Rows, width: int) -> list[int]:
        """Return the documents that are near a row, or all that have anything in common with it."""
        snapshot, content = self._snapshot, self._snapshot.content
        if isinstance(content, Cells):
            return content.search(row.values, width)[0][0]
        columns, values = row.row(0)
        frequencies = snapshot.words.frequencies(columns)
        weights = values * inverse_frequencies(frequencies, len(snapshot))
        order = np.argsort(-weights, kind="stable")
        kept = max(1, int(np.searchsorted(np.cumsum(frequencies[order]), MOST_ENTRIES, side="right")))
        chosen = np.sort(order[:kept])
        query = AnalyzedQuery(columns[chosen].tolist(), weights[chosen].tolist(), 0)
        positions = rank_by_bm25(snapshot, [query], min(width, len(snapshot))).positions[0]
        ids: list[int] = snapshot.ids[positions[positions >= 0]].tolist()
        return ids


def spread_evenly(n: int) -> Positions:
    """Return the positions of all documents, so that the first ones are spread evenly."""
    step = max(1, round(GOLDEN * n))
    while gcd(step, n) > 1:
        step += 1
    return np.arange(n, dtype=np.int64) * step % max(n, 1)


def _ball(snapshot: Snapshot, query: Any, radius: int | None, wanted: int) -> Ball:
    """Return the documents within the radius, or within the least radius that holds as many as wanted.

    Where no hash functions have been learned, all codes are equal; then the nearest are those of the largest cosines.
    """
    encoded, codes = snapshot.encode([query]), snapshot.codes
    if radius is None and not codes.learned and len(snapshot):
        wanted = min(wanted, len(snapshot))
        ranking = codes.table.rank(snapshot.content.vectors(), encoded, wanted, None, wanted, snapshot.threads)
        positions, distances = ranking.positions[0], ranking.distances[0]
    else:
        if radius is None:
            nearest = codes.index.search(encoded.codes, min(wanted, max(len(snapshot), 1)))[1]
            radius = max(int(nearest.max(initial=0)), 0)
        _, positions, distances = codes.index.radius_search(encoded.codes, radius)
    ids = snapshot.ids[positions].tolist()
    return Ball(snapshot.documents.labels(ids), distances, len(ids) == len(snapshot))
