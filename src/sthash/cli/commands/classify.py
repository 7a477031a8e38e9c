"""``sth classify``: the label of a text."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from sthash.cli import options
from sthash.cli.embedders import EmbedderOptions

MOST_ROWS = 10

Voters = Annotated[
    int | None,
    typer.Option("-k", help="Number of nearest documents that vote. By default it is chosen by leave-one-out."),
]


def classify(
    collection: options.Path,
    text: options.Text,
    k: Voters = None,
    radius: options.Radius = None,
    voting: Annotated[
        str,
        typer.Option(
            help="auto: weights that leave-one-out has chosen; majority; or distance, which gives nearer documents "
            "more weight."
        ),
    ] = "auto",
    codes: Annotated[bool, typer.Option("--codes", help="Take the documents with the nearest codes.")] = False,
    json: options.Json = False,
    *,
    embedder: EmbedderOptions,
) -> None:
    """Print the label of a text, by the votes of the nearest documents."""
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
            codes=codes,
        )
    if json:
        print_json(asdict(prediction))
    elif not prediction.known:
        typer.echo("no label: no document has a word of the text", err=True)
    elif prediction.label is None:
        typer.echo("no label: no document near the text has one", err=True)
    else:
        rows = [(f"{share:.0%}", label) for label, share in list(prediction.shares.items())[:MOST_ROWS]]
        print_table(("share", "label"), rows, numbers=("share",))
