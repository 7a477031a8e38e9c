"""``sth classify``: the label of a text."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from sthash.cli import options
from sthash.cli.embedders import EmbedderOptions

MOST_ROWS = 10

Voters = Annotated[int, typer.Option("-k", help="Number of nearest documents that vote.")]


def classify(
    collection: options.Path,
    text: options.Text,
    k: Voters = 25,
    radius: options.Radius = None,
    voting: Annotated[
        str, typer.Option(help="majority, or distance, which gives nearer documents more weight.")
    ] = "majority",
    json: options.Json = False,
    *,
    embedder: EmbedderOptions,
) -> None:
    """Print the majority label among the nearest documents."""
    from sthash.applications import classify as vote
    from sthash.cli.output import print_json, print_table
    from sthash.collection import Collection

    with Collection.open(collection, **embedder.keywords()) as opened:
        prediction = vote(
            opened,
            options.text_of(text),
            k,
            radius=radius,
            voting=voting,  # type: ignore[arg-type]  # checked there
        )
    if json:
        print_json(asdict(prediction))
    elif not prediction.known:
        typer.echo("no label: no document has a word of the text", err=True)
    elif prediction.label is None:
        typer.echo("no label: no document near the text has one", err=True)
    else:
        rows = [(f"{share:.0%}", label) for label, share in list(prediction.shares.items())[:MOST_ROWS]]
        print_table(("votes", "label"), rows, numbers=("votes",))
