"""From strings to sparse unit rows: words, stop words, stems, weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sthash.text.vectorizer import TextVectorizer

__all__ = ["TextVectorizer"]


def __getattr__(name: str) -> Any:
    # The vectorizer needs scikit-learn; counting and weighing, which a query needs, do not.
    if name != "TextVectorizer":
        raise AttributeError(f"module 'sthash.text' has no attribute {name!r}")
    from sthash.text.vectorizer import TextVectorizer

    return TextVectorizer
