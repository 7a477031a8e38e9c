"""``sth search``: documents that are like a text."""

from __future__ import annotations

from sthash.cli import options


def search(collection: options.Path, text: options.Text, arguments: options.SearchArguments) -> None:
    """Find the documents that are most like a text."""
    from sthash.cli.output import print_hits
    from sthash.collection import Collection

    with Collection.open(collection) as opened:
        hits = opened.search(options.text_of(text), **arguments.keywords())
    print_hits(hits, as_json=arguments.json)
