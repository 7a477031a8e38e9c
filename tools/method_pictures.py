"""Draw the pictures of docs/method.md from a real run: ``make pictures``.

The data are the 200 news items of examples/news.jsonl, the settings those of the code on that page. The same versions
of NumPy, SciPy and Matplotlib on the same kind of processor draw the same files.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib import pyplot as plt

import sthash
from sthash import hashing

mpl.use("Agg")
ROOT = Path(__file__).parents[1]
QUERY = "pictures of distant planets"
N_BITS, N_NEIGHBORS, RADIUS = 16, 8, 3
COLORS = ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#17becf")
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Run:
    """What the steps of the method give for the news items, sorted by topic."""

    labels: Array
    graph: Any
    embedding: Array
    bits: Array
    query_bits: Array

    @property
    def topics(self) -> list[str]:
        """Return the topics, in the order of the alphabet."""
        return sorted(set(self.labels))

    @property
    def distances(self) -> Array:
        """Return in how many bits each item differs from the query."""
        return np.count_nonzero(self.bits != self.query_bits, axis=1)

    def colors(self) -> list[str]:
        """Return a color per item, by its topic."""
        return [COLORS[self.topics.index(label)] for label in self.labels]


def run() -> Run:
    """Learn codes for the news items, step by step, and predict that of the query."""
    lines = (ROOT / "examples" / "news.jsonl").read_text(encoding="utf-8").splitlines()
    items = sorted((json.loads(line) for line in lines), key=lambda item: (item["label"], item["key"]))
    vectorizer = sthash.TextVectorizer()
    vectors = vectorizer.fit_transform([item["text"] for item in items])
    graph = hashing.knn_graph(vectors, N_NEIGHBORS)
    embedding = hashing.laplacian_eigenmap(graph, N_BITS)
    bits = hashing.median_bits(embedding)
    bank = hashing.LinearSVMBank().fit(vectors, bits)
    query_bits = bank.decision_function(vectorizer.transform([QUERY]))[0] > 0
    return Run(np.array([item["label"] for item in items]), graph, embedding, bits, query_bits)


def layout(graph: Any, steps: int = 300) -> Array:
    """Place the nodes of a graph: edges attract, all nodes repel (Fruchterman and Reingold, 1991)."""
    n = graph.shape[0]
    weights = graph.toarray()
    places = np.random.default_rng(3).standard_normal((n, 2))
    ideal = 0.35
    for step in range(steps):
        apart = places[:, None] - places[None]
        length = np.maximum(np.linalg.norm(apart, axis=2), 1e-3)
        force = ideal**2 / length**2 - weights * length / ideal
        move = (apart * force[..., None]).sum(axis=1) - 0.08 * places
        size = np.maximum(np.linalg.norm(move, axis=1, keepdims=True), 1e-9)
        places += move / size * np.minimum(size, 0.3 * (1 - step / steps))
    return places


def draw_graph(result: Run) -> plt.Figure:
    """Draw the graph of nearest neighbors, with a color per topic."""
    figure, axes = plt.subplots(figsize=(7, 5))
    places = layout(result.graph)
    rows, columns = result.graph.nonzero()
    colors = result.colors()
    for one, other in zip(rows, columns, strict=True):
        if one < other:
            same = result.labels[one] == result.labels[other]
            color, width = (colors[one], 0.9) if same else ("#cccccc", 0.4)
            axes.plot(*places[[one, other]].T, color=color, linewidth=width, zorder=1 + same)
    axes.scatter(*places.T, c=colors, s=26, zorder=3, linewidth=0)
    _legend(axes, result.topics)
    axes.set_axis_off()
    return figure


def draw_eigenmap(result: Run) -> plt.Figure:
    """Draw pairs of eigenvectors against each other, with the medians at which they are cut."""
    figure, all_axes = plt.subplots(1, 2, figsize=(9, 4.2))
    for axes, (x, y) in zip(all_axes, ((0, 1), (2, 3)), strict=True):
        axes.scatter(result.embedding[:, x], result.embedding[:, y], c=result.colors(), s=18, linewidth=0)
        axes.axvline(np.median(result.embedding[:, x]), color="black", linewidth=0.8, linestyle="--")
        axes.axhline(np.median(result.embedding[:, y]), color="black", linewidth=0.8, linestyle="--")
        axes.set_xlabel(f"eigenvector {x + 1}, which becomes bit {x + 1}")
        axes.set_ylabel(f"eigenvector {y + 1}, which becomes bit {y + 1}")
        axes.set_xticks([])
        axes.set_yticks([])
    _legend(all_axes[1], result.topics)
    return figure


def draw_codes(result: Run) -> plt.Figure:
    """Draw the bits of all items, sorted by topic."""
    figure, axes = plt.subplots(figsize=(7, 5))
    axes.imshow(~result.bits, cmap="gray", aspect="auto", interpolation="nearest", vmin=-0.25, vmax=1)
    axes.set_xticks(range(N_BITS), [str(place + 1) for place in range(N_BITS)])
    axes.set_xlabel("bit")
    axes.tick_params(length=0)
    middles = []
    for place, topic in enumerate(result.topics):
        rows = np.flatnonzero(result.labels == topic)
        middles.append(rows.mean())
        axes.axhline(rows[-1] + 0.5, color="#d62728", linewidth=1)
        axes.add_patch(plt.Rectangle((-0.9, rows[0] - 0.5), 0.3, len(rows), color=COLORS[place], clip_on=False))
    axes.set_yticks(middles, result.topics)
    axes.tick_params(axis="y", pad=12)
    return figure


def draw_ball(result: Run) -> plt.Figure:
    """Draw the items around the query: the distance from the middle is the number of bits that differ."""
    figure, axes = plt.subplots(figsize=(7, 5.6))
    distances, n = result.distances, len(result.labels)
    for ring in range(1, distances.max() + 1):
        axes.add_patch(plt.Circle((0, 0), ring, fill=False, color="#dddddd", linewidth=0.6))
        if ring % 2 == 0:
            axes.text(
                0,
                ring,
                str(ring),
                fontsize=7,
                color="#444444",
                ha="center",
                va="center",
                bbox={"color": "white", "pad": 1},
            )
    axes.add_patch(plt.Circle((0, 0), RADIUS + 0.5, color="#fff0b3", zorder=0))
    angles = 2 * np.pi * (np.arange(n) + 0.5) / n + np.pi / 2
    axes.scatter(distances * np.cos(angles), distances * np.sin(angles), c=result.colors(), s=22, zorder=2, linewidth=0)
    axes.scatter([0], [0], marker="*", s=140, color="black", zorder=3)
    _legend(axes, result.topics)
    reach = distances.max() + 0.8
    axes.set_xlim(-reach, reach)
    axes.set_ylim(-reach, reach)
    axes.set_aspect("equal")
    axes.set_axis_off()
    return figure


def _legend(axes: plt.Axes, topics: list[str]) -> None:
    for color, topic in zip(COLORS, topics, strict=False):
        axes.scatter([], [], color=color, s=22, label=topic)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)


PICTURES = {
    "method-graph": draw_graph,
    "method-eigenmap": draw_eigenmap,
    "method-codes": draw_codes,
    "method-ball": draw_ball,
}


def main(folder: Path) -> None:
    """Draw all pictures."""
    result = run()
    settings = {"svg.hashsalt": "sthash", "svg.fonttype": "path", "font.size": 9, "axes.spines.right": False}
    with plt.rc_context(settings | {"axes.spines.top": False}):
        for name, draw in PICTURES.items():
            figure = draw(result)
            figure.savefig(folder / f"{name}.svg", bbox_inches="tight", metadata={"Date": None})
            plt.close(figure)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
