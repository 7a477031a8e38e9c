"""Raw, unseen text to 64-bit codes on 20Newsgroups, against the fitted pipeline of a scikit-learn assembly.

The vectorizer remembers words that it has met. So there are three states: no word known, the training words known,
and all words met before.
"""

from __future__ import annotations

import copy
from typing import Any

import assembly
import data
from harness import OURS, Run, compare, figure, main
from sthash import SelfTaughtHashing, TextVectorizer
from timing import time_in_turns

BITS = 64
PAPER_SECONDS = 0.0007  # per document, from vectors, Matlab on a Pentium 4
STATES = {"fresh": "no word known", "fitted": "training words known", "warm": "all words met before"}


def measure(run: Run) -> None:
    """Fit both, then encode in turns."""
    news = data.news(run.quick)
    texts, n = news.test, len(news.test)
    vectorizer, hasher = TextVectorizer(), SelfTaughtHashing(BITS)
    hasher.fit(vectorizer.fit_transform(news.train))
    peer = assembly.Assembly(svm_tol=0.1).fit(news.train)
    repetitions = 5
    # A copy has not seen the words of the test texts yet. Copies are made before the clock runs.
    fresh = iter([copy.deepcopy(vectorizer) for _ in range(repetitions)])
    fitted = [copy.deepcopy(vectorizer) for _ in range(repetitions)]
    for one in fitted:
        one.transform(news.train)
    seen = iter(fitted)

    def encode(own: TextVectorizer) -> Any:
        return hasher.transform(own.transform(texts))

    encode(vectorizer)
    timings = time_in_turns(
        {
            "fresh": lambda: encode(next(fresh)),
            "fitted": lambda: encode(next(seen)),
            "warm": lambda: encode(vectorizer),
            assembly.NAME: lambda: peer.encode(texts),
        },
        repetitions,
    )
    for state, meaning in STATES.items():
        own = {OURS: timings[state].per(n), assembly.NAME: timings[assembly.NAME].per(n)}
        setting = {"documents": n, "bits": BITS}
        run.add(compare(state, f"text to codes, {meaning}", own, "documents/s", setting=setting))
    seconds = timings["warm"].best / n
    paper = "the paper (Pentium 4, from vectors)"
    run.add(figure("per-document", "seconds per document", seconds, "s", peer=paper, theirs=PAPER_SECONDS))


if __name__ == "__main__":
    main(__file__, __doc__, measure)
