"""The application: its routes, its page, and its answers to errors of the framework."""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import logging
import mimetypes
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.exceptions import HTTPException
from starlette.responses import Response

from sthash import __version__
from sthash.serve import answer_schemas, read_routes, write_routes
from sthash.serve.addresses import TrustedProxies
from sthash.serve.auth import Authorizer
from sthash.serve.bodies import invalid_json
from sthash.serve.catalog import Catalog
from sthash.serve.errors import ApiError, json_response
from sthash.serve.metrics import Metrics
from sthash.serve.middleware import RequestMiddleware
from sthash.serve.openapi import ERRORS, answers
from sthash.serve.settings import Settings
from sthash.serve.throttle import Throttle

log = logging.getLogger("sthash.serve")
PAGE = files("sthash.serve") / "page"
# A visit of /metrics waits so long for the numbers of documents; if it takes longer, the next visit has them.
COUNT_SECONDS = 2.0
DESCRIPTION = """Search a collection of documents by what they are about.

Errors are `{"error": {"code", "message", "remedy"}}`; a code never changes its meaning. If the server has keys, send
one as `Authorization: Bearer KEY`. Each route takes `?collection=NAME`; it is optional if there is only one collection.
"""


def create_app(settings: Settings, metrics: Metrics | None = None, shared: Path | None = None) -> FastAPI:
    """Return the application that serves the collections of some settings.

    Parameters
    ----------
    settings : Settings
    metrics : Metrics, optional
        Those of the application before, which this one goes on counting.
    shared : Path, optional
        A folder that all processes of the server share.
    """
    metrics, authorizer = metrics or Metrics(), Authorizer(settings)
    if settings.writable:
        # What learning needs is loaded now, so that the first document to be added does not take the memory for it.
        importlib.import_module("sthash.hashing")

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        app.state.catalog.close()

    app = FastAPI(
        title="sthash",
        version=__version__,
        description=DESCRIPTION,
        docs_url=None,  # the pages of the framework load scripts from other sites
        redoc_url=None,
        generate_unique_id_function=lambda route: route.name,
        servers=[{"url": settings.prefix}] if settings.prefix else None,
        lifespan=lifespan,
    )
    app.state.catalog = Catalog(
        settings.source,
        settings.limits,
        metrics.batch.observe,
        follow_links=settings.follow_links,
        embedder=settings.embedder,
        shared=shared,
    )
    app.state.settings, app.state.metrics, app.state.authorizer = settings, metrics, authorizer
    app.state.counting = None
    app.add_middleware(
        RequestMiddleware,
        authorizer=authorizer,
        limits=settings.limits,
        metrics=metrics,
        throttle=Throttle(settings.limits.wrong_key_seconds),
        proxies=TrustedProxies(settings.trusted_proxies),
        prefix=settings.prefix,
    )
    app.include_router(read_routes.router)
    app.include_router(write_routes.router)
    app.get("/collections", responses=ERRORS | answers(answer_schemas.CollectionsAnswer))(collections)
    app.get("/health", responses=ERRORS | answers(answer_schemas.HealthAnswer))(health)
    app.get("/ready", responses=ERRORS | answers(answer_schemas.ReadyAnswer))(ready)
    app.get("/metrics", responses=ERRORS | {200: {"content": {"text/plain": {}}}}, response_class=Response)(
        metrics_text
    )
    app.get("/", include_in_schema=False)(page)
    app.get("/docs", include_in_schema=False)(docs)
    app.get("/page/{name}", include_in_schema=False)(page)
    app.add_exception_handler(RequestValidationError, _answer_invalid)
    app.add_exception_handler(HTTPException, _answer_error)
    app.add_exception_handler(Exception, _answer_error)
    _describe_keys(app)
    return app


