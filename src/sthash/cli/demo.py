"""``sth demo``: from text to codes to answers, on text that every machine has."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.table import Table

N_BITS = 64
N_NEAREST = 4
QUERIES = (
    "parse the command line options and arguments of a program",
    "compress and decompress data with gzip",
    "send an email message to a mail server",
    "random numbers from a normal distribution",
)


def demo() -> None:
    """Learn 64-bit codes for the documentation of Python's standard library, and search them."""
    from sthash import HammingIndex, SelfTaughtHashing, TextVectorizer
    from sthash.cli.standard_library import doc_strings

    console = Console()
    took: dict[str, float] = {}
    with _step(console, took, "reading the standard library's documentation"):
        documents = list(doc_strings())
    vectorizer, hasher, index = TextVectorizer(), SelfTaughtHashing(N_BITS), HammingIndex(N_BITS)
    with _step(console, took, "turning it into vectors"):
        X = vectorizer.fit_transform(document.text for document in documents)
    with _step(console, took, "learning codes"):
        index.add(hasher.fit_transform(X))
    with _step(console, took, f"encoding {len(QUERIES)} queries"):
        queries = hasher.transform(vectorizer.transform(QUERIES))
    with _step(console, took, "searching"):
        ids, distances = index.search(queries, k=N_NEAREST)

    modules = len({document.module for document in documents})
    console.print(f"\n{len(documents):,} documents of {modules} modules, {X.shape[1]:,} terms, {N_BITS}-bit codes")
    for query, code, found, away in zip(QUERIES, queries, ids.tolist(), distances.tolist(), strict=True):
        table = Table(title=f"“{query}”  {code.tobytes().hex()}", title_justify="left", box=None, padding=(0, 2, 0, 0))
        for heading in ("bits away", "code", "module", "documentation of"):
            table.add_column(heading, justify="right" if heading == "bits away" else "left")
        for row, distance in zip(found, away, strict=True):
            document = documents[row]
            table.add_row(str(distance), hasher.codes_[row].tobytes().hex(), document.module, document.name)
        console.print()
        console.print(table)
    steps = Table(title="What it took", title_justify="left", box=None, padding=(0, 2, 0, 0), show_header=False)
    for what, seconds in took.items():
        steps.add_row(what, f"{seconds:.3f} s")
    console.print()
    console.print(steps)
    per_document = 1e3 * (took["turning it into vectors"] + took["learning codes"]) / len(documents)
    console.print(f"{per_document:.2f} ms a document for learning; the paper's Pentium 4 took 16.5.")


@contextmanager
def _step(console: Console, took: dict[str, float], what: str) -> Iterator[None]:
    """Time a step; on a terminal, show that it runs."""
    start = time.perf_counter()
    if console.is_terminal:
        with console.status(what):
            yield
    else:
        yield
    took[what] = time.perf_counter() - start
