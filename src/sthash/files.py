"""Files that are replaced as a whole: a path holds the old content or the new content, never a part of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(target: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path beside ``target``; after the block, sync the file and rename it to ``target``.

    If the block fails or is interrupted, the temporary file is removed and ``target`` stays as it was.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sthash.files import replacing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = pathlib.Path(folder, "notes")
    ...     with replacing(target) as temporary:
    ...         _ = temporary.write_text("all or nothing")
    ...     target.read_text()
    'all or nothing'
    """
    path = Path(target)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    os.close(os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666))
    try:
        yield temporary
        sync(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    sync(path.parent)


def sync(path: Path) -> None:
    """Wait until the disk has a file, or the names in a folder."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
