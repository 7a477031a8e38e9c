"""The figures, by Matplotlib: small SVG files whose lines take the text color of the page, and PDF and PNG files."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from xml.etree import ElementTree

from sthash.reproduction.conditions import Experiment
from sthash.reproduction.report.summary import RELEVANCE_TITLES, Summary

# A placeholder for the text color of the page.
INK = "#010203"
COLORS = (
    "#e0344e", "#2f7fe0", "#159a68", "#e08600", "#7c848f", "#9a5be0", "#d163a7", "#8c6d46", "#0f9fb5", "#8f9a12",
)  # fmt: skip
LONG_NUMBER = re.compile(r"(\d+\.\d{2})\d+")
SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
MARKERS = "os^DvPX*<>"
FONT = "system-ui, 'Segoe UI', Helvetica, Arial, sans-serif"
STANDALONE = "<style>svg{color:#1f2328}@media(prefers-color-scheme:dark){svg{color:#e6edf3}}</style>"


class Drawing(NamedTuple):
    """One figure in three formats."""

    svg: str
    pdf: bytes
    png: bytes


def f1_figure(summary: Summary, relevance: str, strict: bool, references: dict[str, Any]) -> Drawing:
    """Draw F1 of STH against the code length, one curve per radius, as in the paper's Figures 2 and 3.

    Over several splits, a bar shows one standard deviation to either side.
    """
    measure = "f1_strict" if strict else "f1"

    def panel(axes: Any, experiment: Experiment) -> None:
        balls = summary.balls(experiment, "sth", relevance)
        for place, radius in enumerate(summary.run.protocol["radii"]):
            points = [(ball.n_bits, ball[measure].mean) for ball in balls if ball.radius == radius]
            errors = [ball[measure].deviation for ball in balls if ball.radius == radius]
            style = {"color": COLORS[place], "marker": MARKERS[place], "markersize": 4, "linewidth": 1.6}
            axes.plot(*zip(*points, strict=True), label=f"radius {radius}", **style)
            if any(errors):
                bars = {"fmt": "none", "ecolor": COLORS[place], "elinewidth": 0.9, "capsize": 2}
                axes.errorbar(*zip(*points, strict=True), yerr=errors, **bars)
            known = references.get(experiment.name)
            if known and not strict:
                row = known["nn_f1" if relevance == "neighbors" else "topic_f1"][known["radii"].index(radius)]
                label = "authors' toolbox" if place == len(summary.run.protocol["radii"]) - 1 else None
                ring = {"marker": "o", "markersize": 8, "markerfacecolor": "none", "linestyle": "none"}
                axes.plot(known["code_lengths"], row, color=INK, alpha=0.45, markeredgewidth=0.8, label=label, **ring)
        axes.set(xlabel="code length (bits)", ylabel="F1", ylim=(0, None))
        axes.set_xticks(range(0, max(summary.run.protocol["lengths"]) + 1, 16))

    shown = [one for one in summary.experiments if summary.has(one, "sth")]
    return _draw(f"f1-{relevance}-{strict}", shown, panel)


def curve_figure(summary: Summary, relevance: str, strict: bool) -> Drawing:
    """Draw precision against recall of every method, one panel per corpus, as in the paper's Figures 4 and 5.

    Dashed lines are our own recipes. Over several splits, bars show one standard deviation of STH to either side.
    """
    names = [method.name for method in summary.run.methods]

    def panel(axes: Any, experiment: Experiment) -> None:
        for method in reversed(summary.methods(experiment)):
            place = names.index(method.name)
            points = summary.curve(experiment, method, relevance, strict)
            own = method.name == "sth"
            axes.plot(
                [point.recall for point in points],
                [point.precision for point in points],
                "--" if method.ours else "-",
                color=COLORS[place % len(COLORS)],
                marker=MARKERS[place % len(MARKERS)],
                markersize=4.5 if own else 3,
                linewidth=2.2 if own else 1.1,
                label=method.title,
            )
            if own and any(point.precision_error for point in points):
                axes.errorbar(
                    [point.recall for point in points],
                    [point.precision for point in points],
                    yerr=[point.precision_error for point in points],
                    xerr=[point.recall_error for point in points],
                    fmt="none",
                    ecolor=COLORS[place % len(COLORS)],
                    elinewidth=0.9,
                    capsize=2,
                )
        axes.set(xlabel="recall", ylabel="precision", xlim=(0, None), ylim=(0, None))

    return _draw(f"curves-{relevance}-{strict}", summary.experiments, panel, [one.title for one in summary.run.methods])


def recipe_figure(
    summary: Summary, measure: str, values: Callable[[Experiment, str, str], dict[int, float]]
) -> Drawing:
    """Draw a measure of every recipe against the code length, by Hamming distance and by margins."""
    label = {"precision_at_100": "precision at 100", "top_10_among_100": "share of the top 10"}[measure]

    def panel(axes: Any, experiment: Experiment) -> None:
        for place, recipe in enumerate(summary.run.recipes):
            for prefix, style, suffix in (("", "-", ""), ("weighted_", "--", ", by margins")):
                points = values(experiment, recipe, prefix + measure)
                if points:
                    look = {"color": COLORS[place], "marker": MARKERS[place], "markersize": 4, "linewidth": 1.6}
                    axes.plot(list(points), list(points.values()), style, label=f"{recipe}{suffix}", **look)
        axes.set_xscale("log", base=2)
        axes.set_xticks([16, 32, 64, 128, 256], ["16", "32", "64", "128", "256"])
        axes.set(xlabel="code length (bits)", ylabel=label)

    shown = [one for one in summary.run.experiments if any(values(one, name, measure) for name in summary.run.recipes)]
    return _draw(f"recipes-{measure}", shown, panel)


def _draw(
    name: str,
    experiments: Sequence[Experiment],
    panel: Callable[[Any, Experiment], None],
    order: Sequence[str] = (),
) -> Drawing:
    """Draw one panel per corpus, and one legend under all of them with its labels in this order."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    style: dict[Any, Any] = {
        "svg.fonttype": "none",
        "svg.hashsalt": name,
        "font.family": "DejaVu Sans",
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.alpha": 0.15,
        "grid.linewidth": 0.6,
        "axes.linewidth": 0.7,
        "axes.titlesize": 10.5,
        "axes.titleweight": "bold",
        "path.simplify_threshold": 0.5,
        **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK),
        "grid.color": INK,
    }
    columns = max(1, len(experiments))
    with mpl.rc_context(style):
        figure = Figure(figsize=(max(3.4 * columns, 4.6), 3.5), layout="constrained")
        figure.patch.set_alpha(0)
        for axes, experiment in zip(figure.subplots(1, columns, squeeze=False)[0], experiments, strict=True):
            axes.patch.set_alpha(0)
            axes.set_title(experiment.title)
            panel(axes, experiment)
        known: dict[str, Any] = {}
        for axes in figure.axes:
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
                known.setdefault(label, handle)
        entries = [(label, known[label]) for label in order if label in known] or list(known.items())
        if entries:
            columns = min(len(entries), 5 if columns > 1 else 3)
            figure.legend(
                [handle for _, handle in entries],
                [label for label, _ in entries],
                loc="outside lower center",
                ncols=columns,
                frameon=False,
            )
        target, pdf, png = io.StringIO(), io.BytesIO(), io.BytesIO()
        figure.savefig(target, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        for stream, kind, dates in ((pdf, "pdf", ("CreationDate", "Producer")), (png, "png", ("Software",))):
            metadata: dict[str, Any] = dict.fromkeys(dates)
            figure.savefig(stream, format=kind, dpi=200, facecolor="white", transparent=False, metadata=metadata)
    return Drawing(_tidy(target.getvalue(), name), pdf.getvalue(), png.getvalue())


def _tidy(svg: str, name: str) -> str:
    """Remove what a page does not need, take the text color of the page, and shorten the numbers."""
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", XLINK)
    root = ElementTree.fromstring(svg)  # noqa: S314  # our own drawing
    for metadata in root.findall(f"{{{SVG}}}metadata"):
        root.remove(metadata)
    del root.attrib["height"]
    # In pixels; three panels fill a page.
    root.set("width", str(round(1.5 * float(root.attrib["width"].removesuffix("pt")))))
    for element in root.iter():
        for attribute, value in element.items():
            element.set(attribute, _own(attribute, value, name))
    text = ElementTree.tostring(root, encoding="unicode")
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


def _own(attribute: str, value: str, name: str) -> str:
    """Adapt the value of an attribute to a page with several figures, whose identifiers must differ."""
    if attribute == "id":
        return f"{name}-{value}"
    if attribute == f"{{{XLINK}}}href":
        return value.replace("#", f"#{name}-", 1)
    value = value.replace("url(#", f"url(#{name}-").replace(INK, "currentColor").replace("'DejaVu Sans'", FONT)
    return LONG_NUMBER.sub(r"\1", value)


def standalone(svg: str) -> str:
    """Make a drawing a separate file, which follows the color scheme of the reader."""
    root, _, content = svg.partition(">")
    return f"{root}>{STANDALONE}{content}"


def caption(kind: str, relevance: str, strict: bool, radius: int, lengths: Sequence[int]) -> str:
    """Return the caption of a figure."""
    variant = (
        " An empty answer has precision 0."
        if strict
        else " An empty answer has precision 1, as in the authors' toolbox."
    )
    if kind == "f1":
        bars = " Bars: one standard deviation over the random splits, where there are several."
        return f"F1 of STH for retrieving {RELEVANCE_TITLES[relevance]}.{variant}{bars}"
    return (
        f"Precision and recall at Hamming radius {radius}, {RELEVANCE_TITLES[relevance]}. Each point is a code length, "
        f"from {lengths[0]} to {lengths[-1]} bits; methods that take long have fewer points. Dashed: our own recipes. "
        f"Bars at STH: one standard deviation over the random splits, where there are several.{variant}"
    )
