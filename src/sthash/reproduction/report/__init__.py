"""The report of the experiments: one Markdown text, the same text as an HTML page, figures, and files for a paper."""

from __future__ import annotations

import importlib.util
import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from sthash import __version__
from sthash.extras import install_command
from sthash.files import replacing
from sthash.reproduction.report import better_codes, claims, figures, known_scores, sections
from sthash.reproduction.report.markup import html_page, latex_tables, table
from sthash.reproduction.report.numbers import as_csv
from sthash.reproduction.report.summary import RELEVANCE_TITLES, Summary
from sthash.reproduction.report.verdicts import FAILS, HOLDS, PARTLY, Claim
from sthash.reproduction.runner import Outcome, Run

TITLE = "Self-Taught Hashing, reproduced"


@dataclass(frozen=True)
class WrittenReport:
    """The files of a report, its verdicts, and its problems."""

    html: Path
    markdown: Path
    verdicts: list[str]
    problems: list[str]


def check_tools() -> None:
    """Refuse to start without a library that the report needs after half an hour."""
    missing = [name for name in ("matplotlib", "yaml", "markdown_it") if importlib.util.find_spec(name) is None]
    if missing:
        raise ImportError(f"sth reproduce needs {' and '.join(missing)}. Install: {install_command('plot')}.")


