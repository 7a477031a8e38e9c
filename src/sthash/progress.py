"""How long-running work reports its progress; `sthash.cli.output` shows it to people."""

from __future__ import annotations

from collections.abc import Callable

# Called with the name of the step, how much is done, and of how much (None if not known).
Progress = Callable[[str, int, int | None], None]
# A step of a build that has no length: the file is there, and hash functions are learned from now on.
SEARCHABLE = "words can be searched"


def silent(step: str, done: int, total: int | None) -> None:
    """Report no progress."""
