"""Answers of a collection: hits, and the conditions that they meet."""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sthash.checks import check_whole
from sthash.collection.encoder import Encoded, TextEncoder
from sthash.collection.hits import Hit
from sthash.collection.shelf import Found, Shelf, Vectors, search_balls
from sthash.collection.store import Store, decode, encode
from sthash.collection.view import View
from sthash.sources import Document

Where = Mapping[str, Any]
Fields = tuple[str, str, str | None, dict[str, Any]]
TERMS_SHOWN = 5
# Queries of a batch that are answered together.
TOGETHER = 512


@dataclass(frozen=True)
class Request:
    """What to look for, as `Collection.search` describes it."""

    k: int
    radius: int | None
    rerank: bool
    where: Where | None
    factor: int
    explain: bool

    def __post_init__(self) -> None:
        check_whole("k", self.k)
        check_whole("factor", self.factor)
        if self.radius is not None:
            check_whole("radius", self.radius, least=0)


def encode_queries(view: View, queries: list[Any]) -> Encoded:
    """Rows and codes of texts or of vectors, whichever the collection is of."""
    encoder = view.encoder()
    if isinstance(encoder, TextEncoder):
        for query in queries:
            if not isinstance(query, str):
                raise TypeError(f"this collection is of texts: a query must be a str, got {type(query).__name__}.")
        return encoder.encode(queries)
    if any(isinstance(query, str) for query in queries):
        raise TypeError("this collection is of vectors: a query must be an array, got a str; or search by key.")
    return encoder.encode(np.array(queries, dtype=np.float32).reshape(len(queries), -1))


def stored_query(view: View, number: int) -> Encoded:
    """Row and code of a document that is in the collection."""
    columns, values = view.vectors(np.array([number])).row(0)
    encoder = view.encoder()
    row = values.tobytes() if encoder.dense else columns.tobytes() + values.tobytes()
    return Encoded(np.array([0, len(columns)]), columns, values, encoder.margins_of([row]))


def answer(view: View, queries: Encoded, request: Request) -> list[list[Hit]]:
    """Hits for each query."""
    shelf, radius = view.shelf(), request.radius
    if request.where is not None:
        shelf = shelf.at(shelf.places(ids_where(view.store, request.where)))
    if len(shelf.ids) == 0:
        return [[] for _ in range(len(queries))]
    k = min(request.k, len(shelf.ids))
    wanted = k * request.factor
    if not request.rerank:
        whole = view.shelf()
        allowed = None if request.where is None else whole.places(shelf.ids)
        near, _ = view.index().search(queries.codes, k, weights=np.abs(queries.margins), radius=radius, allowed=allowed)
        used = np.unique(near[near >= 0])
        shelf = whole.at(used)
        vectors = view.vectors(shelf.ids)
        places = np.where(near < 0, -1, np.searchsorted(used, near))
        return _hits(view, shelf, vectors, queries, _scored(shelf, vectors, queries, places), request.explain)
    if len(queries) == 1:
        # For one query it pays to find the ball first, and then to read only its vectors.
        shelf = shelf.at(shelf.ball_of(queries, radius, wanted))
        radius = shelf.n_bits
    vectors = view.vectors(shelf.ids)
    parts = [queries.part(start, min(start + TOGETHER, len(queries))) for start in range(0, len(queries), TOGETHER)]
    if len(parts) == 1:
        found = search_balls(shelf, vectors, queries, k, radius, wanted)
        return _hits(view, shelf, vectors, queries, found, request.explain)
    from concurrent.futures import ThreadPoolExecutor  # a single query has no use for it

    # While the balls of one part are searched, which takes no turn from Python, the documents of the last are read.
    answers, reading = list[list[Hit]](), None
    with ThreadPoolExecutor(1) as reader:
        for part in parts:
            found = search_balls(shelf, vectors, part, k, radius, wanted)
            answers.extend(reading.result() if reading is not None else ())
            reading = reader.submit(_hits, view, shelf, vectors, part, found, request.explain)
        answers.extend(reading.result() if reading is not None else ())
    return answers


def _scored(shelf: Shelf, vectors: Vectors, queries: Encoded, places: npt.NDArray[np.int64]) -> Found:
    """Add the cosines and the distances in bits to places that are ranked."""
    distances = np.full(places.shape, -1, dtype=np.int32)
    held = np.nonzero(places >= 0)
    distances[held] = np.bitwise_count(shelf.codes[places[held]] ^ queries.codes[held[0]]).sum(axis=1)
    scores = np.zeros(places.shape, dtype=np.float32)
    spread = np.zeros(vectors.n_columns, dtype=np.float32)
    for query in range(len(queries)):
        own = slice(queries.indptr[query], queries.indptr[query + 1])
        spread[queries.indices[own]] = queries.values[own]
        for rank in np.flatnonzero(places[query] >= 0):
            columns, values = vectors.row(int(places[query, rank]))
            scores[query, rank] = spread[columns] @ values
        spread[queries.indices[own]] = 0
    return Found(places, scores, distances)


