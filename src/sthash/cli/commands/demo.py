"""``sth demo``: a collection of texts that every machine has, and what can be done with it."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

QUERIES = ("parse the command line options of a program", "compress data with gzip", "send an email to a mail server")


def demo(
    collection: Annotated[
        str | None,
        typer.Argument(metavar="COLLECTION", help="File of the collection.  [default: in a temporary folder]"),
    ] = None,
) -> None:
    """Build and search a collection of Python's documentation."""
    from rich.console import Console

    from sthash.applications import classify
    from sthash.cli.output import print_hits, print_table
    from sthash.cli.standard_library import doc_strings
    from sthash.collection import Collection
    from sthash.duplicates import near_duplicates
    from sthash.sources import Document

    console = Console(highlight=False)
    path = Path(collection) if collection else Path(tempfile.mkdtemp(prefix="sth-demo-")) / "python.sth"
    with _step(console, "read the documentation strings of the standard library"):
        found = {entry.name: entry for entry in doc_strings()}
        documents = [Document(entry.name, entry.text, entry.module) for entry in found.values()]
    with _step(console, f"learn 64-bit codes for {len(documents):,} of them, and store all in {path}"):
        built = Collection.create(path, documents, overwrite=collection is None)
    with built:
        for query in QUERIES:
            with _step(console, f"search for “{query}”"):
                hits = built.search(query, 4, explain=True)
            print_hits(hits, as_json=False, explain=True)
            codes = [code.tobytes().hex() for code in built.encode([query, *(hit.text for hit in hits)])]
            console.print(f"code {codes[0]}; of the hits {' '.join(codes[1:])}", style="dim", soft_wrap=True)
        with _step(console, "find near-duplicates"):
            duplicates = near_duplicates(built)
        largest = sorted(duplicates.groups, key=len, reverse=True)[:3]
        print_table(("documents", "the first two"), [(len(group), ", ".join(group[:2])) for group in largest])
        text = "open a compressed archive and extract its members"
        with _step(console, f"guess which module documents “{text}”"):
            shares = classify(built, text, voting="distance").shares
        print_table(("votes", "module"), [(f"{share:.0%}", label) for label, share in list(shares.items())[:3]])
    console.print("\nTry next:", style="bold")
    sth = "sth" if shutil.which("sth") else sys.argv[0]
    for command in (
        f'{sth} search {path} "a queue for threads" -k 5',
        f"{sth} similar {path} json.dumps",
        f"{sth} duplicates {path} --threshold 0.95",
        f'{sth} classify {path} "the sine of an angle"',
        f"{sth} export {path} | head -1",
        f"{sth} build news.sth docs.jsonl --text body    # your own documents",
    ):
        console.print(f"  {command}", soft_wrap=True, markup=False)


@contextmanager
def _step(console: Console, what: str) -> Iterator[None]:
    """Print what was done and how long it took."""
    start = time.perf_counter()
    if console.is_terminal:
        with console.status(what):
            yield
    else:
        yield
    console.print(f"\n[bold]{what}[/bold]  {time.perf_counter() - start:.3f} s", soft_wrap=True)
