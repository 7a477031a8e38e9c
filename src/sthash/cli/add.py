"""``sth add``: more documents in a collection."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from sthash.cli import options
from sthash.cli.embedders import EmbedderOptions, VectorSource


def add(
    collection: options.Path,
    source: options.SourceOptions,
    vectors: VectorSource,
    embedder: EmbedderOptions,
    replace: Annotated[bool, typer.Option("--replace", help="Replace documents that have the same key.")] = False,
    threads: options.Threads = None,
) -> None:
    """Add documents in one transaction."""
    from sthash.cli.output import progress_bar
    from sthash.collection import Collection

    with (
        Collection.open(collection, threads=threads, **embedder.keywords()) as opened,
        vectors.documents(source, beside=collection, **_kind(opened.info())) as documents,
        progress_bar() as progress,
    ):
        put = opened.upsert if replace else opened.add
        count = put(documents, progress=progress, **vectors.keywords())
    typer.echo(f"{collection}: {count:,} {'document' if count == 1 else 'documents'} added", err=True)


def _kind(facts: dict[str, Any]) -> dict[str, Any]:
    """Return what the vectors of a collection must be like."""
    return {"width": facts.get("n_columns") or None, "metric": facts.get("metric", "cosine")}
