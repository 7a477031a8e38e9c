"""``sth mcp``: a collection for language models, over the Model Context Protocol."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sthash.cli import options
from sthash.cli.embedders import EmbedderOptions
from sthash.extras import install_command

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

    from sthash.collection import Collection, Hits

MOST_HITS = 100


def mcp(
    collection: options.Path,
    embedder: EmbedderOptions,
    passage: Annotated[
        int, typer.Option(help="Number of characters of a hit to give; get gives the whole text.")
    ] = 500,
    threads: options.Threads = None,
) -> None:
    """Offer a collection to language models over the Model Context Protocol, on standard input and output.

    The tools are search, similar and get; none of them changes the collection.
    """
    from sthash.collection import Collection

    with Collection.open(collection, threads=threads, **embedder.keywords()) as opened:
        _server(opened, passage).run()


def _server(collection: Collection, passage: int) -> MCPServer:
    try:
        from mcp.server.mcpserver import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
        from mcp.types import ToolAnnotations
    except ImportError as error:
        raise ImportError(f"sth mcp needs mcp ({error}). Install it: {install_command('mcp')}.") from error
    name = collection.path.stem
    server = MCPServer(
        "sthash",
        instructions=f"Searches {name!r}, a collection of {len(collection):,} documents. search finds documents by "
        "words, similar finds those like a given one, and get returns a whole text.",
        log_level="WARNING",
    )
    read_only = ToolAnnotations(read_only_hint=True, open_world_hint=False)

    @contextmanager
    def told() -> Iterator[None]:
        """Tell the model what is wrong with its request."""
        try:
            yield
        except (KeyError, TypeError, ValueError) as error:
            raise ToolError(str(error.args[0] if error.args else error)) from error

    @server.tool(annotations=read_only)
    def search(query: str, k: int = 10, where: dict[str, Any] | None = None) -> list[dict[str, Any]]:
        """Find the documents that match a query best, each with the passage that matches.

        The query is words, and may have "phrases in quotes", +required and -excluded words. ``where`` filters by label
        or metadata, for example {"label": "sport", "year": {">=": 2020}}.
        """
        with told():
            return _rows(collection.search(query, min(k, MOST_HITS), where=where, snippet=passage), passage)

    @server.tool(annotations=read_only)
    def similar(key: str, k: int = 10, where: dict[str, Any] | None = None) -> list[dict[str, Any]]:
        """Find the documents that are most similar to the document with this key."""
        with told():
            return _rows(collection.search(key=key, k=min(k, MOST_HITS), where=where), passage)

    @server.tool(annotations=read_only)
    def get(key: str) -> dict[str, Any]:
        """Return the document with this key: its whole text, its label and its metadata."""
        with told():
            found = collection[key]
        return {"key": found.key, "text": found.text, "label": found.label, "metadata": found.metadata}

    return server


def _rows(hits: Hits, passage: int) -> list[dict[str, Any]]:
    return [
        {
            "key": hit.key,
            "score": round(hit.score, 4),
            "label": hit.label,
            "metadata": hit.metadata,
            "passage": hit.text[:passage] if hit.snippet is None else hit.snippet.text,
        }
        for hit in hits
    ]
