"""Commands that tell what a collection holds."""

from __future__ import annotations

import typer

from sthash.cli import options


def info(collection: options.Path, json: options.Json = False) -> None:
    """Tell what a collection holds and how it was learnt."""
    from sthash.cli.showing import print_json, print_table
    from sthash.collection import Collection

    with Collection.open(collection) as opened:
        facts = opened.info()
    if json:
        print_json(facts)
    else:
        rows = [
            (name.replace("_", " "), f"{fact:,}" if isinstance(fact, int) else fact) for name, fact in facts.items()
        ]
        print_table(("", ""), rows)


def check(collection: options.Path, json: options.Json = False) -> None:
    """Read everything and compare it with its checksums and with each other."""
    from sthash.cli.showing import print_json
    from sthash.collection import Collection

    with Collection.open(collection) as opened:
        report = opened.check()
    if json:
        print_json({"ok": True, "documents": report.documents, "terms": report.terms, "chunks": report.chunks})
    else:
        typer.echo(f"{collection}: ok, {report.documents:,} documents, {report.terms:,} terms")


def export(collection: options.Path) -> None:
    """Print all documents as JSON lines, which build and add read."""
    from sthash.cli.showing import print_json
    from sthash.collection import Collection

    with Collection.open(collection) as opened:
        for document in opened.export():
            row = {"key": document.key, "text": document.text, "label": document.label, "metadata": document.metadata}
            print_json(row)


def version() -> None:
    """Print the version, and the SIMD path that this machine takes."""
    import sthash

    typer.echo(f"sthash {sthash.__version__} ({sthash.simd_path()})")
