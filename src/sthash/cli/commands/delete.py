"""``sth delete``: fewer documents in a collection."""

from __future__ import annotations

from typing import Annotated

import typer

from sthash.cli import options


def delete(
    collection: options.Path,
    keys: Annotated[list[str], typer.Argument(metavar="KEY", help="Keys of the documents.", show_default=False)],
    missing_ok: Annotated[bool, typer.Option("--missing-ok", help="Ignore keys that do not exist.")] = False,
) -> None:
    """Delete documents by their keys.

    If a key does not exist, nothing is deleted, unless --missing-ok is given.
    """
    from sthash.collection import Collection

    with Collection.open(collection) as opened:
        count = opened.delete(keys, missing_ok=missing_ok)
    typer.echo(f"{collection}: {count:,} {'document' if count == 1 else 'documents'} deleted", err=True)
