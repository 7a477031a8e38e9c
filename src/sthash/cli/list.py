"""``sth list``: the documents of a collection, in the order in which they came."""

from __future__ import annotations

import itertools
from typing import Annotated

import typer

from sthash.cli import options


def list(  # noqa: A001
    collection: options.Path,
    n: Annotated[int, typer.Option("-n", help="How many documents; 0 for all.", min=0)] = 20,
    where: options.Where = None,
    json: options.Json = False,
) -> None:
    """List documents, the first ones first."""
    from sthash.cli.conditions import parse_conditions
    from sthash.cli.output import document_row, print_json, print_table
    from sthash.collection import Collection

    conditions = parse_conditions(where)
    with Collection.open(collection) as opened:
        if conditions is None:
            total = len(opened)
            documents = [*itertools.islice(opened.export(), min(n, total) or None)]
        else:
            with opened.snapshot() as now:
                ids = now.ids_where(conditions)
                total = len(ids)
                documents = [*now.documents(ids[: min(n, total) or None]).values()]
    if json:
        for document in documents:
            print_json(document_row(document))
        return
    if documents:
        rows = [(document.key, document.label or "", document.text) for document in documents]
        print_table(("key", "label", "text"), rows)
    more = f"; -n {total} lists all" if len(documents) < total else ""
    typer.echo(f"{len(documents):,} of {total:,} documents{more}", err=True)
