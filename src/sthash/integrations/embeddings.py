"""An embedder for frameworks that embed documents and queries in different ways, or themselves."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any


class GivenVectors:
    """Texts to vectors, as `Collection` takes it; while a query is asked, its vector is the one that is given.

    Parameters
    ----------
    documents : callable, optional
        Embeds a list of texts. Without it, documents must come with their vectors.
    """

    def __init__(self, documents: Callable[[list[str]], Any] | None = None) -> None:
        self._documents = documents
        self._of_thread = threading.local()

    def __call__(self, texts: list[str]) -> Any:
        """Return one vector per text."""
        given = getattr(self._of_thread, "vector", None)
        if given is not None:
            return [given] * len(texts)
        if self._documents is None:
            raise ValueError("the documents have no vectors. Embed them first")
        return self._documents(texts)

    @contextmanager
    def query(self, vector: Sequence[float]) -> Iterator[None]:
        """Let texts have this vector within the block, in this thread."""
        self._of_thread.vector = vector
        try:
            yield
        finally:
            self._of_thread.vector = None
