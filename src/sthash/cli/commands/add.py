"""``sth add``: more documents in a collection."""

from __future__ import annotations

import shlex
from pathlib import Path
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
    from sthash.cli.output import counted, progress_bar
    from sthash.collection import Collection

    folder = next((name for name in source.sources if Path(name).is_dir()), None)
    if folder is not None:
        command = shlex.join(["sth", "sync", collection, folder])
        typer.echo(f"to replace changed files, too, and delete those that are gone: {command}", err=True)

    with (
        Collection.open(collection, threads=threads, **embedder.keywords()) as opened,
        vectors.documents(source, beside=collection, **_kind(opened.info())) as documents,
        progress_bar() as progress,
    ):
        put = opened.upsert if replace else opened.add
        count = put(documents, progress=progress, **vectors.keywords())
    if not count:
        raise ValueError(f"there is no document in {' '.join(source.sources)}, so nothing was added.")
    typer.echo(f"{collection}: {counted(count)} added", err=True)


def _kind(facts: dict[str, Any]) -> dict[str, Any]:
    """Return what the documents of a collection must be like."""
    return {
        "width": facts.get("n_columns") or None,
        "metric": facts.get("metric", "cosine"),
        "default_text": tuple(facts.get("fields", ())),
    }
