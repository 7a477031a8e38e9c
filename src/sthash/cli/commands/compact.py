"""``sth compact``: a smaller file."""

from __future__ import annotations

import typer

from sthash.cli import options


def compact(collection: options.Path) -> None:
    """Return the space of deleted documents to the file system."""
    from sthash.cli.output import progress_bar
    from sthash.collection import Collection

    with Collection.open(collection) as opened:
        before = opened.info()["bytes"]
        with progress_bar() as progress:
            progress("compacting", 0, None)
            opened.compact()
        after = opened.info()["bytes"]
    typer.echo(f"{collection}: {after:,} bytes, {before - after:,} less than before", err=True)
