"""The parameters of a search for near-duplicates: stated and validated here, and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypedDict

from sthash.checks import check_choice, check_whole
from sthash.duplicates.grouping import GROUPINGS, Grouping
from sthash.duplicates.measures import Measure, check_measure

SHINGLE_WORDS = 5
Protect = Literal["numbers"]
PROTECTED = ("numbers",)


class DuplicateKeywords(TypedDict, total=False):
    """The fields of `DuplicateOptions` after ``threshold``, as keyword arguments of ``near_duplicates``."""

    measure: Measure | None
    grouping: Grouping
    shingle_words: int
    radius: int | None
    protect: Protect | None


@dataclass(frozen=True)
class DuplicateOptions:
    """How near-duplicates are found; see `near_duplicates`.

    Examples
    --------
    >>> from sthash.duplicates.options import DuplicateOptions
    >>> DuplicateOptions(measure="jaccard").least
    0.8
    """

    threshold: float | None = None
    measure: Measure | None = None
    grouping: Grouping = "connected"
    shingle_words: int = SHINGLE_WORDS
    radius: int | None = None
    protect: Protect | None = None

    def __post_init__(self) -> None:
        check_measure(self.measure or "wording", self.threshold)
        check_choice("grouping", self.grouping, GROUPINGS)
        check_whole("shingle_words", self.shingle_words)
        if self.radius is not None:
            check_whole("radius", self.radius, least=0)
            if self.measure not in ("cosine", None):
                raise TypeError(f"a radius goes with measure='cosine', but got {self.measure!r}. Leave radius= out.")

        if self.protect is not None:
            check_choice("protect", self.protect, PROTECTED)
            if self.radius is not None or self.measure not in ("wording", None):
                raise TypeError("protect goes with measure='wording'. Leave protect= out.")

    def settled(self, *, of_vectors: bool) -> DuplicateOptions:
        """Return the options with the measure that documents are compared by: vectors by cosine, texts by wording."""
        if self.measure is not None:
            return self
        if of_vectors and self.protect is not None:
            raise TypeError("vectors have no numbers to protect. Leave protect= out, or take measure='wording'.")
        return replace(self, measure="cosine" if of_vectors or self.radius is not None else "wording")

    @property
    def least(self) -> float:
        """The threshold, or that of the measure."""
        return check_measure(self.measure or "wording", self.threshold)[1]

    def keywords(self) -> dict[str, Any]:
        """Return all fields by name, to pass them on."""
        return {field.name: getattr(self, field.name) for field in fields(self)}