async def collections(request: Request) -> Response:
    """List the collections that a request may use. Without a key that is needed, the list is empty."""
    state = request.app.state
    may_read, key = state.authorizer.reader(request.headers)
    allowed = () if not may_read else None if key is None else key.collections
    found: list[dict[str, Any]] = []
    if may_read:
        state.catalog.refresh()
        found = await state.catalog.summaries(allowed)
    return json_response(
        {
            "collections": found,
            "default": state.catalog.default(allowed),
            "writable": state.settings.writable,
            "needs_read_key": state.settings.needs_key,
        }
    )


async def health() -> Response:
    """Say that the server is alive. No file is looked at: `/ready` does that."""
    return json_response({"status": "ok", "version": __version__})


async def ready(request: Request) -> Response:
    """Check that every collection opens and answers. Only a request that may read learns which one does not."""
    state = request.app.state
    failing = await state.catalog.readiness()
    if failing:
        may_read, key = state.authorizer.reader(request.headers)
        allowed = None if key is None else key.collections
        names = sorted(name for name in failing if may_read and (allowed is None or name in allowed))
        named = f": {', '.join(f'{name} ({failing[name]})' for name in names[:20])}" if names else ""
        raise ApiError(
            503,
            "not_ready",
            f"{len(failing)} of {len(state.catalog)} collections do not answer{named}.",
            "The log of the server says why. Put the files in order; the server then uses them again.",
        )
    return json_response({"status": "ready", "collections": len(state.catalog)})


async def metrics_text(request: Request) -> Response:
    """Return the metrics in the format of Prometheus."""
    state = request.app.state
    if state.counting is None or state.counting.done():
        state.counting = asyncio.create_task(_count_documents(state.catalog, state.metrics))
    with suppress(TimeoutError):
        await asyncio.wait_for(asyncio.shield(state.counting), COUNT_SECONDS)
    return Response(state.metrics.text(), media_type=CONTENT_TYPE_LATEST)


async def _count_documents(catalog: Catalog, metrics: Metrics) -> None:
    with suppress(ApiError):  # busy: the numbers of the last visit stay
        catalog.refresh_if_changed()
        rows = await catalog.summaries()
        metrics.set_documents({row["name"]: row["documents"] for row in rows if row["documents"] is not None})


async def page(request: Request, name: str = "index.html") -> Response:
    """Return a file of the web page."""
    file = {entry.name: entry for entry in PAGE.iterdir() if entry.is_file()}.get(name)
    if file is None:
        raise ApiError(404, "no_such_route", "there is no such file.", "The page is at /.")
    content = file.read_bytes()
    etag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
    headers = {"ETag": etag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=mimetypes.guess_type(name)[0] or "application/octet-stream")


async def docs(request: Request) -> Response:
    """Return the page that describes the API."""
    return await page(request, "docs.html")


async def _answer_invalid(_: Request, error: Exception) -> Response:
    """Say what is wrong with a request, without repeating its content."""
    first: dict[str, Any] = error.errors()[0] if isinstance(error, RequestValidationError) else {}
    place = first.get("loc", ())
    if first.get("type") == "json_invalid" and place[:1] == ("body",):
        return invalid_json().response()
    where = ".".join(str(part)[:60] for part in place[1:6])
    message = f"{where}: {first.get('msg', 'invalid')}" if where else str(first.get("msg", "invalid"))
    return ApiError(422, "invalid_request", message, "See /docs for the parameters of this route.").response()


async def _answer_error(_: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    headers = dict(getattr(error, "headers", None) or {})
    if status == 404:
        return ApiError(404, "no_such_route", "there is nothing here.", "See /docs for the routes.").response()
    if status == 405:
        remedy = "See /docs for the routes and their methods."
        return ApiError(405, "method_not_allowed", "this route has no such method.", remedy, headers).response()
    if status == 400:
        return invalid_json().response()
    if status == 500:
        return ApiError(500, "internal", "the server failed.", "Tell the operator; the log says why.").response()
    return ApiError(status, "invalid_request", "the request cannot be answered.", "See /docs.").response()


def _describe_keys(app: FastAPI) -> None:
    """Describe the keys in the OpenAPI document."""
    document = app.openapi()
    document.setdefault("components", {})["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{}, {"key": []}]
