"""Output: JSON lines for programs; tables and progress bars for people."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

import typer

from sthash.progress import Progress

if TYPE_CHECKING:
    from rich.text import Text

    from sthash.collection import Hit, Hits
    from sthash.sources import Document


def print_json(row: dict[str, Any]) -> None:
    """Print one object on one line."""
    typer.echo(json_line(row, sys.stdout.encoding))


# Characters at which Python and other languages may end a line.
_LINE_ENDS = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}


def json_line(row: dict[str, Any], encoding: str | None) -> str:
    r"""Return an object as JSON; characters are escaped only if they end a line or the encoding does not have them.

    Examples
    --------
    >>> from sthash.cli.output import json_line
    >>> print(json_line({"city": "東京"}, "utf-8"), json_line({"city": "東京"}, "latin-1"))
    {"city": "東京"} {"city": "\u6771\u4eac"}
    """
    line = json.dumps(row, ensure_ascii=False).translate(_LINE_ENDS)
    try:
        line.encode(encoding or "utf-8")
    except UnicodeEncodeError:  # lone surrogates are in no encoding
        return json.dumps(row)
    return line


def counted(documents: int) -> str:
    """Return a number of documents in words.

    Examples
    --------
    >>> from sthash.cli.output import counted
    >>> counted(1), counted(1200)
    ('1 document', '1,200 documents')
    """
    return f"{documents:,} document{'' if documents == 1 else 's'}"


def document_row(document: Document) -> dict[str, Any]:
    """Return a document as the commands build and add read it."""
    return {"key": document.key, "text": document.text, "label": document.label, "metadata": document.metadata}


def print_document(document: Document) -> None:
    """Print a document for people."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True, markup=False, emoji=False)
    console.print(_whole(document.key), style="bold")
    fields = {"label": document.label} if document.label is not None else {}
    for name, value in (fields | document.metadata).items():
        console.print(f"{one_line(name)}: {one_line(value)}", style="dim")
    # Lines stay; what would steer the terminal does not.
    if console.is_terminal:
        console.print("\n".join(map(_whole, document.text.split("\n"))) + "\n")
    else:
        typer.echo(document.text + "\n")  # for a file or a program, as it is


def advice_line(facts: dict[str, Any]) -> str:
    """Return the advice of `Collection.info`, with the command as it can be run."""
    return str(facts["advice"]).replace("COLLECTION", shlex.quote(one_line(facts["path"])))


RANKED_BY = {
    "graph": "BM25 and the neighbors of a hit",
    "bm25": "BM25",
    "cosine": "cosine",
    "ip": "inner product",
    "codes": "the distances of the codes",
    "hybrid": "reciprocal rank fusion of words and vectors",
}
READ_AS = {
    "strict": "read with its operators (--plain searches for the words alone)",
    "relaxed": "no document meets the operators of the query; read as words",
}
FOUND_IN = {
    "postings": "the posting lists",
    "codes": "the nearest codes",
    "cells": "the nearest cells",
    "both": "the posting lists and the nearest cells",
}
MOST_WORDS = 20
# Of the last column of a table, however long the keys are, and of a passage.
LEAST_WIDTH = 20
# Characters of a text without a snippet.
PASSAGE = 200


def print_words(hits: Hits) -> None:
    """Say on standard error how the query was read, which words were not searched for, and what may be meant."""
    if hits.reading != "plain":
        typer.echo(READ_AS[hits.reading], err=True)
    if hits.ignored:
        typer.echo(f"ignored: {_listed(hits.ignored)}", err=True)
    plain = [word for word in hits.unknown if word not in hits.suggestions]
    for word in hits.unknown:
        if word in hits.corrected:
            typer.echo(f"unknown: {one_line(word)} (searched for: {one_line(hits.corrected[word])})", err=True)
        elif word in hits.suggestions:
            typer.echo(f"unknown: {one_line(word)} (did you mean: {_listed(hits.suggestions[word])}?)", err=True)
    if plain:
        typer.echo(f"unknown: {_listed(plain)}", err=True)


