"""``sth demo``: from text to codes to answers, on text that every machine has."""

from __future__ import annotations

import time

QUERIES = (
    "parse the command line options and arguments of a program",
    "compress and decompress data with gzip",
    "send an email message to a mail server",
    "random numbers from a normal distribution",
)
N_BITS = 64
N_NEAREST = 4


def demo() -> None:
    """Learn 64-bit codes for the documentation of Python's standard library, and search them."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console()
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        _run(console, progress)


def _run(console: object, progress: object) -> None:
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table

    from sthash import HammingIndex, SelfTaughtHashing, TextVectorizer
    from sthash.cli.standard_library import doc_strings

    if not isinstance(console, Console) or not isinstance(progress, Progress):
        raise TypeError
