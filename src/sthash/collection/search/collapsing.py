"""One hit per group of near-duplicates."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sthash.collection.indexes.cells import Cells
from sthash.collection.search.by_content import Ranked
from sthash.collection.snapshot import Snapshot
from sthash.deadline import check_time

# Candidates that are compared with each other, at first and at most; more if more hits are wanted.
FIRST_CANDIDATES = 50
MOST_CANDIDATES = 2000


def collapsed(snapshot: Snapshot, ranking: Callable[[int], list[Ranked]], k: int) -> list[Ranked]:
    """Return k hits per query of which no two are near-duplicates; ``ranking(width)`` gives the first candidates."""
    width = max(2 * k, FIRST_CANDIDATES)
    while True:
        candidates = ranking(width)
        kept = [_first_of_groups(snapshot, own, k) for own in candidates]
        short = any(len(own.ids) < k and len(all_.ids) >= width for own, all_ in zip(kept, candidates, strict=True))
        if not short or width >= max(MOST_CANDIDATES, 2 * k):
            return kept
        width *= 4


def _first_of_groups(snapshot: Snapshot, ranked: Ranked, k: int) -> Ranked:
    """Keep the first k documents that are no near-duplicates of better ones, and note those that are."""
    if isinstance(snapshot.content, Cells):
        snapshot.content.check_kept("hits cannot be collapsed")
        return _first_by_vectors(snapshot, ranked, k)
    return _first_by_texts(snapshot, ranked, k)


def _first_by_texts(snapshot: Snapshot, ranked: Ranked, k: int) -> Ranked:
    from sthash.duplicates import Deduplicator

    check_time()
    seen = Deduplicator(threads=1)
    texts = dict(snapshot.documents.texts(ranked.ids))
    verdicts = seen.add([texts[number] for number in ranked.ids], keys=list(map(str, ranked.ids)))
    copies: dict[str, list[int]] = {}
    places = list[int]()
    for place, (number, verdict) in enumerate(zip(ranked.ids, verdicts, strict=True)):
        if verdict.copy_of is not None:
            copies[verdict.copy_of].append(number)
            continue
        copies[verdict.key] = []
        places.append(place)
    chosen = ranked.at(places[:k])
    chosen.copies = [copies[str(number)] for number in chosen.ids]
    return chosen


def _first_by_vectors(snapshot: Snapshot, ranked: Ranked, k: int) -> Ranked:
    from sthash.duplicates.measures import DEFAULT_THRESHOLDS

    ids = np.array(sorted(ranked.ids), dtype=np.int64)
    rows = snapshot.content.vectors(ids).unit()
    kept, places, copies = np.empty(min(k, len(ids)), dtype=np.int64), list[int](), list[list[int]]()
    for place, (number, row) in enumerate(zip(ranked.ids, np.searchsorted(ids, ranked.ids).tolist(), strict=True)):
        check_time()
        count = len(places)
        if count:
            cosines = rows.cosines(np.full(count, row, dtype=np.int64), kept[:count], threads=1)
            nearest = int(cosines.argmax())
            if cosines[nearest] >= np.float32(DEFAULT_THRESHOLDS["cosine"]):
                copies[nearest].append(number)
                continue
        if count < len(kept):
            kept[count] = row
            places.append(place)
            copies.append([])
    chosen = ranked.at(places)
    chosen.copies = copies
    return chosen
