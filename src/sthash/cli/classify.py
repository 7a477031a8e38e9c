"""``sth classify``: the label of a text."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from sthash.cli import options

MOST_ROWS = 10

Voters = Annotated[int, typer.Option("-k", help="How many of the nearest documents vote.")]


def classify(
    collection: options.Path,
    text: options.Text,
    k: Voters = 25,
    radius: options.Radius = None,
    voting: Annotated[
        str, typer.Option(help="majority; or distance, where nearer documents count for more.")
    ] = "majority",
    json: options.Json = False,
) -> None:
    """Print the label that most of the nearest documents have."""
    from sthash.applications import classify as vote
    from sthash.cli.output import print_json, print_table
    from sthash.collection import Collection

    with Collection.open(collection) as opened:
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
        typer.echo("no document has a word of the text, so nothing tells its label", err=True)
    elif prediction.label is None:
        typer.echo("no document near the text has a label", err=True)
    else:
        rows = [(f"{share:.0%}", label) for label, share in list(prediction.shares.items())[:MOST_ROWS]]
        print_table(("votes", "label"), rows, numbers=("votes",))
