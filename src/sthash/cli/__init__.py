"""The command ``sth``: one file a command group."""

from __future__ import annotations

import os
import sys
from typing import Any

import typer

from sthash.cli import applying, changing, demo, finding, inspecting, reproducing, serving, tuning

app = typer.Typer(
    name="sth",
    help="Self-Taught Hashing: short binary codes for documents, and exact search over them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command()(changing.build)
app.command()(changing.add)
app.command()(changing.delete)
app.command()(changing.relearn)
app.command()(changing.compact)
app.command()(finding.search)
app.command()(finding.similar)
app.command()(tuning.tune)
app.command()(applying.duplicates)
app.command()(applying.classify)
app.command()(serving.serve)
app.command()(inspecting.info)
app.command()(inspecting.check)
app.command()(inspecting.export)
app.command()(demo.demo)
app.command()(reproducing.reproduce)
app.command()(inspecting.version)


def main() -> None:
    """Run the command; an error is one line on standard error."""
    try:
        status: Any = app(standalone_mode=False)
        sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(130)
    except typer.Exit as end:
        sys.exit(end.exit_code)
    except BrokenPipeError:
        # Whoever reads the output has had enough. Python would complain once more when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except (OSError, ValueError, TypeError, KeyError, ImportError, MemoryError, RecursionError) as error:
        _complain(error.args[0] if isinstance(error, KeyError) and error.args else error)
        sys.exit(1)
    except Exception as error:
        # The command line's own errors, whose base class is in another place in every version of typer.
        if not hasattr(error, "format_message"):
            raise
        _complain(f"{error.format_message()} Try: sth --help")
        sys.exit(2)
    sys.exit(status if isinstance(status, int) else 0)


def _complain(error: object) -> None:
    line = " ".join(str(error).split()) or type(error).__name__
    typer.echo(f"sth: {line}".encode(errors="backslashreplace").decode(), err=True)
