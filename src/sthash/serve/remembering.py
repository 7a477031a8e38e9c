"""Answers to slow questions, kept for as long as the file stays as it is."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from sthash.collection import Collection


class Remembered:
    """The last answer, and what it is the answer to.

    A question that took longer than its client waited is answered nonetheless; who asks again finds the answer here.
    """

    def __init__(self) -> None:
        self._of: tuple[Collection, int, Hashable] | None = None
        self._answer: Any = None

    def __call__(self, collection: Collection, question: Hashable, find: Callable[[Collection], Any]) -> Any:
        """Give the answer to a question, which ``find`` finds if it is not the last one, or the file has changed."""
        view = collection._view
        with view.reading():
            of = (collection, view.store.version(), question)
            if of != self._of:
                self._answer, self._of = find(collection), of
            return self._answer
