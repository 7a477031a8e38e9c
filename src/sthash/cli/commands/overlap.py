"""``sth overlap``: test items that stand in training data."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sthash.cli import options

if TYPE_CHECKING:
    from sthash.duplicates import Leak

MOST_SHOWN = 20
LEAKED = 3  # exit status


def overlap(
    source: options.SourceOptions,
    train: Annotated[
        list[str] | None, typer.Option("--train", metavar="SOURCE", help="More training data. Can be repeated.")
    ] = None,
    threshold: Annotated[
        float, typer.Option(help="Least share of the shingles of an item that one training text has.")
    ] = 0.5,
    shingle_words: Annotated[int, typer.Option(help="Words per shingle.")] = 8,
    allow: Annotated[
        float, typer.Option(metavar="SHARE", help="Share of the items of a file that may stand in the training data.")
    ] = 0.0,
    report: Annotated[
        str | None, typer.Option(metavar="FILE", help="JSON lines file of the items found, with their passages.")
    ] = None,
    threads: options.Threads = None,
    json: options.Json = False,
) -> None:
    """Find test items that stand in training data: the first source is the training data, the others are tests.

    The exit status is 3 if more items of a file than --allow do.
    """
    from sthash.cli.output import json_line, output_file, print_json, print_table, progress_bar
    from sthash.duplicates import overlap as found_overlap

    if len(source.sources) < 2:
        raise typer.BadParameter("overlap needs training data and a test. Name both: sth overlap TRAIN TEST")
    if not 0 <= allow <= 1:
        raise ValueError(f"allow={allow} must be a share from 0 to 1.")
    first, *tests = source.sources
    with ExitStack() as stack:
        progress = stack.enter_context(progress_bar())
        items, files = [], []
        for test in tests:
            with replace(source, sources=[test]).documents(beside="overlap") as documents:
                items += list(documents)
            files.append((test, len(items)))
        with replace(source, sources=[first, *(train or ())]).documents(beside="overlap") as documents:
            found = stack.enter_context(
                found_overlap(
                    documents, items, threshold, shingle_words=shingle_words, threads=threads, progress=progress
                )
            )
        names = [
            name
            for (name, end), start in zip(files, [0, *(end for _, end in files)], strict=False)
            for _ in range(start, end)
        ]
        if report is not None:
            with output_file(report) as notes:
                for leak in found:
                    notes.write(json_line(_row(leak, names, shingle_words), "utf-8").encode() + b"\n")
        if json:
            for leak in found:
                print_json(_row(leak, names, shingle_words))
        else:
            order = found.leaked[(-found.scores[found.leaked]).argsort(kind="stable")][:MOST_SHOWN].tolist()
            shown = set(order)
            rows = {leak.position: _cells(leak, shingle_words) for leak in found if leak.position in shown}
            if rows:
                headings = ("score", "anywhere", "item", "training text", "its passage", "in the training text")
                print_table(headings, [rows[place] for place in order], numbers=("score", "anywhere"))
        too_many = False
        start = 0
        for name, end in files:
            count = int(((found.leaked >= start) & (found.leaked < end)).sum())
            share = count / max(end - start, 1)
            too_many |= share > allow
            typer.echo(
                f"{name}: {count:,} of {end - start:,} items ({share:.1%}) stand in {found.n_train:,} training texts",
                err=True,
            )
            start = end
    if too_many:
        raise typer.Exit(LEAKED)


def _row(leak: Leak, names: list[str], shingle_words: int) -> dict[str, Any]:
    """Return what was found of an item as a record."""
    return {
        "file": names[leak.position],
        "key": leak.item.key,
        "record": leak.position,
        "of": leak.source.key,
        "score": round(leak.score, 6),
        "anywhere": round(leak.anywhere, 6),
        "passages": [
            {"text": own.text, "train": leak.source.text[slice(*own.right)], "start": own.left[0], "end": own.left[1]}
            for own in leak.passages(min_words=min(shingle_words, 4))
        ],
    }


def _cells(leak: Leak, shingle_words: int) -> tuple[str, ...]:
    passages = leak.passages(min_words=min(shingle_words, 4))
    longest = max(passages, key=lambda own: own.words, default=None)
    own = leak.item.text if longest is None else longest.text
    other = leak.source.text if longest is None else leak.source.text[slice(*longest.right)]
    names = (str(leak.item.key or leak.position), str(leak.source.key or ""))
    return (f"{leak.score:.3f}", f"{leak.anywhere:.3f}", *names, own, other)
