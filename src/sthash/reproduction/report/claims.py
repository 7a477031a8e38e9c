"""The paper's claims, one by one: what was measured, and whether they hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from sthash.reproduction.conditions import Experiment
from sthash.reproduction.report.stage_claims import judge_stages
from sthash.reproduction.report.summary import RELEVANCE_TITLES, Point, Summary
from sthash.reproduction.report.verdicts import Claim, listed, on, verdict


def judge(summary: Summary) -> list[Claim]:
    """Judge every claim by what was measured."""
    return [
        *_documents(summary),
        *_longer_codes(summary),
        *(claim for strict in (False, True) for name in RELEVANCE_TITLES for claim in _curves(summary, name, strict)),
        *_significance(summary),
        *_spectral_hashing(summary),
        *_boltzmann(summary),
        *_error_analysis(summary),
        *_entropy(summary),
        *_speed(summary),
        *judge_stages(summary),
    ]


def _unmeasured(summary: Summary, reference: str, names: Sequence[str]) -> str:
    """Name the comparisons of the paper that these corpora lack."""
    parts = []
    for experiment in (one for one in summary.run.experiments if not one.ours):
        missing = [name for name in names if not summary.has(experiment, reference, name)]
        if missing:
            parts.append(f"{listed(_title(summary, name) for name in missing)} on {experiment.title}")
    return f". Not measured: {'; '.join(parts)}" if parts else ""


def _title(summary: Summary, name: str) -> str:
    known = summary.run.conditions.methods.get(name)
    return known.title if known else name


def _documents(summary: Summary) -> Iterator[Claim]:
    parts, outcomes, stated = [], [], []
    for experiment in summary.papers:
        if experiment.documents and {"train", "test"} <= set(experiment.documents):
            stated.append(f"{experiment.documents['train']} + {experiment.documents['test']} ({experiment.title})")
            found = summary.scores(experiment, summary.methods(experiment)[0])[0]["documents"]
            parts.append(f"{experiment.title} {found['train']} + {found['test']}")
            outcomes.append(all(found[name] == experiment.documents[name] for name in ("train", "test")))
    if parts:
        yield Claim(
            f"The corpora have the paper's numbers of documents: {listed(stated)}.",
            "; ".join(parts),
            verdict(outcomes),
        )


def _longer_codes(summary: Summary) -> Iterator[Claim]:
    radii = summary.run.protocol["radii"]
    parts, outcomes = [], []
    named = [experiment for experiment in summary.papers if summary.has(experiment, "sth")]
    for experiment in named:
        for relevance, title in RELEVANCE_TITLES.items():
            peaks = [summary.best(experiment, "sth", relevance, "f1_strict", radius=radius) for radius in radii]
            values = [peak["f1_strict"].mean for peak in peaks]
            bits = [peak.n_bits for peak in peaks]
            outcomes.append(values == sorted(values) and bits == sorted(bits) and values[-1] > values[0])
            shown = ", ".join(f"{value:.3f} ({n})" for value, n in zip(values, bits, strict=True))
            parts.append(f"{experiment.title}, {title}: {shown}")
    if parts:
        yield Claim(
            f"With longer codes STH achieves a higher F1, using a bigger radius, on {on(named)}.",
            f"Best F1 (with its number of bits) at the radii {radii[0]}–{radii[-1]}; an empty answer counts as 0. "
            + "; ".join(parts),
            verdict(outcomes),
        )


def share_above(upper: list[Point], lower: list[Point]) -> float | None:
    """Share of the common recall range in which one curve lies above another, straight lines between the points.

    Examples
    --------
    >>> from sthash.reproduction.report.claims import share_above
    >>> from sthash.reproduction.report.summary import Point
    >>> share_above([Point(4, 0.5, 1.0), Point(8, 1.0, 0.0)], [Point(4, 0.7, 1.0), Point(8, 0.7, 0.0)])
    0.6
    """
    curves = []
    for points in (upper, lower):
        # If several lengths have the same recall, the curve shows the best one.
        best: dict[float, float] = {}
        for point in points:
            best[point.recall] = max(point.precision, best.get(point.recall, 0.0))
        curves.append((sorted(best), [best[recall] for recall in sorted(best)]))
    low, high = max(recalls[0] for recalls, _ in curves), min(recalls[-1] for recalls, _ in curves)
    if low >= high:
        return None
    at = np.linspace(low, high, 2001)[1::2]
    first, second = (np.interp(at, recalls, precisions) for recalls, precisions in curves)
    return float((first > second).mean())


def _curves(summary: Summary, relevance: str, strict: bool) -> Iterator[Claim]:
    measure = "f1_strict" if strict else "f1"
    radius = summary.run.protocol["curve_radius"]
    needed = summary.run.protocol["judging"]["curve_above"]
    names = summary.run.protocol["paper"]["baselines"]
    parts, outcomes, compared = [], [], []
    for experiment in summary.papers:
        baselines = [name for name in names if summary.has(experiment, "sth", name)]
        if not baselines:
            continue
        compared.append(f"{listed(_title(summary, name) for name in baselines)} on {experiment.title}")
        own = summary.curve(experiment, "sth", relevance, strict)
        best = summary.best(experiment, "sth", relevance, measure, radius=radius)[measure].mean
        shown = [f"STH {best:.3f}"]
        for name in baselines:
            other = summary.best(experiment, name, relevance, measure, radius=radius)[measure].mean
            above = share_above(own, summary.curve(experiment, name, relevance, strict))
            outcomes.append(best > other and (above is None or above >= needed))
            shown.append(f"{summary.method(name).title} {other:.3f}" + (f" ({above:.0%})" if above is not None else ""))
        parts.append(f"{experiment.title}: {', '.join(shown)}")
    if parts:
        variant = ", empty answers counted as precision 0" if strict else ""
        yield Claim(
            f"STH outperforms {'; '.join(compared)}: {RELEVANCE_TITLES[relevance]}{variant}.",
            f"Best F1 at radius {radius} (in brackets: share of the common recall range where the curve of STH lies "
            "higher). " + "; ".join(parts) + _unmeasured(summary, "sth", names),
            verdict(outcomes),
        )


def p_text(log10: float) -> str:
    """Show a p-value by its decimal logarithm.

    Examples
    --------
    >>> from sthash.reproduction.report.claims import p_text
    >>> p_text(-0.3), p_text(-2.5), p_text(-1234.7)
    ('0.501', '0.0032', '10⁻¹²³⁵')
    """
    if log10 <= -4:
        return "10" + str(round(log10)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{10**log10:.2g}" if log10 < -2 else f"{10**log10:.3f}"


def _significance(summary: Summary) -> Iterator[Claim]:
    condition = summary.run.protocol["significance"]
    names = summary.run.protocol["paper"]["baselines"]
    outcomes, worst, compared = [], [], []
    for experiment in summary.papers:
        tested = [name for name in names if summary.outcome.of("significance", experiment.name, name)]
        if tested:
            compared.append(f"{listed(_title(summary, name) for name in tested)} on {experiment.title}")
        for name in tested:
            for relevance, title in RELEVANCE_TITLES.items():
                tests = [one[relevance] for one in summary.outcome.of("significance", experiment.name, name)]
                if tests:
                    largest = max(test["log10_p_value"] for test in tests)
                    outcomes.append(largest < np.log10(condition["level"]))
                    if not outcomes[-1]:
                        worst.append(f"{experiment.title}, {name}, {title}: p = {p_text(largest)}")
    if outcomes:
        measured = f"{sum(outcomes)} of {len(outcomes)} comparisons significant on every split"
        yield Claim(
            f"At {condition['bits']} bits and radius {condition['radius']} the improvements over "
            f"{'; '.join(compared)} are significant (P < {condition['level']}, one-sided micro sign test).",
            measured + (f"; not: {'; '.join(worst)}" if worst else "") + _unmeasured(summary, "sth", names),
            verdict(outcomes),
        )


def _spectral_hashing(summary: Summary) -> Iterator[Claim]:
    names = summary.run.protocol["paper"]["worse_than_sph"]
    radius = summary.run.protocol["curve_radius"]
    parts, outcomes, compared = [], [], []
    for experiment in summary.papers:
        others = [name for name in names if summary.has(experiment, name, "sph")]
        if others:
            compared.append(f"{listed(_title(summary, name) for name in others)} on {experiment.title}")
        for relevance, title in RELEVANCE_TITLES.items() if others else ():
            best = {
                name: summary.best(experiment, name, relevance, "f1_strict", radius=radius)["f1_strict"].mean
                for name in ("sph", *others)
            }
            outcomes += [best["sph"] > best[name] for name in others]
            shown = ", ".join(f"{summary.method(name).title} {value:.3f}" for name, value in best.items())
            parts.append(f"{experiment.title}, {title}: {shown}")
    if parts:
        yield Claim(
            f"SpH works better than {'; '.join(compared)} (a statement about earlier work).",
            f"Best F1 at radius {radius}; an empty answer counts as 0. "
            + "; ".join(parts)
            + _unmeasured(summary, "sph", names),
            verdict(outcomes),
        )


def _boltzmann(summary: Summary) -> Iterator[Claim]:
    given = summary.run.protocol["paper"]["rbm"]
    for experiment in summary.papers:
        if experiment.name == given["dataset"] and summary.has(experiment, "sth"):
            best = summary.best(experiment, "sth", "topics", n_bits=given["sth_bits"])
            measured = f"STH at {given['sth_bits']} bits: {best['f1'].mean:.3f} (radius {best.radius})"
            if summary.has(experiment, "rbm"):
                baseline = summary.best(experiment, "rbm", "topics", "f1_strict")
                measured += (
                    f"; our stacked RBM: at most {baseline['f1_strict'].mean:.3f} ({baseline.n_bits} bits, "
                    f"radius {baseline.radius}; an empty answer counts as 0)"
                )
            yield Claim(
                f"On {experiment.title} STH reaches F1 = {given['best_f1']}, which the paper quotes for other work, "
                f"for same-topic documents with {given['sth_bits']} bits.",
                measured,
                verdict([best["f1"].mean >= given["best_f1"]]),
            )


def _error_analysis(summary: Summary) -> Iterator[Claim]:
    lengths = summary.run.protocol["error_analysis"]["lengths"]
    needed = summary.run.protocol["judging"]["almost_all"]
    little = summary.run.protocol["judging"]["little"]
    losses: list[str] = []
    relative: list[str] = []
    better: list[str] = []
    held: list[bool] = []
    cheap: list[bool] = []
    beats: list[bool] = []
    papers = [one for one in summary.run.experiments if not one.ours]
    named = [one for one in papers if summary.outcome.of("error_analysis", one.name, "sth")]
    for experiment in papers:
        for result in summary.outcome.of("error_analysis", experiment.name, "sth"):
            shares = [eigenmap_share(result["unseen"], n_bits) for n_bits in lengths]
            held += [share >= needed for share in shares]
            losses.append(f"{experiment.title} {', '.join(f'{share:.0%}' for share in shares)}")
            steps = [relative_losses(result["unseen"], n_bits) for n_bits in lengths]
            cheap += [max(later) <= little for _, *later in steps]
            shown = "; ".join(" / ".join(f"{loss:.0%}" for loss in one) for one in steps)
            relative.append(f"{experiment.title} {shown}")
            for relevance in RELEVANCE_TITLES:
                pairs = [
                    [_better_distance(result["seen"], name, n_bits, relevance) for name in ("eigenmap", "LSI")]
                    for n_bits in lengths
                ]
                beats += [ours > lsi for ours, lsi in pairs]
                shown = ", ".join(f"{ours:.3f} / {lsi:.3f}" for ours, lsi in pairs)
                better.append(f"{experiment.title}, {relevance}: {shown}")
    if held:
        yield Claim(
            f"Almost all approximation errors come from the eigenmap, on {on(named)}.",
            "Share of the eigenmap, by its better distance, in the loss of nearest neighbors, from original vectors to "
            f"predicted codes of unseen documents, at {', '.join(map(str, lengths))} bits: {'; '.join(losses)}",
            verdict(held),
        )
        yield Claim(
            f"The median threshold and the SVMs cost little, on {on(named)}.",
            "Relative loss of each step, as a share of the nearest neighbors that the step before it still finds: "
            "eigenmap by its better distance / median / SVMs, unseen documents, at "
            f"{', '.join(map(str, lengths))} bits: {'; '.join(relative)}",
            verdict(cheap),
        )
        yield Claim(
            f"The eigenmap works better than LSI for the first step, on {on(named)}.",
            "Real-valued eigenmap / LSI of as many dimensions, each by its better distance, before binarization, at "
            f"{', '.join(map(str, lengths))} dimensions. {'; '.join(better)}",
            verdict(beats),
        )


def eigenmap_share(rows: list[dict[str, Any]], n_bits: int) -> float:
    """Share of the eigenmap in the loss of nearest neighbors, from original vectors to predicted codes."""
    original, eigenmap, _, predicted = _steps(rows, n_bits)
    return float((original - eigenmap) / (original - predicted)) if original > predicted else 0.0


def relative_losses(rows: list[dict[str, Any]], n_bits: int) -> list[float]:
    """Return what each step loses of the nearest neighbors that the step before it still finds.

    Examples
    --------
    >>> from sthash.reproduction.report.claims import relative_losses
    >>> steps = {"original vectors": 1.0, "eigenmap": 0.4, "median codes": 0.2, "predicted codes": 0.15}
    >>> rows = [{"step": step, "bits": 0 if value == 1 else 16, "neighbors": value} for step, value in steps.items()]
    >>> print([round(loss, 2) for loss in relative_losses(rows, 16)])
    [0.6, 0.5, 0.25]
    """
    found = _steps(rows, n_bits)
    return [1 - after / before if before > 0 else 0.0 for before, after in pairwise(found)]


def _steps(rows: list[dict[str, Any]], n_bits: int) -> list[float]:
    """Nearest neighbors found after each step: original vectors, eigenmap, median codes, predicted codes."""
    step = {row["step"]: float(row["neighbors"]) for row in rows if row["bits"] in (0, n_bits)}
    eigenmap = _better_distance(rows, "eigenmap", n_bits, "neighbors")
    return [step["original vectors"], eigenmap, step["median codes"], step["predicted codes"]]


def _better_distance(rows: list[dict[str, Any]], step: str, n_bits: int, relevance: str) -> float:
    return max(float(row[relevance]) for row in rows if row["bits"] == n_bits and row["step"].startswith(step))


def _entropy(summary: Summary) -> Iterator[Claim]:
    judging = summary.run.protocol["judging"]
    longest = str(summary.run.protocol["lengths"][-1])
    short = str(summary.run.protocol["significance"]["bits"])
    low, high = judging["bit_on"]
    balance, correlation, entropy = [], [], []
    texts: dict[str, list[str]] = {"balance": [], "correlation": [], "entropy": []}
    named = [experiment for experiment in summary.papers if summary.has(experiment, "sth")]
    for experiment in named:
        shapes = summary.scores(experiment, "sth")[0]["shape"]
        long, tight = shapes[longest], shapes[short]
        balance.append(low <= long["least_on"] and long["most_on"] <= high)
        texts["balance"].append(f"{experiment.title} {long['least_on']:.3f}–{long['most_on']:.3f}")
        correlation.append(long["mean_correlation"] <= judging["correlation"])
        texts["correlation"].append(
            f"{experiment.title} {long['mean_correlation']:.3f} (largest {long['largest_correlation']:.2f})"
        )
        entropy.append(tight["entropy"] / tight["most_entropy"] >= judging["codes_used"])
        texts["entropy"].append(f"{experiment.title} {tight['entropy']:.1f} of {tight['most_entropy']:.1f}")
    if balance:
        yield Claim(
            f"Each bit of STH is on for half of the corpus, on {on(named)}.",
            f"Smallest and largest share of ones of {longest} bits: " + ", ".join(texts["balance"]),
            verdict(balance),
        )
        yield Claim(
            f"Different bits of STH are uncorrelated, on {on(named)}.",
            f"Mean |r| of two of {longest} bits: " + ", ".join(texts["correlation"]),
            verdict(correlation),
        )
        yield Claim(
            f"Each code of STH is roughly equally likely, on {on(named)}: the best use of the hash table.",
            f"Entropy in bits of {short}-bit codes, and the most possible: " + ", ".join(texts["entropy"]),
            verdict(entropy),
        )


def _speed(summary: Summary) -> Iterator[Claim]:
    given = summary.run.protocol["paper"]
    named = [one for one in summary.papers if summary.has(one, "sth")]
    if not named:
        return
    seconds = {one.title: summary.scores(one, "sth")[0]["seconds"] for one in named}
    for text, key, known in (
        ("training", "fit_a_document", given["train_seconds"]),
        ("prediction", "encode_a_document", given["predict_seconds"]),
    ):
        yield Claim(
            f"{summary.run.protocol['lengths'][-1]}-bit STH takes no more than {known} s per document for {text} on "
            f"{on(named)} (in the paper: Matlab on a Pentium 4).",
            ", ".join(f"{title} {one[key]:.2g} s" for title, one in seconds.items()),
            verdict([one[key] <= known for one in seconds.values()]),
        )
    for name, times in given["slower_than_sth"].items():
        compared = [one for one in named if summary.has(one, name)]
        ratios = {one.title: _fit(summary, one, name) / _fit(summary, one, "sth") for one in compared}
        if ratios:
            near = summary.run.protocol["judging"]["speed_ratio"]
            yield Claim(
                f"Training STH is about {times} times faster than {summary.method(name).title} on {on(compared)}.",
                "With both implementations of this package: "
                + ", ".join(f"{title} {ratio:.1f} times" for title, ratio in ratios.items()),
                verdict([times / near <= ratio <= times * near for ratio in ratios.values()]),
            )


def _fit(summary: Summary, experiment: Experiment, name: str) -> Any:
    return summary.scores(experiment, name)[0]["seconds"]["fit"]
