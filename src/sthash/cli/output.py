"""Output: JSON lines for programs; tables and progress bars for people."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import typer

from sthash.progress import Progress

if TYPE_CHECKING:
    from sthash.collection import Hit


def print_json(row: dict[str, Any]) -> None:
    """Print one object on one line, in ASCII, which every pipe can carry."""
    typer.echo(json.dumps(row))


def print_hits(hits: Sequence[Hit], *, as_json: bool) -> None:
    """Print the hits of a search."""
    if as_json:
        for hit in hits:
            # In this order, and written out because dataclasses.asdict would copy the metadata.
            row: dict[str, Any] = {"key": hit.key, "score": round(hit.score, 6), "distance": hit.distance}
            row |= {"label": hit.label, "terms": list(hit.terms), "metadata": hit.metadata, "text": hit.text}
            print_json(row)
    elif hits:
        rows = [(f"{hit.score:.3f}", hit.distance, hit.key, ", ".join(hit.terms), hit.text) for hit in hits]
        print_table(("cosine", "bits", "key", "terms", "text"), rows, numbers=("cosine", "bits"))
    else:
        typer.echo("nothing found", err=True)


def print_table(headings: Sequence[str], rows: Iterable[Sequence[Any]], *, numbers: Sequence[str] = ()) -> None:
    """Print a table that fits the terminal.

    A column of keys takes at most a third of the width, the last column takes what is left. Long values are cut.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    cells = [[one_line(value) for value in row] for row in rows]
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", show_header=any(headings))
    widest = max(8, console.width // (len(headings) + 1))
    left = console.width
    for place, heading in enumerate(headings):
        longest = max(len(heading), *(len(row[place]) for row in cells))
        most = left - 2 if place == len(headings) - 1 else console.width // 3 if heading == "key" else widest
        width = max(1, min(longest, most))
        left -= width + 2
        justify: Literal["right", "left"] = "right" if heading in numbers else "left"
        table.add_column(heading, justify=justify, width=width, no_wrap=True, overflow="ellipsis")
    for row in cells:
        table.add_row(*map(Text, row))
    console.print(table)


def one_line(value: Any, most: int = 300) -> str:
    """Shorten a value to what one line of a terminal can show: no control characters, no lone surrogates."""
    text = " ".join(str(value)[: 4 * most].split())
    shown = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
    return shown[:most]


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """Show progress on standard error, if that is a terminal."""
    from rich import progress as bars
    from rich.console import Console

    columns = (
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TimeElapsedColumn(),
    )
    console = Console(stderr=True)
    with bars.Progress(*columns, console=console, disable=not console.is_terminal) as display:
        tasks: dict[str, bars.TaskID] = {}

        def report(step: str, done: int, total: int | None) -> None:
            if step not in tasks:
                tasks[step] = display.add_task(step, total=total)
            display.update(tasks[step], completed=done, total=total)

        yield report
