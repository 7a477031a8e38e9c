"""Raw text to a 64-bit model on 20Newsgroups, against a plain scikit-learn assembly.

Also: each stage, precision at 100 of both, peak memory, and how each stage grows from 2,000 to 16,000 documents.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import assembly
import data
from harness import OURS, Run, compare, figure, main
from sthash import SelfTaughtHashing, TextVectorizer
from sthash.evaluation import Topics, score
from timing import in_own_process, time_in_turns, timed

STAGES = ("text", "graph", "embedding", "binarizer", "hash_function")
BITS = 64
PAPER_SECONDS = 0.0165  # per document, Matlab on a Pentium 4


def fit(texts: list[str]) -> tuple[TextVectorizer, SelfTaughtHashing, dict[str, float]]:
    """Fit as a user would; give both parts and the seconds per stage."""
    vectorizer, hasher = TextVectorizer(), SelfTaughtHashing(BITS)
    text = timed(lambda: vectorizer.fit_transform(texts))
    hasher.fit(text.result)
    return vectorizer, hasher, {"text": text.best, **hasher.stage_seconds_}


def fit_only(texts: list[str]) -> None:
    """Fit, and keep nothing."""
    fit(texts)


def precision_at_100(corpus: data.Split, codes: Any, queries: Any) -> float:
    """Share of the same topic among the 100 nearest codes, ties in expectation."""
    topics = Topics(corpus.train_labels, corpus.test_labels)
    return float(score(codes, queries, topics, lengths=(BITS,)).rankings[0].precision_at_k)


def measure(run: Run) -> None:
    """Measure the whole, then its stages, then growth."""
    news = data.news(run.quick)
    n = len(news.train)
    setting = {"documents": n, "bits": BITS}
    timings = time_in_turns(
        {OURS: lambda: fit(news.train), assembly.NAME: lambda: assembly.Assembly().fit(news.train)}, budget=30
    )
    vectorizer, hasher, stages = timings[OURS].result
    peer = timings[assembly.NAME].result
    run.add(compare("total", "raw text to a model", timings, setting=setting))
    for stage in STAGES:
        theirs = peer.seconds[stage]
        run.add(figure(f"stage-{stage}", f"  {stage}", stages[stage], "s", peer=assembly.NAME, theirs=theirs))

    # LinearSVC stops at 1e-4 by default, sthash at LIBLINEAR's own 0.1.
    X = peer.vectorizer.transform(news.train)
    bits = np.unpackbits(peer.codes, axis=1, bitorder="little").astype(bool)
    alike = timed(lambda: assembly.Assembly(svm_tol=0.1).fit_classifiers(X, bits)).best
    ours, theirs = timings[OURS].best, timings[assembly.NAME].best
    equal = theirs - peer.seconds["hash_function"] + alike
    name = f"{assembly.NAME}, tolerance 0.1"
    run.add(figure("equal-tolerance", "the same, SVMs at equal tolerance", ours, "s", peer=name, theirs=equal))
    paper = figure(
        "per-document", "seconds per document", ours / n, "s", peer="the paper (Pentium 4)", theirs=PAPER_SECONDS
    )
    run.add(paper)

    mine = precision_at_100(news, hasher.codes_, hasher.transform(vectorizer.transform(news.test)))
    other = precision_at_100(news, peer.codes, peer.encode(news.test))
    run.add(figure("precision", "precision at 100, same topic", mine, "precision", peer=assembly.NAME, theirs=other))
    alone = in_own_process(fit_only, news.train)
    before = {"before the fit": alone.before}
    run.add(figure("memory", "peak memory", alone.peak, "MiB", setting=setting, details=before))
    grow(run, news)


def grow(run: Run, news: data.Split) -> None:
    """Measure the stages for more and more documents, and with which power of their number each one grows."""
    everything = [*news.train, *news.test]
    shuffled = [everything[place] for place in np.random.default_rng(0).permutation(len(everything))]
    sizes = run.choose((2000, 4000, 8000, 16000), (300, 600))
    grown = time_in_turns({str(n): lambda n=n: fit(shuffled[:n]) for n in sizes}, repetitions=3)  # type: ignore[misc]
    for stage in (*STAGES, "total"):
        stages = [grown[str(n)].result[-1] for n in sizes]
        seconds = [sum(one.values()) if stage == "total" else one[stage] for one in stages]
        exponent = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
        details = {f"s at {n}": taken for n, taken in zip(sizes, seconds, strict=True)}
        run.add(figure(f"growth-{stage}", f"growth of {stage}", exponent, "exponent", details=details))


if __name__ == "__main__":
    main(__file__, __doc__, measure)
