"""From strings to sparse unit rows: words, stop words, stems, weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sthash.lazy import lazy_names

if TYPE_CHECKING:
    from sthash.text.vectorizer import CorpusCounter, TextVectorizer

__all__ = ["CorpusCounter", "TextVectorizer"]

# The vectorizer needs scikit-learn; counting and weighing, which a query needs, do not.
__getattr__ = lazy_names(
    __name__, {"CorpusCounter": "sthash.text.vectorizer", "TextVectorizer": "sthash.text.vectorizer"}
)
