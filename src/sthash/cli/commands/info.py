"""``sth info``: what a collection holds."""

from __future__ import annotations

import typer

from sthash.cli import options


def info(collection: options.Path, json: options.Json = False) -> None:
    """Describe a collection: how its codes were learned, and what the bytes of its file are for."""
    from sthash.cli.output import advice_line, print_json, print_table
    from sthash.collection import Collection

    with Collection.open(collection) as opened:
        facts = {**opened.info(), "parts": opened.part_sizes()}
    if json:
        print_json(facts)
        return
    shown = {name: fact for name, fact in facts.items() if name not in ("advice", "parts")}
    print_table(("", ""), [(name.replace("_", " "), _shown(fact)) for name, fact in shown.items()], keys=("",))
    sizes = [(name, f"{size:,}", f"{size / facts['bytes']:.0%}") for name, size in facts["parts"].items()]
    typer.echo()
    print_table(("part", "bytes", "share"), sizes, numbers=("bytes", "share"), keys=("part",))
    if "advice" in facts:  # not where there are no codes
        typer.echo(f"\n{advice_line(facts)}")


def _shown(fact: object) -> object:
    if fact is None:
        return "-"
    return f"{fact:,}" if type(fact) is int else fact
