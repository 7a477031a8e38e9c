"""``sth search``: documents that are like a text."""

from __future__ import annotations

from sthash.cli import options


def search(collection: options.Path, text: options.Text, arguments: options.QueryArguments) -> None:
    """Find the documents that are most like a text.

    It may have "phrases in quotes" (quoted once more for the shell), +words that must be there and, after --, -words
    that must not: sth search news.sth -- goal '"extra time"' -penalty
    """
    from sthash.cli.output import print_hits, print_strategy, print_words
    from sthash.collection import Collection

    with Collection.open(collection) as opened:
        hits = opened.search(options.text_of(text), **arguments.keywords())
    print_words(hits)
    if arguments.explain:
        print_strategy(hits)
    print_hits(hits, as_json=arguments.json)