def _hits(view: View, shelf: Shelf, vectors: Vectors, queries: Encoded, found: Found, explain: bool) -> list[list[Hit]]:
    encoder = view.encoder()
    # A query without a known term is like nothing: its code says nothing, and all cosines are zero.
    blank = [not queries.values[start:end].any() for start, end in itertools.pairwise(queries.indptr)]
    ids = [[] if no else shelf.ids[row[row >= 0]].tolist() for no, row in zip(blank, found.places, strict=True)]
    documents = fields_at(view.store, {number for row in ids for number in row})
    distances, scores = found.distances.tolist(), found.scores.tolist()
    answers = []
    for query, row in enumerate(ids):
        hits = []
        for rank, number in enumerate(row):
            terms = tuple[str, ...]()
            if explain and isinstance(encoder, TextEncoder):
                terms = matching_terms(encoder, queries, query, vectors, int(found.places[query, rank]))
            hits.append(Hit(*documents[number], distances[query][rank], scores[query][rank], terms))
        answers.append(hits)
    return answers


def matching_terms(encoder: TextEncoder, queries: Encoded, query: int, vectors: Vectors, place: int) -> tuple[str, ...]:
    """Terms that query and document share, by their part in the cosine."""
    own = slice(queries.indptr[query], queries.indptr[query + 1])
    columns, values = vectors.row(place)
    shared, left, right = np.intersect1d(queries.indices[own], columns, assume_unique=True, return_indices=True)
    parts = queries.values[own][left] * values[right]
    order = np.argsort(-parts, kind="stable")[:TERMS_SHOWN]
    return tuple(encoder.names(shared[order][parts[order] > 0].tolist()))


def read_document(store: Store, row: tuple[Any, ...]) -> Document:
    """Make a Document of a checked row of the table."""
    return Document(*_fields(store, row))


def documents_at(store: Store, ids: Collection[int]) -> dict[int, Document]:
    """Read some documents."""
    return {number: Document(*fields) for number, fields in fields_at(store, ids).items()}


def fields_at(store: Store, ids: Collection[int]) -> dict[int, Fields]:
    """Read key, text, label and metadata of some documents."""
    wanted = json.dumps(list(ids))
    rows = store.rows("documents", "WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id", (wanted,))
    found = {row[0]: _fields(store, row) for row in rows}
    if len(found) != len(ids):
        raise store.damaged(f"document {min(set(ids) - set(found))} is missing")
    return found


def _fields(store: Store, row: tuple[Any, ...]) -> Fields:
    _, key, label, metadata, text = row
    try:
        more = json.loads(metadata) if metadata != b"{}" else {}
        return decode(key), decode(text), None if label is None else decode(label), more
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        raise store.damaged(f"a document cannot be read ({error})") from error


def ids_where(store: Store, where: Where) -> npt.NDArray[np.int64]:
    """Ids of the documents whose metadata has all the given values, or one of each list of values."""
    if not isinstance(where, Mapping):
        raise TypeError(f"where={where!r} must be a dict from a metadata field to a value or a list of values.")
    wanted = {str(name): _scalars(name, value) for name, value in where.items()}
    conditions, arguments = ["1"], list[Any]()
    for name, values in wanted.items():
        # SQLite's JSON functions end a string at its first NUL: such a one is left to the check below.
        if any("\0" in value for value in [name, *values] if isinstance(value, str)):
            continue
        marks = " OR ".join(f"value IS {_mark(value)}" for value in values) or "0"
        entries = "json_each(CAST(metadata AS TEXT))"
        conditions.append(f"EXISTS (SELECT 1 FROM {entries} WHERE key = {_mark('')} AND ({marks}))")  # noqa: S608
        arguments.extend(encode(value) if isinstance(value, str) else value for value in [name, *values])
    rows = store.rows("documents", f"WHERE {' AND '.join(conditions)} ORDER BY id", tuple(arguments))
    return np.array([row[0] for row in rows if _meets(_fields(store, row)[3], wanted)], dtype=np.int64)


def _scalars(name: str, wanted: Any) -> list[Any]:
    values = list(wanted) if isinstance(wanted, list | tuple | set | frozenset) else [wanted]
    for value in values:
        if value is not None and not isinstance(value, str | int | float):
            raise TypeError(f"where[{name!r}]={value!r} must be a str, a number, a bool or None, or a list of them.")
    return values


def _mark(value: Any) -> str:
    # Strings are bound as bytes, because lone surrogates cannot be bound as text.
    return "CAST(? AS TEXT)" if isinstance(value, str) else "?"


def _meets(metadata: dict[str, Any], wanted: dict[str, list[Any]]) -> bool:
    return all(name in metadata and metadata[name] in values for name, values in wanted.items())
