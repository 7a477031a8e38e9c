"""The local side: what turns texts into rows and codes, and how one model is told from another."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sthash.codes import n_bytes
from sthash.collection import Collection
from sthash.collection.encoder import Encoded, TextEncoder
from sthash.collection.search import encode_queries
from sthash.hashing.hasher import Hasher
from sthash.milvus.server import MilvusError
from sthash.text import TextVectorizer

Model = Collection | tuple[TextVectorizer, Hasher]


@dataclass(frozen=True)
class Encoding:
    """A model in use.

    Attributes
    ----------
    fingerprint : str
        The same for the same model, wherever it was loaded from; another for any other.
    encode : callable
        Gives the unit rows and the codes of texts.
    """

    fingerprint: str
    n_bits: int
    n_columns: int
    encode: Callable[[list[str]], Encoded]

    @property
    def dim(self) -> int:
        """Bits of a code in Milvus, which takes whole bytes."""
        return 8 * n_bytes(self.n_bits)


def encoding(model: Model) -> Encoding:
    """Take a model into use."""
    if isinstance(model, Collection):
        return _of_collection(model)
    if isinstance(model, tuple) and len(model) == 2:
        vectorizer, hasher = model
        if isinstance(vectorizer, TextVectorizer) and isinstance(hasher, Hasher):
            return _of_pair(vectorizer, hasher)
    raise TypeError(f"model must be a Collection, or a pair of TextVectorizer and hasher, got {type(model).__name__}.")


def _of_collection(collection: Collection) -> Encoding:
    view = collection._view
    with view.reading():
        encoder = view.encoder()
        if not isinstance(encoder, TextEncoder):
            raise TypeError(f"{collection.path} is of vectors, but Milvus is searched by text: use one of texts.")
        settings = view.store.blob("model")
        digest = hashlib.sha256(settings)
        for (checksum,) in view.store.connection.execute("SELECT sum FROM terms ORDER BY column"):
            digest.update(b"%d " % checksum)

    def encode(texts: list[str]) -> Encoded:
        with view.reading():
            if view.store.blob("model") != settings:
                raise MilvusError(f"{collection.path} has learnt a new model since; push it again under another name.")
            return encode_queries(view, texts)

    return Encoding(digest.hexdigest(), encoder.n_bits, encoder.n_columns, encode)


def _of_pair(vectorizer: TextVectorizer, hasher: Hasher) -> Encoding:
    digest = hashlib.sha256()
    with tempfile.TemporaryDirectory() as folder:  # the same model always gives the same file
        for model in (vectorizer, hasher):
            model.save(Path(folder, "model"))
            with Path(folder, "model").open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())

    def encode(texts: list[str]) -> Encoded:
        rows = vectorizer.transform(texts)
        return Encoded(rows.indptr, rows.indices, rows.data, hasher.decision_function(rows))

    n_columns = len(vectorizer.vocabulary_)
    if hasher.n_features_in_ != n_columns:
        raise ValueError(
            f"the hasher takes vectors of {hasher.n_features_in_} columns, but the vectorizer makes {n_columns}; "
            "pass the two that were fitted together."
        )
    return Encoding(digest.hexdigest(), int(hasher.n_bits), n_columns, encode)
