"""Results as the report needs them: averages over the splits, with their spread."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sthash.reproduction.conditions import Experiment, Method, shown_lengths
from sthash.reproduction.runner import Outcome, Run

RELEVANCE_TITLES = {"neighbors": "original nearest neighbors", "topics": "same-topic documents"}


class Spread(NamedTuple):
    """Mean and standard deviation over the splits."""

    mean: float
    deviation: float
    n: int

    def text(self, digits: int = 3) -> str:
        """Show the mean, and the deviation where there are several splits."""
        shown = f"{self.mean:.{digits}f}"
        return f"{shown} ± {self.deviation:.{digits}f}" if self.n > 1 else shown


# Half the width of a 95 % interval, in standard errors.
NORMAL_95 = 1.96


def with_interval(values: Sequence[float], errors: Sequence[float]) -> str:
    """Show a mean with ±: over several splits one standard deviation, on one split the 95 % interval over the queries.

    Examples
    --------
    >>> from sthash.reproduction.report.summary import with_interval
    >>> with_interval([0.5], [0.01]), with_interval([0.25, 0.75], [0.01, 0.01])
    ('0.500 ± 0.020', '0.500 ± 0.354')
    """
    return spread(values).text() if len(values) > 1 else f"{values[0]:.3f} ± {NORMAL_95 * errors[0]:.3f}"


def spread(values: Iterable[float]) -> Spread:
    """Average some values.

    Examples
    --------
    >>> from sthash.reproduction.report.summary import spread
    >>> spread([0.25, 0.75]).text(2), spread([0.5]).text(2)
    ('0.50 ± 0.35', '0.50')
    """
    known = list(values)
    deviation = float(np.std(known, ddof=1)) if len(known) > 1 else 0.0
    return Spread(math.fsum(known) / len(known), deviation, len(known))


class Point(NamedTuple):
    """A precision-recall point of a code length, and the standard deviations over the splits."""

    n_bits: int
    precision: float
    recall: float
    precision_error: float = 0.0
    recall_error: float = 0.0


@dataclass(frozen=True)
class Summary:
    """What was measured, by corpus, method and relevance."""

    run: Run
    outcome: Outcome

    @property
    def experiments(self) -> list[Experiment]:
        """Corpora with scores."""
        return [one for one in self.run.experiments if any(self.scores(one, method) for method in self.run.methods)]

    @property
    def papers(self) -> list[Experiment]:
        """Corpora with scores that claims of the paper are about: all but those marked as ours."""
        return [one for one in self.experiments if not one.ours]

    def methods(self, experiment: Experiment) -> list[Method]:
        """Methods with scores on a corpus."""
        return [method for method in self.run.methods if self.scores(experiment, method)]

    def has(self, experiment: Experiment, *names: str) -> bool:
        """Whether all of these methods have scores on a corpus."""
        return set(names) <= {method.name for method in self.methods(experiment)}

    def method(self, name: str) -> Method:
        """Find a method by its name."""
        return next(method for method in self.run.methods if method.name == name)

    def scores(self, experiment: Experiment, method: Method | str) -> list[dict[str, Any]]:
        """Scores of a method, one entry per split."""
        name = method if isinstance(method, str) else method.name
        return self.outcome.of("scores", experiment.name, name)

    def ball(self, experiment: Experiment, method: Method | str, relevance: str, bits: int, radius: int) -> BallScores:
        """Averages at one code length and radius."""
        found = [
            next(b for b in result["scores"][relevance]["balls"] if (b["n_bits"], b["radius"]) == (bits, radius))
            for result in self.scores(experiment, method)
        ]
        return BallScores(bits, radius, found)

    def balls(self, experiment: Experiment, method: Method | str, relevance: str) -> list[BallScores]:
        """Averages at every code length and radius."""
        splits = [result["scores"][relevance]["balls"] for result in self.scores(experiment, method)]
        return [BallScores(group[0]["n_bits"], group[0]["radius"], list(group)) for group in zip(*splits, strict=True)]

    def ranking(self, experiment: Experiment, method: Method | str, relevance: str, measure: str) -> dict[int, Spread]:
        """Averages of a measure of the ranking, by code length."""
        splits = [result["scores"][relevance]["rankings"] for result in self.scores(experiment, method)]
        return {group[0]["n_bits"]: spread(one[measure] for one in group) for group in zip(*splits, strict=True)}

    def ranking_text(
        self, experiment: Experiment, method: Method | str, relevance: str, measure: str, error: str
    ) -> dict[int, str]:
        """A measure of the ranking with its spread or interval, by code length."""
        splits = [result["scores"][relevance]["rankings"] for result in self.scores(experiment, method)]
        return {
            group[0]["n_bits"]: with_interval([one[measure] for one in group], [one[error] for one in group])
            for group in zip(*splits, strict=True)
        }

    def curve(self, experiment: Experiment, method: Method | str, relevance: str, strict: bool) -> list[Point]:
        """Precision and recall at the paper's radius, by code length."""
        radius = self.run.protocol["curve_radius"]
        name = "precision_strict" if strict else "precision"
        return [
            Point(ball.n_bits, ball[name].mean, ball["recall"].mean, ball[name].deviation, ball["recall"].deviation)
            for ball in self.balls(experiment, method, relevance)
            if ball.radius == radius
        ]

    def best(
        self, experiment: Experiment, method: Method | str, relevance: str, measure: str = "f1", **fixed: int
    ) -> BallScores:
        """Find the code length and radius at which a measure is best; one of them may be fixed."""
        balls = self.balls(experiment, method, relevance)
        for name, value in fixed.items():
            balls = [ball for ball in balls if getattr(ball, name) == value]
        return max(balls, key=lambda ball: ball[measure].mean)

    @property
    def lengths(self) -> list[int]:
        """Code lengths that a table shows: 16, 32 and 64, as far as they were measured."""
        return sorted(shown_lengths(self.run.protocol))


@dataclass(frozen=True)
class BallScores:
    """Scores at one code length and radius, one entry per split."""

    n_bits: int
    radius: int
    splits: Sequence[dict[str, Any]]

    def __getitem__(self, measure: str) -> Spread:
        return spread(one[measure] for one in self.splits)

    def text(self, measure: str, error: str) -> str:
        """A measure with its spread or interval."""
        return with_interval([one[measure] for one in self.splits], [one[error] for one in self.splits])
