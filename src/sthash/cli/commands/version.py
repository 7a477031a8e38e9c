"""``sth version``: what is installed."""

from __future__ import annotations

import typer


def version() -> None:
    """Print the version, and the SIMD path of this machine."""
    from sthash import __version__, _core

    typer.echo(f"sthash {__version__} ({_core.simd_path()})")
