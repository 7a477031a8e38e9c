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
        shown = {name: f"{fact:,}" if type(fact) is int else fact for name, fact in facts.items()}
        print_table(("", ""), [(name.replace("_", " "), fact) for name, fact in shown.items()])
        typer.echo(f"\n{said}")
