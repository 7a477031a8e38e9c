"""A plot of the trials of tuning: quality against bytes, and against time."""

from __future__ import annotations

import os
from typing import Any

from sthash.evaluation.tuning import Tuning
from sthash.extras import install_command
from sthash.files import replacing

AXES = (("bytes", "bytes per document"), ("microseconds", "microseconds per query"))
QUALITY = {
    "neighbors": "recall of the 10 nearest documents\nafter re-ranking {ball:,} of {corpus:,}",
    "topics": "same label among the 100 nearest codes\nof {corpus:,} documents",
}


def draw_tuning(tuning: Tuning, path: str | os.PathLike[str]) -> None:
    """Write an SVG with one line per recipe and number of neighbors, and a circle around the recommended setting."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(f"a plot needs matplotlib. Install it: {install_command('plot')}.") from error
    # Text stays text, and the same trials give the same file.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "sthash"}):
        figure: Any = Figure(figsize=(10, 4.2), layout="constrained")
        panels = figure.subplots(1, len(AXES), sharey=True)
        recipes = list(dict.fromkeys(trial.recipe for trial in tuning.trials))
        counts = list(dict.fromkeys(trial.n_neighbors for trial in tuning.trials))
        for panel, (measure, label) in zip(panels, AXES, strict=True):
            for recipe in recipes:
                for k in counts:
                    own = [trial for trial in tuning.trials if (trial.recipe, trial.n_neighbors) == (recipe, k)]
                    panel.plot(
                        [getattr(trial, measure) for trial in own],
                        [trial.quality(tuning.aim) for trial in own],
                        color=f"C{recipes.index(recipe)}",
                        linestyle=["-", "--", ":", "-."][counts.index(k) % 4],
                        marker=".",
                        label=f"{recipe}, k = {k}",
                    )
            best = tuning.recommended
            panel.plot(getattr(best, measure), best.quality(tuning.aim), "o", ms=14, mfc="none", mec="black")
            panel.set_xlabel(label)
            panel.grid(alpha=0.3)
        panels[0].set_xscale("log", base=2)
        panels[0].set_xticks(sorted({trial.bytes for trial in tuning.trials}))
        panels[0].xaxis.set_major_formatter("{x:g}")
        panels[0].minorticks_off()
        panels[1].set_xlim(left=0)
        panels[0].set_ylabel(QUALITY[tuning.aim].format(ball=tuning.ball, corpus=tuning.n_corpus))
        panels[0].legend(fontsize="small")
        with replacing(path) as temporary:
            figure.savefig(temporary, format="svg", metadata={"Date": None})
