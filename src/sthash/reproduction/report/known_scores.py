"""Comparison with known scores: those of the authors' toolbox, point by point, and of other computations."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sthash.reproduction.conditions import EXPERIMENTS, Experiment
from sthash.reproduction.datasets import DatasetError, data_dir
from sthash.reproduction.report.markup import table
from sthash.reproduction.report.summary import RELEVANCE_TITLES, Summary

# Names in the reference file, each with its relevance and its measure.
REFERENCE_SERIES = {
    "nn_f1": ("neighbors", "f1"),
    "topic_f1": ("topics", "f1"),
    "topic_accuracy": ("topics", "accuracy"),
}


@dataclass(frozen=True)
class Comparison:
    """A comparison with known scores: its text, its verdict, and the problem if there is one."""

    markdown: str
    verdict: str
    problem: str | None = None


def load_references(summary: Summary) -> dict[str, dict[str, Any]]:
    """Read the authors' scores of the corpora that have any, by corpus."""
    found = {}
    for experiment in summary.experiments:
        if experiment.reference:
            try:
                shipped = EXPERIMENTS / experiment.reference["file"]
                path = shipped if shipped.exists() else data_dir() / experiment.reference["file"]
                found[experiment.name] = json.loads(path.read_text(encoding="utf-8"))
            except (OSError, ValueError, DatasetError):
                continue
    return found


def check_reference(summary: Summary, experiment: Experiment, known: dict[str, Any] | None) -> Comparison:
    """Compare STH with the authors' toolbox at every point; one point outside the tolerance is a failure."""
    settings = experiment.reference or {}
    title = f"### {experiment.title} against the authors' toolbox"
    if known is None:
        text = f"not checked: {settings.get('file')} is missing in the folder of the corpora, or cannot be read"
        return Comparison(f"{title}\n\n{text}.", f"{experiment.title}: {text}", f"{experiment.title}: {text}")
    tolerance = float(settings["tolerance"])
    rows, total, far = [], 0, []
    for series, (relevance, measure) in REFERENCE_SERIES.items():
        for radius, row in zip(known["radii"], known[series], strict=True):
            differences = {}
            for n_bits, value in zip(known["code_lengths"], row, strict=True):
                ours = summary.ball(experiment, "sth", relevance, n_bits, radius)[measure].mean
                differences[n_bits] = abs(ours - value)
            worst = max(differences, key=lambda n: differences[n])
            far += [(series, n, radius) for n, difference in differences.items() if difference > tolerance]
            total += len(differences)
            rows.append((RELEVANCE_TITLES[relevance], measure, radius, f"{differences[worst]:.4f}", worst))
    largest = max(float(row[3]) for row in rows)
    verdict = f"{total - len(far)} of {total} points within {tolerance}; largest difference {largest:.4f}"
    text = f"{title}\n\n**{verdict}.**" + (f" Outside the tolerance: {far}." if far else "")
    headings = ("relevance", "measure", "radius", "largest difference", "at bits")
    problem = (
        f"STH on {experiment.title}: {len(far)} of {total} points are off by more than {tolerance}" if far else None
    )
    return Comparison(
        f"{text}\n\n{table(headings, rows, words=2)}", f"{experiment.title} against the authors: {verdict}", problem
    )


def check_expected(summary: Summary, experiment: Experiment) -> Comparison | None:
    """Compare other methods with scores of another computation."""
    rows, wrong = [], []
    for known in experiment.expected:
        if not summary.has(experiment, known["method"]):
            continue
        ball = summary.ball(experiment, known["method"], known["relevance"], known["bits"], known["radius"])
        ours = ball[known["measure"]].mean
        fits = abs(ours - known["value"]) <= known["tolerance"]
        name = f"{summary.method(known['method']).title}, {RELEVANCE_TITLES[known['relevance']]}, {known['measure']}"
        place = f"{known['bits']} bits, radius {known['radius']}"
        rows.append((name, place, f"{known['value']:.3f}", f"{ours:.3f}", "met" if fits else "not met"))
        wrong += [] if fits else [f"{name}: {ours:.3f}, expected {known['value']:.3f}"]
    if not rows:
        return None
    text = f"### {experiment.title} against an independent computation\n\n"
    verdict = f"{experiment.title}: {len(rows) - len(wrong)} of {len(rows)} expected scores of baselines met"
    problem = f"{experiment.title}: {'; '.join(wrong)}" if wrong else None
    return Comparison(text + table(("score", "at", "expected", "measured", "verdict"), rows, words=2), verdict, problem)
