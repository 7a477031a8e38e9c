"""All documents of one state of a file, for as long as it takes to read them."""

from __future__ import annotations

from collections.abc import Iterator

from sthash.collection.file import phrases
from sthash.collection.file.documents import read_document
from sthash.collection.file.store import Store
from sthash.sources import Document


def export_documents(store: Store) -> Iterator[Document]:
    """Iterate over the documents as they are when the first is asked for, in the order in which they came.

    A reader of the file would block writers until its last document. So the documents are first copied, within one
    transaction, to a temporary table of a connection of its own, where it stands for the table of the file. SQLite
    keeps it in memory while it is small, and then in a file without a name, in the folder for temporary files
    (``SQLITE_TMPDIR`` or ``TMPDIR``).
    """
    with store.reading():  # not closed, and the file that is at the path now
        own = Store(store.path, store.mode)
    try:
        with own.reading():
            own.execute("CREATE TEMP TABLE documents AS SELECT * FROM main.documents ORDER BY id")
            known = phrases.all_known(own)
        last = 0
        while True:
            with own.alone():
                # By the row numbers of the copy: ids may have gaps.
                page = list(own.rows("documents", "WHERE rowid > ? ORDER BY rowid LIMIT 1000", (last,)))
            if not page:
                return
            last += len(page)
            for row in page:
                yield read_document(own, phrases.unpacked(own, row, known)).document()
    finally:
        own.close()
