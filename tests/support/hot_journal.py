"""A change that is cut short at its last moment: the file is written, but its journal is still there.

This is what a kill or a power cut leaves, without either: a second link to the journal outlives the commit, which
removes the first.
"""

from collections.abc import Iterator
from pathlib import Path

from sthash import Collection, Document


def cut_short(path: Path, documents: list[Document], *, flushed: bool = True) -> Path:
    """Upsert documents, then undo the end of it; return the journal.

    If not ``flushed``, the file is as it was before the change.
    """
    journal, kept = Path(f"{path}-journal"), Path(f"{path}-kept")
    before = path.read_bytes()

    def with_a_link() -> Iterator[Document]:
        kept.hardlink_to(journal)
        yield from documents

    with Collection.open(path) as collection:
        collection.upsert(with_a_link())
    if not flushed:
        after = path.read_bytes()
        path.write_bytes(before + bytes(max(0, len(after) - len(before))))
    kept.replace(journal)
    return journal
