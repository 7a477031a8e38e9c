"""A claim, its verdict, and the names of what it was measured on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sthash.reproduction.conditions import Experiment

HOLDS, PARTLY, FAILS, UNKNOWN = "holds", "in part", "does not hold", "not measured"


class Claim(NamedTuple):
    """A claim of the paper, what was measured of it, and the verdict."""

    text: str
    measured: str
    verdict: str


def verdict(outcomes: list[bool]) -> str:
    """Say what follows from the outcomes of all comparisons.

    Examples
    --------
    >>> from sthash.reproduction.report.verdicts import verdict
    >>> verdict([True, True]), verdict([True, False]), verdict([False]), verdict([])
    ('holds', 'in part', 'does not hold', 'not measured')
    """
    if not outcomes:
        return UNKNOWN
    return HOLDS if all(outcomes) else PARTLY if any(outcomes) else FAILS


def listed(names: Iterable[str]) -> str:
    """Join names as a sentence does.

    Examples
    --------
    >>> from sthash.reproduction.report.verdicts import listed
    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def on(experiments: Iterable[Experiment]) -> str:
    """Name the corpora that a claim was measured on."""
    return listed(dict.fromkeys(experiment.title for experiment in experiments))
