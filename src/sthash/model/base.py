"""What every model can do."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, Protocol

from sthash.model.encoded import Encoded, Margins
from sthash.vectors.metric import Metric
from sthash.vectors.rows import Rows


class Model(Protocol):
    """The way from a document to its code; `TextModel` or `VectorModel`.

    Attributes
    ----------
    dense : bool
        Whether the rows are dense vectors that the user brings.
    metric : {"cosine", "ip"}
        What rows are compared by.
    n_bits, n_columns : int
    settings : dict
        How the model was learned, as plain JSON values.
    """

    dense: bool
    metric: Metric
    settings: dict[str, Any]

    @property
    def n_bits(self) -> int:
        """Number of bits of a code."""

    @property
    def n_columns(self) -> int:
        """Number of columns of a row."""

    @property
    def fingerprint(self) -> str:
        """Identifies the model: equal wherever the model was loaded from, different for any other model."""

    @property
    def learned(self) -> bool:
        """Whether hash functions have been learned; without them all codes are zero."""

    def encode(self, inputs: Any) -> Encoded:
        """Return the rows and the margins of texts, or of vectors."""

    def margins(self, rows: Rows) -> Margins:
        """Return the margins of rows."""


def fingerprint(settings: bytes, checksums: Iterable[int] = ()) -> str:
    """Return the fingerprint of a model with these settings, as JSON, and these terms."""
    digest = hashlib.sha256(settings)
    for checksum in checksums:
        digest.update(b"%d " % checksum)
    return digest.hexdigest()
