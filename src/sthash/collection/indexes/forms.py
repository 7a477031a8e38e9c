"""Forms: words as they are written, stop words included, and names such as ``os.path.join``, in posting lists.

Terms are stems; documents are learned from these and compared by them. Forms are only searched for. They are not in the
vocabulary: a form is known by a column that follows from its letters, behind the columns of all terms.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Literal

import numpy as np

from sthash import _core
from sthash.arrays import Columns
from sthash.batches import batched
from sthash.checks import resolve_threads
from sthash.text.analyzer import WordAnalyzer
from sthash.text.scanning import scan_words
from sthash.vectors.rows import Rows

# Columns of terms are below, those of forms from here on.
FIRST_FORM = _core.FIRST_FORM
END_FORMS = 2 * FIRST_FORM

# What a form is: a word; a word without its accents; a name of several words; a word inside RunUntilComplete; words
# with hyphens between them, or a number with signs inside, which prose has too; the stem of a word in the head of a
# text, which is its title or its first sentence.
FormKind = Literal["word", "plain", "name", "part", "compound", "head"]
_KINDS: tuple[FormKind, ...] = ("word", "plain", "name", "part", "compound")


def forms_of(text: str) -> list[tuple[FormKind, int]]:
    """Return the forms of a text and their columns, without heads: first its words in their order, then its names.

    Examples
    --------
    >>> from sthash.collection.indexes.forms import forms_of
    >>> [kind for kind, _ in forms_of("is_dir")]
    ['word', 'word', 'name']
    """
    return [(_KINDS[kind], column) for kind, column in _core.forms_of(text)]


def count_forms(texts: Iterable[str], analyzer: WordAnalyzer, threads: int | None = None) -> Rows:
    """Return how often each text has each form that its terms do not tell."""
    parts = [_counted(batch, batch, analyzer, threads) for batch in batched(texts, length=len)]
    return Rows.stacked(parts or [Rows.empty(END_FORMS)])


def count_passage_forms(
    passages: list[str], beginnings: list[str], analyzer: WordAnalyzer, threads: int | None = None
) -> Rows:
    """Return the same of passages; each has the head of its document, of which the beginning is given."""
    return _counted(passages, beginnings, analyzer, threads)


def _counted(texts: list[str], with_heads: list[str], analyzer: WordAnalyzer, threads: int | None) -> Rows:
    heads = scan_words(_core.heads_of(with_heads))
    stems, _ = analyzer.terms(heads.words)
    counts = _core.count_forms(
        texts,
        head_indptr=heads.starts,
        head_columns=_core.head_columns(stems)[heads.numbers],
        stemmed=analyzer.stemmer is not None,
        stop_words=_columns_of(analyzer.stop_words),
        threads=resolve_threads(threads),
    )
    return Rows.sparse(*counts, END_FORMS)


@cache
def _columns_of(words: frozenset[str]) -> Columns:
    return np.array(
        sorted({column for word in words for kind, column in forms_of(word) if kind == "word"}), dtype=np.int32
    )
