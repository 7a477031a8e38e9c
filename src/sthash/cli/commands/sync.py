"""``sth sync``: a collection that follows a folder."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sthash.cli import options
from sthash.cli.embedders import EmbedderOptions

if TYPE_CHECKING:
    from sthash.collection import Synced

# Files that are named in one run; of more, the number is said.
MOST_SKIPPED = 20


def sync(
    collection: options.Path,
    folder: Annotated[str, typer.Argument(metavar="DIR", help="The folder to follow.", show_default=False)],
    embedder: EmbedderOptions,
    language: options.LanguageOptions,
    include: options.Include = None,
    exclude: options.Exclude = None,
    encoding: options.SourceEncoding = None,
    watch: Annotated[bool, typer.Option("--watch", help="Keep following the folder until interrupted.")] = False,
    interval: Annotated[float, typer.Option(help="Seconds between two looks at the folder, with --watch.")] = 2.0,
    threads: options.Threads = None,
) -> None:
    """Bring a collection up to date with a folder: add new files, replace changed ones, delete those that are gone.

    All changes are one transaction. Files that did not change are not read. The collection is created if there is none;
    --language is for a new one.
    """
    from sthash.cli.output import progress_bar
    from sthash.collection import Collection, CollectionBusyError, CollectionError

    if not Path(folder).is_dir():
        raise NotADirectoryError(f"{folder} is not a folder. Name the folder that the collection follows.")
    if not Path(collection).exists():
        Collection.create(collection, [], text_options=language.options(), **embedder.keywords()).close()
    told: set[str] = set()
    with Collection.open(collection, threads=threads, **embedder.keywords()) as opened:
        ready = False
        while True:
            try:
                with progress_bar() as progress:
                    done = opened.sync(
                        folder, include=include or (), exclude=exclude or (), encoding=encoding, progress=progress
                    )
            except (OSError, ValueError) as error:
                # A disk that is gone for a while, or another writer, does not end a watch.
                is_lasting = isinstance(error, CollectionError) and not isinstance(error, CollectionBusyError)
                if not watch or not ready or is_lasting:
                    raise
                if str(error) not in told:
                    typer.echo(f"waiting: {error}", err=True)
                told = {str(error)}
                time.sleep(max(interval, 0.1))
                continue
            ready = True
            new = [bad.reason for bad in done.skipped if bad.reason not in told]
            told.update(new)
            for reason in new[:MOST_SKIPPED]:
                typer.echo(f"skipped: {reason}", err=True)
            if len(new) > MOST_SKIPPED:
                typer.echo(f"skipped: {len(new) - MOST_SKIPPED:,} more files", err=True)
            if not watch and not len(opened):
                raise ValueError(f"{folder} has no files that can be read, so {collection} is empty.")
            if done.changes or not watch:
                typer.echo(f"{collection}: {summary(done)}", err=True)
            if not watch:
                break
            time.sleep(max(interval, 0.1))


def summary(done: Synced) -> str:
    """Say in one line what was done."""
    counts = {"added": done.added, "replaced": done.replaced, "deleted": done.deleted, "unchanged": done.unchanged}
    counts |= {"skipped": len(done.skipped)} if done.skipped else {}
    return ", ".join(f"{count:,} {what}" for what, count in counts.items())
