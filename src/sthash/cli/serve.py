"""``sth serve``: collections over HTTP."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Annotated

import typer

from sthash.cli.embedders import EmbedderOptions
from sthash.extras import install_command


def serve(
    source: Annotated[
        str,
        typer.Argument(
            metavar="COLLECTION", help="The file of a collection, or a folder of such files.", show_default=False
        ),
    ],
    host: Annotated[
        str, typer.Option(help="Address to listen on. An address that other machines can reach needs a read key.")
    ] = ("127.0.0.1"),
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.")] = 8000,
    read_key: Annotated[
        str | None, typer.Option(envvar="STHASH_READ_KEY", help="Key that clients need to read.", show_default=False)
    ] = None,
    write_key: Annotated[
        str | None, typer.Option(envvar="STHASH_WRITE_KEY", help="Key that clients need to write.", show_default=False)
    ] = None,
    time_limit: Annotated[float, typer.Option(min=1, help="Seconds that one request may take.")] = 30,
    follow_links: Annotated[
        bool, typer.Option("--follow-links", help="Also serve files outside of the folder that it links to.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Log no requests.")] = False,
    embedder: EmbedderOptions = EmbedderOptions(),  # noqa: B008
) -> None:
    """Serve collections over HTTP, with a web page and an API.

    Other users of this machine can see the command line, so pass keys in the environment variables.
    """
    from sthash.serve import Settings
    from sthash.serve.limits import Limits

    settings = Settings(
        Path(source),
        host,
        port,
        read_key,
        write_key,
        Limits(seconds=time_limit),
        follow_links=follow_links,
        **embedder.keywords(),
    )
    try:
        from sthash.serve import serve as run
    except ImportError as error:
        raise ImportError(
            f"sth serve needs packages that are missing ({error}). Run: {install_command('serve')}"
        ) from error

    def ready(address: str) -> None:
        _log(quiet=quiet)
        typer.echo(f"{source} is served at {address}  (Ctrl-C ends it)", err=True)

    run(settings, ready)


def _log(*, quiet: bool) -> None:
    """Log problems to standard error, and one JSON object per request to standard output."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
    lines = logging.StreamHandler(sys.stdout)
    lines.setFormatter(logging.Formatter("%(message)s"))
    access = logging.getLogger("sthash.serve.access")
    access.setLevel(logging.WARNING if quiet else logging.INFO)
    access.propagate = False
    access.addHandler(lines)
