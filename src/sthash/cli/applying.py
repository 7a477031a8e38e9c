"""Commands for the jobs that people come for: near-duplicates, classification."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from sthash.cli import options


def duplicates(
    collection: options.Path,
    radius: Annotated[int | None, typer.Option(help="Compare only codes that differ in at most so many bits.")] = None,
    min_cosine: Annotated[float, typer.Option(help="Cosine that documents must have.")] = 0.9,
    keep: Annotated[str, typer.Option(help="Which of a group to keep: first or longest.")] = "first",
    json: options.Json = False,
) -> None:
    """Find groups of documents that say nearly the same."""
    from sthash.cli.showing import print_json, print_table
    from sthash.collection import Collection

    with Collection.open(collection) as opened:
        found = opened.near_duplicates(radius, min_cosine)
        dropped = found.dropped(keep)  # type: ignore[arg-type]
        groups = [(next(key for key in group if key not in dropped), group) for group in found.groups]
        if json:
            for kept, group in groups:
                print_json({"keep": kept, "keys": group})
            return
        groups.sort(key=lambda pair: -len(pair[1]))
        rows = [(len(group), kept, opened.get(kept).text) for kept, group in groups[:20]]
    if rows:
        print_table(("documents", "keep", "text"), rows, numbers=("documents",))
    more = f"; the {len(rows)} largest are shown, --json gives all" if len(rows) < len(groups) else ""
    typer.echo(f"{len(groups):,} groups, {len(dropped):,} documents to drop{more}", err=True)


def classify(
    collection: options.Path,
    text: Annotated[str, typer.Argument(help="What to classify; - reads it from standard input.", show_default=False)],
    k: options.Count = 25,
    radius: options.Radius = None,
    voting: Annotated[str, typer.Option(help="majority, or distance: near documents count for more.")] = "majority",
    json: options.Json = False,
) -> None:
    """Give the label that most of the documents around a text have."""
    from sthash.cli.showing import print_json, print_table
    from sthash.collection import Collection

    if text == "-":
        text = sys.stdin.read()
    with Collection.open(collection) as opened:
        prediction = opened.classify(text, k, radius=radius, voting=voting)  # type: ignore[arg-type]
    if json:
        print_json({"label": prediction.label, "shares": prediction.shares, "voters": prediction.voters})
    elif prediction.label is None:
        typer.echo("no labelled document in the ball", err=True)
    else:
        rows = [(f"{share:.0%}", label) for label, share in list(prediction.shares.items())[:10]]
        print_table(("votes", "label"), rows, numbers=("votes",))
