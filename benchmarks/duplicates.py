"""Near-duplicates, against Rensa, datasketch, SemHash, and text-dedup if it is installed.

speed    descriptions of vulnerabilities, from raw text to pairs: ours are exact, the peers' are candidates
quality  made duplicates of known truth: texts, each with a copy that is changed in one way
scale    short texts, from a file to a file, in 2 GiB of memory
index    a million short texts in ten runs with one index, each killed once
passages repeated passages of texts
overlap  test items that stand in training data
meaning  rewritten texts of known truth, and the cosine that is chosen for them
agreement  collections, dedup, Deduplicator and Spark on three corpora
large    short texts, thirty million, in more memory
steps    what each step of deduplication takes per text, in parts
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import rensa
from datasketch import MinHash, MinHashLSH

import corpus_cleaning
import data
import noise
from harness import OURS, Run, compare, figure, main
from sthash import TextVectorizer, near_duplicates
from timing import Timing, time_in_turns, timed

WORDING, COSINE, JACCARD, SHINGLE = 0.75, 0.9, 0.8, 5
PERMUTATIONS, BANDS, LSH_THRESHOLD = 128, 16, 0.8
SAMPLE = 20_000
WORD = re.compile(r"[^\W_]+")  # as sthash finds words
SCALE = (100_000, 1_000_000, 10_000_000)
LARGE = (10_000_000, 30_000_000)
WINDOW = 12

Pairs = set[tuple[int, int]]


# The peers, as their documentation shows them


def word_sets(texts: list[str]) -> list[list[str]]:
    """Words of texts, as users of Rensa make them."""
    return [text.lower().split() for text in texts]


def shingle_sets(texts: list[str]) -> list[list[str]]:
    """Runs of five words."""
    found = []
    for text in texts:
        words = WORD.findall(text.lower())
        size = min(SHINGLE, len(words))
        found.append([" ".join(words[at : at + size]) for at in range(len(words) - size + 1)] if words else [])
    return found


def rensa_candidates(texts: list[str], sets: Callable[[list[str]], list[list[str]]]) -> list[list[int]]:
    """Find candidates for each text with Rensa, by its bulk functions."""
    hashes = rensa.RMinHash.from_token_sets(sets(texts), PERMUTATIONS, 42)
    lsh = rensa.RMinHashLSH(LSH_THRESHOLD, PERMUTATIONS, BANDS)
    lsh.insert_many(hashes)
    return lsh.query_all(hashes)  # type: ignore[no-any-return]


def rensa_pairs(texts: list[str], sets: Callable[[list[str]], list[list[str]]]) -> Pairs:
    """Make pairs of the candidates."""
    found = enumerate(rensa_candidates(texts, sets))
    return {(min(key, other), max(key, other)) for key, others in found for other in others if key != other}


def datasketch_pairs(texts: list[str], sets: Callable[[list[str]], list[list[str]]]) -> Pairs:
    """Find candidates with datasketch."""
    lsh = MinHashLSH(threshold=JACCARD, num_perm=PERMUTATIONS)
    pairs: Pairs = set()
    for number, own in enumerate(sets(texts)):
        minhash = MinHash(num_perm=PERMUTATIONS)
        minhash.update_batch([item.encode() for item in set(own)])
        pairs.update((other, number) for other in lsh.query(minhash))
        lsh.insert(number, minhash)
    return pairs


def semhash_pairs(texts: list[str], threshold: float = 0.9) -> Pairs:
    """Find duplicates with SemHash and static embeddings that need no network."""
    from semhash import SemHash

    from static_embeddings import Encoder

    places: dict[str, list[int]] = {}
    for number, text in enumerate(texts):
        places.setdefault(text, []).append(number)
    found = SemHash.from_records(records=texts, model=Encoder()).self_deduplicate(threshold=threshold)
    pairs: Pairs = set()
    for own in places.values():
        pairs.update(itertools.combinations(own, 2))  # what is equal, it leaves out
    for record in found.filtered:
        for other, _ in record.duplicates:
            for a, b in itertools.product(places[record.record], places[other]):
                if a != b:
                    pairs.add((min(a, b), max(a, b)))
    return pairs


def text_dedup_is_there() -> bool:
    """Whether text-dedup is installed; its command is run."""
    return importlib.util.find_spec("text_dedup") is not None


def text_dedup_pairs(texts: list[str]) -> Pairs:
    """Make pairs of the clusters of text-dedup, by the defaults of its MinHash."""
    from text_dedup import minhash
    from text_dedup.utils import UnionFind, optimal_param, sha1_hash

    bands, rows = optimal_param(0.7, 250, false_positive_weight=0.5, false_negative_weight=0.5)
    rng, prime = np.random.RandomState(42), np.uint64((1 << 61) - 1)
    settings = {
        "num_perm": 250,
        "ngram_size": 5,
        "min_length": 5,
        "hashranges": [(band * rows, (band + 1) * rows) for band in range(bands)],
        "permutations": (
            rng.randint(1, prime, size=250, dtype=np.uint64),
            rng.randint(0, prime, size=250, dtype=np.uint64),
        ),
        "hash_func": sha1_hash,
        "dtype": np.uint64,
        "max_hash": np.uint32((1 << 32) - 1),
        "modulo_prime": prime,
    }
    first: dict[tuple[int, bytes], int] = {}
    clusters = UnionFind()
    for number, text in enumerate(texts):
        if len(minhash.NON_ALPHA.split(text.lower())) < 5:
            continue
        for band, own in enumerate(minhash.embed_func(text, number, **settings)[minhash.SIGNATURE_COLUMN]):
            clusters.union(first.setdefault((band, own), number), number)
    members: dict[int, list[int]] = {}
    for number in range(len(texts)):
        members.setdefault(clusters.find(number), []).append(number)
    return {pair for own in members.values() for pair in itertools.combinations(own, 2)}


def our_pairs(texts: list[str], threshold: float, measure: Any, words: int = SHINGLE) -> Pairs:
    """Find pairs with sthash; a copy has the pairs of the text that it is a copy of."""
    found = near_duplicates(texts, threshold, measure=measure, shingle_words=words).found
    count = len(found) - found.copies
    same: dict[int, list[int]] = {}
    for first, copy in zip(found.left[count:].tolist(), found.right[count:].tolist(), strict=True):
        same.setdefault(first, [first]).append(copy)
    pairs: Pairs = set()
    for left, right in zip(found.left[:count].tolist(), found.right[:count].tolist(), strict=True):
        for a, b in itertools.product(same.get(left, [left]), same.get(right, [right])):
            pairs.add((min(a, b), max(a, b)))
    for group in same.values():
        pairs.update(itertools.combinations(group, 2))
    return pairs


# Speed


def speed(run: Run) -> None:
    """Time the whole file, and compare the pairs of a sample with the true ones."""
    texts = data.vulnerabilities(run.quick)
    sample = [texts[place] for place in np.sort(np.random.default_rng(0).permutation(len(texts))[:SAMPLE])]
    # Of each peer, what is timed, and what gives pairs.
    contests: dict[str, tuple[float, Any, Pairs, dict[str, tuple[Callable[..., Any], Callable[..., Pairs]]]]] = {
        "wording": (
            WORDING,
            "wording",
            our_pairs(sample, WORDING, "wording"),  # the tests compare it with its slow definition
            {
                "Rensa": (
                    lambda texts: rensa_candidates(texts, word_sets),
                    lambda texts: rensa_pairs(texts, word_sets),
                )
            },
        ),
        "cosine": (
            COSINE,
            "cosine",
            data.exact_pairs(TextVectorizer().fit_transform(sample), COSINE),
            {
                "Rensa": (
                    lambda texts: rensa_candidates(texts, word_sets),
                    lambda texts: rensa_pairs(texts, word_sets),
                )
            },
        ),
        "jaccard": (
            JACCARD,
            "jaccard",
            exact_jaccard(sample),
            {
                "Rensa": (
                    lambda texts: rensa_candidates(texts, shingle_sets),
                    lambda texts: rensa_pairs(texts, shingle_sets),
                ),
                "datasketch": (lambda texts: datasketch_pairs(texts, shingle_sets),) * 2,
            },
        ),
    }
    for name, (threshold, measure, true, peers) in contests.items():
        contestants = {OURS: lambda t=threshold, m=measure: near_duplicates(texts, t, measure=m)}
        contestants |= {peer: (lambda f=find: f(texts)) for peer, (find, _) in peers.items()}
        timings = time_in_turns(contestants, repetitions=3, budget=30, at_least=1)
        ours = data.precision_and_recall(our_pairs(sample, threshold, measure), true)
        details = {"pairs": len(timings[OURS].result.pairs), "true pairs in the sample": len(true)} | ours
        setting = {"documents": len(texts), "threshold": threshold}
        for peer in peers:
            both = {OURS: timings[OURS], peer: timings[peer]}
            theirs = data.precision_and_recall(peers[peer][1](sample), true)
            more = details | {f"{peer} {kind}": value for kind, value in theirs.items()}
            row = f"{name}-{peer.lower()}"
            least = {"wording": 4}.get(name, 5) if peer == "Rensa" else None
            run.add(compare(row, f"texts to pairs, {name}", both, setting=setting, details=more, least_ratio=least))


def exact_jaccard(texts: list[str]) -> Pairs:
    """All pairs with at least the similarity, by brute force over pairs that share a shingle."""
    import scipy.sparse as sp
    from sklearn.feature_extraction.text import CountVectorizer

    rows: Any = CountVectorizer(analyzer=lambda own: own, binary=True).fit_transform(map(set, shingle_sets(texts)))
    rows = sp.csr_array(rows, dtype=np.float32)
    sizes = np.diff(rows.indptr)
    pairs: Pairs = set()
    for start in range(0, rows.shape[0], 2000):
        block = (rows[start : start + 2000] @ rows.T).tocoo()
        whole = sizes[block.row + start] + sizes[block.col] - block.data
        close = (block.data >= JACCARD * whole) & (block.col > block.row + start)
        pairs.update(zip((block.row[close] + start).tolist(), block.col[close].tolist(), strict=True))
    return pairs


# Quality


def quality(run: Run) -> None:
    """Compare the pairs that each way finds with those that were made, kind by kind."""
    methods: dict[str, Callable[[list[str]], Pairs]] = {
        "sthash, wording": lambda own: our_pairs(own, WORDING, "wording"),
        "sthash, cosine 0.8": lambda own: our_pairs(own, 0.8, "cosine"),
        "sthash, cosine 0.9": lambda own: our_pairs(own, 0.9, "cosine"),
        "sthash, Jaccard 0.7 of words": lambda own: our_pairs(own, 0.7, "jaccard", words=1),
        "sthash, Jaccard 0.8 of 5 words": lambda own: our_pairs(own, 0.8, "jaccard"),
        "sthash, Jaccard 0.5 of 5 words": lambda own: our_pairs(own, 0.5, "jaccard"),
        "sthash, containment 0.7 of 5 words": lambda own: our_pairs(own, 0.7, "containment"),
        "Rensa, words": lambda own: rensa_pairs(own, word_sets),
        "datasketch, words": lambda own: datasketch_pairs(own, word_sets),
    }
    if not run.quick:
        methods["SemHash, 0.9"] = semhash_pairs
        if text_dedup_is_there():
            methods["text-dedup"] = text_dedup_pairs
    scores: dict[str, dict[str, dict[str, dict[str, float]]]] = {}
    for length in LENGTHS:
        texts = made_texts(run, length)
        for kind, change in noise.CHANGES.items():
            if kind == "sentences reordered" and length == "one line":
                continue  # there is one
            both = [*texts, *noise.copies_of(texts, change)]
            true = {(place, place + len(texts)) for place in range(len(texts))}
            for name, find in methods.items():
                found = find(both)
                # Pairs among the originals are neither right nor wrong: some of them are near-duplicates.
                own = {(a, b) for a, b in found if (a < len(texts)) != (b < len(texts))}
                score = data.precision_and_recall(own, true)
                scores.setdefault(length, {}).setdefault(name, {})[kind] = score
                run.add(
                    figure(
                        f"{name} {kind} {length}".lower().replace(" ", "-").replace(",", ""),
                        f"{kind}, texts of {length}: {name}",
                        score["recall"],
                        "recall",
                        setting={"texts": len(texts)},
                        details={"precision": score["precision"]},
                    )
                )
        decisive(run, length, texts, {name: methods[name] for name in methods if not name.startswith(OTHERS)})
    if picture := run.picture("duplicates.svg"):
        draw(scores["ten lines"], picture)


# Words of the texts, from and to.
LENGTHS = {"one line": (8, 16), "ten lines": (80, 1000)}
FIRST_SENTENCE = re.compile(r"(?<=[.!?])\s|\n")
# What is not compared on texts that differ in one decisive word.
OTHERS = ("sthash, cosine", "sthash, Jaccard", "sthash, containment", "datasketch")
PAIRS_PER_WORD = 500
AUXILIARY = re.compile(r"\b(is|are|was|were|can|will|may|has|have|does|should|could|would)\b")
NUMBER, NAME = re.compile(r"\b\d+\b"), re.compile(r"(?<=[a-z,] )[A-Z][a-z]{3,}\b")


def decisive_pairs(texts: list[str]) -> dict[str, list[tuple[str, str]]]:
    """Pairs of texts that differ in one word: a negation, a number or a name."""
    rng = random.Random(5)
    names = [name for text in texts for name in NAME.findall(text)]
    pairs: dict[str, list[tuple[str, str]]] = {"negation": [], "number": [], "name": []}

    def change(kind: str, text: str, start: int, end: int, word: str) -> None:
        if len(pairs[kind]) < PAIRS_PER_WORD and text[start:end].lower() != word.lower():
            pairs[kind].append((text, text[:start] + word + text[end:]))

    for text in texts:
        if found := list(AUXILIARY.finditer(text)):
            end = rng.choice(found).end()
            change("negation", text, end, end, " not")
        if found := list(NUMBER.finditer(text)):
            place = rng.choice(found)
            change("number", text, *place.span(), str(int(place[0]) + rng.choice((1, 2, 10))))
        if found := list(NAME.finditer(text)):
            change("name", text, *rng.choice(found).span(), rng.choice(names))
    return pairs


def decisive(run: Run, length: str, texts: list[str], methods: dict[str, Callable[[list[str]], Pairs]]) -> None:
    """Count the pairs that differ in one decisive word and are merged all the same."""
    for kind, pairs in decisive_pairs(texts).items():
        both = [text for pair in pairs for text in pair]
        for name, find in methods.items() if pairs else ():
            found = find(both)
            merged = sum((place, place + 1) in found for place in range(0, len(both), 2)) / len(pairs)
            row = f"{name} decisive {kind} {length}".lower().replace(" ", "-").replace(",", "")
            what = f"merged, though one {kind} differs, texts of {length}: {name}"
            run.add(figure(row, what, merged, "share", setting={"pairs": len(pairs)}))


def made_texts(run: Run, length: str) -> list[str]:
    """Different texts of about this length, half from each of two corpora."""
    if run.quick:
        return list(dict.fromkeys(data.made_up_texts()))[:100]
    half = SAMPLE // 2
    rng = np.random.default_rng(1)
    chosen: list[list[str]] = []
    for name in ("cve", "debian_packages"):
        every = [text for _, text in data.records(name)]
        if length == "one line":
            every = [FIRST_SENTENCE.split(text)[0] for text in every]
        least, most = LENGTHS[length]
        texts = list(dict.fromkeys(text for text in every if least <= len(text.split()) <= most))
        texts = [texts[place] for place in rng.permutation(len(texts))]
        # One of each group of near-duplicates by either measure, so that the truth is known and favors none.
        for settings in ({"measure": "cosine"}, {"measure": "jaccard", "shingle_words": 1}):
            dropped = near_duplicates(texts, 0.5, **settings).dropped()
            texts = [text for place, text in enumerate(texts) if place not in dropped]
        chosen.append(texts)
    count = min(half, *map(len, chosen))
    return [text for texts in chosen for text in texts[:count]]


def draw(scores: dict[str, dict[str, dict[str, float]]], path: Path) -> None:
    """Draw recall by kind of change, one bar per method."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot

    mpl.rcParams["svg.hashsalt"] = "sthash"
    drawing, axes = pyplot.subplots(figsize=(12, 5), layout="constrained")
    kinds = list(noise.CHANGES)
    width = 0.8 / len(scores)
    for place, (name, by_kind) in enumerate(scores.items()):
        heights = [by_kind[kind]["recall"] for kind in kinds]
        axes.bar(np.arange(len(kinds)) + place * width, heights, width, label=name)
    axes.set_xticks(np.arange(len(kinds)) + 0.4 - width / 2, kinds)
    axes.set_ylabel("recall of the made duplicates")
    drawing.legend(fontsize="small", ncols=3, loc="outside lower center")
    drawing.savefig(path, metadata={"Date": None})


