"""``sth similar``: documents that resemble another one."""

from __future__ import annotations

from typing import Annotated

import typer

from sthash.cli import options


def similar(
    collection: options.Path,
    key: Annotated[str, typer.Argument(metavar="KEY", help="Key of a document.", show_default=False)],
    arguments: options.SearchArguments,
) -> None:
    """Find the documents most similar to a given one."""
    from sthash.cli.output import print_hits, print_strategy
    from sthash.collection import Collection

    with Collection.open(collection) as opened:
        hits = opened.search(key=key, **arguments.keywords())
    if arguments.explain:
        print_strategy(hits)
    print_hits(hits, as_json=arguments.json, offset=arguments.offset, explain=arguments.explain)
