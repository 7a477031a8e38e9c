"""What the paper says of other choices for the stages, judged by the variants that were measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sthash.reproduction.conditions import Experiment, VariantGroup
from sthash.reproduction.report.summary import Summary
from sthash.reproduction.report.verdicts import Claim, on, verdict

Result = Mapping[str, Any]


def judge_stages(summary: Summary) -> Iterator[Claim]:
    """Judge each claim on the corpora for which all the variants were measured that it compares."""
    for group in summary.run.conditions.variant_groups():
        for claim in group.claims:
            if "better" in claim:
                yield from _better(summary, claim)
            elif "enough" in claim:
                yield from _enough(summary, claim)
            elif "as_slow" in claim:
                yield from _as_slow(summary, claim)
            else:
                yield from _best_at_wanted(summary, group, claim)


def _measured(summary: Summary, names: list[str]) -> Iterator[tuple[Experiment, list[Result]]]:
    for experiment in (one for one in summary.run.experiments if not one.ours):
        found = [summary.outcome.of("variant", experiment.name, name) for name in names]
        if all(found):
            yield experiment, [results[0] for results in found]


def _scores(summary: Summary, result: Result) -> dict[str, list[float]]:
    """Scores of a variant, by relevance, one per code length."""
    scores = result["scores"]
    near = scores.get(str(summary.run.protocol["neighbors"])) or scores[_wanted(summary)[0]]
    return {
        "topics": [one["precision_at_k"] for one in scores["topics"]],
        "neighbors": [one["mean_average_precision"] for one in near],
    }


def _wanted(summary: Summary) -> list[str]:
    return [str(k) for k in summary.run.conditions.variants["wanted"]]


def _at(summary: Summary) -> str:
    lengths = ", ".join(map(str, summary.run.conditions.variants["lengths"]))
    k = summary.run.protocol["ranking"]
    return f"Precision at {k} of topics, mean average precision of neighbors, at {lengths} bits"


def _better(summary: Summary, claim: Mapping[str, Any]) -> Iterator[Claim]:
    parts, outcomes, named = [], [], []
    for experiment, results in _measured(summary, [claim["better"], claim["than"]]):
        first, second = (_scores(summary, result) for result in results)
        named.append(experiment)
        for relevance, ours in first.items():
            pairs = list(zip(ours, second[relevance], strict=True))
            outcomes += [a > b for a, b in pairs]
            parts.append(f"{experiment.title}, {relevance}: {', '.join(f'{a:.3f} / {b:.3f}' for a, b in pairs)}")
    if named:
        yield Claim(f"{claim['text']}, on {on(named)}.", f"{_at(summary)}: {'; '.join(parts)}", verdict(outcomes))


def _enough(summary: Summary, claim: Mapping[str, Any]) -> Iterator[Claim]:
    most = summary.run.protocol["judging"]["tuned_gain"]
    parts, outcomes, named = [], [], []
    for experiment, results in _measured(summary, [claim["enough"], *claim["among"]]):
        given, *others = (_scores(summary, result) for result in results)
        named.append(experiment)
        for relevance, own in given.items():
            best = [max(values) for values in zip(*(other[relevance] for other in others), strict=True)]
            gains = [value / score - 1 if score > 0 else 0.0 for value, score in zip(best, own, strict=True)]
            outcomes += [gain <= most for gain in gains]
            parts.append(f"{experiment.title}, {relevance}: {', '.join(f'{gain:+.1%}' for gain in gains)}")
    if named:
        yield Claim(
            f"{claim['text']}, on {on(named)}.",
            f"Relative gain of the best of {len(claim['among'])} others, chosen on the queries. {_at(summary)}: "
            + "; ".join(parts),
            verdict(outcomes),
        )


def _as_slow(summary: Summary, claim: Mapping[str, Any]) -> Iterator[Claim]:
    least = 1 / summary.run.protocol["judging"]["speed_ratio"]
    parts, outcomes, named = [], [], []
    for experiment, (result,) in _measured(summary, [claim["as_slow"]]):
        seconds = result["seconds"]
        named.append(experiment)
        outcomes.append(seconds["encode"] >= least * seconds["search"])
        parts.append(f"{experiment.title} {seconds['encode']:.2g} s / {seconds['search']:.2g} s")
    if named:
        yield Claim(
            f"{claim['text']}, on {on(named)}.",
            f"To encode all queries / to compare them with all documents: {', '.join(parts)}",
            verdict(outcomes),
        )


def _best_at_wanted(summary: Summary, group: VariantGroup, claim: Mapping[str, Any]) -> Iterator[Claim]:
    sizes = sorted((int(one.settings["n_neighbors"]), one.name) for one in group.variants)
    by_size = {str(size): name for size, name in sizes}
    compared = [k for k in _wanted(summary) if k in by_size]
    parts, outcomes, named = [], [], []
    for experiment, results in _measured(summary, list(by_size.values())):
        best = []
        for k in compared:
            scores = [result["scores"][k][-1]["mean_average_precision"] for result in results]
            best.append(list(by_size)[scores.index(max(scores))])
        named.append(experiment)
        outcomes += [size == k for size, k in zip(best, compared, strict=True)]
        parts.append(f"{experiment.title} {', '.join(best)}")
    if named:
        yield Claim(
            f"{claim['text']}, on {on(named)}.",
            f"Best of {', '.join(by_size)} for {', '.join(compared)} wanted neighbors, by mean average precision at "
            f"{summary.run.conditions.variants['lengths'][-1]} bits: {'; '.join(parts)}",
            verdict(outcomes),
        )
