"""``sth duplicates``: documents of a collection that say nearly the same."""

from __future__ import annotations

from typing import Annotated

import typer

from sthash.cli import options

MOST_ROWS = 20

Threshold = Annotated[
    float | None, typer.Option(help="Similarity that two documents must have; by default 0.9 for cosine, else 0.8.")
]
Measure = Annotated[
    str, typer.Option(help="cosine of the TF-IDF vectors, or jaccard or containment of the word shingles.")
]
ShingleWords = Annotated[
    int, typer.Option(help="Words in a shingle, for jaccard and containment; 1 compares the words in any order.")
]
Keep = Annotated[str, typer.Option(help="Which document of a group to keep: first, longest or newest.")]
Grouping = Annotated[
    str, typer.Option(help="connected, or complete: then every pair of a group reaches the threshold.")
]


def duplicates(
    collection: options.Path,
    threshold: Threshold = None,
    measure: Measure = "cosine",
    shingle_words: ShingleWords = 5,
    keep: Keep = "first",
    grouping: Grouping = "connected",
    radius: Annotated[
        int | None, typer.Option(help="Compare only documents whose codes differ in at most this many bits.")
    ] = None,
    pairs: Annotated[bool, typer.Option("--pairs", help="Show pairs and what differs in place of groups.")] = False,
    threads: options.Threads = None,
    json: options.Json = False,
) -> None:
    """Find groups of documents that say nearly the same."""
    from sthash.cli.output import print_json, print_table
    from sthash.collection import Collection
    from sthash.duplicates import compare_texts, near_duplicates

    with Collection.open(collection) as opened:
        found = near_duplicates(
            opened,
            threshold,
            measure=measure,  # type: ignore[arg-type]  # checked there, as the next one
            grouping=grouping,  # type: ignore[arg-type]
            shingle_words=shingle_words,
            radius=radius,
            threads=threads,
        )
        kept = found.kept(keep)  # type: ignore[arg-type]
        dropped = sum(map(len, found.groups)) - len(kept)
        if json and pairs:
            for pair in found.pairs:
                print_json(pair._asdict())
            return
        if json:
            for own, group in zip(kept, found.groups, strict=True):
                print_json({"keep": own.key, "reason": own.reason, "keys": group})
            return
        if pairs:
            closest = sorted(found.pairs, key=lambda pair: -pair.score)[:MOST_ROWS]
            differences = [compare_texts(opened.get(a).text, opened.get(b).text) for a, b, _ in closest]
            rows = [
                (f"{pair.score:.3f}", pair.left, pair.right, str(difference))
                for pair, difference in zip(closest, differences, strict=True)
            ]
            if rows:
                print_table(("score", "left", "right", "difference"), rows, numbers=("score",))
            typer.echo(f"{len(found.pairs):,} pairs; the {len(rows)} closest are shown, --json prints all", err=True)
            return
        groups = sorted(zip(kept, found.groups, strict=True), key=lambda pair: -len(pair[1]))
        table = [(len(group), own.key, opened.get(own.key).text) for own, group in groups[:MOST_ROWS]]
    if table:
        print_table(("documents", "keep", "text"), table, numbers=("documents",))
    more = f"; the {len(table)} largest groups are shown, --json prints all" if len(table) < len(groups) else ""
    typer.echo(f"{len(groups):,} groups, {dropped:,} documents to drop{more}", err=True)
