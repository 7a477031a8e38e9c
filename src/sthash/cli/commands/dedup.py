"""``sth dedup``: documents without their near-duplicates."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sthash.cli import options
from sthash.cli.commands import duplicates

if TYPE_CHECKING:
    from sthash.cli.originals import Originals
    from sthash.duplicates import Deduplicated
    from sthash.duplicates.streaming import Review

MOST_SHOWN = 100


def dedup(
    source: options.SourceOptions,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            help="File for the records to keep, each as it came; .jsonl turns any other format into JSON lines.  "
            "[default: standard output]",
        ),
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
    index: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Also drop near-duplicates of what earlier runs have seen, and remember this run: an index of "
            "fingerprints, which is made if there is none.",
        ),
    ] = None,
    embedder: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:FUNCTION",
            help="Also drop documents with the meaning of another one. The function takes a list of str and returns an "
            "array with one row per text; the module can be in the current folder.",
        ),
    ] = None,
    cosine: Annotated[
        float | None,
        typer.Option(
            help="With --embedder: least cosine of the same meaning.  [default: chosen from the data, with its curve]"
        ),
    ] = None,
    report: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="JSON lines file of dropped documents, each with the one that is kept and their similarity.",
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help=f"Write no documents, and print the {MOST_SHOWN} most doubtful drops, or some passages."
        ),
    ] = False,
    passages: Annotated[
        bool,
        typer.Option(
            "--passages",
            help="Instead of whole documents, remove passages that an earlier document has too, and headers and "
            "footers of templates, in whole sentences or lines.",
        ),
    ] = False,
    mark: Annotated[
        bool, typer.Option("--mark", help="With --passages: only mark them, in a field 'repeated'.")
    ] = False,
    min_words: Annotated[int, typer.Option(help="With --passages: words of the shortest run that is repeated.")] = 50,
    memory: Annotated[
        str, typer.Option(metavar="SIZE", help="Memory to use, such as 500MB or 4GiB; what exceeds it goes to disk.")
    ] = "4GiB",
    resume: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Note in this file what has been compared. A run that was killed continues from it when the same "
            "command is given again; at the end it is removed.",
        ),
    ] = None,
    threads: options.Threads = None,
) -> None:
    """Write documents without their near-duplicates, or without passages that others have too."""
    if passages:
        from sthash.cli.passages import remove_passages

        given = {"threshold": threshold, "protect": protect, "keep": keep, "against": against, "index": index}
        given |= {"embedder": embedder, "cosine": cosine, "resume": resume}
        for name, value in {**given, "measure": None if measure == "wording" else measure}.items():
            if value is not None:
                raise typer.BadParameter(f"--{name} is about whole documents. Leave it or --passages out.")
        remove_passages(
            source, output, report, mark=mark, dry_run=dry_run, min_words=min_words, memory=memory, threads=threads
        )
        return
    if mark:
        raise typer.BadParameter("--mark goes with --passages. Give both.")
    from sthash.cli.embedders import load_function
    from sthash.cli.originals import noted, originals_for
    from sthash.cli.output import progress_bar
    from sthash.cli.reading import with_total
    from sthash.collection import Collection, Embedder
    from sthash.duplicates import Checkpoint, SeenIndex, deduplicate
    from sthash.sources import Origin

    beside, origin = output or "dedup", Origin()
    with ExitStack() as stack:
        seen = None
        if index is not None:
            seen = stack.enter_context(SeenIndex(index, measure, shingle_words, writable=not dry_run))  # type: ignore[arg-type]
        originals = None
        if not dry_run:
            originals = stack.enter_context(originals_for(source.sources, source.stated_format, output))
        checkpoint = None if resume is None else stack.enter_context(Checkpoint(resume))
        with (
            nullcontext() if against is None else Collection.open(against) as known,
            source.documents(beside=beside, origin=origin) as documents,
            progress_bar() as progress,
        ):
            found = _with_curve(
                deduplicate,
                documents if originals is None else noted(documents, origin, originals),
                threshold,
                measure=measure,
                shingle_words=shingle_words,
                protect=protect,
                keep=keep,
                against=known,
                seen=seen,
                embedder=None if embedder is None else Embedder.of(load_function(embedder)),
                cosine=cosine,
                memory=memory,
                checkpoint=checkpoint,
                threads=threads,
                progress=with_total(progress, source.sources, origin),
            )
        stack.enter_context(found)
        review = found.review(MOST_SHOWN if originals is None else 0)
        if originals is None:
            _show(review)
        else:
            _write(found, originals, output, report)
            if seen is not None:  # last: if this is not reached, the same run can be repeated
                found.remember()
            if checkpoint is not None:
                checkpoint.remove()
        verb = "would be dropped" if dry_run else "dropped"
        kinds = f"{review.exact:,} exact, {review.near:,} near, {review.doubtful:,} doubtful"
        kept = found.n_documents - found.n_dropped
        typer.echo(f"{found.n_documents:,} documents, {found.n_dropped:,} {verb} ({kinds}), {kept:,} kept", err=True)


def _with_curve(deduplicate: Callable[..., Deduplicated], *arguments: Any, **options: Any) -> Deduplicated:
    """Deduplicate, and show the curve from which a cosine was chosen, or none could be."""
    from sthash.duplicates import NoCosineError

    try:
        found = deduplicate(*arguments, **options)
    except NoCosineError as error:
        typer.echo(str(error.curve))
        raise
    if found.meanings is not None and found.meanings.curve is not None:
        typer.echo(str(found.meanings.curve), err=True)
    return found


def _write(found: Deduplicated, originals: Originals, output: str | None, report: str | None) -> None:
    from sthash.cli.output import json_line, output_file
    from sthash.sources import Document

    # The report appears after the output, and an old one is gone before: a report always belongs to the output.
    with output_file(report) as notes, output_file(output, outdates=report) as file:
        for dropped in found.dropped() if report else ():
            of = dropped.of or Document(None)  # seen by an earlier run
            about = {"key": dropped.document.key, "of": of.key, "score": round(dropped.score, 6)}
            if found.meanings is not None:
                about["by"] = "meaning" if dropped.by_meaning else "wording"
            row = about | {"text": dropped.document.text, "of_text": None if dropped.of is None else of.text}
            notes.write(json_line(row, "utf-8").encode() + b"\n")
        originals.write(file, found.is_kept())


def _show(review: Review) -> None:
    from sthash.cli.output import print_table

    rows = [
        (
            *(f"{score:.3f}", ", ".join(reasons), str(document.key), document.text),
            *(("seen before", "") if of is None else (str(of.key), of.text)),
        )
        for (document, of, score), reasons in review.first
    ]
    if rows:
        headings = ("score", "doubts", "dropped", "its text", "kept", "text of the kept")
        print_table(headings, rows, numbers=("score",), keys=("doubts", "dropped", "kept"))
