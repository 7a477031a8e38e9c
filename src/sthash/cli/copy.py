"""``sth copy``: a copy of a collection, also while it is in use."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sthash.cli import options


def copy(
    collection: options.Path,
    target: Annotated[Path, typer.Argument(help="Where the copy goes.")],
    force: Annotated[bool, typer.Option("--force", help="Replace the file if there is one.")] = False,
) -> None:
    """Copy a collection to another file, or restore it from a copy.

    Both files may be in use. After a crash the target is as it was before, or the whole copy.
    """
    from sthash.collection import Collection

    with Collection.open(collection) as opened:
        opened.copy_to(target, overwrite=force)