def print_strategy(hits: Hits) -> None:
    """Say on standard error how hits were found and ranked."""
    typer.echo(f"found in {FOUND_IN[hits.strategy]}, ranked by {RANKED_BY[hits.ranking]}", err=True)


def _listed(words: Sequence[str]) -> str:
    more = f" and {len(words) - MOST_WORDS:,} more" if len(words) > MOST_WORDS else ""
    return ", ".join(one_line(word, 100) for word in words[:MOST_WORDS]) + more


def print_hits(hits: Hits, *, as_json: bool, offset: int = 0, explain: bool = False) -> None:
    """Print the hits of a search, which come after the first ``offset`` ones; with ``explain``, why they are hits."""
    if as_json:
        about: dict[str, Any] = {"strategy": hits.strategy, "ranking": hits.ranking}
        about |= {"ignored": hits.ignored, "unknown": hits.unknown, "suggestions": hits.suggestions}
        about |= {"corrected": hits.corrected, "reading": hits.reading, "total": hits.total}
        about |= {"facets": hits.facet_lists()}
        for hit in hits:
            # In this order, and written out because dataclasses.asdict would copy the metadata.
            row: dict[str, Any] = {"key": hit.key, "score": round(hit.score, 6), "distance": hit.distance}
            row |= {"label": hit.label, "terms": list(hit.terms), "metadata": hit.metadata, "text": hit.text}
            row |= {"snippet": None if hit.snippet is None else hit.snippet._asdict(), "copies": list(hit.copies)}
            print_json(row | about)
    elif hits:
        _print_hits(hits, offset, explain)
        if hits.total is not None:
            typer.echo(_shown_of_all(hits, offset))
        for name, counts in hits.facets.items():
            typer.echo(f"{one_line(name)}: {_listed([f'{value} ({count:,})' for value, count in counts.items()])}")
    else:
        typer.echo("nothing found", err=True)


def _print_hits(hits: Hits, offset: int, explain: bool) -> None:
    """Print titles and passages, each followed by a line with the key in full length."""
    from rich.console import Console
    from rich.text import Text

    from sthash.collection import matched_words, title_of

    console = Console(highlight=False, markup=False)
    margin = len(f"{offset + len(hits)}. ")
    score = {"cosine": "cosine", "ip": "inner product"}.get(hits.ranking, "score")
    for number, hit in enumerate(hits, offset + 1):
        title = title_of(hit)
        lines = [] if title is None else [Text(one_line(title), style="bold")]
        lines += _passage(hit).wrap(console, max(console.width - margin, LEAST_WIDTH)) if hit.text.strip() else []
        facts = [_whole(hit.key)]
        facts += [] if hit.label is None else [one_line(hit.label)]
        facts += [f"{score} {hit.score:.3f}"]
        facts += [f"{len(hit.copies)} near-duplicate{'' if len(hit.copies) == 1 else 's'}"] if hit.copies else []
        if explain:
            facts += [] if hit.distance is None else [f"{hit.distance} bit{'' if hit.distance == 1 else 's'}"]
            facts += [f"matched: {_listed(matched_words(hit))}"] if hit.terms else []
        lines.append(Text(" · ".join(facts), style="dim"))
        for place, line in enumerate(lines):
            line.rstrip()
            # Not wrapped: a key that is broken cannot be copied.
            console.print(Text((f"{number}." if place == 0 else "").ljust(margin)) + line, soft_wrap=True)


def _passage(hit: Hit) -> Text:
    """Return the snippet of a hit, or else the beginning of its text, with the words of the query in bold."""
    from rich.text import Text

    passage = Text(no_wrap=False, overflow="fold")
    if hit.snippet is None:
        return passage.append(one_line(hit.text, PASSAGE) + (" …" if len(hit.text.strip()) > PASSAGE else ""))
    text, spans, start = hit.snippet
    passage.append("… " if start else "")
    done = 0
    for left, right in (*spans, (len(text), len(text))):
        passage.append(_on_one_line(text[done:left]))
        passage.append(_on_one_line(text[left:right]), style="bold")
        done = right
    return passage.append(" …" if start + len(text) < len(hit.text.rstrip()) else "")