# Scale


def windows(run: Run) -> Iterator[str]:
    """Short texts: windows of twelve words over the corpora, every fourth of them overlapping others."""
    if run.quick:
        texts = data.made_up_texts()
    else:
        texts = [text for name in ("cve", "debian_packages") for _, text in data.records(name)]
        texts += data.news(quick=False).train
    for step in (WINDOW, WINDOW // 2, WINDOW // 4, 2, 1):
        for text in texts:
            words = text.split()
            for start in range(0, max(1, len(words) - WINDOW + 1), step):
                yield " ".join(words[start : start + WINDOW])


def scale(run: Run) -> None:
    """Run the command on files of growing size, in 2 GiB of memory."""
    grown(run, "scale", run.choose(SCALE, (200, 400)), "2GiB")


def large(run: Run) -> None:
    """Run the command on thirty million texts; the exponent is that of CPU seconds."""
    grown(run, "large", run.choose(LARGE, (200, 600)), "6GiB")


def steps(run: Run) -> None:
    """Measure the steps of deduplication: processor time per text, and what goes to the disk."""
    for size in run.choose((100_000, 500_000), (200, 400)):
        corpus_cleaning.steps(run, size, itertools.islice(windows(run), size))


def grown(run: Run, name: str, sizes: tuple[int, ...], memory: str) -> None:
    """Run the command on files of growing size."""
    seconds: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            source = Path(folder, "in.jsonl")
            with source.open("w", encoding="utf-8") as file:
                for text in itertools.islice(windows(run), size):
                    file.write(json.dumps({"text": text}) + "\n")
            timing, peak = measured_command(source, Path(folder, "out.jsonl"), memory)
            with Path(folder, "out.jsonl").open("rb") as lines:
                kept = sum(1 for _ in lines)
            seconds.append(timing.best_cpu)
            details: dict[str, Any] = {"peak GiB": peak / 2**30, "kept": kept, "CPU seconds": timing.best_cpu}
            if len(seconds) > 1:
                place = sizes.index(size)
                details["exponent"] = float(np.log(seconds[-1] / seconds[-2]) / np.log(size / sizes[place - 1]))
            setting = {"memory": memory}
            run.add(
                figure(f"{name}-{size}", f"{size:,} short texts", timing.best, "s", setting=setting, details=details)
            )


def measured_command(source: Path, target: Path, memory: str) -> tuple[Timing, int]:
    """Run ``sth dedup`` and follow its memory; pages of files that it maps, which the system may drop, do not count."""
    peak = 0
    arguments = ["dedup", str(source), "-o", str(target), "--memory", memory]
    program = "import sys; from sthash.cli import main; sys.argv[0] = 'sth'; main()"

    def work() -> None:
        nonlocal peak
        process = subprocess.Popen([sys.executable, "-c", program, *arguments], stderr=subprocess.DEVNULL)

        def follow() -> None:
            nonlocal peak
            while process.poll() is None:
                try:
                    status = Path(f"/proc/{process.pid}/status").read_text()
                except OSError:
                    return
                if "RssAnon:" in status:
                    peak = max(peak, int(status.split("RssAnon:")[1].split()[0]) * 1024)
                time.sleep(0.1)

        watcher = threading.Thread(target=follow)
        watcher.start()
        if process.wait() != 0:
            raise RuntimeError(f"sth {' '.join(arguments)} failed with {process.returncode}.")
        watcher.join()

    return timed(work), peak


# Cleaning a corpus


def index(run: Run) -> None:
    """Keep an index between runs."""
    corpus_cleaning.index_between_runs(run, list(itertools.islice(windows(run), run.choose(1_000_000, 400))))


def passages(run: Run) -> None:
    """Find repeated passages in messages and descriptions."""
    texts = data.news(run.quick).train
    if not run.quick:
        texts = [*texts, *(text for name in ("cve", "debian_packages") for _, text in data.records(name))]
    corpus_cleaning.passages(run, texts, run.choose(50, 5))


def overlaps(run: Run) -> None:
    """Look for leaks among descriptions of vulnerabilities."""
    corpus_cleaning.leaks(run, data.vulnerabilities(run.quick), *run.choose((120_000, 7600), (300, 50)))


def agreement(run: Run) -> None:
    """Compare what finds groups."""
    texts = data.vulnerabilities(run.quick)
    corpora = {"descriptions of vulnerabilities": texts[: run.choose(10_000, 200)]}
    if not run.quick:
        corpora["descriptions of packages"] = [text for _, text in data.records("debian_packages")][:10_000]
        corpora["messages"] = data.news(quick=False).train[:5_000]
    corpus_cleaning.agreement(run, corpora)


if __name__ == "__main__":
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    main(
        __file__,
        __doc__,
        {
            "speed": speed,
            "quality": quality,
            "scale": scale,
            "large": large,
            "steps": steps,
            "index": index,
            "passages": passages,
            "overlap": overlaps,
            "meaning": corpus_cleaning.meaning,
            "agreement": agreement,
        },
        peers=["rensa", "datasketch", "semhash", "text-dedup"],
    )
