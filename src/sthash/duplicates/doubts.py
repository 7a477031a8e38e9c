"""Which drops may be wrong: what speaks against a near-duplicate."""

from __future__ import annotations

import re

# A change of one word is a large part of a text with fewer characters.
SHORT_TEXT = 50
# Of the scores from the threshold to 1, the lowest ones.
LOW_SHARE = 0.25

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def doubts(text: str, of: str | None, score: float, threshold: float) -> tuple[str, ...]:
    """Return what speaks against a drop: "numbers differ", "low score", "short text"; nothing for a score of 1.

    Parameters
    ----------
    text, of : str
        What is dropped, and what is kept in its place; None if that is not known any more.
    score, threshold : float

    Examples
    --------
    >>> from sthash.duplicates.doubts import doubts
    >>> doubts("Version 1.2 is out.", "Version 1.3 is out.", 0.9, 0.75)
    ('numbers differ', 'short text')
    >>> doubts("Version 1.2 is out.", "version 1.2 is out", 1.0, 0.75)
    ()
    """
    if score == 1:
        return ()
    found = []
    if of is not None and sorted(_NUMBER.findall(text)) != sorted(_NUMBER.findall(of)):
        found.append("numbers differ")
    if score < threshold + LOW_SHARE * (1 - threshold):
        found.append("low score")
    if min(len(text), len(text if of is None else of)) < SHORT_TEXT:
        found.append("short text")
    return tuple(found)
