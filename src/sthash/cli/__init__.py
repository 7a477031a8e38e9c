"""The command ``sth``: one file per command."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any

import typer

from sthash.cli import (
    add,
    build,
    check,
    classify,
    compact,
    copy,
    delete,
    demo,
    duplicates,
    export,
    info,
    relearn,
    reproduce,
    search,
    serve,
    similar,
    tune,
    version,
)
from sthash.cli.option_groups import spread

# In the order in which --help lists them.
COMMANDS = (
    build.build,
    add.add,
    delete.delete,
    relearn.relearn,
    compact.compact,
    copy.copy,
    search.search,
    similar.similar,
    tune.tune,
    duplicates.duplicates,
    classify.classify,
    serve.serve,
    info.info,
    check.check,
    export.export,
    demo.demo,
    reproduce.reproduce,
    version.version,
)

app = typer.Typer(
    name="sth",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback()
def every_command(
    traceback: Annotated[
        bool, typer.Option("--traceback", envvar="STHASH_TRACEBACK", help="On an error, print the whole traceback.")
    ] = False,
) -> None:
    """Self-Taught Hashing: short binary codes for documents, and exact search over them."""


for command in COMMANDS:
    app.command()(spread(command))


def main() -> None:
    """Run the command; an error is one line on standard error."""
    try:
        status: Any = app(prog_name="sth", standalone_mode=False)
        sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(130)
    except typer.Exit as end:
        sys.exit(end.exit_code)
    except BrokenPipeError:
        # The reader of the output has closed it. Python would complain once more when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except (OSError, ValueError, TypeError, KeyError, ImportError, MemoryError, RecursionError) as error:
        _complain(error.args[0] if isinstance(error, KeyError) and error.args else error)
        sys.exit(1)
    except Exception as error:
        # Errors in the command line itself; every version of typer has their base class in another place.
        if not hasattr(error, "format_message"):
            raise
        _complain(f"{error.format_message()} Try: sth --help")
        sys.exit(2)
    sys.exit(status if isinstance(status, int) else 0)


def _complain(error: object) -> None:
    line = " ".join(str(error).split()) or type(error).__name__
    typer.echo(f"sth: {line}".encode(errors="backslashreplace").decode(), err=True)
