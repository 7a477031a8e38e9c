"""``sth info``: what a collection holds."""

from __future__ import annotations

import typer

from sthash.cli import options


def info(collection: options.Path, json: options.Json = False) -> None:
    """Describe a collection and how its codes were learned."""
    from sthash.cli.output import advice_line, print_json, print_table
    from sthash.collection import Collection

    with Collection.open(collection) as opened:
        facts = opened.info()
    if json:
        print_json(facts)
        return
    shown = {name: fact for name, fact in facts.items() if name != "advice"}
    print_table(("", ""), [(name.replace("_", " "), _shown(fact)) for name, fact in shown.items()], keys=("",))
    if "advice" in facts:  # not where there are no codes
        typer.echo(f"\n{advice_line(facts)}")


def _shown(fact: object) -> object:
    if fact is None:
        return "-"
    return f"{fact:,}" if type(fact) is int else fact
