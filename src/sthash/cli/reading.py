"""How many documents files are going to give: estimated while they are read, so that the time left can be told."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sthash.progress import Progress
    from sthash.sources import Origin


def with_total(progress: Progress, sources: Sequence[str], origin: Origin) -> Progress:
    r"""Report how many documents there are likely to be, from how far the files have been read.

    ``origin`` tells what is being read. A compressed file counts when it has been read; folders and standard input tell
    nothing.

    Examples
    --------
    >>> import tempfile
    >>> from sthash.cli.reading import with_total
    >>> from sthash.sources import Origin, read_documents
    >>> origin = Origin()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "docs.txt")
    ...     _ = path.write_text("ten bytes\n" * 100)
    ...     report = with_total(lambda step, done, total: print(done, "of", total), [str(path)], origin)
    ...     for number, _ in enumerate(read_documents(path, format="lines", origin=origin), 1):
    ...         if number == 50:
    ...             report("reading", number, None)
    50 of 100
    """
    paths = [Path(source) for source in sources]
    if not all(path.is_file() and path.stat().st_size for path in paths):
        return progress
    sizes = [path.stat().st_size for path in paths]
    current = 0

    def report(step: str, done: int, total: int | None) -> None:
        nonlocal current
        if step == "reading" and total is None and origin.name:
            names = [path.name for path in paths[current:]]
            name = Path(origin.name).name
            current += names.index(name) if name in names else 0
            own = _share_read(paths[current], sizes[current], origin) * sizes[current]
            if read := sum(sizes[:current]) + own:
                total = max(done, round(done * sum(sizes) / read))
        progress(step, done, total)

    return report


def _share_read(path: Path, size: int, origin: Origin) -> float:
    """Return which share of a file has been read."""
    from sthash.sources.compression import SUFFIXES

    if path.suffix.lower() in SUFFIXES:
        return 0
    if origin.n_rows:
        return origin.n_read / origin.n_rows
    return 0 if origin.lines is None else min((origin.lines.offset + len(origin.content)) / size, 1)
