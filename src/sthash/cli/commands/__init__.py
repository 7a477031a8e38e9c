"""The commands of ``sth``: one file each, imported when it is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Callable

# In the order in which --help lists them.
GROUPS = {
    "Start": ("demo", "build", "tune"),
    "Find": ("search", "similar", "duplicates", "dedup", "overlap", "classify"),
    "Inspect": ("get", "list", "info", "check", "export"),
    "Change": ("add", "sync", "delete", "relearn", "compact", "copy"),
    "More": ("serve", "mcp", "evaluate", "reproduce", "scores", "version"),
}
COMMANDS = tuple(name for group in GROUPS.values() for name in group)


def function_of(name: str) -> Callable[..., None]:
    """Return the function of a command."""
    function: Callable[..., None] = getattr(importlib.import_module(f"sthash.cli.commands.{name}"), name)
    return function
