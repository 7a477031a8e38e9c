"""Votes of the documents in Milvus whose codes are near the code of a text."""

from __future__ import annotations

import itertools

import numpy as np

from sthash.collection import Neighborhood, Prediction, Vote
from sthash.milvus.code_search import CodeSearch
from sthash.milvus.entities import read_label
from sthash.milvus.entity_table import EntityTable
from sthash.milvus.local_model import LocalModel


def predict(table: EntityTable, model: LocalModel, text: str, vote: Vote) -> Prediction:
    """Return the label of a text."""
    query = model.encode([text])
    ignored, unknown = model.unused_words(text)
    if not query.rows.values.any():
        return Prediction(None, {}, 0, False, ignored, unknown)
    search, code, total = CodeSearch(table, model.n_bits), query.codes[0], table.count()

    def around(wanted: int) -> Neighborhood:
        radius = vote.radius
        if radius is None:
            nearest = list(itertools.islice(next(search.nearest(query.codes, wanted)), wanted))
            radius = nearest[-1].distance if nearest else 0
        matches = search.within(code, radius)
        found = table.fetch((match.key for match in matches), ["label", "labelled"])
        held = [match for match in matches if match.key in found]
        distances = np.array([match.distance for match in held], dtype=np.int32)
        return Neighborhood([read_label(found[match.key]) for match in held], distances, len(matches) >= total)

    return vote.count(around, ignored, unknown)
