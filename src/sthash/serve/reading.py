"""Routes that read."""

from __future__ import annotations

import time
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from sthash.collection import Collection
from sthash.collection.search import documents_at, read_document
from sthash.serve import landscape, schemas
from sthash.serve.batching import How
from sthash.serve.catalog import Served
from sthash.serve.describing import ERRORS, answers
from sthash.serve.errors import ApiError, json_response, no_such_document
from sthash.sources import Document

router = APIRouter(responses=ERRORS)

Name = Annotated[
    str | None,
    Query(
        alias="collection",
        max_length=255,
        pattern=r"^[A-Za-z0-9._-]+$",
        description="Which collection; may be left out where there is only one.",
    ),
]


async def chosen(request: Request, name: Name = None) -> Served:
    """The collection that a request is for."""
    # A coroutine only because the framework would otherwise lend it a thread, which takes longer than the look-up.
    served: Served = request.app.state.catalog.find(name)
    return served


Chosen = Annotated[Served, Depends(chosen)]


@router.post("/search", responses=answers(schemas.SearchAnswer))
async def search(body: schemas.SearchRequest, served: Chosen) -> Response:
    """Find the documents that are most like a text, a vector, or another document."""
    start = time.perf_counter()
    content = body.vector if body.text is None else body.text
    if body.key is None and body.where is None and not body.view:
        hits = await served.batcher.search(content, How(body.k, body.radius, body.rerank, body.factor, body.explain))
        answer: dict[str, Any] = {"hits": [landscape.shown(hit) for hit in hits]}
    else:
        query = landscape.Query(
            body.key, content, body.k, body.radius, body.rerank, body.where, body.factor, body.explain
        )
        # Conditions are looked up in all documents, one after the other.
        lane = served.finding if body.where is None else served.asking
        if body.view:
            answer = await lane.run(lambda collection: landscape.survey(collection, query, served.axes))
        else:
            hits = await lane.run(lambda collection: landscape.found(collection, query))
            answer = {"hits": [landscape.shown(hit) for hit in hits]}
    return json_response(answer | {"took_ms": _milliseconds(start)})


@router.post("/search_many", responses=answers(schemas.SearchManyAnswer))
async def search_many(body: schemas.SearchManyRequest, served: Chosen) -> Response:
    """Search for many texts or vectors at once."""
    start = time.perf_counter()
    lane = served.finding if body.where is None else served.asking
    found = await lane.run(
        lambda collection: collection.search_many(
            body.all,
            body.k,
            radius=body.radius,
            rerank=body.rerank,
            where=body.where,
            factor=body.factor,
            explain=body.explain,
        )
    )
    rows = [[landscape.shown(hit) for hit in hits] for hits in found]
    return json_response({"answers": rows, "took_ms": _milliseconds(start)})


@router.post("/encode", responses=answers(schemas.EncodeAnswer))
async def encode(body: schemas.EncodeRequest, served: Chosen) -> Response:
    """Give the codes of texts or of vectors."""

    def job(collection: Collection) -> dict[str, Any]:
        codes = [code.tobytes().hex() for code in collection.encode(body.all)] if body.all else []
        return {"codes": codes, "n_bits": collection.n_bits}

    return json_response(await served.finding.run(job))


@router.post("/classify", responses=answers(schemas.ClassifyAnswer))
async def classify(body: schemas.ClassifyRequest, served: Chosen) -> Response:
    """Give the label that most of the documents around a query have."""
    content: Any = body.vector if body.text is None else body.text
    found = await served.asking.run(
        lambda collection: collection.classify(content, body.k, radius=body.radius, voting=body.voting)
    )
    return json_response({"label": found.label, "shares": found.shares, "voters": found.voters})


@router.get("/duplicates", responses=answers(schemas.DuplicatesAnswer))
async def duplicates(
    served: Chosen,
    radius: Annotated[int | None, Query(ge=0, le=16, description="As the collection chooses, if left out.")] = None,
    min_cosine: Annotated[float, Query(gt=0, le=1, allow_inf_nan=False)] = 0.9,
) -> Response:
    """Find groups of documents that say nearly the same."""

    def find(collection: Collection) -> list[list[str]]:
        chosen = {} if radius is None else {"radius": radius}
        return collection.near_duplicates(min_cosine=min_cosine, **chosen).groups

    groups = await served.asking.run(lambda collection: served.duplicates(collection, (radius, min_cosine), find))
    return json_response({"groups": groups})


@router.get("/documents", responses=answers(schemas.PageAnswer))
async def documents(
    served: Chosen,
    after: Annotated[int, Query(ge=0, le=2**63 - 1, description="What the page before gave as next.")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """Give the documents in the order in which they came, some at a time."""

    def job(collection: Collection) -> dict[str, Any]:
        view = collection._view
        with view.reading():
            # Ids start with 1, so that 0 is before all of them.
            rows = list(view.store.rows("documents", "WHERE id > ? ORDER BY id LIMIT ?", (after, limit)))
            page = [_shown(read_document(view.store, row)) for row in rows]
        return {"documents": page, "next": rows[-1][0] if len(rows) == limit else None}

    return json_response(await served.finding.run(job))


@router.get("/documents/{key:path}", responses=answers(schemas.Document))
async def document(key: str, served: Chosen) -> Response:
    """Give a document."""

    def job(collection: Collection) -> Document:
        try:
            return collection.get(key)
        except KeyError as error:
            raise no_such_document(key) from error

    return json_response(_shown(await served.finding.run(job)))


@router.get("/random", responses=answers(schemas.Document))
async def random(served: Chosen) -> Response:
    """Give any document."""

    def job(collection: Collection) -> Document:
        view = collection._view
        with view.reading():
            ids = view.shelf().ids
            if len(ids) == 0:
                raise ApiError(404, "empty", "the collection has no document.", "Add some with POST /documents.")
            number = int(np.random.default_rng().choice(ids))
            return documents_at(view.store, [number])[number]

    return json_response(_shown(await served.finding.run(job)))


@router.get("/map", responses=answers(schemas.MapAnswer))
async def corpus_map(served: Chosen) -> Response:
    """Give the places of a sample of the documents on the map."""

    def draw(collection: Collection) -> dict[str, Any]:
        return landscape.draw(collection, served.axes)

    return json_response(await served.asking.run(lambda collection: served.map(collection, None, draw)))


@router.get("/stats", responses=answers(schemas.StatsAnswer))
async def stats(served: Chosen) -> Response:
    """Tell what the collection's file holds."""
    found = await served.finding.run(lambda collection: collection.info())
    return json_response({"name": served.name} | {name: value for name, value in found.items() if name != "path"})


def _shown(found: Document) -> dict[str, Any]:
    return {"key": found.key, "text": found.text, "label": found.label, "metadata": found.metadata}


def _milliseconds(start: float) -> float:
    return round(1000 * (time.perf_counter() - start), 3)
