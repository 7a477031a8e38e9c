"""The vocabulary of a corpus: which of its terms get a column, and count matrices in those columns."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sthash.text.counters import CorpusCounts

if TYPE_CHECKING:
    import scipy.sparse as sp


def kept_terms(
    counts: CorpusCounts, min_df: int | float, max_df: int | float, max_features: int | None
) -> npt.NDArray[np.int64]:
    """Return the positions of the terms that the limits leave, in alphabetical order of the terms.

    Raises
    ------
    ValueError
        If no term is left.
    """
    n_documents = counts.n_documents
    if n_documents == 0:
        raise ValueError("the corpus is empty. Pass at least one document.")
    if counts.n_tokens == 0:
        raise ValueError(
            f"none of the {n_documents} documents has a term: they are blank or hold stop words only. "
            "Check the input, or pass stop_words=None."
        )
    low = min_df if isinstance(min_df, Integral) else min_df * n_documents
    high = max_df if isinstance(max_df, Integral) else max_df * n_documents
    if high < low:
        raise ValueError(
            f"max_df={max_df} allows fewer documents than min_df={min_df} asks for in a corpus of {n_documents}. "
            "Raise max_df or lower min_df."
        )
    kept = np.flatnonzero((counts.document_frequency >= low) & (counts.document_frequency <= high))
    if len(kept) == 0:
        raise ValueError(
            f"min_df={min_df} and max_df={max_df} leave none of the {len(counts.terms)} terms. "
            "Lower min_df or raise max_df."
        )
    kept = kept[np.argsort(counts.terms[kept], kind="stable")]
    if max_features is not None and len(kept) > max_features:
        most_frequent = np.argsort(-counts.term_count[kept], kind="stable")[:max_features]
        kept = kept[np.sort(most_frequent)]
    return kept


def take_columns(counts: sp.csr_array, column_of: npt.NDArray[np.int32], n_columns: int) -> sp.csr_array:
    """Move counts to other columns, ascending in each row; the given matrix does not change.

    Parameters
    ----------
    counts : csr_array
    column_of : array of int32
        New column of each old one; −1 drops it.
    n_columns : int
        Number of new columns.
    """
    import scipy.sparse as sp

    columns = column_of[counts.indices]
    kept = columns >= 0
    bounds = np.concatenate([[0], np.cumsum(kept)])[counts.indptr].astype(counts.indptr.dtype)
    moved = sp.csr_array((counts.data[kept], columns[kept], bounds), shape=(counts.shape[0], n_columns))
    moved.sort_indices()
    return moved


def stack(rows: list[sp.csr_array], n_columns: int) -> sp.csr_array:
    """Put batches of rows under each other; earlier batches may have fewer columns than ``n_columns``."""
    import scipy.sparse as sp

    if not rows:
        return sp.csr_array((0, n_columns), dtype=np.float32)
    if len(rows) == 1 and rows[0].shape[1] == n_columns:
        return rows[0]
    for batch in rows:
        batch.resize((batch.shape[0], n_columns))
    return sp.csr_array(sp.vstack(rows, format="csr"))
