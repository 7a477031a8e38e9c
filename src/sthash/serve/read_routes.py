"""Routes that read a collection."""

from __future__ import annotations

import time
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends, Query, Request
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.responses import Response

from sthash import applications
from sthash.collection import Collection, Hit, SearchOptions, Snapshot
from sthash.serve import limits, schemas, visualization
from sthash.serve.catalog import ServedCollection
from sthash.serve.errors import ApiError, json_response, no_such_document
from sthash.serve.openapi import ERRORS, answers
from sthash.serve.schemas import document_json, hit_json
from sthash.serve.workers import Worker
from sthash.sources import Document

router = APIRouter(responses=ERRORS)


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
    served: ServedCollection = request.app.state.catalog.find(name)
    return served


RequestedCollection = Annotated[ServedCollection, Depends(requested_collection)]


@router.post("/search", responses=answers(schemas.SearchAnswer))
async def search(body: schemas.SearchRequest, served: RequestedCollection) -> Response:
    """Find the documents that are most like a text, a vector, or another document."""
    start = time.perf_counter()
    key, query, options = body.key, body.query, body.options()
    if body.view:

        def view(collection: Collection) -> dict[str, Any]:
            with collection.snapshot() as snapshot:
                hits = _search(collection, key, query, options)
                return visualization.search_view(snapshot, key, query, options, hits, served.map_axes)

        answer = await _worker(served, options).run(view)
    elif key is None and options.where is None:
        answer = {"hits": [hit_json(hit) for hit in await served.batcher.search(query, options)]}
    else:
        hits = await _worker(served, options).run(lambda collection: _search(collection, key, query, options))
        answer = {"hits": [hit_json(hit) for hit in hits]}
    return json_response(answer | {"took_ms": _milliseconds(start)})


def _search(collection: Collection, key: str | None, query: Any, options: SearchOptions) -> list[Hit]:
    if key is not None and key not in collection:
        raise no_such_document(key)
    return collection.search(query, key=key, **options.keywords())


def _worker(served: ServedCollection, options: SearchOptions) -> Worker:
    # A filter reads the metadata of all documents.
    return served.search_worker if options.where is None else served.slow_worker


@router.post("/search_many", responses=answers(schemas.SearchManyAnswer))
async def search_many(body: schemas.SearchManyRequest, served: RequestedCollection) -> Response:
    """Search for many texts or vectors at once."""
    start = time.perf_counter()
    options = body.options()
    found = await _worker(served, options).run(
        lambda collection: collection.search_many(body.queries, **options.keywords())
    )
    rows = [[hit_json(hit) for hit in hits] for hits in found]
    return json_response({"answers": rows, "took_ms": _milliseconds(start)})


@router.post("/encode", responses=answers(schemas.EncodeAnswer))
async def encode(body: schemas.EncodeRequest, served: RequestedCollection) -> Response:
    """Return the codes of texts or of vectors."""

    def job(collection: Collection) -> dict[str, Any]:
        codes = [code.tobytes().hex() for code in collection.encode(body.queries)] if body.queries else []
        return {"codes": codes, "n_bits": collection.n_bits}

    return json_response(await served.search_worker.run(job))


@router.post("/classify", responses=answers(schemas.ClassifyAnswer))
async def classify(body: schemas.ClassifyRequest, served: RequestedCollection) -> Response:
    """Return the label that most of the documents around a query have."""
    found = await served.slow_worker.run(
        lambda collection: applications.classify(collection, body.query, body.k, radius=body.radius, voting=body.voting)
    )
    return json_response({"label": found.label, "shares": found.shares, "voters": found.voters})


@router.get("/duplicates", responses=answers(schemas.DuplicatesAnswer))
async def duplicates(
    served: RequestedCollection,
    radius: Annotated[
        int | None, Query(ge=0, le=limits.MAX_DUPLICATES_RADIUS, description="By default, see near_duplicates.")
    ] = None,
    min_cosine: Annotated[float, Query(gt=0, le=1, allow_inf_nan=False)] = 0.9,
) -> Response:
    """Find groups of near-duplicates."""

    def job(collection: Collection) -> list[list[str]]:
        def find(_: Snapshot) -> list[list[str]]:
            return applications.near_duplicates(collection, min_cosine, radius=radius).groups

        groups: list[list[str]] = served.duplicates_cache.get(collection, (radius, min_cosine), find)
        return groups

    groups = await served.slow_worker.run(job)
    return json_response({"groups": groups})


@router.get("/documents", responses=answers(schemas.PageAnswer))
async def documents(
    served: RequestedCollection,
    after: Annotated[int, Query(ge=-1, le=2**63 - 1, description="The value of next on the page before.")] = -1,
    limit: Annotated[int, Query(ge=1, le=limits.MAX_PAGE)] = limits.PAGE,
) -> Response:
    """Return one page of the documents, in the order in which they were added."""

    def job(collection: Collection) -> dict[str, Any]:
        page = collection.page(after, limit)
        documents = [document_json(stored.document) for stored in page]
        return {"documents": documents, "next": page[-1].id if len(page) == limit else None}

    return json_response(await served.search_worker.run(job))


@router.get("/documents/{key:key}", responses=answers(schemas.DocumentSchema))
async def document(key: str, served: RequestedCollection) -> Response:
    """Return a document."""

    def job(collection: Collection) -> Document:
        try:
            return collection.get(key)
        except KeyError as error:
            raise no_such_document(key) from error

    return json_response(document_json(await served.search_worker.run(job)))


@router.get("/random", responses=answers(schemas.DocumentSchema))
async def random(served: RequestedCollection) -> Response:
    """Return a random document."""

    def job(collection: Collection) -> Document:
        with collection.snapshot() as snapshot:
            if len(snapshot) == 0:
                raise ApiError(404, "empty", "the collection has no document.", "Add some with POST /documents.")
            number = int(np.random.default_rng().choice(snapshot.ids))
            return snapshot.documents([number])[number]

    return json_response(document_json(await served.search_worker.run(job)))


@router.get("/map", responses=answers(schemas.MapAnswer))
async def corpus_map(served: RequestedCollection) -> Response:
    """Return the places of a sample of the documents on the map."""

    def draw(snapshot: Snapshot) -> dict[str, Any]:
        return visualization.corpus_map(snapshot, served.map_axes)

    return json_response(await served.slow_worker.run(lambda collection: served.map_cache.get(collection, None, draw)))


@router.get("/stats", responses=answers(schemas.StatsAnswer))
async def stats(served: RequestedCollection) -> Response:
    """Describe the collection: its size, its model, its settings."""
    found = await served.search_worker.run(lambda collection: collection.info())
    return json_response({"name": served.name} | {name: value for name, value in found.items() if name != "path"})


def _milliseconds(start: float) -> float:
    return round(1000 * (time.perf_counter() - start), 3)