def write_report(run: Run, outcome: Outcome, folder: Path) -> WrittenReport:
    """Write ``report.html``, ``results.md`` and the figures in ``results/``.

    For publication there are also the figures as PDF and PNG in ``figures/``, all tables in ``tables.tex``, and every
    number in ``numbers.csv``.
    """
    summary = Summary(run, outcome)
    references = known_scores.load_references(summary)
    drawings: dict[str, figures.Drawing] = {}
    known = list(_checks(summary, references))
    judged = claims.judge(summary)
    parts = [
        _opening(run, judged, known),
        _claims(judged),
        "\n\n".join(["## Against known scores", *(check.markdown for check in known)]) if known else "",
        sections.failures_section(summary),
        sections.data_section(summary) if summary.experiments else "",
        _figures(summary, references, drawings),
        sections.score_section(summary) if summary.experiments else "",
        sections.significance_section(summary),
        sections.error_section(summary),
        sections.efficiency_section(summary) if summary.experiments else "",
        sections.variants_section(summary),
        better_codes.better_section(summary, _recipe_figures(summary, drawings)),
        sections.conditions_section(summary, machine()),
    ]
    markdown = "\n\n".join(part for part in parts if part) + "\n"
    page = html_page(markdown, {name: drawing.svg for name, drawing in drawings.items()}, TITLE)
    for name in ("results", "figures"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for name, drawing in drawings.items():
        _write(folder / "results" / name, figures.standalone(drawing.svg))
        for ending in ("pdf", "png"):
            with replacing(folder / "figures" / name.replace(".svg", f".{ending}")) as temporary:
                temporary.write_bytes(getattr(drawing, ending))
    _write(folder / "tables.tex", latex_tables(markdown))
    _write(folder / "numbers.csv", as_csv(outcome))
    _write(folder / "results.md", markdown)
    _write(folder / "report.html", page)
    problems = [check.problem for check in known if check.problem]
    if outcome.failures:
        job, message = next(iter(outcome.failures.items()))
        problems.append(
            f"{len(outcome.failures)} measurements failed, the first ({job.method} on {job.dataset}): {message}"
        )
    verdicts = [check.verdict for check in known] + [f"{claim.verdict}: {claim.text}" for claim in judged]
    return WrittenReport(folder / "report.html", folder / "results.md", verdicts, problems)


def machine() -> dict[str, str]:
    """Describe the machine and the versions of what matters."""
    described = {"processor": platform.processor() or platform.machine()}
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        described["processor"] = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    described["cores"] = str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count())
    described["system"] = f"{platform.system()} {platform.release()}"
    versions = {"Python": platform.python_version(), "sthash": __version__}
    versions |= {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
    described["versions"] = ", ".join(f"{name} {number}" for name, number in versions.items())
    return described


def _opening(run: Run, judged: list[Claim], known: list[known_scores.Comparison]) -> str:
    verdicts = (HOLDS, PARTLY, FAILS)
    held, partly, failed = (sum(claim.verdict == verdict for claim in judged) for verdict in verdicts)
    said = f"Of {len(judged)} claims of the paper {held} hold, {partly} hold in part, {failed} do not hold."
    lines = [
        f"# {TITLE}",
        "Measurements by `sth reproduce` of the experiments of D. Zhang, J. Wang, D. Cai and J. Lu, *Self-Taught "
        "Hashing for Fast Similarity Search*, SIGIR 2010. The command writes this page; nobody edits it.",
        f"Corpora: {', '.join(one.title for one in run.experiments)}. Methods: "
        f"{', '.join([*(one.title for one in run.methods), *(f'recipe {name}' for name in run.recipes)])}.",
        said if judged else "",
        *(f"- {check.verdict}" for check in known),
    ]
    return "\n\n".join(line for line in lines if line)


def _claims(judged: list[Claim]) -> str:
    if not judged:
        return ""
    return (
        "## The paper's claims\n\nA claim about several corpora holds in part if it holds on some of them. The limits "
        "from which a claim holds are set in `protocol.yaml`; the paper gives none.\n\n"
        + table(("claim", "measured", "verdict"), judged, words=3)
    )


def _checks(summary: Summary, references: dict[str, dict[str, object]]) -> Iterator[known_scores.Comparison]:
    for experiment in summary.experiments:
        if experiment.reference and summary.has(experiment, "sth"):
            yield known_scores.check_reference(summary, experiment, references.get(experiment.name))
        if found := known_scores.check_expected(summary, experiment):
            yield found


def _figures(summary: Summary, references: dict[str, dict[str, object]], drawings: dict[str, figures.Drawing]) -> str:
    """Draw the paper's Figures 2 to 5, with both ways of counting empty answers."""
    parts = []
    has_sth = any(summary.has(experiment, "sth") for experiment in summary.experiments)
    for kind, first, title in (("f1", 2, "F1 of STH"), ("curves", 4, "Precision and recall of all methods")):
        if not summary.experiments or (kind == "f1" and not has_sth):
            continue
        parts.append(f"## {title}")
        for strict in (False, True):
            for place, relevance in enumerate(RELEVANCE_TITLES):
                name = f"{kind}-{relevance}{'-strict' if strict else ''}.svg"
                if kind == "f1":
                    drawings[name] = figures.f1_figure(summary, relevance, strict, references)
                else:
                    drawings[name] = figures.curve_figure(summary, relevance, strict)
                like = "" if strict else f"As the paper's Figure {first + place}. "
                protocol = summary.run.protocol
                text = figures.caption(kind, relevance, strict, protocol["curve_radius"], protocol["lengths"])
                parts.append(f"![{like}{text}](results/{name})")
    return "\n\n".join(parts)


def _recipe_figures(summary: Summary, drawings: dict[str, figures.Drawing]) -> str:
    parts: list[str] = []
    if not any(job.kind == "recipe" for job in summary.outcome.results):
        return ""
    for measure, title in (
        ("precision_at_100", "Same topic: precision at 100."),
        ("top_10_among_100", "Nearest neighbors: share of the true top 10 among the 100 nearest codes."),
    ):
        drawings[f"recipes-{measure}.svg"] = figures.recipe_figure(
            summary, measure, lambda *wanted: better_codes.values(summary, *wanted)
        )
        parts.append(
            f"![{title} Solid lines: by Hamming distance. Dashed lines: by margins.](results/recipes-{measure}.svg)"
        )
    return "\n\n".join(parts)


def _write(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
