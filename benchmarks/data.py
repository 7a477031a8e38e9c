"""The data of the benchmarks: corpora from ``STHASH_DATA``, made-up ones for quick runs, random codes, slow truths.

Nothing is downloaded. A quick run needs no files: its texts are made up, with topics and with near-duplicates.
"""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from sthash.reproduction import datasets

Codes = npt.NDArray[np.uint8]
Labels = npt.NDArray[np.int64]

QUERIES, QUICK_QUERIES = 1000, 50
QUICK_TEXTS, TOPICS, WORDS = 700, 7, 900
TEXTS_TOGETHER, LONGEST_TEXT = 100_000, 45
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n\s*\n")


@dataclass(frozen=True)
class Split:
    """Texts, or rows of term counts, with a label each: a corpus (train) and queries (test)."""

    train: Any
    train_labels: Labels
    test: Any
    test_labels: Labels


@dataclass(frozen=True)
class Descriptions:
    """Documents with key and text, in a random order that is always the same, and texts of others as queries."""

    documents: list[dict[str, str]]
    queries: list[str]

    @property
    def texts(self) -> list[str]:
        """Texts of the documents."""
        return [document["text"] for document in self.documents]


def news(quick: bool) -> Split:
    """Texts of 20Newsgroups."""
    if quick:
        return split(made_up_texts(), made_up()[1])
    found = datasets.load_20newsgroups()
    return Split(found.train_texts, found.train_labels, found.test_texts, found.test_labels)


def reuters(quick: bool) -> Split:
    """Term counts of Reuters-21578."""
    if quick:
        return split(made_up_counts(), made_up()[1])
    found = datasets.load_reuters21578_counts()
    return Split(found.train, found.train_labels, found.test, found.test_labels)


def tdt2(quick: bool) -> Split:
    """Term counts of one random split of TDT2."""
    if quick:
        return split(made_up_counts(), made_up()[1])
    found = datasets.split_tdt2(datasets.load_tdt2(), 1000)
    return Split(found.train, found.train_labels, found.test, found.test_labels)


def vulnerabilities(quick: bool) -> list[str]:
    """Descriptions of vulnerabilities (CVE), in their order."""
    return made_up_texts() if quick else [text for _, text in records("cve")]


def descriptions(quick: bool) -> Descriptions:
    """Descriptions of vulnerabilities and of Debian packages; some of them are the queries."""
    if quick:
        found = [(str(number), text) for number, text in enumerate(made_up_texts())]
    else:
        found = [*records("cve"), *records("debian_packages")]
    order = np.random.default_rng(0).permutation(len(found)).tolist()
    asked = QUICK_QUERIES if quick else QUERIES
    return Descriptions(
        [{"key": f"{found[place][0]}-{place}", "text": found[place][1]} for place in order[asked:]],
        [found[place][1] for place in order[:asked]],
    )


def passages(quick: bool, number: int) -> list[str]:
    """Passages of one to three sentences of all raw corpora, in a random order that is always the same.

    Texts are cut at the ends of sentences, at first after one to three; then again with other lengths, for as long as
    more passages are wanted. No passage occurs twice.
    """
    rng = np.random.default_rng(0)
    texts = made_up_texts() if quick else [*descriptions(quick).texts, *news(quick).train]
    found: dict[str, None] = {}
    for _ in range(1 if quick else 6):
        for text in texts:
            sentences = [sentence for sentence in SENTENCE_END.split(text) if sentence.strip()]
            at = 0
            while at < len(sentences):
                length = int(rng.integers(1, 4))
                found[" ".join(sentences[at : at + length])] = None
                at += length
        if len(found) >= number:
            break
    kept = list(found)
    return [kept[place] for place in rng.permutation(len(kept))[:number].tolist()]


def short_texts(quick: bool, count: int) -> Iterator[str]:
    """Give any number of short texts: runs of 12 to 44 words that begin anywhere in all raw corpora, drawn at random.

    The corpora have 18 million words, so from a million texts on the texts overlap, and the vocabulary hardly grows.
    """
    texts = made_up_texts() if quick else [*descriptions(quick).texts, *news(quick).train]
    content = " ".join(" ".join(text.split()) for text in texts).encode()
    starts = np.flatnonzero(np.frombuffer(content, dtype=np.uint8) == ord(" ")) + 1
    rng = np.random.default_rng(0)
    for done in range(0, count, TEXTS_TOGETHER):
        some = min(TEXTS_TOGETHER, count - done)
        first, words = rng.integers(0, len(starts) - LONGEST_TEXT, some), rng.integers(12, LONGEST_TEXT, some)
        for begin, end in zip(starts[first].tolist(), starts[first + words].tolist(), strict=True):
            yield content[begin : end - 1].decode()


def sentences(quick: bool) -> Descriptions:
    """Vulnerabilities, Debian packages and 20Newsgroups, cut at the ends of sentences: over a million short texts."""
    texts = made_up_texts()
    if not quick:
        groups = news(quick)
        whole = [text for name in ("cve", "debian_packages") for _, text in records(name)]
        whole += [*groups.train, *groups.test]
        texts = [part for text in whole for part in SENTENCE_END.split(text) if part.strip()]
    order = np.random.default_rng(0).permutation(len(texts)).tolist()
    asked = QUICK_QUERIES if quick else QUERIES
    return Descriptions(
        [{"key": str(place), "text": texts[place]} for place in order[asked:]],
        [texts[place] for place in order[:asked]],
    )


