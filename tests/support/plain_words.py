"""The slow, obvious twin of `sthash.WordIndex`: every score is added up, nothing is indexed."""

from __future__ import annotations

import math

import numpy as np

from sthash.text import TextOptions

# Words are what stands between spaces.
PLAIN = TextOptions(language="none", stop_words=None, stemmer=None)
K1, B = 1.2, 0.6


def bm25_scores(query: str, texts: list[str]) -> np.ndarray:
    """Score all texts; 0 where no word is shared. Impacts, products and sums are float32, as the index has them."""
    documents, wanted = [text.split() for text in texts], query.split()
    lengths = np.array([len(words) for words in documents])
    counts = {term: np.array([words.count(term) for words in documents]) for term in set(wanted)}
    weights = {
        term: np.float32(math.log1p((len(texts) - df + 0.5) / (df + 0.5))) * np.float32(wanted.count(term))
        for term, count in counts.items()
        if (df := int((count > 0).sum()))
    }
    scores = np.zeros(len(texts), dtype=np.float32)
    for term in sorted(weights, key=lambda term: (-weights[term], term)):
        count = counts[term]
        impacts = count * (K1 + 1) / (count + K1 * (1 - B) + K1 * B / lengths.mean() * lengths)
        scores += weights[term] * impacts.astype(np.float32)
    return scores
