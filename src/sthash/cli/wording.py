"""Messages of the library in the words of the command line."""

from __future__ import annotations

import re
from collections.abc import Collection

# What Python code passes, then the option: overwrite=True (--overwrite), Learning(n_bits=64) (--n-bits 64).
_BOTH = re.compile(r"(?:[\w.=]+\([^()]*\)|\S+) \((--[a-z][^()]*)\)")
_ARGUMENT = re.compile(r"(?<![^\s(])([a-z_]+)=(True\b|(?=[\w'.-]))")


def in_words_of_the_command_line(message: str, options: Collection[str]) -> str:
    """Replace arguments of Python by options.

    Parameters
    ----------
    message : str
    options : collection of str
        Names of the options, as Python spells them.

    Examples
    --------
    >>> from sthash.cli.wording import in_words_of_the_command_line
    >>> in_words_of_the_command_line("x.sth exists already. Pass overwrite=True (--overwrite) to replace it.", set())
    'x.sth exists already. Pass --overwrite to replace it.'
    >>> in_words_of_the_command_line("n_bits=5000 must be at most 1024.", {"n_bits"})
    '--n-bits 5000 must be at most 1024.'
    """

    def option(match: re.Match[str]) -> str:
        name, value = match.groups()
        if name not in options:
            return match.group()
        return f"-{name} " if len(name) == 1 else f"--{name.replace('_', '-')}{'' if value else ' '}"

    return _ARGUMENT.sub(option, _BOTH.sub(r"\1", message))
