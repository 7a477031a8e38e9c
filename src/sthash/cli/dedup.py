"""``sth dedup``: documents without their near-duplicates."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from sthash.cli import duplicates, options

if TYPE_CHECKING:
    from sthash.duplicates import Deduplicated
    from sthash.sources import Document

MOST_PAIRS = 100


def dedup(
    source: options.SourceOptions,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", help="JSON lines file for the documents to keep.  [default: standard output]"),
    ] = None,
    threshold: duplicates.Threshold = None,
    measure: duplicates.Measure = "wording",
    protect: duplicates.Protect = None,
    shingle_words: duplicates.ShingleWords = 5,
    keep: Annotated[
        str | None,
        typer.Option(help="Document to keep: first, longest or newest.  [default: first; longest for containment]"),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(metavar="COLLECTION", help="Also drop near-duplicates of documents in this collection."),
    ] = None,
    report: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="JSON lines file of dropped documents, each with the one that is kept and their similarity.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help=f"Write nothing, and print the {MOST_PAIRS} closest pairs side by side.")
    ] = False,
    memory: Annotated[
        str, typer.Option(metavar="SIZE", help="Memory to use, such as 500MB or 4GiB; what exceeds it goes to disk.")
    ] = "4GiB",
    threads: options.Threads = None,
) -> None:
    """Write documents without their near-duplicates."""
    from sthash.cli.output import progress_bar
    from sthash.collection import Collection
    from sthash.duplicates import deduplicate

    beside = output or "dedup"
    with (
        nullcontext() if against is None else Collection.open(against) as known,
        source.documents(beside=beside) as documents,
        progress_bar() as progress,
    ):
        found = deduplicate(
            documents,
            threshold,
            measure=measure,  # type: ignore[arg-type]  # checked there, as the next one
            shingle_words=shingle_words,
            protect=protect,  # type: ignore[arg-type]
            keep=keep,  # type: ignore[arg-type]
            against=known,
            memory=memory,
            threads=threads,
            progress=progress,
        )
    with found:
        if dry_run:
            _show(found)
        else:
            _write(found, output, report, source)
        verb = "would be dropped" if dry_run else "dropped"
        kept = found.n_documents - found.n_dropped
        typer.echo(f"{found.n_documents:,} documents, {found.n_dropped:,} {verb}, {kept:,} kept", err=True)


def _write(found: Deduplicated, output: str | None, report: str | None, names: options.SourceOptions) -> None:
    # The report appears after the output, and an old one is gone before: a report always belongs to the output.
    with _lines(report) as note, _lines(output, outdates=report) as write:
        for dropped in found.dropped() if report else ():
            about = {"key": dropped.document.key, "of": dropped.of.key, "score": round(dropped.score, 6)}
            note(about | {"text": dropped.document.text, "of_text": dropped.of.text})
        for document in found.kept():
            write(_row(document, names))


def _row(document: Document, names: options.SourceOptions) -> dict[str, Any]:
    """Give a document with the fields that it was read from."""
    own = {
        names.key or "key": document.key,
        names.text or "text": document.text,
        names.label or "label": document.label,
    }
    return document.metadata | {name: value for name, value in own.items() if value is not None}


@contextmanager
def _lines(path: str | None, outdates: str | None = None) -> Iterator[Any]:
    """Give a function that writes a JSON line to a new file, which appears when it is whole, or to standard output."""
    from sthash.cli.output import json_line
    from sthash.duplicates.spool import naming_full_disk
    from sthash.files import replacing

    def writer(file: TextIO) -> Any:
        return lambda row: file.write(json_line(row, file.encoding) + "\n")

    if path is None:
        yield writer(sys.stdout)
        return
    with (
        naming_full_disk(path, "write to a larger disk"),
        replacing(Path(path), outdates=outdates) as temporary,
        temporary.open("w", encoding="utf-8") as file,
    ):
        yield writer(file)
        file.flush()


def _show(found: Deduplicated) -> None:
    from sthash.cli.output import print_table

    pairs = found.closest_pairs(MOST_PAIRS)
    rows = [
        (f"{pair.score:.3f}", str(pair.left), left.text, str(pair.right), right.text) for pair, left, right in pairs
    ]
    if rows:
        headings = ("score", "left", "left text", "right", "right text")
        print_table(headings, rows, numbers=("score",), keys=("left", "right"))
