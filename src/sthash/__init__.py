"""Self-Taught Hashing: short binary codes for documents, and exact search over them."""

from sthash._core import simd_path
from sthash.index import HammingIndex

__version__ = "0.1.0"

__all__ = ["HammingIndex", "__version__", "simd_path"]
