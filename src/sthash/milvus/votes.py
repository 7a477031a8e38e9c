"""The label of a text, by documents in Milvus: the codes propose them, and their texts decide."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from sthash.collection import Ball, Labeled, Prediction, Vote, count_ball, count_nearest, no_labels, spread_evenly
from sthash.milvus.code_search import CodeSearch
from sthash.milvus.entities import DOCUMENT_FIELDS, read_document, read_label
from sthash.milvus.entity_table import EntityTable
from sthash.milvus.local_model import LocalModel
from sthash.model import Encoded
from sthash.vectors.rows import Rows

# Documents that the codes propose per voter, and at least; the cosines decide among them.
PROPOSED, LEAST_PROPOSED = 5, 1000
LABELED = "labelled == true"
# Documents among which leave-one-out takes place.
MOST_READ = 2000


def predict(table: EntityTable, model: LocalModel, text: str, vote: Vote, kept: dict[Any, Any]) -> Prediction:
    """Return the label of a text."""
    query = model.encode([text])
    ignored, unknown = model.unused_words(text)
    if not query.rows.values.any():
        return Prediction(None, {}, 0, False, ignored, unknown)
    if vote.by_codes:
        found = count_ball(_around(table, model, query, vote.radius), vote)
    else:
        found = count_nearest(MilvusVoters(table, model, kept), query, vote, kept)
    return replace(found, ignored=ignored, unknown=unknown)


class MilvusVoters:
    """The labeled documents of Milvus.

    Leave-one-out takes place among some of them, spread evenly over the collection: those that are read once.
    """

    def __init__(self, table: EntityTable, model: LocalModel, kept: dict[Any, Any]) -> None:
        self._table = table
        self._model = model
        count = table.count()
        if kept.get("count") != count:
            kept.clear()
            kept["count"] = count
        self._kept = kept

    def nearest(self, row: Encoded, wanted: int, without: int | None = None) -> Labeled:
        """Return labeled documents nearest to a query; ``without`` one of those that were read."""
        if without is None:
            width = max(PROPOSED * min(wanted, MOST_READ), LEAST_PROPOSED)
            matches = next(CodeSearch(self._table, self._model.n_bits, LABELED).nearest(row.codes, width))
            found = self._read([match.key for match in itertools.islice(matches, width)])
            if not found[0]:
                raise no_labels()
            return _nearest(row.rows, *found, wanted)
        labels, rows = self._some
        others = [place for place in range(len(labels)) if place != without]
        return _nearest(row.rows, [labels[place] for place in others], rows.at(others), wanted)

    def sample(self, size: int) -> Iterator[tuple[int, str, Encoded]]:
        """Iterate over labeled documents, spread evenly over the collection."""
        labels, rows = self._some
        if not labels:
            raise no_labels()
        margins = np.zeros((1, self._model.n_bits), dtype=np.float32)  # codes have no part in this
        for place, label in enumerate(labels[:size]):
            yield place, label, Encoded(rows.part(place, place + 1), margins)

    @property
    def _some(self) -> tuple[list[str], Rows]:
        found: tuple[list[str], Rows] | None = self._kept.get("some")
        if found is None:
            keys = [entity["key"] for entity in self._table.scan()]
            found = self._read([keys[place] for place in spread_evenly(len(keys))[:MOST_READ].tolist()])
            self._kept["some"] = found
        return found

    def _read(self, keys: list[str]) -> tuple[list[str], Rows]:
        """Return the labels and the unit vectors of those documents that have a label."""
        entities = self._table.fetch(keys, DOCUMENT_FIELDS)
        documents = [read_document(entities[key]) for key in keys if key in entities]
        labeled = [document for document in documents if document.label is not None]
        return [document.label or "" for document in labeled], self._model.encode([own.text for own in labeled]).rows


def _nearest(row: Rows, labels: list[str], vectors: Rows, wanted: int) -> Labeled:
    cosines = row.products_with(vectors)
    order = np.argsort(-cosines, kind="stable")[:wanted]
    order = order[cosines[order] > 0]
    return Labeled([labels[place] for place in order.tolist()], cosines[order], vectors.at(order))


def _around(table: EntityTable, model: LocalModel, query: Encoded, radius: int | None) -> Callable[[int], Ball]:
    search, code, total = CodeSearch(table, model.n_bits), query.codes[0], table.count()

    def around(wanted: int) -> Ball:
        farthest = radius
        if farthest is None:
            nearest = list(itertools.islice(next(search.nearest(query.codes, wanted)), wanted))
            farthest = nearest[-1].distance if nearest else 0
        matches = search.within(code, farthest)
        found = table.fetch((match.key for match in matches), ["label", "labelled"])
        held = [match for match in matches if match.key in found]
        distances = np.array([match.distance for match in held], dtype=np.int32)
        return Ball([read_label(found[match.key]) for match in held], distances, len(matches) >= total)

    return around
