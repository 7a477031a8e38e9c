"""``sth duplicates``: documents that say nearly the same."""

from __future__ import annotations

from typing import Annotated

import typer

from sthash.cli import options

MOST_ROWS = 20


def duplicates(
    collection: options.Path,
    radius: Annotated[
        int | None, typer.Option(help="Compare only documents whose codes differ in at most this many bits.")
    ] = None,
    min_cosine: Annotated[float, typer.Option(help="Smallest cosine of two documents in one group.")] = 0.9,
    keep: Annotated[str, typer.Option(help="Which document of a group to keep: first or longest.")] = "first",
    threads: options.Threads = None,
    json: options.Json = False,
) -> None:
    """Find groups of documents that say nearly the same."""
    from sthash.applications import near_duplicates
    from sthash.cli.output import print_json, print_table
    from sthash.collection import Collection

    with Collection.open(collection) as opened:
        found = near_duplicates(opened, min_cosine, radius=radius, threads=threads)
        dropped = found.dropped(keep)  # type: ignore[arg-type]  # checked there
        groups = [(next(key for key in group if key not in dropped), group) for group in found.groups]
        if json:
            for kept, group in groups:
                print_json({"keep": kept, "keys": group})
            return
        groups.sort(key=lambda pair: -len(pair[1]))
        rows = [(len(group), kept, opened.get(kept).text) for kept, group in groups[:MOST_ROWS]]
    if rows:
        print_table(("documents", "keep", "text"), rows, numbers=("documents",))
    more = f"; the {len(rows)} largest groups are shown, --json prints all" if len(rows) < len(groups) else ""
    typer.echo(f"{len(groups):,} groups, {len(dropped):,} documents to drop{more}", err=True)
