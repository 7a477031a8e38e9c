"""Learn and encode in a process whose BLAS uses the kernels of another processor (``OPENBLAS_CORETYPE``)."""

import sys
from pathlib import Path

import numpy as np

import sthash
from sthash import Learning, SelfTaughtHashing, TextModel, TextVectorizer
from sthash.hashing.ridge import ridge_map
from support.golden import make_texts

RECIPES = ("paper", "topics", "neighbors")
LEARNED_ON = 500


def corpora():
    """Sparse and dense rows: for learning, and unseen."""
    texts = make_texts()
    vectorizer = TextVectorizer()
    sparse, unseen = vectorizer.fit_transform(texts[:LEARNED_ON]), vectorizer.transform(texts[LEARNED_ON:])
    axes = np.random.default_rng(1).normal(size=(sparse.shape[1], 48)).astype(np.float32)
    return {"sparse": (sparse, unseen), "dense": (sparse @ axes, unseen @ axes)}


def learn(target: Path, threads: int) -> None:
    """Learn with every recipe; write the codes of the corpus and of unseen documents."""
    learned = {}
    for kind, (corpus, unseen) in corpora().items():
        for recipe in RECIPES:
            hasher = SelfTaughtHashing(16, 15, recipe=recipe, threads=threads).fit(corpus)
            learned[f"{recipe}-{kind}"] = np.vstack([hasher.codes_, hasher.transform(unseen)])
    corpus, unseen = corpora()["dense"]
    for recipe in ("kernel_topics", "auto"):
        hasher = SelfTaughtHashing(16, 15, recipe=recipe, threads=threads).fit(corpus)
        learned[f"{recipe}-dense"] = np.vstack([hasher.codes_, hasher.transform(unseen)])
    learned["ridge-sparse"] = ridge_map(corpora()["sparse"][0], np.eye(LEARNED_ON)[:, :16], threads=threads)
    np.savez(target, **learned)


def save_models(folder: Path) -> None:
    """Write one model file per recipe, and a model of texts."""
    for kind, (corpus, _) in corpora().items():
        for recipe in RECIPES:
            SelfTaughtHashing(16, 15, recipe=recipe).fit(corpus).save(folder / f"{recipe}-{kind}")
    TextModel.build(make_texts()[:LEARNED_ON], learning=Learning(n_bits=16, n_neighbors=15)).save(folder / "texts")


def encode(folder: Path, target: Path, threads: int) -> None:
    """Load the model files; write the margins of unseen documents."""
    margins = {"texts": TextModel.load(folder / "texts").with_threads(threads).encode(make_texts()).margins}
    for kind, (_, unseen) in corpora().items():
        for recipe in RECIPES:
            margins[f"{recipe}-{kind}"] = sthash.load(folder / f"{recipe}-{kind}").decision_function(unseen)
    np.savez(target, **margins)


if __name__ == "__main__":
    job, *arguments, threads = sys.argv[1:]
    {"learn": learn, "encode": encode}[job](*map(Path, arguments), int(threads))
