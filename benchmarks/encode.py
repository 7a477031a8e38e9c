"""Raw unseen text to 64-bit codes on 20Newsgroups test: sthash against the scikit-learn assembly's fitted pipeline."""

import copy
import time

from assembly import Assembly
from sthash import SelfTaughtHashing, TextVectorizer
from sthash.reproduction.datasets import load_20newsgroups

PAPER_SECONDS = 0.0007


def seconds(function, *arguments):
    """Time one call."""
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


def main():
    """Print documents a second and the ratio."""
    data = load_20newsgroups()
    texts = data.test_texts
    vectorizer, hasher = TextVectorizer(), SelfTaughtHashing(64)
    hasher.fit(vectorizer.fit_transform(data.train_texts))
    peer = Assembly(svm_tol=0.1).fit(data.train_texts)

    def encode(own):
        return hasher.transform(own.transform(texts))

    # A copy has not seen the words of the test texts yet; the vectorizer itself remembers them from run to run.
    fresh = min(seconds(encode, copy.deepcopy(vectorizer)) for _ in range(5))
    first = min(seconds(encode, _with_training_words(vectorizer, data.train_texts)) for _ in range(3))
    warm = min(seconds(encode, vectorizer) for _ in range(7))
    theirs = min(seconds(peer.encode, texts) for _ in range(3))
    n = len(texts)
    print(f"20Newsgroups test, {n} raw documents to 64-bit codes\n")
    print(f"{'':<44}{'documents/s':>12}{'ratio':>8}")
    print(f"{'scikit-learn assembly (best of 3)':<44}{n / theirs:>12,.0f}{1:>8.1f}")
    print(f"{'sthash, loaded afresh: no word known':<44}{n / fresh:>12,.0f}{theirs / fresh:>8.1f}")
    print(f"{'sthash, just fitted: training words known':<44}{n / first:>12,.0f}{theirs / first:>8.1f}")
    print(f"{'sthash, at work: words seen before':<44}{n / warm:>12,.0f}{theirs / warm:>8.1f}")
    print(f"\nSeconds a document: {warm / n:.7f} (the paper, on a Pentium 4, from vectors: {PAPER_SECONDS}).")


def _with_training_words(vectorizer, train_texts):
    own = copy.deepcopy(vectorizer)
    own.transform(train_texts)
    return own


if __name__ == "__main__":
    main()
