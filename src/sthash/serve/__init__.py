"""A collection over HTTP: an interface for programs and a page for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sthash.lazy import lazy_names

if TYPE_CHECKING:
    from sthash.serve.app import create_app
    from sthash.serve.running import serve
    from sthash.serve.settings import Limits, Settings

__all__ = ["Limits", "Settings", "create_app", "serve"]

__getattr__ = lazy_names(
    __name__,
    {
        "Limits": "sthash.serve.settings",
        "Settings": "sthash.serve.settings",
        "create_app": "sthash.serve.app",
        "serve": "sthash.serve.running",
    },
)
