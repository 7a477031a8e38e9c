"""Every number of the results as one table of plain rows, for a spreadsheet or for one's own figures."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

from sthash.reproduction.runner import Outcome

COLUMNS = ("kind", "corpus", "split", "method", "what", "bits", "radius", "measure", "value")
# Keys of a result that name a row instead of being a measure.
_LENGTH, _RADIUS, _STEP = ("n_bits", "bits"), ("radius",), ("step",)

Row = tuple[str, str, str, str]  # what, bits, radius, measure


def as_csv(outcome: Outcome) -> str:
    """Write one row per measured number.

    Examples
    --------
    >>> from sthash.reproduction.report.numbers import as_csv
    >>> from sthash.reproduction.results import Job
    >>> from sthash.reproduction.runner import Outcome
    >>> scores = {"scores": {"topics": {"balls": [{"n_bits": 16, "radius": 1, "f1": 0.5}]}}}
    >>> print(as_csv(Outcome({Job("scores", "news", 0, "sth"): scores})).splitlines()[1])
    scores,news,0,sth,scores topics balls,16,1,f1,0.5
    """
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(COLUMNS)
    for job, result in outcome.results.items():
        for (what, bits, radius, measure), value in _numbers(result):
            writer.writerow((job.kind, job.dataset, job.split, job.method, what, bits, radius, measure, repr(value)))
    return target.getvalue()


def _numbers(result: dict[str, Any]) -> Iterator[tuple[Row, float]]:
    for name, part in result.items():
        if name != "codes":  # packed, and kept for the tests of significance only
            yield from _within(part, (name,), "", "")


def _within(part: Any, path: tuple[str, ...], bits: str, radius: str) -> Iterator[tuple[Row, float]]:
    """Yield the numbers of a nested result; lengths, radii and steps name the rows."""
    if isinstance(part, dict):
        bits = next((str(part[name]) for name in _LENGTH if name in part), bits)
        radius = next((str(part[name]) for name in _RADIUS if name in part), radius)
        path = path + tuple(str(part[name]) for name in _STEP if name in part)
        for name, value in part.items():
            if name not in (*_LENGTH, *_RADIUS, *_STEP):
                yield from _within(value, (*path, str(name)), bits, radius)
    elif isinstance(part, list):
        for value in part:
            yield from _within(value, path, bits, radius)
    elif isinstance(part, int | float) and not isinstance(part, bool):
        yield (" ".join(path[:-1]), bits, radius, path[-1]), part
