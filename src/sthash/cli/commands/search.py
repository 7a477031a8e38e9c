"""``sth search``: documents that match a text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import typer

from sthash.cli import options
from sthash.cli.embedders import EmbedderOptions

if TYPE_CHECKING:
    from sthash.collection import Hits


def search(
    collection: options.Path, text: options.Text, arguments: options.QueryArguments, embedder: EmbedderOptions
) -> None:
    """Find the documents that best match a text.

    The text can have "phrases in quotes" (quoted again for the shell), +words that are required and, after --, -words
    that are excluded: sth search news.sth -- goal '"extra time"' -penalty
    """
    from sthash.cli.output import print_hits, print_strategy, print_words
    from sthash.collection import Collection

    query = options.text_of(text)
    with Collection.open(collection, **embedder.keywords()) as opened:
        hits = opened.search(query, **arguments.keywords())
    print_words(hits)
    if arguments.explain:
        print_strategy(hits)
    if hits or arguments.json:
        print_hits(hits, as_json=arguments.json, offset=arguments.offset, explain=arguments.explain)
    elif arguments.offset and hits.total:
        typer.echo(f"no more hits: only {hits.total:,} in all", err=True)
    else:
        typer.echo(f"nothing found{_reason(query, hits)}", err=True)


def _reason(query: str, hits: Hits) -> str:
    """Say why there are no hits, as far as the words of the query tell it."""
    words = {word.lower() for word in re.findall(r"\w+", query)}
    if not words:
        return ": the query has no words"
    if not words <= {*hits.ignored, *hits.unknown}:
        return ""
    if not hits.unknown:
        return ": all words of the query are too common to search for"
    meant = "; --correct searches for the words that are close to them" if hits.suggestions else ""
    return f": no document has a word of the query{meant}"
