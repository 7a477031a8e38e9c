"""The corpora of the paper.

We may not distribute them. Users download the files themselves into one directory (see `data_dir`). Every loader checks
what it has read against the published counts. If a file is missing, it raises `DatasetError` and says where to get the
file. Archives are read in memory; nothing is unpacked to the disk.

Labels are integers from 0. In `LabeledTexts` they are positions in ``label_names``; in counts, class c of the authors'
file is label c - 1.
"""

from __future__ import annotations

import hashlib
import html
import lzma
import os
import re
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.io
from scipy import sparse

from sthash.vectors.lengths import unit_rows

Labels = npt.NDArray[np.int64]

_NEWS_SOURCE = "http://qwone.com/~jason/20Newsgroups/ (20news-bydate.tar.gz, unmodified)"
_REUTERS_SOURCE = "http://www.daviddlewis.com/resources/testcollections/reuters21578/ (reuters21578.tar.gz)"
_COUNTS_SOURCE = "http://www.cad.zju.edu.cn/home/dengcai/Data/TextData.html"


class DatasetError(Exception):
    """A dataset is missing, damaged, or not the one that was expected."""


@dataclass(frozen=True)
class LabeledTexts:
    """Raw texts with one label each, split into a corpus (train) and queries (test)."""

    name: str
    train_texts: list[str]
    train_labels: Labels
    test_texts: list[str]
    test_labels: Labels
    label_names: tuple[str, ...]


@dataclass(frozen=True)
class LabeledCounts:
    """Term counts with one label per row, split into a corpus (train) and queries (test)."""

    name: str
    train: sparse.csr_array[Any]
    train_labels: Labels
    test: sparse.csr_array[Any]
    test_labels: Labels


@dataclass(frozen=True)
class UnsplitCounts:
    """Term counts with one label per row, not split yet."""

    name: str
    counts: sparse.csr_array[Any]
    labels: Labels


@dataclass(frozen=True)
class LabeledVectors:
    """Dense vectors with one label per row, split into a corpus (train) and queries (test)."""

    name: str
    train: npt.NDArray[Any]
    train_labels: Labels
    test: npt.NDArray[Any]
    test_labels: Labels


def content_digest(data: LabeledTexts | LabeledCounts | LabeledVectors | UnsplitCounts) -> str:
    """Digest texts, counts or vectors and labels, however they were packed: the first 16 hex digits of a SHA-256.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.reproduction.datasets import LabeledTexts, content_digest
    >>> content_digest(LabeledTexts("x", ["a"], np.array([0]), ["b"], np.array([0]), ("all",)))
    'af927529a2d8abcd'
    """
    digest = hashlib.sha256()
    if isinstance(data, LabeledTexts):
        for texts, labels in ((data.train_texts, data.train_labels), (data.test_texts, data.test_labels)):
            for text, label in zip(texts, labels, strict=True):
                digest.update(f"{label} {len(text)} {text}\n".encode())
        return digest.hexdigest()[:16]
    if isinstance(data, LabeledVectors):
        for rows, labels in ((data.train, data.train_labels), (data.test, data.test_labels)):
            digest.update(f"{rows.shape}\n".encode())
            digest.update(np.ascontiguousarray(rows, dtype="<f4").tobytes())
            digest.update(np.ascontiguousarray(labels, dtype="<i8").tobytes())
        return digest.hexdigest()[:16]
    if isinstance(data, UnsplitCounts):
        parts = [(data.counts, data.labels)]
    else:
        parts = [(data.train, data.train_labels), (data.test, data.test_labels)]
    for counts, labels in parts:
        whole = sparse.csr_array(counts, dtype=np.int64, copy=True)
        whole.sum_duplicates()
        whole.eliminate_zeros()
        digest.update(f"{whole.shape}\n".encode())
        for part in (whole.indptr, whole.indices, whole.data, labels):
            digest.update(np.ascontiguousarray(part, dtype="<i8").tobytes())
    return digest.hexdigest()[:16]


def data_dir() -> Path:
    """Find the datasets: in ``$STHASH_DATA``, else in ``../shared/datasets`` beside the checkout or the cwd.

    A checkout has a ``pyproject.toml``. An installed package looks beside the cwd only.
    """
    if named := os.environ.get("STHASH_DATA"):
        directory = Path(named)
        if not directory.is_dir():
            raise DatasetError(f"STHASH_DATA={named!r} is not a directory. Set it to the directory of the datasets.")
        return directory
    checkout = Path(__file__).resolve().parents[3]
    roots = [checkout] if (checkout / "pyproject.toml").is_file() else []
    candidates = [root.parent / "shared" / "datasets" for root in [*roots, Path.cwd()]]
    for directory in candidates:
        if directory.is_dir():
            return directory
    raise DatasetError(
        f"no directory of datasets at {' and '.join(map(str, dict.fromkeys(candidates)))}. Set STHASH_DATA to it."
    )


