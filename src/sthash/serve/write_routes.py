"""Routes that change a collection. One worker per collection runs all changes, one after the other."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from sthash.collection import Collection
from sthash.serve import answer_schemas, schemas
from sthash.serve.catalog import ServedCollection
from sthash.serve.errors import ApiError, json_response, no_such_document
from sthash.serve.openapi import CONFLICT, ERRORS, answers
from sthash.serve.read_routes import RequestedCollection
from sthash.sources import Document

router = APIRouter(responses=ERRORS)


@router.post("/documents", responses=answers(answer_schemas.CountAnswer) | CONFLICT)
async def put_documents(body: schemas.DocumentsRequest, served: RequestedCollection) -> Response:
    """Add documents, all or, on an error, none. When the answer arrives, they are on the disk."""
    documents = [Document(new.key, new.text, new.label, new.metadata) for new in body.documents]

    def job(collection: Collection) -> int:
        if body.mode == "upsert":
            return collection.upsert(documents, vectors=body.vectors)
        _check_new(collection, [document.key for document in documents if document.key is not None])
        return collection.add(documents, vectors=body.vectors)

    return json_response({"count": await served.write_worker.change(job)})


@router.post("/delete", responses=answers(answer_schemas.CountAnswer))
async def delete_documents(body: schemas.DeleteRequest, served: RequestedCollection) -> Response:
    """Delete documents. If one is missing, none is deleted."""
    return await _delete(served, body.keys, missing_ok=body.missing_ok)


@router.delete("/documents/{key:key}", responses=answers(answer_schemas.CountAnswer))
async def delete_document(key: str, served: RequestedCollection) -> Response:
    """Delete a document."""
    return await _delete(served, [key], missing_ok=False)


async def _delete(served: ServedCollection, keys: list[str], *, missing_ok: bool) -> Response:
    def job(collection: Collection) -> int:
        try:
            return collection.delete(keys, missing_ok=missing_ok)
        except KeyError as error:
            raise no_such_document(next(key for key in keys if key not in collection)) from error

    return json_response({"count": await served.write_worker.change(job)})


def _check_new(collection: Collection, keys: list[str]) -> None:
    seen: set[str] = set()
    for key in keys:
        if key in seen or key in collection:
            raise ApiError(
                409,
                "key_exists",
                f"a document with the key {key[:100]!r} exists; nothing was added.",
                'Send another key, or "mode": "upsert" to replace it.',
            )
        seen.add(key)
