"""The command that serves collections over HTTP."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Annotated

import typer


def serve(
    source: Annotated[
        str, typer.Argument(metavar="COLLECTION", help="A collection's file, or a folder of them.", show_default=False)
    ],
    host: Annotated[str, typer.Option(help="Address to listen on; other than this machine's own needs a key.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes any that is free.")] = 8000,
    read_key: Annotated[
        str | None, typer.Option(envvar="STHASH_READ_KEY", help="What clients must show to read.", show_default=False)
    ] = None,
    write_key: Annotated[
        str | None, typer.Option(envvar="STHASH_WRITE_KEY", help="What clients must show to write.", show_default=False)
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Write no line for each request.")] = False,
) -> None:
    """Serve collections over HTTP: a page for people, an interface for programs.

    Other users of this machine can see the command line; keys are safer in the environment.
    """
    from sthash.serve import Settings

    settings = Settings(Path(source), host, port, read_key, write_key)
    try:
        from sthash.serve import serve as run
    except ImportError as error:
        raise ImportError(f"sth serve needs the extra: pip install 'sthash[serve]' ({error}).") from error

    def ready(address: str) -> None:
        _log(quiet=quiet)
        typer.echo(f"{source} is served at {address}  (Ctrl-C ends it)", err=True)

    run(settings, ready)


def _log(*, quiet: bool) -> None:
    """Write what goes wrong to standard error, and a JSON object for each request to standard output."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
    lines = logging.StreamHandler(sys.stdout)
    lines.setFormatter(logging.Formatter("%(message)s"))
    access = logging.getLogger("sthash.serve.access")
    access.setLevel(logging.WARNING if quiet else logging.INFO)
    access.propagate = False
    access.addHandler(lines)
