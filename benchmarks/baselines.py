"""Every method on Reuters, and the seconds and memory it takes to learn 64 bits from 20Newsgroups.

``python benchmarks/baselines.py`` prints both tables; ``reuters`` or ``news`` as an argument prints one of them. The
paper's measures at Hamming radius 1, for the 25 nearest neighbours by cosine and for documents on the same topic, with
precision 0 for a query that retrieves nothing (F1 in brackets: 1, as the authors count). P@100 ranks by distance.
"""

import multiprocessing
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.pipeline import make_pipeline

from sthash import SelfTaughtHashing, TextVectorizer, baselines
from sthash.evaluation import Neighbours, Topics, nearest_neighbours, score
from sthash.hashing import ClassGraph, GaussianSVM, LinearEmbedding, NystromExtension
from sthash.reproduction.datasets import load_20newsgroups, load_reuters21578_counts, tfidf_counts

METHODS = {
    "STH": SelfTaughtHashing,
    "STH, topic recipe": lambda n_bits: SelfTaughtHashing(n_bits, recipe="topics"),
    "STH, Gaussian SVM": lambda n_bits: SelfTaughtHashing(n_bits, hash_function=GaussianSVM()),
    "STH, Nyström": lambda n_bits: SelfTaughtHashing(n_bits, hash_function=NystromExtension()),
    "STH, linear (LPI)": lambda n_bits: SelfTaughtHashing(n_bits, hash_function=LinearEmbedding()),
    "STH, supervised": lambda n_bits: SelfTaughtHashing(n_bits, graph=ClassGraph()),
    "LSH": baselines.RandomHyperplaneHashing,
    "binarised LSI": baselines.BinarisedLSI,
    "LCH": baselines.LaplacianCoHashing,
    "SpH": baselines.SpectralHashing,
    "stacked RBM": baselines.StackedRBMHashing,
    "boosted SSC": baselines.BoostedSSC,
    "boosted SSC on LSI": lambda n_bits: make_pipeline(TruncatedSVD(64, random_state=0), baselines.BoostedSSC(n_bits)),
    "FgH": baselines.ForgivingHashing,
    "FgH on LSI": lambda n_bits: make_pipeline(TruncatedSVD(64, random_state=0), baselines.ForgivingHashing(n_bits)),
    "PCA-ITQ": baselines.IterativeQuantization,
    "AGH, one layer": lambda n_bits: baselines.AnchorGraphHashing(n_bits, layers=1),
    "AGH, two layers": baselines.AnchorGraphHashing,
}


def seconds(work):
    """Run a piece of work; return the result and its duration."""
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def reuters():
    """Print the scores at 16 and 32 bits. Each length is learnt on its own."""
    data = load_reuters21578_counts()
    train, test = tfidf_counts(data.train, data.test)
    relevances = (
        Neighbours(nearest_neighbours(train, test, 25), train.shape[0]),
        Topics(data.train_labels, data.test_labels),
    )
    print(f"Reuters-21578, {train.shape[0]} documents, {test.shape[0]} queries, radius 1\n")
    print(f"{'':<26}{'nearest neighbours':^28}{'same topic':^36}{'fit':>8}{'encode':>9}")
    measures = f"{'P':>7}{'R':>7}{'F1':>7}{'':7}"
    print(f"{'method':<20}{'bits':>5} {measures}{measures}{'P@100':>8}{'s':>8}{'µs/doc':>9}")
    for n_bits in (16, 32):
        for name, make in METHODS.items():
            hasher = make(n_bits)
            _, fit_seconds = seconds(lambda: hasher.fit(train, data.train_labels))  # noqa: B023
            encoded = [seconds(lambda: hasher.transform(test)) for _ in range(3)]  # noqa: B023
            encode_seconds = min(duration for _, duration in encoded)
            corpus = getattr(hasher, "steps", [(None, hasher)])[-1][1].codes_
            row = f"{name:<20}{n_bits:>5} "
            for relevance in relevances:
                scores = score(corpus, encoded[0][0], relevance, lengths=[n_bits], radii=[1])
                ball = scores.ball(n_bits, 1)
                row += f"{ball.precision_strict:>7.3f}{ball.recall:>7.3f}{ball.f1_strict:>7.3f}{f'({ball.f1:.3f})':>7}"
            row += f"{scores.rankings[0].precision_at_k:>8.3f}"
            print(f"{row}{fit_seconds:>8.2f}{1e6 * encode_seconds / test.shape[0]:>9.1f}", flush=True)
        print()


def learn(make, X, y, sender):
    """Fit in a process of its own; send seconds, and by how much the peak of memory rose, in MiB."""
    before = resident_peak()
    _, duration = seconds(lambda: make(64).fit(X, y))
    sender.send((duration, resident_peak() - before))


def resident_peak():
    """Largest resident size of this process so far, in MiB."""
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024


def news():
    """Print what 64 bits of 20Newsgroups cost."""
    data = load_20newsgroups()
    X = TextVectorizer().fit_transform(data.train_texts)
    print(f"20Newsgroups train, {X.shape[0]} documents, {X.shape[1]} terms, 64 bits\n")
    print(f"{'method':<20}{'fit s':>9}{'MiB':>9}")
    context = multiprocessing.get_context("spawn")
    for name in METHODS:
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_learn_by_name, args=(name, X, np.asarray(data.train_labels), sender))
        process.start()
        duration, memory = receiver.recv()
        process.join()
        print(f"{name:<20}{duration:>9.2f}{memory:>9.0f}", flush=True)


def _learn_by_name(name, X, y, sender):
    learn(METHODS[name], X, y, sender)


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["reuters", "news"]
    for table in wanted:
        {"reuters": reuters, "news": news}[table]()
