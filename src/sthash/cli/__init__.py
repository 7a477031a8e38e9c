"""The command ``sth``: one file a command group."""

from __future__ import annotations

import sys

import typer

from sthash.cli.demo import demo

app = typer.Typer(
    name="sth",
    help="Self-Taught Hashing: short binary codes for documents, and exact search over them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command()(demo)


@app.command()
def version() -> None:
    """Print the version, and the SIMD path that this machine takes."""
    import sthash

    typer.echo(f"sthash {sthash.__version__} ({sthash.simd_path()})")


def main() -> None:
    """Run the command; an error is one line on standard error."""
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(130)
    except (OSError, ValueError) as error:
        typer.echo(f"sth: {error}", err=True)
        sys.exit(1)
