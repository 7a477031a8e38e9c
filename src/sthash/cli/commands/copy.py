"""``sth copy``: copy a collection, even while it is in use."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sthash.cli import options


def copy(
    collection: options.Path,
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="The file of the copy.")],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if it exists.")] = False,
) -> None:
    """Copy a collection to another file, or restore it from a copy.

    Other processes can use both files during the copy. After a crash the target is either unchanged or complete.
    """
    from sthash.collection import Collection

    with Collection.open(collection) as opened:
        opened.copy_to(target, overwrite=overwrite)
