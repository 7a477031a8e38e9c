"""Quality of 64-bit codes against the size of the learning sample, on 20Newsgroups.

The vocabulary and the document frequencies are always those of all 11,314 training messages. The hash functions are
learned from a sample of them, and then encode all of them, as on Spark. Queries are the 7,532 test messages.
It draws docs/images/learning-sample.svg.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import data
from harness import Run, figure, main
from library import nearest_neighbors
from sthash import HammingIndex, SelfTaughtHashing, TextVectorizer

BITS, NEAREST, TOP = 64, 100, 10
SIZES = (1_000, 2_000, 5_000, 10_000, None)
MEASURES = ("precision at 100 (same newsgroup)", "share of the cosine top 10 in the 100 nearest codes")
COLORS = {"paper": "#1f5f8b", "topics": "#c8553d"}

Scores = npt.NDArray[np.float64]  # a row per seed, a column per measure


class Corpus:
    """Vectors, labels and true neighbors."""

    def __init__(self, news: data.Split) -> None:
        # The messages come sorted by group, and ties go by position: without a shuffle one group would win them.
        order = np.random.default_rng(0).permutation(len(news.train))
        vectorizer = TextVectorizer()
        self.X = vectorizer.fit_transform([news.train[place] for place in order])
        self.Q = vectorizer.transform(news.test)
        self.labels, self.wanted = news.train_labels[order], news.test_labels
        nearest = nearest_neighbors(self.X, self.Q, NEAREST)
        self.top = nearest[:, :TOP]
        self.exact = float((self.labels[nearest] == self.wanted[:, None]).mean())

    def scores(self, recipe: Any, size: int | None, seed: int) -> tuple[float, float]:
        """Learn from a sample; give both measures."""
        sample = np.sort(np.random.default_rng(seed).permutation(self.X.shape[0])[:size])
        hasher = SelfTaughtHashing(BITS, recipe=recipe, random_state=seed).fit(self.X[sample])
        index = HammingIndex.build(hasher.transform(self.X), n_bits=BITS)
        found, _ = index.search(hasher.transform(self.Q), NEAREST)
        precision = float((self.labels[found] == self.wanted[:, None]).mean())
        shared = [len(np.intersect1d(near, ids)) for near, ids in zip(self.top, found, strict=True)]
        return precision, float(np.mean(shared)) / TOP


def measure(run: Run) -> None:
    """Measure each recipe at each size."""
    corpus = Corpus(data.news(run.quick))
    sizes, seeds = run.choose(SIZES, (300, None)), run.choose(3, 1)
    run.add(figure("exact", f"exact cosine, precision at {NEAREST}", corpus.exact, "precision"))
    measured: dict[tuple[str, int | None], Scores] = {}
    for recipe in COLORS:
        for size in sizes:
            # All documents are one sample only.
            scores = np.array([corpus.scores(recipe, size, seed) for seed in range(seeds if size else 1)])
            measured[recipe, size] = scores
            precision, share = scores.mean(axis=0).tolist()
            lowest, highest = scores.min(axis=0).tolist(), scores.max(axis=0).tolist()
            details = {
                "share of the top 10": share,
                "lowest": lowest[0],
                "highest": highest[0],
                "lowest share": lowest[1],
                "highest share": highest[1],
            }
            name, setting = f"{size:,}" if size else "all", {"recipe": recipe, "bits": BITS, "samples": len(scores)}
            what = f"{recipe}, learned on {name}: precision at {NEAREST}"
            run.add(figure(f"{recipe}-{size or 'all'}", what, precision, "precision", setting=setting, details=details))
    if picture := run.picture("learning-sample.svg"):
        draw(measured, sizes, corpus.exact, picture)


def draw(
    measured: dict[tuple[str, int | None], Scores], sizes: tuple[int | None, ...], exact: float, picture: Path
) -> None:
    """Draw one panel per measure: one line per recipe, and a band from the lowest to the highest sample."""
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    mpl.rcParams |= {
        "svg.hashsalt": "sthash",
        "font.size": 10,
        "axes.titlesize": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
    drawn, panels = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    names = [f"{size:,}" if size else "all" for size in sizes]
    for place, (panel, title) in enumerate(zip(panels, MEASURES, strict=True)):
        for recipe, color in COLORS.items():
            values = [measured[recipe, size][:, place] for size in sizes]
            means, low, high = ([float(f(one)) for one in values] for f in (np.mean, np.min, np.max))
            panel.plot(names, means, marker="o", color=color, label=f"recipe '{recipe}'")
            panel.fill_between(names, low, high, color=color, alpha=0.2, linewidth=0)
        panel.set(title=title, xlabel="documents in the learning sample", ylim=(0, 0.8))
        panel.grid(axis="y", alpha=0.3)
    panels[0].axhline(exact, color="gray", linestyle=":", label="exact cosine")
    panels[0].legend(loc="lower right", frameon=False)
    drawn.savefig(picture, metadata={"Date": None})


if __name__ == "__main__":
    main(__file__, __doc__, measure)
