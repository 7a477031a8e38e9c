"""Quality of 64-bit codes against the size of the learning sample, on 20Newsgroups: docs/images/learning-sample.svg.

The vocabulary and the document frequencies are always those of all 11,314 training messages; the hash functions are
learnt from a sample of them, and then encode all of them, as on Spark. Queries are the 7,532 test messages.
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("svg")
import matplotlib.pyplot as plt

from sthash import HammingIndex, SelfTaughtHashing, TextVectorizer
from sthash.evaluation.relevance import nearest_neighbours
from sthash.reproduction.datasets import load_20newsgroups

BITS, SIZES, SEEDS, NEAREST = 64, (1_000, 2_000, 5_000, 10_000, None), range(3), 100
TARGET = Path(__file__).parents[1] / "docs" / "images" / "learning-sample.svg"
MEASURES = ("precision at 100 (same newsgroup)", "share of the cosine top 10 in the 100 nearest codes")
COLOURS = {"paper": "#1f5f8b", "topics": "#c8553d"}


def measured(X, Q, labels, wanted, neighbours, recipe, size, seed):
    """Learn from a sample; give both measures."""
    rng = np.random.default_rng(seed)
    sample = np.sort(rng.permutation(X.shape[0])[:size])
    hasher = SelfTaughtHashing(BITS, recipe=recipe, random_state=seed).fit(X[sample])
    index = HammingIndex(BITS)
    index.add(hasher.transform(X))
    found, _ = index.search(hasher.transform(Q), NEAREST)
    precision = (labels[found] == wanted[:, None]).mean()
    share = np.mean([len(np.intersect1d(near, ids)) for near, ids in zip(neighbours, found, strict=True)]) / 10
    return precision, share


def draw(scores, cosine):
    """Draw a panel a measure: a line a recipe, from the lowest to the highest of the samples as a band."""
    mpl.rcParams |= {
        "svg.hashsalt": "sthash",
        "font.size": 10,
        "axes.titlesize": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    names = [f"{size:,}" if size else "all" for size in SIZES]
    for place, (panel, measure) in enumerate(zip(panels, MEASURES, strict=True)):
        for recipe, colour in COLOURS.items():
            values = np.array([[score[place] for score in scores[recipe, size]] for size in SIZES])
            panel.plot(names, values.mean(axis=1), marker="o", color=colour, label=f"recipe '{recipe}'")
            panel.fill_between(names, values.min(axis=1), values.max(axis=1), color=colour, alpha=0.2, linewidth=0)
        panel.set(title=measure, xlabel="documents in the learning sample", ylim=(0, 0.8))
        panel.grid(axis="y", alpha=0.3)
    panels[0].axhline(cosine, color="grey", linestyle=":", label="exact cosine")
    panels[0].legend(loc="lower right", frameon=False)
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(TARGET, metadata={"Date": None})


def main():
    """Measure, print and draw."""
    news = load_20newsgroups()
    # The messages come sorted by group, and ties go by position: shuffle, or one group would win them.
    order = np.random.default_rng(0).permutation(len(news.train_texts))
    vectorizer = TextVectorizer()
    X = vectorizer.fit_transform([news.train_texts[place] for place in order])
    Q = vectorizer.transform(news.test_texts)
    labels, wanted = news.train_labels[order], news.test_labels
    nearest = nearest_neighbours(X, Q, NEAREST)
    cosine = (labels[nearest] == wanted[:, None]).mean()
    print(
        f"{X.shape[0]:,} documents, {Q.shape[0]:,} queries, {BITS} bits; mean of {len(SEEDS)} samples (lowest, highest)"
    )
    print(f"exact cosine: precision at {NEAREST} {cosine:.3f}")
    scores = {}
    for recipe in COLOURS:
        for size in SIZES:
            seeds = SEEDS if size else [0]
            scores[recipe, size] = [
                measured(X, Q, labels, wanted, nearest[:, :10], recipe, size, seed) for seed in seeds
            ] * (1 if size else len(SEEDS))
            precision, share = (
                f"{np.mean(part):.3f} ({min(part):.3f}, {max(part):.3f})"
                for part in zip(*scores[recipe, size], strict=True)
            )
            name = f"{size:,}" if size else "all"
            print(f"  {recipe:<7} {name:>7}   precision at 100 {precision}   share of top 10 {share}", flush=True)
    draw(scores, cosine)
    print(TARGET)


if __name__ == "__main__":
    main()
