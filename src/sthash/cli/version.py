"""``sth version``: what is installed."""

from __future__ import annotations

import typer


def version() -> None:
    """Print the version, and the SIMD path of this machine."""
    import sthash

    typer.echo(f"sthash {sthash.__version__} ({sthash.simd_path()})")