def labeled_passages(quick: bool) -> Split:
    """Messages of 20Newsgroups cut into passages of three sentences, with the group as their label."""
    whole = news(quick)

    def cut(texts: list[str], labels: Labels) -> tuple[list[str], Labels]:
        parts = [[s for s in SENTENCE_END.split(text) if s.strip()] for text in texts]
        pieces = [[" ".join(part[at : at + 3]) for at in range(0, len(part), 3)] for part in parts]
        return [one for piece in pieces for one in piece], np.repeat(labels, [len(piece) for piece in pieces])

    return Split(*cut(whole.train, whole.train_labels), *cut(whole.test, whole.test_labels))


def records(name: str) -> list[tuple[str, str]]:
    """Ids and texts of a file of records."""
    with lzma.open(datasets.data_dir() / f"{name}.jsonl.xz", "rt", encoding="utf-8") as file:
        return [(record["id"], record["text"]) for record in map(json.loads, file)]


# Made-up texts


def made_up() -> tuple[list[npt.NDArray[np.int64]], Labels]:
    """Words, by number, of each text, and its topic. Every tenth text is the one before with one word changed."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, TOPICS, QUICK_TEXTS)
    documents: list[npt.NDArray[np.int64]] = []
    for place, topic in enumerate(labels):
        if place % 10 == 9:
            words, labels[place] = documents[-1].copy(), labels[place - 1]
            words[0] = rng.integers(WORDS)
        else:
            own = topic + TOPICS * rng.integers(0, WORDS // TOPICS, 25)
            words = np.concatenate([own, rng.integers(0, WORDS, 10)])
        documents.append(words)
    return documents, labels


def made_up_texts() -> list[str]:
    """Texts of made-up words."""
    return [" ".join(f"word{number}" for number in words) for words in made_up()[0]]


def made_up_counts() -> sp.csr_array:
    """Their term counts."""
    documents = made_up()[0]
    rows = np.repeat(np.arange(len(documents)), [len(words) for words in documents])
    columns = np.concatenate(documents)
    return sp.csr_array((np.ones(len(columns)), (rows, columns)), shape=(len(documents), WORDS))


def split(content: Any, labels: Labels) -> Split:
    """Take the first four of seven documents as the corpus."""
    cut = 4 * len(labels) // 7
    return Split(content[:cut], labels[:cut], content[cut:], labels[cut:])


# Codes


def random_codes(n: int, n_bits: int, seed: int = 0) -> Codes:
    """Codes without any structure, which are the hardest for tables."""
    return np.random.default_rng(seed).integers(0, 256, (n, n_bits // 8), dtype=np.uint8)


def clustered_codes(n: int, n_bits: int, seed: int = 0) -> Codes:
    """About 200 codes around each center, each bit flipped with probability 1 / 16."""
    rng = np.random.default_rng(seed)
    centers = rng.integers(0, 256, (max(1, n // 200), n_bits // 8), dtype=np.uint8)
    codes = centers[rng.integers(0, len(centers), n)]
    flips = rng.integers(0, 256, codes.shape, dtype=np.uint8)
    for _ in range(3):  # a bit survives three ands with random bytes with probability 1 / 8
        flips &= rng.integers(0, 256, codes.shape, dtype=np.uint8)
    return codes ^ flips


KINDS_OF_CODES: dict[str, Callable[[int, int], Codes]] = {"random": random_codes, "clustered": clustered_codes}


def codes_and_queries(kind: str, n: int, n_bits: int, queries: int = 1000) -> tuple[Codes, Codes]:
    """Codes to search and queries of the same distribution."""
    codes = KINDS_OF_CODES[kind](n + queries, n_bits)
    return codes[:n], np.ascontiguousarray(codes[n:])


# Truths


def exact_pairs(X: sp.csr_array, min_cosine: float) -> set[tuple[int, int]]:
    """All pairs of unit rows with at least this cosine, by brute force."""
    pairs: set[tuple[int, int]] = set()
    for start in range(0, X.shape[0], 2000):
        block = (X[start : start + 2000] @ X.T).tocoo()
        close = (block.data >= min_cosine) & (block.col > block.row + start)
        pairs.update(zip((block.row[close] + start).tolist(), block.col[close].tolist(), strict=True))
    return pairs


def precision_and_recall(found: set[tuple[int, int]], true: set[tuple[int, int]]) -> dict[str, float]:
    """Precision and recall of pairs."""
    both = len(found & true)
    return {"precision": both / max(len(found), 1), "recall": both / max(len(true), 1)}


def shares(found: Any, truth: Any, corpus: Any, queries: Any, firsts: Sequence[int]) -> list[float]:
    """Share of the true neighbors among the first so many that were found, for each of several numbers.

    Whatever has the product of the last true neighbor counts, so that no order among equal vectors is favored.
    """
    counted = np.zeros(len(firsts))
    for ids, true, query in zip(found, truth, queries, strict=True):
        least = corpus[true[-1]] @ query - 1e-6
        right = (corpus[ids] @ query >= least) & (np.asarray(ids) >= 0)
        counted += [min(np.count_nonzero(right[:first]), len(true)) / len(true) for first in firsts]
    return [float(value) for value in counted / len(queries)]