def _on_one_line(text: str) -> str:
    """Return a piece of a text without line breaks and control characters; spaces at its ends stay."""
    return one_line(re.sub(r"\s+", " ", text), len(text), squeeze=False)


def _shown_of_all(hits: Hits, offset: int) -> str:
    """Say which of all matches are shown."""
    if offset:
        return f"{offset + 1:,} to {offset + len(hits):,} of {hits.total:,} matches"
    if hits.total == len(hits):
        return f"{hits.total:,} match{'' if hits.total == 1 else 'es'}"
    return f"{len(hits):,} of {hits.total:,} matches"


def print_table(
    headings: Sequence[str], rows: Iterable[Sequence[Any]], *, numbers: Sequence[str] = (), keys: Sequence[str] = ()
) -> None:
    """Print a table that takes the width of the terminal, if it needs it.

    Values of the columns named in ``keys`` are never cut. The others take at most a quarter of the width, and the last
    one what is left.
    """
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    whole = [heading in keys for heading in headings]
    cells = [[_whole(value) if own else one_line(value) for own, value in zip(whole, row, strict=True)] for row in rows]
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold", show_header=any(headings))
    last = len(headings) - 1
    used = 0
    for place, heading in enumerate(headings):
        width = max(cell_len(text) for text in (heading, *(row[place] for row in cells)))
        if not whole[place]:
            most = console.width // 4 if place < last else max(console.width - used, LEAST_WIDTH)
            width = max(1, min(width, most))
        used += width + 2
        justify: Literal["right", "left"] = "right" if heading in numbers else "left"
        table.add_column(heading, justify=justify, width=width, no_wrap=True, overflow="ellipsis")
    for row in cells:
        table.add_row(*map(Text, row))
    console.width = max(console.width, used - 2)  # longer lines wrap
    console.print(table)


def one_line(value: Any, most: int = 1000, *, squeeze: bool = True) -> str:
    """Shorten a value to what one line of a terminal can show: no control characters, no lone surrogates."""
    text = " ".join(str(value)[: 4 * most].split()) if squeeze else str(value).expandtabs()
    shown = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
    return shown[:most]


def _whole(line: Any) -> str:
    """Return a key, or a line of a text, as a terminal can show it, in full length."""
    return one_line(line, len(str(line).expandtabs()), squeeze=False)


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """Show stages with their progress and the time left on standard error, if that is a terminal.

    A stage whose end is not known ends with the next one.
    """
    from rich import progress as bars
    from rich.console import Console

    columns = (
        bars.TextColumn("{task.description}"),
        bars.BarColumn(bar_width=20),
        bars.TaskProgressColumn(),
        bars.MofNCompleteColumn(),
        bars.TimeElapsedColumn(),
        bars.TimeRemainingColumn(),
        bars.TextColumn("left"),
    )
    console = Console(stderr=True)
    with bars.Progress(*columns, console=console, disable=not console.is_terminal) as display:
        tasks: dict[str, bars.TaskID] = {}

        def finish(*, all_steps: bool) -> None:
            for task in display.tasks:
                if all_steps or task.total is None:
                    end = max(task.total or 0, task.completed, 1)
                    display.update(task.id, completed=end, total=end)

        def report(step: str, done: int, total: int | None) -> None:
            if step not in tasks:
                finish(all_steps=False)
                tasks[step] = display.add_task(step, total=total)
            display.update(tasks[step], completed=done, total=total)

        yield report
        finish(all_steps=True)


@contextmanager
def output_file(path: str | None, outdates: str | None = None) -> Iterator[IO[bytes]]:
    """Open a new file to write, which appears when it is whole, or standard output."""
    from sthash.duplicates.spool import naming_full_disk
    from sthash.files import replacing

    if path is None:
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with (
        naming_full_disk(path, "write to a larger disk"),
        replacing(Path(path), outdates=outdates) as temporary,
        temporary.open("wb") as file,
    ):
        yield file
        file.flush()
