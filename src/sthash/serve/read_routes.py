"""Routes that read a collection."""

from __future__ import annotations

import json
import time
from collections.abc import Hashable
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends, Query, Request
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.responses import Response

from sthash.applications import known_copies
from sthash.arrays import Ids
from sthash.collection import (
    Collection,
    Hits,
    SearchOptions,
    Snapshot,
    StoredDocument,
    answer,
    answer_like,
    gathered,
    named,
    settled,
)
from sthash.duplicates import DuplicateOptions, Pair
from sthash.duplicates.detection import Material, compared
from sthash.duplicates.grouping import connected_groups
from sthash.serve import answer_schemas, limits, schemas, visualization
from sthash.serve.catalog import ServedCollection
from sthash.serve.conversions import details_json, document_json, hit_json, hits_json
from sthash.serve.errors import (
    ApiError,
    answer_too_large,
    as_api_error,
    encode_rows,
    json_response,
    limited_response,
    no_such_document,
    rows_response,
)
from sthash.serve.openapi import ERRORS, answers
from sthash.serve.searcher import QUICK_SECONDS, TakesLongError
from sthash.sources import Document

router = APIRouter(responses=ERRORS)

# Queries of the first slice of a long list; the next ones are as long as take about so many seconds.
FIRST_SLICE, MAX_SLICE, SLICE_SECONDS = 4, 256, 0.05


class KeyConvertor(PathConvertor):
    """The key of a document in a path: any characters, line breaks too, which ``path`` does not take."""

    regex = r"[\s\S]*"


register_url_convertor("key", KeyConvertor())

Name = Annotated[
    str | None,
    Query(
        alias="collection",
        max_length=255,
        pattern=r"^[A-Za-z0-9._-]+$",
        description="The name of the collection; optional if there is only one.",
    ),
]


async def requested_collection(request: Request, name: Name = None) -> ServedCollection:
    """Return the collection that a request names."""
    # A coroutine, because the framework would run a plain function in a thread, which is slower than the look-up.
    exchange = request.scope["exchange"]
    allowed = None if exchange.key is None else exchange.key.collections
    served: ServedCollection = request.app.state.catalog.find(name, allowed)
    exchange.collection = served.name
    return served


RequestedCollection = Annotated[ServedCollection, Depends(requested_collection)]


@router.post("/search", responses=answers(answer_schemas.SearchAnswer))
async def search(body: schemas.SearchRequest, served: RequestedCollection) -> Response:
    """Find the documents that are most like a text, a vector, or another document."""
    start = time.perf_counter()
    key, query, options = body.key, body.query, body.options

    def job(snapshot: Snapshot) -> dict[str, Any]:
        number = None if key is None else _number(snapshot, key)
        hits = (
            answer(snapshot, [query], options)[0].checked()
            if number is None
            else answer_like(snapshot, number, options)
        )
        if body.view:
            return visualization.search_view(snapshot, number, query, options, hits, served.map_axes)
        return hits_json(hits)

    if key is None and not options.reads_fields and not body.view:
        found = hits_json(_readable(await served.batcher.search(query, options)))
    else:
        # Conditions, sorting and facets read the metadata of all documents.
        found = await (served.searcher.slowly if options.reads_fields else served.searcher.run)(job)
    return limited_response(found | {"took_ms": _milliseconds(start)}, served.limits.answer_bytes)


def _readable(hits: Hits) -> Hits:
    try:
        return hits.checked()
    except ValueError as error:
        raise as_api_error(error, "", "") or error from error


@router.get("/search", responses=answers(answer_schemas.SearchAnswer))
async def search_by_address(
    parameters: Annotated[schemas.SearchParameters, Query()], served: RequestedCollection
) -> Response:
    """Like `POST /search`, with the fields as parameters of the address."""
    return await search(parameters, served)


def _number(snapshot: Snapshot, key: str) -> int:
    number = snapshot.documents.find(key)
    if number is None:
        raise no_such_document(key)
    return number


