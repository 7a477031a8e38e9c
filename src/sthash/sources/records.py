"""Records: one dictionary per document, with its place; and what happens to one that cannot be read."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

# Each record comes with its place, such as "docs.jsonl, line 3", for error messages.
Records = Generator[tuple[str, dict[str, Any]], None, None]

# Of a line, of a record, or of a file that is one document.
LARGEST_RECORD = 64 * 2**20


@dataclass(frozen=True)
class BadRecord:
    """What was skipped, and why.

    Attributes
    ----------
    place : str
        The source, and where in it: a line, a row, an item, or "the rest of it".
    reason : str
        The message of the error that it would have been.
    content : str or None
        What is there, if it could be read.
    """

    place: str
    reason: str
    content: str | None = None


OnBad = Callable[[BadRecord], None]


def refuse(bad: BadRecord) -> None:
    """Skip nothing: raise the error."""
    raise ValueError(bad.reason)


def unreadable(place: str, error: Exception) -> BadRecord:
    """Make the bad record of a file that cannot be read: removed by now, closed to us, damaged."""
    reason = f"{place} cannot be read ({error.strerror})." if isinstance(error, OSError) and error.errno else str(error)
    return BadRecord(place, reason)


def too_large(place: str, remedy: str = "check the format of the source") -> BadRecord:
    """Make the bad record of something that is larger than `LARGEST_RECORD`."""
    return BadRecord(place, f"{place} is larger than {LARGEST_RECORD // 2**20} MiB. Split it, or {remedy}.")
