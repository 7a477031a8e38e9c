"""``sth duplicates``: near-duplicate documents of a collection."""

from __future__ import annotations

from typing import Annotated

import typer

from sthash.cli import options

MOST_ROWS = 20

Threshold = Annotated[
    float | None,
    typer.Option(
        help="Minimum similarity of near-duplicates.  [default: 0.75 for wording, 0.9 for cosine, 0.8 for the others]"
    ),
]
Measure = Annotated[
    str | None,
    typer.Option(
        help="Similarity measure: wording, cosine of the vectors, or jaccard or containment of word shingles.  "
        "[default: wording for texts, cosine for vectors]"
    ),
]
Protect = Annotated[
    str | None, typer.Option(help="numbers: keep texts apart that differ in a number.", metavar="numbers")
]
ShingleWords = Annotated[
    int, typer.Option(help="Words per shingle, for jaccard and containment; 1 ignores the order of the words.")
]
Keep = Annotated[str, typer.Option(help="Which document of a group to keep: first, longest or newest.")]
Grouping = Annotated[
    str,
    typer.Option(
        help="connected: pairs that share a document form a group; complete: every pair of a group qualifies."
    ),
]


def duplicates(
    collection: options.Path,
    threshold: Threshold = None,
    measure: Measure = None,
    protect: Protect = None,
    shingle_words: ShingleWords = 5,
    keep: Keep = "first",
    grouping: Grouping = "connected",
    radius: Annotated[
        int | None, typer.Option(help="Compare only documents whose codes differ in at most this many bits.")
    ] = None,
    pairs: Annotated[
        bool, typer.Option("--pairs", help="Print pairs and their differences instead of groups.")
    ] = False,
    threads: options.Threads = None,
    json: options.Json = False,
) -> None:
    """Find groups of near-duplicate documents."""
    from sthash.cli.output import print_json, print_table
    from sthash.collection import Collection
    from sthash.duplicates import compare_texts, near_duplicates

    with Collection.open(collection, threads=threads) as opened:
        found = near_duplicates(
            opened,
            threshold,
            measure=measure,  # type: ignore[arg-type]  # checked there, as the next one
            grouping=grouping,  # type: ignore[arg-type]
            shingle_words=shingle_words,
            radius=radius,
            protect=protect,  # type: ignore[arg-type]
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
                print_table(("score", "left", "right", "difference"), rows, numbers=("score",), keys=("left", "right"))
            typer.echo(f"{len(found.pairs):,} pairs; the {len(rows)} closest are shown, --json prints all", err=True)
            return
        groups = sorted(zip(kept, found.groups, strict=True), key=lambda pair: -len(pair[1]))
        table = [(len(group), own.key, opened.get(own.key).text) for own, group in groups[:MOST_ROWS]]
    if table:
        print_table(("documents", "keep", "text"), table, numbers=("documents",), keys=("keep",))
    more = f"; the {len(table)} largest groups are shown, --json prints all" if len(table) < len(groups) else ""
    typer.echo(f"{len(groups):,} groups, {dropped:,} documents to drop{more}", err=True)
