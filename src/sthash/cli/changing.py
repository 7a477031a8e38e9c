"""Commands that make a collection or change it."""

from __future__ import annotations

from typing import Annotated

import typer

from sthash.cli import options


def build(
    collection: options.Path,
    sources: options.Sources,
    bits: Annotated[int, typer.Option(help="Bits of a code.")] = 64,
    neighbors: Annotated[int, typer.Option(help="Neighbours of a document in the graph.")] = 25,
    recipe: Annotated[str, typer.Option(help="How codes are learnt; sth tune finds which is best.")] = "neighbors",
    learn_on: Annotated[int, typer.Option(help="Learn from a random sample of so many documents; 0 for all.")] = 20_000,
    scatter: Annotated[float, typer.Option(help="Random part of a code; 4 with --bits 512 finds more by cosine.")] = 0,
    key: options.KeyField = None,
    text: options.TextField = None,
    label: options.LabelField = None,
    encoding: options.Encoding = "utf-8",
    format: options.Format = None,  # noqa: A002
    replace: Annotated[bool, typer.Option("--replace", help="Of documents with one key, keep the last.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if there is one.")] = False,
) -> None:
    """Learn codes for documents, and store both in a new collection."""
    from sthash.cli.showing import progress_bar
    from sthash.collection import Collection
    from sthash.sources import SourceFields, read_documents

    documents = read_documents(sources, SourceFields(key, text, label), encoding=encoding, format=format)
    with (
        progress_bar() as progress,
        Collection.create(
            collection,
            documents,
            n_bits=bits,
            n_neighbors=neighbors,
            recipe=recipe,  # type: ignore[arg-type]  # checked there
            learn_on=learn_on or None,
            scatter=scatter,
            replace=replace,
            overwrite=force,
            progress=progress,
        ) as built,
    ):
        count = len(built)
    typer.echo(f"{collection}: {count:,} documents", err=True)


def add(
    collection: options.Path,
    sources: options.Sources,
    key: options.KeyField = None,
    text: options.TextField = None,
    label: options.LabelField = None,
    encoding: options.Encoding = "utf-8",
    format: options.Format = None,  # noqa: A002
    replace: Annotated[bool, typer.Option("--replace", help="Replace documents that have the same key.")] = False,
) -> None:
    """Add documents, all of them or, on an error, none."""
    from sthash.collection import Collection
    from sthash.sources import SourceFields, read_documents

    documents = read_documents(sources, SourceFields(key, text, label), encoding=encoding, format=format)
    with Collection.open(collection) as opened:
        count = opened.upsert(documents) if replace else opened.add(documents)
    typer.echo(f"{collection}: {count:,} documents added", err=True)


def delete(
    collection: options.Path,
    keys: Annotated[list[str], typer.Argument(metavar="KEY...", help="Keys of the documents.", show_default=False)],
    missing_ok: Annotated[bool, typer.Option("--missing-ok", help="Pass over keys that are not there.")] = False,
) -> None:
    """Delete documents by their keys, all of them or, if one is missing, none."""
    from sthash.collection import Collection

    with Collection.open(collection) as opened:
        count = opened.delete(keys, missing_ok=missing_ok)
    typer.echo(f"{collection}: {count:,} documents deleted", err=True)


def relearn(
    collection: options.Path,
    bits: Annotated[int | None, typer.Option(help="Bits of a code.  [default: as before]")] = None,
    neighbors: Annotated[int | None, typer.Option(help="Neighbours in the graph.  [default: as before]")] = None,
    recipe: Annotated[str | None, typer.Option(help="How codes are learnt.  [default: as before]")] = None,
    learn_on: Annotated[int, typer.Option(help="Learn from a random sample of so many documents; 0 for all.")] = 20_000,
    scatter: Annotated[float | None, typer.Option(help="Random part of a code.  [default: as before]")] = None,
) -> None:
    """Learn a new model from the documents as they are now."""
    from sthash.cli.showing import progress_bar
    from sthash.collection import Collection

    with Collection.open(collection) as opened, progress_bar() as progress:
        opened.relearn(
            n_bits=bits,
            n_neighbors=neighbors,
            recipe=recipe,  # type: ignore[arg-type]  # checked there
            learn_on=learn_on or None,
            scatter=scatter,
            progress=progress,
        )


def compact(collection: options.Path) -> None:
    """Give the room that deleted documents took back to the disk."""
    from sthash.collection import Collection

    with Collection.open(collection) as opened:
        opened.compact()
