"""What ``--skip-bad`` skips: counted, and written to a file, so that nothing is lost."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from sthash.sources import BadRecord


class SkippedRecords:
    """A file of JSON lines, made when the first record is skipped; no file that exists is written over.

    Parameters
    ----------
    beside : str
        The file that the documents go to, whose name the new one gets with ``.skipped.jsonl`` at its end.
    """

    def __init__(self, beside: str) -> None:
        self.count = 0
        self._beside = beside
        self._file: IO[str] | None = None

    def __call__(self, bad: BadRecord) -> None:
        """Take note of a record."""
        self._file = self._file or self._new_file()
        line = {"place": bad.place, "reason": bad.reason, "content": bad.content}
        self._file.write(json.dumps(line) + "\n")
        self.count += 1

    def _new_file(self) -> IO[str]:
        for number in itertools.count(1):
            name = f"{self._beside}.skipped{'' if number == 1 else f'-{number}'}.jsonl"
            try:
                return Path(name).open("x", encoding="ascii")
            except FileExistsError:
                continue
        raise AssertionError  # numbers do not end

    def close(self) -> None:
        """Close the file, and say how many were skipped."""
        if self._file is not None:
            self._file.close()
            records = "record was" if self.count == 1 else "records were"
            typer.echo(f"{self.count:,} bad {records} skipped: {self._file.name} says which and why", err=True)


@contextmanager
def skipping(wanted: bool, beside: str) -> Iterator[SkippedRecords | None]:
    """Give what takes note of bad records, or None if they are errors."""
    if not wanted:
        yield None
        return
    skipped = SkippedRecords(beside)
    try:
        yield skipped
    finally:
        skipped.close()
