"""Posting lists in the file: lists of neighboring columns are together in a row, a block, named by its first column."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from sthash import _core
from sthash.arrays import Ids
from sthash.checks import resolve_threads
from sthash.collection.file.segments import Segment, Segments
from sthash.collection.file.store import Store
from sthash.collection.indexes.forms import END_FORMS, FIRST_FORM
from sthash.vectors.rows import Rows

# Four blocks fill a page of the file.
BLOCK_BYTES = 980
# Lists that are read together.
LISTS_TOGETHER = 64


def blocks_of(rows: Rows, ids: Ids, threads: int | None) -> Iterator[tuple[int, bytes]]:
    """Return the lists of some documents in blocks, each with its first column."""
    lists = _core.pack_postings(
        rows.indptr, rows.columns, rows.values, ids, n_columns=rows.n_columns, threads=resolve_threads(threads)
    )
    columns, packed, offsets = _core.pack_list_blocks(*lists, most=BLOCK_BYTES)
    return zip(columns.tolist(), cut_lists(packed, offsets), strict=True)


def put_lists(
    lists: _core.PostingLists,
    columns: Sequence[int],
    segments: Segments,
    among: Sequence[Segment],
    n_columns: int,
    store: Store,
) -> None:
    """Read the lists of some columns, which ascend, from those segments that have them."""
    for column in columns:
        if not (0 <= column < n_columns or FIRST_FORM <= column < END_FORMS):
            raise ValueError(f"column {column} is not that of a term. Take columns from encoded queries.")
    for start in range(0, len(columns), LISTS_TOGETHER):
        some = columns[start : start + LISTS_TOGETHER]
        blocks = segments.find_before(among, some)
        try:
            for column in some:
                lists.put(column, list(_parts_of(column, blocks)))
        except ValueError as error:
            raise store.damaged(f"a posting list cannot be read ({error})") from error


def _parts_of(column: int, blocks: list[dict[int, bytes]]) -> Iterator[bytes]:
    for own in blocks:
        first = max((part for part in own if part <= column), default=None)
        part = None if first is None else _core.list_in_block(own[first], first=first, column=column)
        if part is not None:
            yield part


def unpacked_blocks(store: Store, blocks: Iterable[tuple[int, bytes]]) -> tuple[npt.NDArray[np.int64], list[bytes]]:
    """Return all columns of the blocks of a segment, and their lists."""
    columns, lists = [np.zeros(0, dtype=np.int64)], list[bytes]()
    for first, block in blocks:
        try:
            own, packed, offsets = _core.unpack_list_block(block, first=first)
        except ValueError as error:
            raise store.damaged(f"posting lists cannot be read ({error})") from error
        columns.append(own.astype(np.int64))
        lists += cut_lists(packed, offsets)
    held = np.concatenate(columns)
    if (held[1:] <= held[:-1]).any():
        raise store.damaged("posting lists are not in order")
    return held, lists


def cut_lists(packed: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]) -> list[bytes]:
    """Return packed lists one by one."""
    content = packed.tobytes()
    return [content[first:last] for first, last in itertools.pairwise(offsets.tolist())]
