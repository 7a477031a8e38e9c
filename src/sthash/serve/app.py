"""The application: routes, the page, and how errors of the framework are told."""

from __future__ import annotations

import hashlib
import logging
import mimetypes
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.exceptions import HTTPException
from starlette.responses import Response

from sthash import __version__
from sthash.serve import reading, schemas, writing
from sthash.serve.catalog import Catalog, Served
from sthash.serve.describing import ERRORS, answers
from sthash.serve.errors import ApiError, json_response
from sthash.serve.guard import Guard
from sthash.serve.metrics import Metrics
from sthash.serve.settings import Settings
from sthash.serve.traffic import Traffic

log = logging.getLogger("sthash.serve")
PAGE = files("sthash.serve") / "page"
DESCRIPTION = """Search a collection of documents by what they are about.

Errors are `{"error": {"code", "message", "remedy"}}`; codes keep their meaning. Where the server has keys, send one as
`Authorization: Bearer KEY`. Each route takes `?collection=NAME`, which may be left out where there is only one.
"""


def create_app(settings: Settings) -> FastAPI:
    """Make the application that serves the collections of ``settings``."""
    metrics, guard = Metrics(), Guard(settings)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        app.state.catalog.close()

    app = FastAPI(
        title="sthash",
        version=__version__,
        description=DESCRIPTION,
        docs_url=None,  # the framework's pages fetch scripts from elsewhere
        redoc_url=None,
        generate_unique_id_function=lambda route: route.name,
        lifespan=lifespan,
    )
    app.state.catalog = Catalog(settings.source, settings.limits.in_flight, metrics.batch.observe)
    app.state.settings, app.state.metrics, app.state.guard = settings, metrics, guard
    app.add_middleware(Traffic, guard=guard, limits=settings.limits, metrics=metrics)
    app.include_router(reading.router)
    app.include_router(writing.router)
    app.get("/collections", responses=ERRORS | answers(schemas.CollectionsAnswer))(collections)
    app.get("/health", responses=ERRORS | answers(schemas.HealthAnswer))(health)
    app.get("/metrics", responses=ERRORS | {200: {"content": {"text/plain": {}}}}, response_class=Response)(numbers)
    app.get("/", include_in_schema=False)(page)
    app.get("/page/{name}", include_in_schema=False)(page)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _http)
    _describe_keys(app)
    return app


async def collections(request: Request) -> Response:
    """List the collections; without their names where a read key is needed and not shown."""
    state = request.app.state
    found: list[dict[str, Any]] = []
    default = None
    if state.guard.may_read(request.headers):
        state.catalog.look()
        found = [await _summary(served) for served in state.catalog]
        for row in found:
            state.metrics.documents.labels(row["name"]).set(row["documents"] or 0)
        default = state.catalog.default
    return json_response(
        {
            "collections": found,
            "default": default,
            "writable": state.settings.writable,
            "needs_read_key": state.settings.read_key is not None,
        }
    )


async def _summary(served: Served) -> dict[str, Any]:
    try:
        info = await served.finding.run(lambda collection: collection.info())
    except ApiError as error:
        return {"name": served.name, "documents": None, "n_bits": None, "kind": None, "error": error.code}
    return {"name": served.name, "error": None} | {name: info[name] for name in ("documents", "n_bits", "kind")}


async def health(request: Request) -> Response:
    """Tell that the server is there, and that the files of its collections are."""
    catalog = request.app.state.catalog
    catalog.look()
    for served in catalog:
        if not served.path.is_file():
            raise ApiError(
                503,
                "collection_unavailable",
                f"the file of the collection {served.name!r} is missing.",
                "Put it back; the server will take it up again.",
            )
    return json_response({"status": "ok", "version": __version__})


async def numbers(request: Request) -> Response:
    """Give what is counted, for Prometheus."""
    return Response(generate_latest(request.app.state.metrics.registry), media_type=CONTENT_TYPE_LATEST)


async def page(request: Request, name: str = "index.html") -> Response:
    """Give a file of the web page."""
    file = {entry.name: entry for entry in PAGE.iterdir() if entry.is_file()}.get(name)
    if file is None:
        raise ApiError(404, "no_such_route", "there is no such file.", "The page is at /.")
    content = file.read_bytes()
    mark = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
    headers = {"ETag": mark, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == mark:
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=mimetypes.guess_type(name)[0] or "application/octet-stream")


async def _invalid(_: Request, error: Exception) -> Response:
    """Say what is wrong with a request, without repeating what was sent."""
    first: dict[str, Any] = error.errors()[0] if isinstance(error, RequestValidationError) else {}
    if first.get("type") == "json_invalid":
        return _no_json().response()
    where = ".".join(str(part)[:60] for part in first.get("loc", ())[1:6])
    message = f"{where}: {first.get('msg', 'invalid')}" if where else str(first.get("msg", "invalid"))
    return ApiError(422, "invalid_request", message, "See /openapi.json for what this route takes.").response()


def _no_json() -> ApiError:
    return ApiError(400, "invalid_json", "the body is not valid JSON.", "Check its syntax and its encoding, UTF-8.")


async def _http(_: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    headers = dict(getattr(error, "headers", None) or {})
    if status == 404:
        return ApiError(404, "no_such_route", "there is nothing here.", "See /openapi.json for the routes.").response()
    if status == 405:
        remedy = "See /openapi.json for the routes and their methods."
        return ApiError(405, "method_not_allowed", "this route has no such method.", remedy, headers).response()
    if status == 400:
        return _no_json().response()
    if status == 500:
        return ApiError(500, "internal", "the server failed.", "Tell its operator; the log says why.").response()
    return ApiError(status, "invalid_request", "the request cannot be answered.", "See /openapi.json.").response()


def _describe_keys(app: FastAPI) -> None:
    """Put the keys into the OpenAPI document."""
    document = app.openapi()
    document.setdefault("components", {})["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{}, {"key": []}]
