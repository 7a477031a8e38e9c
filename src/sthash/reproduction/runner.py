"""The runner: lists the jobs, measures those without a result, and stores every result immediately.

An interrupted run resumes where it stopped, because it finds the results of the same conditions in their folder. A
method that fails does not stop the others; its error is reported at the end.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from sthash.progress import Progress, silent
from sthash.reproduction.conditions import Conditions, ConditionsError, Experiment, Method, own_dataset, own_method
from sthash.reproduction.corpora import CorpusSplit, prepare
from sthash.reproduction.datasets import DatasetError
from sthash.reproduction.estimators import find_class
from sthash.reproduction.results import Job, Results, fingerprint
from sthash.sources import FORMATS

# The name that asks for the variants of the stages.
VARIANTS = "variants"


@dataclass(frozen=True)
class Run:
    """What to measure: corpora, methods, recipes and variants of the stages, under some conditions.

    ``named`` says that somebody named the methods: then they are tried on every corpus, whatever rows they take.
    """

    conditions: Conditions
    experiments: Sequence[Experiment]
    methods: Sequence[Method]
    recipes: Sequence[str] = ()
    variants: Sequence[Method] = ()
    relearn: bool = False
    named: bool = False

    @property
    def protocol(self) -> Any:
        """How codes are scored."""
        return self.conditions.protocol

    def jobs(self, experiment: Experiment) -> list[Job]:
        """All jobs on a corpus. A job that needs the result of another one comes after it."""
        dense = experiment.dense
        names = [method.name for method in self.methods if self.named or method.suits(dense=dense)]
        recipes = self.recipes_on(experiment)
        jobs: list[Job] = []
        for split in range(max([experiment.splits, *(seed + 1 for seed in self._seeds())])):
            if split < experiment.splits:
                present = [name for name in names if split < experiment.splits_of(name)]
                jobs += [Job("scores", experiment.name, split, name) for name in present]
                if "sth" in present:
                    jobs += [Job("significance", experiment.name, split, name) for name in present if name != "sth"]
                    jobs += [Job("error_analysis", experiment.name, 0, "sth")] * (split == 0)
            jobs += [Job("recipe", experiment.name, split, name) for name in recipes if split in self._seeds()]
            if split == 0 and recipes:
                jobs.append(Job("timing", experiment.name, 0, "+".join(recipes)))
                jobs.append(Job("dense", experiment.name, 0, self.dense_recipe))
            if split == 0:
                suitable = [variant for variant in self.variants if variant.suits(dense=dense)]
                jobs += [Job("variant", experiment.name, 0, variant.name) for variant in suitable]
        return jobs

    def recipes_on(self, experiment: Experiment) -> list[str]:
        """Recipes that are measured on a corpus: those that are made for its rows."""
        taken = ("any", "dense" if experiment.dense else "sparse")
        settings = self.conditions.recipes.get("recipes", {})
        return [name for name in self.recipes if self.named or settings[name].get("takes", "any") in taken]

    @property
    def dense_recipe(self) -> str:
        """The recipe for dense vectors: the one for nearest neighbors, if it is measured at all."""
        return "neighbors" if "neighbors" in self.recipes else "paper"

    def _seeds(self) -> list[int]:
        return list(self.conditions.recipes["seeds"]) if self.recipes else []


@dataclass
class Outcome:
    """What was measured, and what failed with which error."""

    results: dict[Job, dict[str, Any]] = field(default_factory=dict)
    failures: dict[Job, str] = field(default_factory=dict)
    measured: int = 0

    def of(self, kind: str, dataset: str, method: str) -> list[dict[str, Any]]:
        """Give the results of one kind over the splits."""
        found = {job.split: result for job, result in self.results.items() if _matches(job, kind, dataset, method)}
        return [found[split] for split in sorted(found)]


def _matches(job: Job, kind: str, dataset: str, method: str) -> bool:
    return (job.kind, job.dataset, job.method) == (kind, dataset, method)


def choose(
    conditions: Conditions, datasets: Sequence[str] = (), methods: Sequence[str] = (), *, relearn: bool = False
) -> Run:
    """Choose corpora and methods by name, by default all of them.

    A method may be an import path, and a corpus may be a file or a folder of labeled texts. The name ``variants`` asks
    for the variants of the stages.
    """
    from sthash.reproduction.recipes import known_recipes

    experiments: dict[str, Experiment] = {}
    for name in datasets or conditions.protocol.get("datasets", conditions.experiments):
        experiment = conditions.experiments.get(name) or _own_dataset(name, conditions)
        experiments[experiment.name] = experiment
    recipes = [name for name in conditions.recipes.get("recipes", {}) if name in known_recipes()]
    chosen: dict[str, Method] = {}
    for name in methods or conditions.methods:
        if name in conditions.methods:
            chosen[name] = conditions.methods[name]
        elif ":" in name:
            find_class(name)
            chosen[name] = own_method(name)
        elif name not in recipes and name != VARIANTS:
            known = ", ".join(dict.fromkeys([*conditions.methods, *recipes, VARIANTS]))
            raise ConditionsError(f"method {name!r} is not known. Use one of {known}, or package.module:Class.")
    wanted = [name for name in recipes if not methods or name in methods]
    if wanted and "paper" in recipes and "paper" not in wanted:
        wanted.insert(0, "paper")  # the others are compared with it
    variants = [one for group in conditions.variant_groups() for one in group.variants]
    if methods and VARIANTS not in methods:
        variants = []
    run = Run(conditions, list(experiments.values()), list(chosen.values()), wanted, variants, relearn, bool(methods))
    asked = {job.method for experiment in run.experiments for job in run.jobs(experiment)}
    present = {name for experiment in run.experiments for name in run.recipes_on(experiment)}
    return replace(
        run,
        methods=[method for method in run.methods if method.name in asked],
        recipes=[name for name in run.recipes if name in present],
        variants=[variant for variant in run.variants if variant.name in asked],
    )


def _own_dataset(name: str, conditions: Conditions) -> Experiment:
    endings = {suffix.lower().lstrip(".") for suffix in Path(name).suffixes[-2:]}
    if Path(name).is_dir() or endings & {*FORMATS, "npz"}:
        return own_dataset(name)
    raise ConditionsError(
        f"dataset {name!r} is not known. Use one of {', '.join(conditions.experiments)}, or name a folder or a file of "
        f"labeled texts ({', '.join(FORMATS)}) or vectors (npz)."
    )


def carry_out(run: Run, results: Results, progress: Progress = silent) -> Outcome:
    """Measure everything that the folder of results does not hold yet."""
    outcome = Outcome()
    for experiment in run.experiments:
        jobs = run.jobs(experiment)
        progress(experiment.title, 0, len(jobs))
        for done, _ in enumerate(_carry_out_on(experiment, jobs, run, results, outcome), start=1):
            progress(experiment.title, done, len(jobs))
    return outcome


def _carry_out_on(
    experiment: Experiment, jobs: list[Job], run: Run, results: Results, outcome: Outcome
) -> Iterator[Job]:
    by_name = {method.name: method for method in (*run.variants, *run.methods)}
    for split, group in groupby(jobs, key=lambda job: job.split if experiment.splits > 1 else 0):
        data: CorpusSplit | None = None
        missing: str | None = None
        for job in group:
            try:
                mark = fingerprint(job, experiment, by_name.get(job.method), run.conditions, run.relearn)
                found = results.read(job, mark)
                if found is None and missing is None:
                    data = data or prepare(experiment, split)
                    start = time.perf_counter()
                    found = _measure(job, data, run, outcome)
                    found["took"] = time.perf_counter() - start
                    results.write(job, mark, found)
                    outcome.measured += 1
            except DatasetError as error:
                missing = str(error)
            except Exception as error:  # a method may raise anything, and the others go on
                outcome.failures[job] = f"{type(error).__name__}: {error}"
            else:
                if found is not None:
                    outcome.results[job] = found
            if missing is not None and job not in outcome.results:
                outcome.failures[job] = missing
            yield job


def _measure(job: Job, data: CorpusSplit, run: Run, outcome: Outcome) -> dict[str, Any]:
    from sthash.reproduction import measurements, recipes
    from sthash.reproduction.dense_vectors import measure_dense
    from sthash.reproduction.error_analysis import measure_error
    from sthash.reproduction.variants import measure_variant

    protocol = run.protocol
    if job.kind == "scores":
        method = next(method for method in run.methods if method.name == job.method)
        return measurements.measure_scores(data, method, protocol, relearn=run.relearn)
    if job.kind == "significance":
        pair = [outcome.results.get(Job("scores", job.dataset, job.split, name)) for name in ("sth", job.method)]
        if pair[0] is None or pair[1] is None:
            raise ValueError(f"no scores of sth and {job.method} to compare. Measure both.")
        return measurements.measure_significance(data, pair[0], pair[1], protocol)
    if job.kind == "error_analysis":
        return measure_error(data, protocol)
    if job.kind == "timing":
        return recipes.time_recipes(data, job.method.split("+"), run.conditions.recipes["timed_bits"])
    if job.kind == "variant":
        variant = next(variant for variant in run.variants if variant.name == job.method)
        return measure_variant(data, variant, run.conditions.variants, protocol)
    if job.kind == "dense":
        return measure_dense(data, job.method, protocol["dense"])
    return recipes.measure_recipe(data, job.method, run.conditions.recipes, job.split, protocol)
