"""What `Collection.create` is told about vectors."""

from __future__ import annotations

from dataclasses import dataclass

from sthash.checks import check_choice, check_whole
from sthash.index.stored_vectors import KEPT, Kept
from sthash.vectors.metric import METRICS, Metric


@dataclass(frozen=True)
class VectorOptions:
    """How a collection compares and keeps vectors.

    Parameters
    ----------
    metric : {"cosine", "ip"}, default="cosine"
        What vectors are compared by. With "ip", the inner product, their lengths count: scores are inner products, and
        a vector of zeros is allowed. Near-duplicates are still found by cosine.
    precision : {"float32", "float16", "int8", "codes"}, default="float32"
        How vectors are kept. "float16" and "int8" take half and a quarter of the space, and scores are those of the
        rounded vectors. "codes" keeps ``n_bytes`` per vector and nothing else, made by `EmbeddingQuantizer`: a search
        scans all codes, and scores are estimates. It takes cosines, and neither ``recall``, ``exact`` and ``collapse``
        nor near-duplicates by cosine nor learning. The codes are learned once, from the first 10,000 vectors or more;
        until then vectors are kept as float32. So create the collection with many of them.
    n_bytes : int, default=24
        Bytes of a code, an even number from 2 to 128. By it candidates within a cell are chosen; with
        ``precision="codes"`` it is all that is kept of a vector.

    Examples
    --------
    >>> import sthash
    >>> sthash.VectorOptions(metric="ip").precision
    'float32'
    """

    metric: Metric = "cosine"
    precision: Kept = "float32"
    n_bytes: int = 24

    def __post_init__(self) -> None:
        check_choice("metric", self.metric, METRICS)
        check_choice("precision", self.precision, KEPT)
        if self.precision == "codes" and self.metric != "cosine":
            raise ValueError("precision='codes' keeps no lengths, which metric='ip' needs. Take one of the others.")
        if check_whole("n_bytes", self.n_bytes, 2) % 2 or self.n_bytes > 128:
            raise ValueError(f"n_bytes={self.n_bytes} must be an even number from 2 to 128. Use another length.")
