"""``sth info``: what a collection holds."""

from __future__ import annotations

import typer

from sthash.cli import options


def info(collection: options.Path, json: options.Json = False) -> None:
    """Print what a collection holds and how its codes were learned."""
    from sthash.cli.output import advice_line, print_json, print_table
    from sthash.collection import Collection

    with Collection.open(collection) as opened:
        facts = opened.info()
    if json:
        print_json(facts)
    else:
        said = advice_line(facts)
        del facts["advice"]
        print_table(("", ""), [(name.replace("_", " "), _shown(fact)) for name, fact in facts.items()])
        typer.echo(f"\n{said}")


def _shown(fact: object) -> object:
    if fact is None:
        return "-"
    return f"{fact:,}" if type(fact) is int else fact
