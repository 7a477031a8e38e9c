"""Programs of the tests' own that run in a process of their own: ``support.NAME`` as a module."""

import os
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
ENVIRONMENT = os.environ | {"PYTHONPATH": str(TESTS)}


def command(module: str, *arguments: object) -> list[str]:
    """Give the command line; run it with `ENVIRONMENT`."""
    return [sys.executable, "-W", "ignore", "-m", f"support.{module}", *map(str, arguments)]
