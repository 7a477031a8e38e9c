"""The local side of a collection in Milvus: the model that encodes documents and queries."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sthash.collection import Collection
from sthash.milvus.milvus_server import MilvusError
from sthash.model import Encoded, TextModel

ModelSource = Collection | TextModel


class LocalModel:
    """A `TextModel` in use: one of its own, or that of a collection.

    The model of a collection can change, because `Collection.relearn` replaces it. The codes in Milvus are then those
    of another model, so every use of the new one is refused.

    Attributes
    ----------
    n_bits : int
    fingerprint : str
        The same for the same model, wherever it was loaded from; another one for any other model.
    """

    def __init__(self, source: ModelSource) -> None:
        if isinstance(source, tuple):
            raise TypeError("model is a tuple. Make one model of the pair: TextModel.of(vectorizer, hasher).")
        if not isinstance(source, Collection | TextModel):
            raise TypeError(f"model is a {type(source).__name__}. Pass a Collection of texts, or a TextModel.")
        self._source = source
        self._settings: dict[str, Any] | None = None
        with self.current() as model:
            if not model.learned:
                raise ValueError(
                    "the model has no hash functions yet, and Milvus is searched by codes. Add documents to the "
                    "collection, call its relearn(), and push it then."
                )
            self.n_bits = model.n_bits
            self.fingerprint = model.fingerprint
            self._settings = model.settings

    @contextmanager
    def current(self) -> Iterator[TextModel]:
        """Use the model; MilvusError if the collection has learned another one since the first use."""
        if isinstance(self._source, TextModel):
            yield self._source
            return
        with self._source.snapshot() as now:
            model = now.codes.model if now.has_codes else None
            if not isinstance(model, TextModel):
                raise TypeError(
                    f"{self._source.path} is of vectors, but Milvus is searched by text. Use a collection of texts."
                )
            if self._settings is not None and model.settings != self._settings:
                raise MilvusError(
                    f"{self._source.path} has learned a new model since. Push it with replace=True, or under another "
                    "name."
                )
            yield model

    def unused_words(self, text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the words of a text that are stop words, and those that the model does not know."""
        with self.current() as model:
            return model.unused_words(text)

    def encode(self, texts: list[str]) -> Encoded:
        """Return the rows, margins and codes of texts."""
        with self.current() as model:
            return model.encode(texts)