def load_20newsgroups() -> LabeledTexts:
    """Load 20Newsgroups, 'bydate': 11314 train and 7532 test messages in 20 groups, headers included."""
    path = find_file(["20news-bydate.tar.xz", "20news-bydate.tar.gz"], _NEWS_SOURCE)
    messages: dict[str, list[tuple[str, int, str]]] = {"train": [], "test": []}
    for name, content in _members(path):
        match = re.search(r"20news-bydate-(train|test)/([^/]+)/(\d+)$", name)
        if match:
            part, group, number = match.groups()
            messages[part].append((group, int(number), content.decode("latin-1")))
    train, test = sorted(messages["train"]), sorted(messages["test"])
    names = tuple(sorted({group for group, _, _ in train + test}))
    _check(path, "train messages", len(train), 11314)
    _check(path, "test messages", len(test), 7532)
    _check(path, "groups", len(names), 20)
    return LabeledTexts(
        "20newsgroups",
        [text for _, _, text in train],
        _encode([group for group, _, _ in train], names),
        [text for _, _, text in test],
        _encode([group for group, _, _ in test], names),
        names,
    )


def load_reuters21578() -> LabeledTexts:
    """Load Reuters-21578 from its SGML: the 10 largest topics, 5228 train and 2057 test stories (ModApte).

    Kept are the stories with ``TOPICS="YES"``, a place in the Lewis split, exactly one topic and a body that
    is not empty. A text is the title and the body. Label 0 is the largest topic, as in the authors' counts.
    """
    path = find_file(["reuters21578.tar.xz", "reuters21578.tar.gz"], _REUTERS_SOURCE)
    files = sorted((name, content) for name, content in _members(path) if name.endswith(".sgm"))
    documents = 0
    stories: list[tuple[str, str, str]] = []
    for _, content in files:
        for match in re.finditer(r"<REUTERS ([^>]*)>(.*?)</REUTERS>", content.decode("latin-1"), re.DOTALL):
            documents += 1
            if story := _story(*match.groups()):
                stories.append(story)
    _check(path, "documents", documents, 21578)
    sizes = Counter(topic for _, topic, _ in stories)
    names = tuple(sorted(sizes, key=lambda topic: (-sizes[topic], topic))[:10])
    train = [(topic, text) for part, topic, text in stories if part == "TRAIN" and topic in names]
    test = [(topic, text) for part, topic, text in stories if part == "TEST" and topic in names]
    _check(path, "train stories", len(train), 5228)
    _check(path, "test stories", len(test), 2057)
    return LabeledTexts(
        "reuters21578",
        [text for _, text in train],
        _encode([topic for topic, _ in train], names),
        [text for _, text in test],
        _encode([topic for topic, _ in test], names),
        names,
    )


def load_reuters21578_counts() -> LabeledCounts:
    """Load the authors' term counts of Reuters-21578, in their order: 5228 train, 2057 test, 10 topics."""
    path = find_file(["reuters21578_counts.mat", "Reuters21578.mat"], f"{_COUNTS_SOURCE} (Reuters21578.mat)")
    with reading(path):
        content = scipy.io.loadmat(path)
        counts = sparse.csr_array(content["fea"])
        labels = content["gnd"].ravel().astype(np.int64) - 1
        train, test = (content[name].ravel().astype(np.int64) - 1 for name in ("trainIdx", "testIdx"))
        train, test = train[labels[train] < 10], test[labels[test] < 10]
    _check(path, "documents", counts.shape[0], 8293)
    _check(path, "terms", counts.shape[1], 18933)
    _check(path, "train documents", len(train), 5228)
    _check(path, "test documents", len(test), 2057)
    return LabeledCounts("reuters21578_counts", counts[train], labels[train], counts[test], labels[test])


def load_tdt2() -> UnsplitCounts:
    """Load term counts of TDT2: 9394 documents, 30 categories. `split_tdt2` makes the paper's splits."""
    path = find_file(["tdt2.npz", "TDT2.mat"], f"{_COUNTS_SOURCE} (TDT2.mat)")
    with reading(path):
        counts, labels = _tdt2_of_npz(path) if path.suffix == ".npz" else _tdt2_of_mat(path)
    _check(path, "documents", counts.shape[0], 9394)
    _check(path, "labels", len(labels), 9394)
    _check(path, "categories", len(np.unique(labels)), 30)
    return UnsplitCounts("tdt2", counts, labels)


def _tdt2_of_npz(path: Path) -> tuple[sparse.csr_array[Any], Labels]:
    with path.open("rb") as stream, np.load(stream, allow_pickle=False) as parts:
        counts = sparse.csr_array(
            (parts["data"].astype(np.float64), parts["indices"].astype(np.int32), parts["indptr"]),
            shape=(int(parts["shape"][0]), int(parts["shape"][1])),
        )
        counts.check_format(full_check=True)
        return counts, parts["gnd"].ravel().astype(np.int64) - 1


