"""The result of a search for near-duplicates: pairs with their similarities, groups, and what to keep of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np

from sthash.checks import check_choice
from sthash.duplicates.comparison import Explanation, compare_texts
from sthash.duplicates.grouping import GROUPINGS, Grouping, groups_of
from sthash.duplicates.measures import Measure
from sthash.duplicates.similarity_join import SimilarPairs

if TYPE_CHECKING:
    from sthash.sources import Document

Key: TypeAlias = Any  # the key of a document of a collection, a str; the position of a text in a list, an int
Rule = Literal["first", "longest", "newest"]
Keep = Rule | Callable[["Document"], Any]
RULES = ("first", "longest", "newest")
MOST_SHOWN = 20
MOST_CHARACTERS = 200


class Pair(NamedTuple):
    """Two documents and their similarity. With containment, the left one is contained in the right one."""

    left: Key
    right: Key
    score: float


class Kept(NamedTuple):
    """The document that a group keeps, and why."""

    key: Key
    reason: str


class Documents(Protocol):
    """Where the documents are."""

    def get(self, key: Key) -> Document:
        """Give a document."""

    def export(self) -> Iterator[Document]:
        """Give all documents, in order."""


@dataclass(frozen=True)
class Texts:
    """Texts in memory; their positions are their keys."""

    texts: Sequence[str]

    def get(self, key: int) -> Document:
        """Give a text as a document, whose own key is the position as a str."""
        from sthash.sources import Document

        return Document(str(key), self.texts[key])

    def export(self) -> Iterator[Document]:
        """Give all texts as documents."""
        return map(self.get, range(len(self.texts)))


@dataclass(frozen=True)
class Duplicates:
    """Near-duplicate documents.

    Iterating gives the groups; ``len`` is their number.

    Attributes
    ----------
    documents : Documents
        Where the documents are.
    keys : sequence
        The key of each position in ``found``: of texts in memory their positions, from 0 on.
    found : SimilarPairs
        The pairs as arrays of positions and similarities.
    measure, threshold, grouping
        How they were found.

    Examples
    --------
    >>> import sthash
    >>> found = sthash.near_duplicates(["a cat and a dog", "sails on the sea", "A cat, and a dog!"])
    >>> found.pairs
    [Pair(left=0, right=2, score=1.0)]
    >>> found.groups, found.dropped()
    ([[0, 2]], {2})
    """

    documents: Documents
    keys: Sequence[Key]
    found: SimilarPairs
    measure: Measure
    threshold: float
    grouping: Grouping = "connected"

    def __post_init__(self) -> None:
        check_choice("grouping", self.grouping, GROUPINGS)

    def __len__(self) -> int:
        return len(self.groups)

    def __iter__(self) -> Iterator[list[Key]]:
        return iter(self.groups)

    def __repr__(self) -> str:
        return (
            f"<Duplicates: {len(self.found):,} pairs, {len(self.groups):,} groups, {len(self.dropped()):,} documents "
            f"to drop at {self.measure} >= {self.threshold:g}>"
        )

    @property
    def complete(self) -> bool:
        """Whether all pairs are listed. If not, the groups are still right."""
        return self.found.complete

    @cached_property
    def pairs(self) -> list[Pair]:
        """Pairs and their similarities, in the order of the documents; then copies, each with the first of its kind."""
        places = zip(self.found.left.tolist(), self.found.right.tolist(), self.found.scores.tolist(), strict=True)
        return [Pair(self.keys[left], self.keys[right], score) for left, right, score in places]

    @cached_property
    def groups(self) -> list[list[Key]]:
        """Keys, two or more per group, in the order in which the documents were added.

        With ``connected`` grouping each document of a group is similar to another one of it, but not always to all.
        """
        return [[self.keys[place] for place in group.tolist()] for group in groups_of(self.found, self.grouping)]

    def at(self, threshold: float) -> Duplicates:
        """Return the result for a higher threshold, without searching again."""
        if not self.threshold <= threshold <= 1:
            raise ValueError(
                f"threshold={threshold!r} must be from {self.threshold:g}, which was searched with, to 1. "
                "Search again to lower it."
            )
        return replace(self, found=self.found.at(threshold), threshold=float(threshold))

    def grouped(self, grouping: Grouping) -> Duplicates:
        """Return the same pairs in ``connected`` groups, or in ``complete`` ones, all of whose pairs are similar."""
        return replace(self, grouping=grouping)

    def kept(self, keep: Keep = "first") -> list[Kept]:
        """Return what each group keeps, and why.

        Parameters
        ----------
        keep : {"first", "longest", "newest"} or callable
            ``newest`` is the one that was added last. A callable takes a document; the one with the largest value is
            kept. Of equals, the first.
        """
        if not callable(keep):
            check_choice("keep", keep, RULES)
        return [self._kept(group, keep) for group in self.groups]

    def _kept(self, group: list[Key], keep: Keep) -> Kept:
        if keep == "first":
            return Kept(group[0], f"first of {len(group)}")
        if keep == "newest":
            return Kept(group[-1], f"newest of {len(group)}")
        value = keep if callable(keep) else lambda document: len(document.text)
        values = [value(self.documents.get(key)) for key in group]
        best = max(range(len(group)), key=values.__getitem__)
        named = "largest value" if callable(keep) else "longest"
        unit = "" if callable(keep) else " characters"
        return Kept(group[best], f"{named} of {len(group)}: {values[best]}{unit}")

    def dropped(self, keep: Keep = "first") -> set[Key]:
        """Keys of all documents but the one that each group keeps; see `kept`."""
        chosen = self.kept(keep)
        return {key for group, own in zip(self.groups, chosen, strict=True) for key in group if key != own.key}

    def deduplicated(self, keep: Keep = "first") -> Iterator[Document]:
        """Give all documents, of each group only the one it keeps."""
        dropped = {str(key) for key in self.dropped(keep)}
        return (document for document in self.documents.export() if document.key not in dropped)

    def explain(self, left: Key, right: Key) -> Explanation:
        """Return what differs between two documents."""
        scores = {frozenset(pair[:2]): pair.score for pair in self.pairs}
        texts = [self.documents.get(key).text for key in (left, right)]
        return compare_texts(*texts, score=scores.get(frozenset((left, right))))

    def to_frame(self) -> Any:
        """Return the pairs as a pandas DataFrame: ``left``, ``right``, ``score`` and the number of the ``group``."""
        try:
            from pandas import DataFrame
        except ImportError as error:
            raise ImportError(f"a DataFrame needs pandas ({error}). Install it: pip install pandas.") from error
        number = {key: place for place, group in enumerate(self.groups) for key in group}
        groups = [number[pair.left] if number.get(pair.left) == number.get(pair.right) else None for pair in self.pairs]
        frame = DataFrame(self.pairs, columns=["left", "right", "score"])
        return frame.assign(group=np.array(groups, dtype=object) if None in groups else groups)

    def _repr_html_(self) -> str:
        from html import escape

        head = f"<p>{escape(repr(self)[1:-1])}</p>"
        rows = []
        for place in np.argsort(-self.found.scores, kind="stable")[:MOST_SHOWN].tolist():
            pair = self.pairs[place]
            texts = (escape(_short(self.documents.get(key).text)) for key in (pair.left, pair.right))
            keys = escape(str(pair.left)), escape(str(pair.right))
            cells = "".join(f'<td style="text-align: left">{cell}</td>' for cell in (*keys, *texts))
            rows.append(f"<tr><td>{pair.score:.3f}</td>{cells}</tr>")
        names = "".join(f"<th>{name}</th>" for name in ("score", "left", "right", "left text", "right text"))
        return f"{head}<table><thead><tr>{names}</tr></thead><tbody>{''.join(rows)}</tbody></table>" if rows else head


def _short(text: str) -> str:
    shown = text[:MOST_CHARACTERS] + ("…" if len(text) > MOST_CHARACTERS else "")
    return shown.encode("utf-8", "replace").decode("utf-8")
