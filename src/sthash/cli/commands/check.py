"""``sth check``: whether a collection is damaged."""

from __future__ import annotations

import typer

from sthash.cli import options


def check(collection: options.Path, json: options.Json = False) -> None:
    """Check a collection for damage.

    All parts of the file are read, and compared with their checksums and with each other.
    """
    from sthash.cli.output import print_json
    from sthash.collection import Collection

    with Collection.open(collection) as opened:
        report = opened.check()
    if json:
        print_json({"ok": True, "documents": report.documents, "terms": report.terms, "segments": report.segments})
    else:
        typer.echo(f"{collection}: ok, {report.documents:,} documents, {report.terms:,} terms")
