"""Documents by their keys, as in a dict; the same for a file, a service and Milvus."""

from __future__ import annotations

from typing import Any, TypeVar, overload

from sthash.sources import Document

D = TypeVar("D")
_REQUIRED: Any = object()


class ByKey:
    """What a collection can do once it can find a document by its key."""

    def _find(self, key: str) -> Document:
        raise NotImplementedError

    @overload
    def get(self, key: str) -> Document: ...

    @overload
    def get(self, key: str, default: D) -> Document | D: ...

    def get(self, key: str, default: Any = _REQUIRED) -> Any:
        """Return the document with this key; if there is none, the default, or KeyError if none is given."""
        try:
            return self._find(key)
        except KeyError:
            if default is _REQUIRED:
                raise
            return default

    def __getitem__(self, key: str) -> Document:
        return self._find(key)
