"""What differs between two texts, for a person who decides whether one is a copy of the other."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from html import escape
from typing import Literal

Change = Literal["equal", "delete", "insert"]
_PARTS = re.compile(r"\w+|[^\w\s]|\s+")
_MARKS = {"equal": ("", ""), "delete": ("[-", "-]"), "insert": ("{+", "+}")}
_TAGS = {"equal": ("", ""), "delete": ("<del>", "</del>"), "insert": ("<ins>", "</ins>")}


@dataclass(frozen=True)
class Explanation:
    """How to get from one text to another.

    Attributes
    ----------
    changes : list of (str, str)
        What is equal, deleted or inserted, in reading order, and the text.
    score : float or None
        The similarity of the two documents, if they are one of the pairs found.

    Examples
    --------
    >>> from sthash.duplicates import compare_texts
    >>> print(compare_texts("a black cat sat", "a white cat sat down"))
    a [-black-]{+white+} cat sat{+ down+}
    """

    changes: list[tuple[Change, str]]
    score: float | None = None

    def __str__(self) -> str:
        """Return the texts in one, with [-what is deleted-] and {+what is inserted+}."""
        return "".join(f"{_MARKS[kind][0]}{part}{_MARKS[kind][1]}" for kind, part in self.changes)

    def _repr_html_(self) -> str:
        score = "" if self.score is None else f"<p>similarity {self.score:.3f}</p>"
        shown = (f"{_TAGS[kind][0]}{escape(part)}{_TAGS[kind][1]}" for kind, part in self.changes)
        return f'{score}<p style="text-align: left; white-space: pre-wrap">{"".join(shown)}</p>'


def compare_texts(left: str, right: str, *, score: float | None = None) -> Explanation:
    """Return what differs between two texts, word by word."""
    ours, theirs = _PARTS.findall(left), _PARTS.findall(right)
    changes: list[tuple[Change, str]] = []
    for kind, a, b, c, d in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if kind == "equal":
            changes.append(("equal", "".join(ours[a:b])))
        else:
            removed, added = "".join(ours[a:b]), "".join(theirs[c:d])
            changes.extend((change, part) for change, part in (("delete", removed), ("insert", added)) if part)  # type: ignore[misc]
    return Explanation(changes, score)
