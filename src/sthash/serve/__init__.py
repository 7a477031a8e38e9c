"""A collection over HTTP: an interface for programs and a web page for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sthash.lazy import lazy_names

if TYPE_CHECKING:
    from sthash.serve.app import create_app
    from sthash.serve.limits import Limits
    from sthash.serve.server import serve
    from sthash.serve.settings import Settings

__all__ = ["Limits", "Settings", "create_app", "serve"]

__getattr__ = lazy_names(
    __name__,
    {
        "Limits": "sthash.serve.limits",
        "Settings": "sthash.serve.settings",
        "create_app": "sthash.serve.app",
        "serve": "sthash.serve.server",
    },
)
