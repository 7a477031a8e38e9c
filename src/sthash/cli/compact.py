"""``sth compact``: a smaller file."""

from __future__ import annotations

from sthash.cli import options


def compact(collection: options.Path) -> None:
    """Give the space of deleted documents back to the disk."""
    from sthash.collection import Collection

    with Collection.open(collection) as opened:
        opened.compact()
