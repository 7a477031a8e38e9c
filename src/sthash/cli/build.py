"""``sth build``: a new collection."""

from __future__ import annotations

from typing import Annotated

import typer

from sthash.cli import options

DEFAULTS = options.LearningOptions(
    bits=64, neighbors=25, recipe="neighbors", sample_size=20_000, scatter=0.0, seed=0
)  # fmt: skip


def build(
    collection: options.Path,
    learning: options.LearningOptions = DEFAULTS,
    language: options.LanguageOptions = options.LanguageOptions(),  # noqa: B008
    *,
    source: options.SourceOptions,
    replace: Annotated[
        bool, typer.Option("--replace", help="Of several documents with one key, keep the last.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    threads: options.Threads = None,
) -> None:
    """Learn codes for documents, and store both in a new collection."""
    from sthash.cli.output import progress_bar
    from sthash.collection import Collection

    with (
        source.documents(beside=collection) as documents,
        progress_bar() as progress,
        Collection.create(
            collection,
            documents,
            replace=replace,
            overwrite=force,
            threads=threads,
            progress=progress,
            language=language.language,
            fold_accents=language.fold_accents,
            **learning.settings(),
        ) as built,
    ):
        count = len(built)
    typer.echo(f"{collection}: {count:,} documents", err=True)
