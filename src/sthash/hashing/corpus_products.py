"""Inner products with a corpus, block by block, and its arrays in a file, for hash functions that keep the corpus."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from sthash.arrays import Vectors
from sthash.model_file import check_array
from sthash.vectors.checks import check_structure

# Number of inner products in memory at once.
BLOCK_ENTRIES = 1 << 23


def product_blocks(X: Vectors, corpus: Vectors) -> Iterator[tuple[slice, npt.NDArray[np.float64]]]:
    """Yield slices of the rows of X with their inner products with the rows of the corpus, shape (block, n)."""
    step = max(1, BLOCK_ENTRIES // corpus.shape[0])
    turned = sp.csr_array(corpus.T) if sp.issparse(corpus) else corpus.T
    turned = turned.astype(np.float64)
    for first in range(0, X.shape[0], step):
        rows = slice(first, min(first + step, X.shape[0]))
        products = X[rows].astype(np.float64) @ turned
        yield rows, products.toarray() if sp.issparse(products) else np.asarray(products)


def corpus_arrays(corpus: Vectors) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of a corpus for a model file."""
    if not sp.issparse(corpus):
        return {"corpus": corpus}
    return {"corpus.data": corpus.data, "corpus.indices": corpus.indices, "corpus.indptr": corpus.indptr}


def corpus_from(arrays: dict[str, npt.NDArray[Any]], n_features: int) -> Vectors:
    """Return the corpus of these arrays; refuse arrays that do not fit together."""
    if "corpus" in arrays:
        check_array(arrays, "corpus", np.float32, (None, n_features))
        return arrays["corpus"]
    check_array(arrays, "corpus.data", np.float32, (None,))
    shape = (len(arrays["corpus.indptr"]) - 1, n_features)
    corpus = sp.csr_array((arrays["corpus.data"], arrays["corpus.indices"], arrays["corpus.indptr"]), shape=shape)
    check_structure(corpus, "corpus")
    corpus.check_format()
    return corpus
