"""Phrases: words that stand side by side, after analysis."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from sthash.text.analyzer import WordAnalyzer
from sthash.text.scanning import scan_words

Term = tuple[str, bool]


class Phrase:
    """Terms in their order. A stop word stands for itself.

    Parameters
    ----------
    text : str
    analyzer : WordAnalyzer
    slop : int
        If not 0, all terms stand in any order within a span that has so many other words.

    Attributes
    ----------
    terms : list of (str, bool)
        Each with whether it is the stem of a word; if not, it is a stop word.

    Examples
    --------
    >>> from sthash.collection.search.phrases import Phrase
    >>> from sthash.text.analyzer import WordAnalyzer
    >>> Phrase("the birds of prey", WordAnalyzer(frozenset({"the", "of"}), "porter")).terms
    [('the', False), ('bird', True), ('of', False), ('prei', True)]
    """

    def __init__(self, text: str, analyzer: WordAnalyzer, slop: int = 0) -> None:
        self.slop = slop
        scanned = scan_words([text])
        terms = _terms(scanned.words, analyzer)
        self.terms = [terms[number] for number in scanned.numbers.tolist()]


def holds_phrases(texts: list[str], phrases: list[Phrase], analyzer: WordAnalyzer) -> npt.NDArray[np.bool_]:
    """Return, for each text and each phrase, whether the text has it; a phrase without terms is in every text."""
    held = np.ones((len(texts), len(phrases)), dtype=bool)
    if not texts or not phrases:
        return held
    scanned = scan_words(texts)
    numbers: dict[Term, int] = {}
    for phrase in phrases:
        for term in phrase.terms:
            numbers.setdefault(term, len(numbers))
    of_word = np.array([numbers.get(term, -1) for term in _terms(scanned.words, analyzer)], dtype=np.int64)
    terms = of_word[scanned.numbers] if len(of_word) else np.zeros(0, dtype=np.int64)
    wanted = [[numbers[term] for term in phrase.terms] for phrase in phrases]
    for place, (start, end) in enumerate(itertools.pairwise(scanned.starts.tolist())):
        for number, phrase_terms in enumerate(wanted):
            slop = phrases[number].slop
            own = terms[start:end]
            held[place, number] = _is_near(own, phrase_terms, slop) if slop else _has(own, phrase_terms)
    return held


def _terms(words: list[str], analyzer: WordAnalyzer) -> list[Term]:
    stems, counted = analyzer.terms(words)
    return [
        (stem, True) if counts else (word, False)
        for word, stem, counts in zip(words, stems, counted.tolist(), strict=True)
    ]


def _has(terms: npt.NDArray[np.int64], wanted: list[int]) -> bool:
    places = len(terms) - len(wanted) + 1
    if places <= 0:
        return not wanted
    here = np.ones(places, dtype=bool)
    for offset, term in enumerate(wanted):
        here &= terms[offset : offset + places] == term
    return bool(here.any())


def _is_near(terms: npt.NDArray[np.int64], wanted: list[int], slop: int) -> bool:
    """Whether some span has all wanted terms, and at most ``slop`` words more than these."""
    missing = {term: wanted.count(term) for term in wanted}
    places = np.flatnonzero(np.isin(terms, list(missing)))
    n_missing, first, width = sum(missing.values()), 0, len(wanted) + slop
    for last in places.tolist():
        term = int(terms[last])
        n_missing -= missing[term] > 0
        missing[term] -= 1
        while last - int(places[first]) >= width:
            left = int(terms[places[first]])
            missing[left] += 1
            n_missing += missing[left] > 0
            first += 1
        if n_missing == 0:
            return True
    return not len(wanted)
