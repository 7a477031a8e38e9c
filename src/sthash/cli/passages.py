"""``sth dedup --passages``: documents without the passages that other documents have too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from sthash.cli.edits import Edit
    from sthash.cli.options import SourceOptions
    from sthash.duplicates import Repeats
    from sthash.duplicates.spool import DocumentSpool
    from sthash.sources import Document

MARKS = "repeated"
MOST_SHOWN = 20


@dataclass
class Tally:
    """What was found."""

    documents: int = 0
    passages: int = 0
    of_templates: int = 0
    words: int = 0
    characters: int = 0

    def __str__(self) -> str:
        """Return it in words."""
        return (
            f"{self.passages:,} repeated passages ({self.of_templates:,} of templates) in {self.documents:,} of them: "
            f"{self.words:,} words, {self.characters:,} characters"
        )


def remove_passages(
    source: SourceOptions,
    output: str | None,
    report: str | None,
    *,
    mark: bool,
    dry_run: bool,
    min_words: int,
    memory: str,
    threads: int | None,
) -> None:
    """Write all documents, without what is repeated or with marks where it is."""
    from sthash.cli.originals import noted, originals_for
    from sthash.cli.output import output_file, print_table, progress_bar
    from sthash.duplicates import repeated_passages
    from sthash.duplicates.spool import DocumentSpool
    from sthash.sources import Origin

    *others, field = source.text or ["text"]
    if others and not (mark or dry_run):
        raise ValueError("--text names several fields, and passages are removed from one. Name one field.")
    origin, tally = Origin(), Tally()
    with ExitStack() as stack:
        originals = (
            None if dry_run else stack.enter_context(originals_for(source.sources, source.stated_format, output))
        )
        keys = stack.enter_context(DocumentSpool())
        progress = stack.enter_context(progress_bar())
        with source.documents(beside=output or "dedup", origin=origin) as documents:
            read = documents if originals is None else noted(documents, origin, originals)
            found = repeated_passages(
                _texts(read, keys), min_words=min_words, memory=memory, threads=threads, progress=progress
            )
        stack.enter_context(found)
        notes = stack.enter_context(output_file(report)) if report is not None else None
        if originals is None:
            shown: list[tuple[Any, ...]] = []
            for row in _rows(found, keys, notes, tally):
                if len(shown) < MOST_SHOWN:
                    shown.append(
                        (
                            row["words"],
                            str(row["key"] or row["record"]),
                            str(row["of"] or row["of_record"]),
                            row["text"],
                        )
                    )
            if shown:
                print_table(("words", "document", "of", "passage"), shown, numbers=("words",), keys=("document", "of"))
        else:
            with output_file(output, outdates=report) as file:
                originals.write_edited(file, _edits(found, keys, notes, tally, field, mark=mark))
        done = "marked" if mark else "would be removed" if dry_run else "removed"
        typer.echo(f"{found.n_documents:,} documents, {tally} {done}", err=True)


def _texts(documents: Iterator[Document], keys: DocumentSpool) -> Iterator[str]:
    """Give the texts of documents, and keep their keys."""
    from sthash.batches import batched
    from sthash.sources import Document

    for batch in batched(documents, length=lambda document: len(document.text)):
        keys.extend([Document(document.key) for document in batch])
        yield from (document.text for document in batch)


def _described(
    position: int, text: str, passages: list[Any], keys: DocumentSpool, notes: IO[bytes] | None, tally: Tally
) -> Iterator[dict[str, Any]]:
    """Give the passages of a text as records of the report, and count them."""
    from sthash.cli.output import json_line

    tally.documents += 1
    for passage in passages:
        tally.passages += 1
        tally.of_templates += passage.of_template
        tally.words += passage.words
        tally.characters += passage.end - passage.start
        row = {
            "key": keys[position].key,
            "record": position,
            "start": passage.start,
            "end": passage.end,
            "words": passage.words,
            "template": passage.of_template,
            "of": keys[passage.earlier].key,
            "of_record": passage.earlier,
            "text": text[passage.start : passage.end],
        }
        if notes is not None:
            notes.write(json_line(row, "utf-8").encode() + b"\n")
        yield row


def _rows(found: Repeats, keys: DocumentSpool, notes: IO[bytes] | None, tally: Tally) -> Iterator[dict[str, Any]]:
    for position, text, passages in found:
        yield from _described(position, text, passages, keys, notes, tally)


def _edits(
    found: Repeats, keys: DocumentSpool, notes: IO[bytes] | None, tally: Tally, field: str, *, mark: bool
) -> Iterator[tuple[int, Edit]]:
    """Give what changes in the records."""
    from sthash.cli.edits import Edit
    from sthash.duplicates import without_passages

    for position, text, passages in found:
        rows = list(_described(position, text, passages, keys, notes, tally))
        marks = {MARKS: [{name: row[name] for name in ("start", "end", "of", "of_record", "template")} for row in rows]}
        yield position, Edit(field, text, marks) if mark else Edit(field, without_passages(text, passages))
