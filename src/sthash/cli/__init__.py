"""The command ``sth``."""

from __future__ import annotations

import difflib
import inspect
import os
import re
import sys
import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from sthash.cli.commands import COMMANDS, GROUPS, function_of
from sthash.cli.option_groups import spread
from sthash.cli.wording import in_words_of_the_command_line

EXPECTED = (
    *(OSError, ValueError, TypeError, KeyError, ImportError),
    *(MemoryError, RecursionError, ArithmeticError),
)
LOOKS: dict[str, Any] = {"pretty_exceptions_enable": False, "rich_markup_mode": None}
EXAMPLES = """
Examples:
  sth demo                                     build and search a collection of Python's documentation
  sth build news.sth docs.jsonl --text body    build a collection from your own documents
  sth search news.sth football goal            search it
"""


class GroupedCommands(TyperGroup):
    """All commands, listed by what they are for; each is made when it is asked for, because making all takes longer."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, or None if there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        single = typer.Typer(add_completion=False, **LOOKS)
        single.command(cmd_name)(spread(function_of(cmd_name)))
        return typer.main.get_command(single)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands."""
        for title, names in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name, self.get_command(ctx, name).get_short_help_str(100)) for name in names])

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples as they are."""
        formatter.write(EXAMPLES)


app = typer.Typer(name="sth", cls=GroupedCommands, **LOOKS)


def _print_version(wanted: bool) -> None:
    if wanted:
        function_of("version")()
        raise typer.Exit


@app.callback()
def every_command(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    traceback: Annotated[
        bool, typer.Option("--traceback", envvar="STHASH_TRACEBACK", help="Print the traceback of an error.")
    ] = False,
) -> None:
    """Search documents and embeddings in one file, by words, vectors and binary codes that are learned from them."""


def main() -> None:
    """Run the command; an error, or a warning, is one line on standard error."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warn
            status: Any = app(sys.argv[1:] or ["--help"], prog_name="sth", standalone_mode=False)
        sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(130)
    except typer.Exit as end:
        sys.exit(end.exit_code)
    except BrokenPipeError:
        # The reader of the output has closed it. Python would complain once more when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except EXPECTED as error:
        _complain(error.args[0] if isinstance(error, KeyError) and error.args else error)
        sys.exit(1)
    except Exception as error:
        # Errors in the command line itself; every version of typer has their base class in another place.
        if not hasattr(error, "format_message"):
            raise
        _complain(f"{error.format_message().rstrip('.')}. {_hint(error)}")
        sys.exit(2)
    sys.exit(status if isinstance(status, int) else 0)


def _hint(error: Any) -> str:
    """Say what to do about an error in the command line."""
    option, context = getattr(error, "option_name", ""), getattr(error, "ctx", None)
    if option.startswith("-") and not option.startswith("--") and getattr(context, "info_name", "") == "search":
        return "To exclude a word, put -- before the words: sth search COLLECTION -- cat -dog"
    unknown = re.match(r"No such command '(.+)'", error.format_message())
    if unknown and (near := difflib.get_close_matches(unknown[1], COMMANDS, 1)):
        return f"Did you mean {near[0]}?"
    return f"Try: {getattr(context, 'command_path', None) or 'sth'} --help"


def _warn(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """Print a warning that is for users; others are for programmers."""
    seems = getattr(message, "seems", None)
    if seems is not None:  # of sthash.text.detection, in the words of the command line
        chosen, guess = getattr(message, "chosen", ""), getattr(message, "guess", "")
        _complain(
            f"most of the text seems to be {seems}, but stems and stop words are for {chosen.capitalize()}. "
            f"Build with --language {guess}."
        )
    elif issubclass(category, UserWarning | RuntimeWarning):
        _complain(message)


def _complain(error: object) -> None:
    line = in_words_of_the_command_line(" ".join(str(error).split()), _option_names()) or type(error).__name__
    typer.echo(f"sth: {line}".encode(errors="backslashreplace").decode(), err=True)


def _option_names() -> set[str]:
    """Return the options of all commands, as Python names them."""
    return {name for command in COMMANDS for name in inspect.signature(spread(function_of(command))).parameters}
