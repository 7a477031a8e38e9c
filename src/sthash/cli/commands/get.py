"""``sth get``: documents by their keys."""

from __future__ import annotations

from typing import Annotated

import typer

from sthash.cli import options


def get(
    collection: options.Path,
    keys: Annotated[list[str], typer.Argument(metavar="KEY", help="Keys of the documents.", show_default=False)],
    json: options.Json = False,
) -> None:
    """Print documents: their text, label and metadata."""
    from sthash.cli.output import document_row, print_document, print_json
    from sthash.collection import Collection

    with Collection.open(collection) as opened:
        documents = [opened.get(key) for key in keys]
    for document in documents:
        if json:
            print_json(document_row(document))
        else:
            print_document(document)
