"""What is skipped, files of folders and, with ``--skip-bad``, records: counted and listed in a file."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from sthash.sources import BadRecord


# In the reason of a file that needs a package.
INSTALL = "Install it: "


class SkippedRecords:
    """A file of JSON lines, made when the first record is skipped; no file that exists is written over.

    Parameters
    ----------
    beside : str
        The file that the documents go to, whose name the new one gets with ``.skipped.jsonl`` at its end.
    """

    def __init__(self, beside: str) -> None:
        self.records = self.files = 0
        self._beside = beside
        self._file: IO[str] | None = None
        self._advice: dict[str, None] = {}

    def __call__(self, bad: BadRecord) -> None:
        """Take note of a record."""
        self._write(bad)
        self.records += 1

    def file(self, bad: BadRecord) -> None:
        """Take note of a file of a folder."""
        self._write(bad)
        self.files += 1
        advice = bad.reason.removeprefix(f"{bad.place}: ")
        if INSTALL in advice:  # the same for all files of a kind
            self._advice[advice] = None

    def _write(self, bad: BadRecord) -> None:
        self._file = self._file or self._new_file()
        from sthash.cli.output import json_line

        line = {"place": bad.place, "reason": bad.reason, "content": bad.content}
        self._file.write(json_line(line, "utf-8") + "\n")

    def _new_file(self) -> IO[str]:
        for number in itertools.count(1):
            name = f"{self._beside}.skipped{'' if number == 1 else f'-{number}'}.jsonl"
            try:
                return Path(name).open("x", encoding="utf-8")
            except FileExistsError:
                continue
        raise AssertionError  # numbers do not end

    def close(self) -> None:
        """Close the file, and say how many were skipped."""
        if self._file is not None:
            self._file.close()
            counts = [(self.files, "file"), (self.records, "bad record")]
            listed = " and ".join(f"{count:,} {what}{'' if count == 1 else 's'}" for count, what in counts if count)
            verb = "was" if self.files + self.records == 1 else "were"
            typer.echo(f"{listed} {verb} skipped: {self._file.name} says which and why", err=True)
            for advice in self._advice:
                typer.echo(advice, err=True)


@contextmanager
def skipping(beside: str) -> Iterator[SkippedRecords]:
    """Give what takes note of what is skipped."""
    skipped = SkippedRecords(beside)
    try:
        yield skipped
    finally:
        skipped.close()
