"""What was learnt, as it travels: a vectorizer, if the input is text, and a hasher, as bytes of their model files."""

from __future__ import annotations

import copy
import tempfile
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sthash import model_file
from sthash.codes import n_bytes
from sthash.model_file import ModelFileError
from sthash.spark.arrow import texts, unit_rows

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa
    from pyspark import Broadcast

    from sthash.codes import Codes
    from sthash.hashing import SelfTaughtHashing
    from sthash.rows import Vectors
    from sthash.text import TextVectorizer

Files = dict[str, bytes]


@dataclass(frozen=True)
class Learnt:
    """A fitted model.

    Parameters
    ----------
    vectorizer : TextVectorizer or None
        None where the input is vectors.
    hasher : SelfTaughtHashing
    learnt_on : int
        How many documents the hasher was fitted on.
    """

    vectorizer: TextVectorizer | None
    hasher: SelfTaughtHashing
    learnt_on: int

    def rows(self, column: pa.Array, name: str) -> Vectors:
        """Give the unit rows of a column."""
        if self.vectorizer is not None:
            return self.vectorizer.transform(texts(column, name))
        return unit_rows(column, self.hasher.n_features_in_, name)

    def codes(self, column: pa.Array, name: str) -> Codes:
        """Give the packed codes of a column of texts or vectors."""
        if len(column) == 0:
            return np.zeros((0, n_bytes(self.hasher.n_bits)), dtype=np.uint8)
        codes: Codes = self.hasher.transform(self.rows(column, name))
        return codes

    def cosines(self, a: pa.Array, b: pa.Array) -> npt.NDArray[np.float32]:
        """Give the cosine of each text or vector of ``a`` with that of ``b`` in the same place."""
        import scipy.sparse as sp

        left, right = (sp.csr_array(self.rows(column, name)) for column, name in ((a, "a"), (b, "b")))
        return np.asarray(left.multiply(right).sum(axis=1), dtype=np.float32).ravel()

    @cached_property
    def files(self) -> Files:
        """Bytes of the model files, by name; the learning sample's own codes are left out, for nobody needs them."""
        hasher = copy.copy(self.hasher)
        hasher.codes_, hasher.embedding_ = hasher.codes_[:0], hasher.embedding_[:0]
        parts: dict[str, TextVectorizer | SelfTaughtHashing] = (
            {"hasher": hasher} if self.vectorizer is None else {"hasher": hasher, "vectorizer": self.vectorizer}
        )
        with tempfile.TemporaryDirectory() as folder:
            for name, part in parts.items():
                part.save(Path(folder, name))
            return {f"{name}.safetensors": Path(folder, name).read_bytes() for name in parts}


def restore(files: Files, learnt_on: int = 0, where: str = "the model") -> Learnt:
    """Read model files back; ``where`` is for the message of an error."""
    parts = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            path = Path(folder, name)
            path.write_bytes(content)
            try:
                parts[name] = model_file.load(path)
            except ModelFileError as error:
                raise ModelFileError(str(error).replace(str(path), f"{where}/{name}")) from error
    return Learnt(parts.get("vectorizer.safetensors"), parts["hasher.safetensors"], learnt_on)


def shared_model(shared: Broadcast[Files]) -> Learnt:
    """Give the model of a broadcast, in a worker."""
    files = shared.value
    return _worker_model(files["hasher.safetensors"], files.get("vectorizer.safetensors"))


@lru_cache(maxsize=4)
def _worker_model(hasher: bytes, vectorizer: bytes | None) -> Learnt:
    """Read a model once a worker process; Spark runs a task a core, so each is given one thread."""
    files = {"hasher.safetensors": hasher} | ({"vectorizer.safetensors": vectorizer} if vectorizer else {})
    learnt = restore(files)
    learnt.hasher.threads = 1
    learnt.hasher.hash_function_.threads = 1  # type: ignore[union-attr]
    if learnt.vectorizer is not None:
        learnt.vectorizer.threads = 1
    return learnt
