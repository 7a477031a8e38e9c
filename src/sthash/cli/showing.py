"""Output: one JSON object a line for programs, tables that fit the terminal for people."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import typer


def print_json(row: dict[str, Any]) -> None:
    """Print one object on one line; ASCII, so that any text gets through any pipe."""
    typer.echo(json.dumps(row))


def print_table(headings: Sequence[str], rows: Iterable[Sequence[Any]], *, numbers: Sequence[str] = ()) -> None:
    """Print a table; keys may take a third of the width, the last column what room is left; a long text is cut."""
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
    """Cut a value down to what a line of a terminal can show: no control characters, no lone surrogates."""
    text = " ".join(str(value)[: 4 * most].split())
    shown = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
    return shown[:most]


@contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int | None], None]]:
    """Show, on standard error if it is a terminal, how far a build is."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        tasks: dict[str, Any] = {}

        def report(step: str, done: int, total: int | None) -> None:
            if step not in tasks:
                tasks[step] = progress.add_task(step, total=total)
            progress.update(tasks[step], completed=done, total=total)

        yield report