def _tdt2_of_mat(path: Path) -> tuple[sparse.csr_array[Any], Labels]:
    content = scipy.io.loadmat(path)
    return sparse.csr_array(content["fea"], dtype=np.float64), content["gnd"].ravel().astype(np.int64) - 1


def split_tdt2(collection: UnsplitCounts, random_state: int) -> LabeledCounts:
    """Split TDT2 at random as the paper does: 5597 documents for training, the other 3797 for testing.

    The documents of both parts stay in their order, so a split depends on ``random_state`` alone.
    """
    if collection.counts.shape[0] != 9394:
        raise DatasetError(f"collection has {collection.counts.shape[0]} documents, TDT2 has 9394. Pass load_tdt2().")
    order = np.random.default_rng(random_state).permutation(9394)
    train, test = np.sort(order[:5597]), np.sort(order[5597:])
    counts, labels = collection.counts, collection.labels
    return LabeledCounts(collection.name, counts[train], labels[train], counts[test], labels[test])


def tfidf_counts(train: Any, test: Any) -> tuple[sparse.csr_array[Any], sparse.csr_array[Any]]:
    """Weight counts as the authors do: (1 + ln tf) · ln(N / df), N and df of `train`, unit rows, float32.

    Terms that no training document has are dropped; a row without any known term stays empty.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.reproduction.datasets import tfidf_counts
    >>> train, test = tfidf_counts(np.array([[1, 2, 0], [1, 0, 0]]), np.array([[0, 1, 5]]))
    >>> train.toarray(), test.toarray()
    (array([[0., 1.],
           [0., 0.]], dtype=float32), array([[0., 1.]], dtype=float32))
    """
    train, test = (sparse.csr_array(counts, dtype=np.float64, copy=True) for counts in (train, test))
    if train.shape[1] != test.shape[1]:
        raise ValueError(f"train has {train.shape[1]} terms, test has {test.shape[1]}. Both need the same terms.")
    for counts in (train, test):
        counts.sum_duplicates()
        counts.eliminate_zeros()
        if counts.nnz and counts.data.min() < 0:
            raise ValueError(f"counts must not be negative, found {counts.data.min()}.")
    frequency = np.bincount(train.indices, minlength=train.shape[1])
    known = np.flatnonzero(frequency)
    weight = np.log(train.shape[0] / frequency[known])
    return _weigh(train[:, known], weight), _weigh(test[:, known], weight)


def _weigh(counts: Any, weight: npt.NDArray[np.float64]) -> sparse.csr_array[Any]:
    rows = sparse.csr_array(counts)
    rows.data = (1.0 + np.log(rows.data)) * weight[rows.indices]
    rows.eliminate_zeros()
    rows = unit_rows(rows)
    rows.sort_indices()
    return rows.astype(np.float32)


def _story(attributes: str, markup: str) -> tuple[str, str, str] | None:
    """Split, topic and text of a story that the paper's selection keeps, else None."""
    split = re.search(r'LEWISSPLIT="(TRAIN|TEST)"', attributes)
    topics = re.findall(r"<D>(.*?)</D>", _element("TOPICS", markup))
    body = _element("BODY", markup)
    if 'TOPICS="YES"' not in attributes or split is None or len(topics) != 1 or not body:
        return None
    return split[1], topics[0], f"{_element('TITLE', markup)}\n{body}"


def _element(tag: str, markup: str) -> str:
    """Content of the first element with this tag, without the control characters of the wire service."""
    match = re.search(f"<{tag}>(.*?)</{tag}>", markup, re.DOTALL)
    return html.unescape(match[1]).strip() if match else ""


def _encode(labels: Sequence[str], names: Sequence[str]) -> Labels:
    position = {name: index for index, name in enumerate(names)}
    return np.array([position[label] for label in labels], dtype=np.int64)


def find_file(names: Sequence[str], source: str) -> Path:
    """Find the first of these files in the folder of the datasets; else say where to get it."""
    directory = data_dir()
    for name in names:
        if (directory / name).is_file():
            return directory / name
    raise DatasetError(f"{' or '.join(names)} is missing in {directory}. Get it from {source}.")


def _members(path: Path) -> Iterator[tuple[str, bytes]]:
    """Name and content of each regular file of an archive, one after the other, in memory."""
    with reading(path), tarfile.open(path) as archive:
        for member in archive:
            if member.isfile() and (stream := archive.extractfile(member)) is not None:
                yield member.name, stream.read()


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn every error that a damaged file can cause into a DatasetError."""
    try:
        yield
    except (
        OSError,
        EOFError,
        ValueError,
        KeyError,
        IndexError,
        TypeError,
        NotImplementedError,
        zlib.error,
        lzma.LZMAError,
        tarfile.TarError,
        zipfile.BadZipFile,
        scipy.io.matlab.MatReadError,
    ) as error:
        raise DatasetError(f"{path} cannot be read ({error}). Download it again.") from error


def _check(path: Path, what: str, found: int, expected: int) -> None:
    if found != expected:
        raise DatasetError(f"{path} has {found} {what}, expected {expected}. It is another version or damaged.")