@router.post("/search_many", responses=answers(answer_schemas.SearchManyAnswer))
async def search_many(body: schemas.SearchManyRequest, served: RequestedCollection) -> Response:
    """Search for many texts or vectors at once. Long lists are answered in slices, between which others have turns."""
    start = time.perf_counter()
    options, searcher = body.options, served.searcher
    rows, details, left, size = list[bytes](), list[dict[str, Any]](), served.limits.answer_bytes, FIRST_SLICE
    is_slow = options.reads_fields
    while len(rows) < len(body.queries):
        queries = body.queries[len(rows) : len(rows) + size]
        job = partial(_slice, queries=queries, options=options, left=left, limit=served.limits.answer_bytes)
        try:
            found, described, seconds = await (
                searcher.slowly(job, may_wait=not options.reads_fields)
                if is_slow
                else searcher.quickly(job, QUICK_SECONDS)
            )
        except TakesLongError:
            is_slow, size = True, 1
            continue
        rows += found
        details += described
        left -= sum(map(len, found)) + len(json.dumps(described))
        if left < 0:
            raise answer_too_large(served.limits.answer_bytes)
        size = min(MAX_SLICE, max(1, round(size * min(4.0, SLICE_SECONDS / max(seconds, 1e-6)))))
    return rows_response("answers", rows, {"details": details, "took_ms": _milliseconds(start)})


def _slice(
    snapshot: Snapshot, queries: list[Any], options: SearchOptions, left: int, limit: int
) -> tuple[list[bytes], list[dict[str, Any]], float]:
    """Answer a part of a long list; return the encoded hits, the details, and how many seconds it took."""
    start = time.perf_counter()
    found = answer(snapshot, queries, options)
    details = [details_json(hits) for hits in found]
    rows = list[bytes]()
    for hits in found:  # texts that occur in many answers are in memory once, but not in the JSON
        encoded = encode_rows(map(hit_json, hits), left)
        rows.append(b"[" + b",".join(encoded.parts) + b"]")
        left -= len(rows[-1])
        if len(encoded.parts) < encoded.asked or left < 0:
            raise answer_too_large(limit)
    return rows, details, time.perf_counter() - start


@router.post("/encode", responses=answers(answer_schemas.EncodeAnswer))
async def encode(body: schemas.EncodeRequest, served: RequestedCollection) -> Response:
    """Return the codes of texts or of vectors."""

    def job(collection: Collection) -> dict[str, Any]:
        codes = [code.tobytes().hex() for code in collection.encode(body.queries)] if body.queries else []
        return {"codes": codes, "n_bits": collection.n_bits}

    return json_response(await served.search_worker.run(job))


@router.post("/classify", responses=answers(answer_schemas.ClassifyAnswer))
async def classify(body: schemas.ClassifyRequest, served: RequestedCollection) -> Response:
    """Return the label of a text or a vector, by the votes of the nearest documents."""
    found = await served.slow_worker.run(
        lambda collection: collection.classify(
            body.query, body.k, radius=body.radius, voting=body.voting, codes=body.codes
        )
    )
    return json_response(asdict(found))


@router.get("/duplicates", responses=answers(answer_schemas.DuplicatesAnswer))
async def duplicates(
    parameters: Annotated[schemas.DuplicatesParameters, Query()], served: RequestedCollection
) -> Response:
    """Find near-duplicates."""
    options = parameters.options

    def gather(
        collection: Collection,
    ) -> tuple[Hashable, dict[str, Any] | None, Ids, Material | None, DuplicateOptions]:
        with collection.snapshot() as snapshot:
            own = settled(snapshot, options)
            request = (collection, snapshot.version, own)
            known = served.duplicates_cache.find(request)
            material = gathered(snapshot, own) if known is None else None
            return request, known, snapshot.ids.copy(), material, own  # the next state may move the ids

    def name(collection: Collection) -> dict[str, Any]:
        with collection.snapshot() as snapshot:
            keys, pairs = named(snapshot, ids, found)
        left, right = ([keys[place] for place in side.tolist()] for side in (pairs.left, pairs.right))
        return {
            "groups": [[keys[at] for at in group.tolist()] for group in connected_groups(pairs.left, pairs.right)],
            "measure": chosen.measure,
            "threshold": chosen.least,
            "keys": keys,
            "pairs": [Pair(*pair)._asdict() for pair in zip(left, right, pairs.scores.tolist(), strict=True)],
            "copies": pairs.copies,
            "complete": pairs.complete,
        }

    request, content, ids, material, chosen = await served.slow_worker.run(gather)
    if content is None and material is not None:
        # Nothing is read here, so changes need not wait.
        found = await served.comparisons.compute(lambda: compared(material, chosen))
        content = await served.slow_worker.run(name)
        served.duplicates_cache.keep(request, content)
    return limited_response(content, served.limits.answer_bytes)


