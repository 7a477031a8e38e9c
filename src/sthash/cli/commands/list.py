"""``sth list``: the documents of a collection."""

from __future__ import annotations

import itertools
from typing import Annotated

import typer

from sthash.cli import options


def list(  # noqa: A001
    collection: options.Path,
    n: Annotated[int, typer.Option("-n", help="Number of documents; 0 for all.", min=0)] = 20,
    where: options.Where = None,
    json: options.Json = False,
) -> None:
    """List documents in the order in which they were added."""
    from sthash.cli.conditions import parse_conditions
    from sthash.cli.output import document_row, print_json, print_table
    from sthash.collection import Collection, ids_where

    conditions = parse_conditions(where)
    with Collection.open(collection) as opened:
        if conditions is None:
            total = len(opened)
            documents = [*itertools.islice(opened.export(), min(n, total) or None)]
        else:
            with opened.snapshot() as now:
                ids = ids_where(now, conditions)
                total = len(ids)
                found = now.documents.read(ids[: min(n, total) or None].tolist())
                documents = [read.document() for read in found.values()]
    if json:
        for document in documents:
            print_json(document_row(document))
        return
    if documents:
        rows = [(document.key, document.label or "", document.text) for document in documents]
        print_table(("key", "label", "text"), rows, keys=("key",))
    more = f"; -n {total} lists all" if len(documents) < total else ""
    typer.echo(f"{len(documents):,} of {total:,} documents{more}", err=True)
