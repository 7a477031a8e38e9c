"""Dense vectors with labels, such as embeddings or features of images: any file of them, and CIFAR-10."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sthash.reproduction.datasets import DatasetError, LabeledVectors, find_file, reading
from sthash.vectors.checks import check_vectors

QUERY_SHARE = 0.4
CIFAR10_DOCUMENTS, CIFAR10_QUERIES = 18_000, 2_000


def load_vectors(path: str | Path, *, last: int | None = None, random_state: int = 0) -> LabeledVectors:
    """Load a ``.npz`` file with ``vectors``, one row per document, and ``labels``.

    Parameters
    ----------
    path : path
    last : int, optional
        The last so many rows are the queries. Without it, 40 % of the rows are drawn at random.
    random_state : int
        Seed of the random split.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from sthash.reproduction import load_vectors
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "mine.npz")
    ...     np.savez(path, vectors=np.eye(10), labels=np.arange(10) % 2)
    ...     load_vectors(path, last=3).test.shape
    (3, 10)
    """
    path = Path(path)
    with reading(path), np.load(path, allow_pickle=False) as parts:
        if missing := [name for name in ("vectors", "labels") if name not in parts]:
            raise DatasetError(f"{path} has no {' and no '.join(missing)}, only {', '.join(parts.files)}.")
        vectors, labels = parts["vectors"], parts["labels"]
    n = len(vectors)
    if vectors.ndim != 2 or labels.shape != (n,):
        raise DatasetError(
            f"{path}: vectors have shape {vectors.shape}, labels {labels.shape}. There must be one label per row."
        )
    try:
        rows = check_vectors(vectors)
    except (TypeError, ValueError) as error:
        raise DatasetError(f"{path}: {error}") from error
    if last is None:
        order = np.random.default_rng(random_state).permutation(n)
        known, asked = np.sort(order[int(QUERY_SHARE * n) :]), np.sort(order[: int(QUERY_SHARE * n)])
    elif 0 < last < n:
        known, asked = np.arange(n - last), np.arange(n - last, n)
    else:
        raise DatasetError(f"last={last} must be between 1 and {n - 1}, as {path} has {n} rows.")
    if not (len(known) and len(asked)):
        raise DatasetError(f"{path} has {n} rows, too few for documents and queries. Bring more.")
    numbers = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    return LabeledVectors(path.stem, rows[known], numbers[known], rows[asked], numbers[asked])


def load_cifar10() -> LabeledVectors:
    """Load features of CIFAR-10: 18,000 training images, and 2,000 test images as queries, in 10 classes."""
    path = find_file(
        ["cifar10_hog.npz"],
        "https://www.cs.toronto.edu/~kriz/cifar.html, as features: histograms of oriented gradients and a thumbnail "
        "(vectors) with the classes (labels), training images first",
    )
    found = load_vectors(path, last=CIFAR10_QUERIES)
    if len(found.train) != CIFAR10_DOCUMENTS:
        raise DatasetError(
            f"{path} has {len(found.train)} images before the queries, expected {CIFAR10_DOCUMENTS}. "
            "It is another version or damaged."
        )
    return found
