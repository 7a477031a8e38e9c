"""Commands that find documents."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sthash.cli import options

if TYPE_CHECKING:
    from sthash.collection import Hit

NoRerank = Annotated[bool, typer.Option("--codes-only", help="Rank by the distance of the codes alone.")]


def search(
    collection: options.Path,
    text: Annotated[str, typer.Argument(help="What to look for; - reads it from standard input.", show_default=False)],
    k: options.Count = 10,
    radius: options.Radius = None,
    where: options.Where = None,
    codes_only: NoRerank = False,
    json: options.Json = False,
) -> None:
    """Find the documents that are most like a text."""
    from sthash.collection import Collection

    if text == "-":
        text = sys.stdin.read()
    with Collection.open(collection) as opened:
        hits = opened.search(text, k, radius=radius, where=options.conditions(where), rerank=not codes_only)
    show_hits(hits, as_json=json)


def similar(
    collection: options.Path,
    key: Annotated[str, typer.Argument(metavar="KEY", help="Key of a document.", show_default=False)],
    k: options.Count = 10,
    radius: options.Radius = None,
    where: options.Where = None,
    codes_only: NoRerank = False,
    json: options.Json = False,
) -> None:
    """Find the documents that are most like another one of the collection."""
    from sthash.collection import Collection

    with Collection.open(collection) as opened:
        hits = opened.search(k=k, key=key, radius=radius, where=options.conditions(where), rerank=not codes_only)
    show_hits(hits, as_json=json)


def show_hits(hits: list[Hit], *, as_json: bool) -> None:
    """Print hits, for people or for programs."""
    from sthash.cli.showing import print_json, print_table

    if as_json:
        for hit in hits:
            # In this order, and written out because dataclasses.asdict would copy the metadata.
            row: dict[str, Any] = {"key": hit.key, "score": round(hit.score, 6), "distance": hit.distance}
            row |= {"label": hit.label, "terms": list(hit.terms), "metadata": hit.metadata, "text": hit.text}
            print_json(row)
        return
    if not hits:
        typer.echo("nothing found", err=True)
        return
    rows = [
        (f"{hit.score:.3f}", hit.distance, hit.key, ", ".join(hit.terms), hit.text)
        for hit in hits
    ]  # fmt: skip
    print_table(("cosine", "bits", "key", "terms", "text"), rows, numbers=("cosine", "bits"))
