"""From strings to sparse unit rows: words, stop words, stems, weights."""

from sthash.text.vectorizer import TextVectorizer

__all__ = ["TextVectorizer"]