@router.post("/duplicates", responses=answers(answer_schemas.KnownCopiesAnswer))
async def known(body: schemas.KnownCopiesRequest, served: RequestedCollection) -> Response:
    """Say for each text, or vector, whether the collection has a near-duplicate of it; nothing is added."""
    verdicts = await served.search_worker.run(lambda collection: known_copies(collection, body.queries, body.threshold))
    return limited_response({"verdicts": [verdict._asdict() for verdict in verdicts]}, served.limits.answer_bytes)


@router.get("/documents", responses=answers(answer_schemas.PageAnswer))
async def documents(
    served: RequestedCollection,
    after: Annotated[int, Query(ge=-1, le=2**63 - 1, description="The value of next on the page before.")] = -1,
    limit: Annotated[int, Query(ge=1, le=limits.MAX_PAGE)] = limits.PAGE,
) -> Response:
    """Return one page of the documents, in the order in which they were added. Large documents make it shorter.

    Each page is one state of the collection. What changes between two pages may be on the later one or not.
    """

    def job(collection: Collection) -> tuple[list[StoredDocument], int]:
        with collection.snapshot() as snapshot:
            return snapshot.documents.page(after, limit), int(snapshot.ids[-1]) if len(snapshot) else -1

    page, last = await served.search_worker.run(job)
    max_bytes = served.limits.answer_bytes
    fitting = encode_rows((document_json(stored.document) for stored in page), max_bytes).parts
    if page and not fitting:
        raise answer_too_large(max_bytes)
    end = page[len(fitting) - 1].id if page else last
    return rows_response("documents", fitting, {"next": end if end < last else None})


@router.get("/documents/{key:key}", responses=answers(answer_schemas.DocumentSchema))
async def document(key: str, served: RequestedCollection) -> Response:
    """Return a document."""

    def job(collection: Collection) -> Document:
        try:
            return collection.get(key)
        except KeyError as error:
            raise no_such_document(key) from error

    return limited_response(document_json(await served.search_worker.run(job)), served.limits.answer_bytes)


@router.get("/random", responses=answers(answer_schemas.DocumentSchema))
async def random(served: RequestedCollection) -> Response:
    """Return a random document."""

    def job(collection: Collection) -> Document:
        with collection.snapshot() as snapshot:
            if len(snapshot) == 0:
                raise ApiError(404, "empty", "the collection has no document.", "Add some with POST /documents.")
            return snapshot.documents.get(int(np.random.default_rng().choice(snapshot.ids)))

    return limited_response(document_json(await served.search_worker.run(job)), served.limits.answer_bytes)


@router.get("/map", responses=answers(answer_schemas.MapAnswer))
async def corpus_map(served: RequestedCollection) -> Response:
    """Return the places of a sample of the documents on the map."""

    def draw(collection: Collection) -> dict[str, Any]:
        with collection.snapshot() as snapshot:
            state = (collection, snapshot.version)
            known = served.map_cache.find(state)
            if known is None:
                known = visualization.corpus_map(snapshot, served.map_axes)
                served.map_cache.keep(state, known)
            drawn: dict[str, Any] = known
            return drawn

    return limited_response(await served.slow_worker.run(draw), served.limits.answer_bytes)


@router.get("/stats", responses=answers(answer_schemas.StatsAnswer))
async def stats(served: RequestedCollection) -> Response:
    """Describe the collection: its size, its model, its settings."""
    found = await served.search_worker.run(lambda collection: collection.info())
    return json_response({"name": served.name} | {name: value for name, value in found.items() if name != "path"})


@router.get("/parts", responses=answers(answer_schemas.PartsAnswer))
async def parts(served: RequestedCollection) -> Response:
    """Say what the bytes of the collection's file are for. All rows are counted."""
    found = await served.slow_worker.run(lambda collection: collection.part_sizes())
    return json_response({"name": served.name, "parts": found})


def _milliseconds(start: float) -> float:
    return round(1000 * (time.perf_counter() - start), 3)
