"""``sth scores``: precision at 100 on any labeled corpus, as the semantic-hashing literature reports it."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Style(StrEnum):
    """How scores are printed."""

    table = "table"
    latex = "latex"
    json = "json"


class Part(StrEnum):
    """The part whose documents are the queries."""

    test = "test"
    cv = "cv"


class Weights(StrEnum):
    """How the values of a .mat file are weighted."""

    auto = "auto"
    tfidf = "tfidf"
    given = "given"


def scores(
    corpus: Annotated[
        str,
        typer.Argument(
            metavar="CORPUS",
            help="A .mat or .npz file, a folder with one folder per label, .jsonl or .csv, or 20newsgroups.",
        ),
    ],
    method: Annotated[
        str | None,
        typer.Option(help="Methods, separated by commas; also package.module:Class.  [default: all]"),
    ] = None,
    n_bits: Annotated[str, typer.Option(help="Code lengths, separated by commas.")] = "16,32,64,128",
    k: Annotated[int, typer.Option("-k", min=1, help="Cutoff of the precision: the first k documents.")] = 100,
    queries: Annotated[
        Part, typer.Option(help="Part of a .mat file whose documents are the queries; cv is for choosing settings.")
    ] = Part.test,
    weights: Annotated[
        Weights,
        typer.Option(help="Values of a .mat file: tfidf weights counts, given takes them as they are, auto decides."),
    ] = Weights.auto,
    last: Annotated[
        int | None, typer.Option(min=1, help="The last so many rows of a .npz file are the queries.  [default: 40 %]")
    ] = None,
    style: Annotated[Style, typer.Option("--format", help="How to print the scores.")] = Style.table,
) -> None:
    """Score this method and others on a labeled corpus.

    Every method learns from the training documents. The test documents are queries, and documents that share a label
    with a query are relevant to it: the precision of the first 100 by Hamming distance is printed.
    """
    from sthash.cli.output import progress_bar
    from sthash.reproduction.datasets import DatasetError
    from sthash.reproduction.field import as_json, as_table, choose_methods, field_scores, load_corpus

    sys.path.insert(0, str(Path.cwd()))  # a method of the user's own is imported from the current folder
    lengths = _lengths(n_bits)
    names = [name.strip() for name in (method or "").split(",") if name.strip()]
    methods = choose_methods(names, dense=Path(corpus).suffix == ".npz")
    try:
        loaded = load_corpus(corpus, queries=queries.value, weights=weights.value, last=last)
    except DatasetError as error:
        raise ValueError(str(error)) from error
    with progress_bar() as report:
        found = list(field_scores(loaded, methods, lengths, k, report))
    if style is Style.json:
        typer.echo(as_json(loaded, found, k))
    else:
        typer.echo(as_table(found, "latex" if style is Style.latex else "markdown"))
    for name, reason in {one.method: one.error for one in found if one.error}.items():
        typer.echo(f"sth: {name} failed: {reason}", err=True)


def _lengths(given: str) -> list[int]:
    try:
        lengths = [int(part) for part in given.split(",")]
    except ValueError as error:
        raise ValueError(f"--n-bits {given!r} must be numbers separated by commas, such as 16,32,64.") from error
    if not lengths or any(a >= b for a, b in zip([0, *lengths], lengths, strict=False)):
        raise ValueError(f"--n-bits {given!r} must be positive and increasing, such as 16,32,64.")
    return lengths
