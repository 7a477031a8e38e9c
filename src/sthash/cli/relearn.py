"""``sth relearn``: a new model for the documents of a collection."""

from __future__ import annotations

import typer

from sthash.cli import options


def relearn(collection: options.Path, learning: options.LearningOptions, threads: options.Threads = None) -> None:
    """Learn a new model from the documents as they are now.

    Every setting that is not given stays as it was. Learning starts from the present model.
    """
    from sthash.cli.output import advice_line, progress_bar
    from sthash.collection import Collection

    with Collection.open(collection, threads=threads) as opened, progress_bar() as progress:
        opened.relearn(progress=progress, **learning.settings())
        facts = opened.info()
    if facts["learned"]:
        typer.echo(f"{collection}: learned anew from {facts['learned_on']:,} documents", err=True)
    if facts["learned_on"] < facts["documents"]:
        typer.echo(advice_line(facts), err=True)
