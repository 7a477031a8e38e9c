"""``sth relearn``: what a search needs, learned from the documents of a collection as they are now."""

from __future__ import annotations

import typer

from sthash.cli import options


def relearn(collection: options.Path, learning: options.LearningOptions, threads: options.Threads = None) -> None:
    """Learn again from the current documents.

    Settings that are not given stay the same. A collection of vectors
    relearns its cells; if it has no codes, they are learned only if a learning option is given, such as --n-bits.
    """
    from sthash.cli.output import advice_line, progress_bar
    from sthash.collection import Collection

    with Collection.open(collection, threads=threads) as opened, progress_bar() as progress:
        opened.relearn(progress=progress, **learning.changes())
        facts = opened.info()
    if "learned" not in facts:  # it has no codes
        typer.echo(f"{collection}: relearned", err=True)
        return
    if facts["learned"]:
        typer.echo(f"{collection}: relearned from {facts['learned_on']:,} documents", err=True)
    if facts["learned_on"] < facts["documents"]:
        typer.echo(advice_line(facts), err=True)
