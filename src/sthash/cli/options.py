"""Arguments and options that several commands share."""

from __future__ import annotations

from typing import Annotated, Any

import typer

Path = Annotated[str, typer.Argument(metavar="COLLECTION", help="The collection's file.", show_default=False)]
Sources = Annotated[
    list[str],
    typer.Argument(
        metavar="SOURCE...",
        help="Folders of text files; .txt (a document a line), .jsonl, .csv, .tsv or .parquet files, also as .gz or "
        ".xz; - for standard input.",
        show_default=False,
    ),
]
KeyField = Annotated[str | None, typer.Option("--key", help="Field that holds the key.  [default: key or id]")]
TextField = Annotated[str | None, typer.Option("--text", help="Field that holds the text.  [default: text]")]
LabelField = Annotated[str | None, typer.Option("--label", help="Field that holds the label.  [default: label]")]
Encoding = Annotated[str, typer.Option(help="Of the sources.")]
Format = Annotated[
    str | None, typer.Option(help="Of the sources, where their names do not tell; jsonl for standard input.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")]
Count = Annotated[int, typer.Option("-k", help="How many.")]
Radius = Annotated[int | None, typer.Option(help="Look only so many bits around the query's code.")]
Where = Annotated[
    list[str] | None,
    typer.Option(metavar="FIELD=VALUE", help="Only documents whose metadata has this value; may be given again."),
]


def conditions(where: list[str] | None) -> dict[str, Any] | None:
    """Read FIELD=VALUE pairs. Of several values for a field, one must hold; a number also stands for itself as text."""
    if not where:
        return None
    wanted: dict[str, list[Any]] = {}
    for condition in where:
        field, equals, value = condition.partition("=")
        if not equals:
            raise ValueError(f"--where {condition!r} must have the form FIELD=VALUE.")
        wanted.setdefault(field, []).append(value)
        for kind in (int, float):
            try:
                wanted[field].append(kind(value))
                break
            except ValueError:
                continue
    return dict(wanted)
