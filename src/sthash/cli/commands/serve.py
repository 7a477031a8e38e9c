"""``sth serve``: collections over HTTP."""

from __future__ import annotations

import functools
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
    settings_file: Annotated[
        Path | None,
        typer.Option("--settings", help="TOML file with keys and limits; SIGHUP reads it again.", show_default=False),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes that serve; they share the limits.")] = 1,
    socket: Annotated[
        Path | None, typer.Option(help="Listen on this Unix socket instead of an address.", show_default=False)
    ] = None,
    prefix: Annotated[str, typer.Option(help="Path below which a proxy offers the server: /search")] = "",
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(
            help="Proxy whose X-Forwarded-For is believed: an address, a network, or 'unix'. May be repeated.",
            show_default=False,
        ),
    ] = None,
    embedder: EmbedderOptions = EmbedderOptions(),  # noqa: B008
) -> None:
    """Serve collections over HTTP, with a web page and an API.

    Other users of this machine can see the command line, so pass keys in the environment variables.
    """
    try:
        from sthash.serve import Settings
        from sthash.serve import serve as run
        from sthash.serve.limits import Limits
        from sthash.serve.logs import log_to_standard_streams
    except ImportError as error:
        raise ImportError(
            f"sth serve needs packages that are missing ({error}). Run: {install_command('serve')}"
        ) from error

    settings = Settings(
        Path(source),
        host,
        port,
        read_key,
        write_key,
        Limits(seconds=time_limit),
        follow_links=follow_links,
        file=settings_file,
        socket=socket,
        prefix=prefix,
        trusted_proxies=tuple(trusted_proxy or ()),
        workers=workers,
        **embedder.keywords(),
    )

    def ready(address: str) -> None:
        typer.echo(f"{source} is served at {address}  (Ctrl-C ends it)", err=True)

    run(settings, ready, functools.partial(log_to_standard_streams, quiet=quiet))
