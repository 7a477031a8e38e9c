"""``sth export``: all documents of a collection as JSON lines."""

from __future__ import annotations

from sthash.cli import options


def export(collection: options.Path) -> None:
    """Print all documents as JSON lines.

    sth build and sth add can read them.
    """
    from sthash.cli.output import document_row, print_json
    from sthash.collection import Collection

    with Collection.open(collection) as opened:
        for document in opened.export():
            print_json(document_row(document))
