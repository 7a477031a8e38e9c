"""Static embeddings that need no network: the token vectors inside the wheel of wordllama, averaged and normalized."""

from __future__ import annotations

from functools import cache
from importlib import metadata
from typing import Any

import numpy as np
import numpy.typing as npt

from data import records

WEIGHTS = "wordllama/weights/l2_supercat_256.safetensors"
TOKENIZER = "wordllama/tokenizers/l2_supercat_tokenizer_config.json"
MOST_TOKENS = 512
BATCH = 4096


class Encoder:
    """Turns texts into unit vectors of 256 dimensions."""

    def __init__(self) -> None:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        wheel = metadata.distribution("wordllama")
        (self._vectors,) = load_file(str(wheel.locate_file(WEIGHTS))).values()
        self._vectors = self._vectors.astype(np.float32)
        self._tokenizer = Tokenizer.from_file(str(wheel.locate_file(TOKENIZER)))
        self._tokenizer.no_padding()

    def encode(self, texts: list[str], **_: Any) -> npt.NDArray[np.float32]:
        """Return one row per text; a text without tokens has a zero row."""
        rows = np.zeros((len(texts), self._vectors.shape[1]), dtype=np.float32)
        for start in range(0, len(texts), BATCH):
            batch = self._tokenizer.encode_batch(list(texts[start : start + BATCH]), add_special_tokens=False)
            for place, encoded in enumerate(batch, start):
                if encoded.ids:
                    rows[place] = self._vectors[encoded.ids[:MOST_TOKENS]].mean(axis=0)
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


@cache
def description_vectors() -> npt.NDArray[np.float32]:
    """Encode all 245,163 descriptions of vulnerabilities and Debian packages, in the order of their files.

    This takes half a minute. All parts of a script share the result, so it cannot be written to.
    """
    rows = Encoder().encode([text for name in ("cve", "debian_packages") for _, text in records(name)])
    rows.flags.writeable = False
    return rows
