"""`Cells`: the vectors of all documents, and the `VectorIndex` that searches them, in the file of a collection.

The file has the vectors and, once there are enough of them, what cells were learned and the place of each vector in
them. In memory a `VectorIndex` is kept from one state of the file to the next: only what has changed is read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from sthash.arrays import Floats, Ids
from sthash.batches import batched
from sthash.checks import check_choice, check_whole, resolve_threads
from sthash.codes import Codes
from sthash.collection.file.records import Records
from sthash.collection.file.removals import State, removed_since, state_of
from sthash.collection.file.store import CollectionError, Store
from sthash.collection.indexes.embedder import Embedder, query_vectors
from sthash.collection.indexes.entries import Entries
from sthash.index import Selection, VectorIndex
from sthash.index.cells import CellCoder, EncodedVectors
from sthash.index.effort import Effort, n_queries
from sthash.index.stored_vectors import KEPT, Kept, Precision, are_clipped, rounded, steps_of, unrounded
from sthash.index.vectors import RECALL
from sthash.progress import Progress, silent
from sthash.vectors.checks import LONGEST
from sthash.vectors.lengths import unit_rows
from sthash.vectors.metric import METRICS, Metric
from sthash.vectors.rows import Rows

SETTING = "cells"
# Fewer vectors are searched by brute force. Cells are relearned when the collection has grown by the factor GROWTH.
FEW_VECTORS = 1000
GROWTH = 4
# Most rows that cells are learned from, per cell.
ROWS_PER_CELL = 64
CELLS_PER_ROOT = 1.3
MOST_COLUMNS = 1 << 15
# Selections that are kept in memory, per state of the file.
MOST_SELECTIONS = 16
# The index is read again when more than this share of its rows has changed.
MANY_CHANGES = 0.5


Nearest: TypeAlias = tuple[Ids, Floats]


@dataclass
class LoadedCells:
    """What a collection keeps in memory from one state of the file to the next."""

    generation: int = -1
    state: State | None = None
    index: VectorIndex | None = None
    codes: tuple[Ids, Codes] | None = None


class Cells:
    """The vectors of the documents, within a transaction of the caller's.

    Parameters
    ----------
    store : Store
    threads : int or None
    loaded : LoadedCells, optional
        What was read of other states of the same file.
    """

    kind: Literal["text", "vectors"] = "vectors"
    strategy: Literal["codes", "cells"] = "cells"

    def __init__(self, store: Store, threads: int | None = None, loaded: LoadedCells | None = None) -> None:
        self._store = store
        self._threads = resolve_threads(threads)
        self._loaded = LoadedCells() if loaded is None else loaded
        self._settings = _checked_settings(store)
        self.rewritten = False
        self._selections: list[tuple[Ids, Selection]] = []
        self.metric: Metric = self._settings["metric"]
        self._open_records()

    @staticmethod
    def lay_out(
        store: Store, metric: Metric, precision: Kept, n_bytes: int, random_state: int, n_columns: int = 0
    ) -> None:
        """Prepare a file for vectors. If ``n_columns`` is 0, the first vector sets the width."""
        store.put_setting(
            SETTING,
            {
                "metric": metric,
                "precision": precision,
                "n_bytes": n_bytes,
                "n_columns": n_columns,
                "random_state": random_state,
                "learned_on": 0,
                "generation": 0,
                "arrays": {},
            },
        )

    @staticmethod
    def are_in(store: Store) -> bool:
        """Whether a file has vectors."""
        return store.has_setting(SETTING)

    @property
    def n_columns(self) -> int:
        """Number of values of a vector; 0 as long as there is none."""
        return int(self._settings["n_columns"])

    @property
    def precision(self) -> Precision:
        """How the vectors are kept, once cells are learned; before, they are float32."""
        precision: Precision = self._settings["precision"]
        return precision

    @property
    def learned(self) -> bool:
        """Whether there are cells; without them a search compares the query with all vectors."""
        return bool(self._settings["learned_on"])

    @property
    def n_cells(self) -> int:
        """Number of cells; 0 as long as there are none."""
        return self.coder.n_cells if self.learned else 0

    @property
    def segment_kinds(self) -> tuple[str, ...]:
        """Kinds of the segments that it has in the file."""
        return ("vectors", "cells") if self.learned else ("vectors",)

    @property
    def setting_names(self) -> set[str]:
        """Names of the settings that it has in the file: its own, and what was learned."""
        return {SETTING} | {f"{SETTING}.{name}" for name in self._settings["arrays"]}

    def facts(self) -> dict[str, Any]:
        """Return the width of the vectors, how they are kept and compared, and the number of cells."""
        return {
            "n_columns": self.n_columns,
            "metric": self.metric,
            "precision": self.precision,
            "cells": self.n_cells,
        }

    def _open_records(self) -> None:
        kept = np.dtype(self.precision if self.learned else np.float32).itemsize
        self._vectors = Records(self._store, "vectors", kept * self.n_columns)
        self._places = Records(self._store, "cells", 4 + self._settings["n_bytes"] + 2)

    def _put_settings(self, **changes: Any) -> None:
        self._settings |= changes
        self._store.put_setting(SETTING, self._settings)

    # Writing

    def put(self, entries: Entries) -> Rows:
        """Write the vectors of documents; return them, rounded to the precision that they are kept in."""
        rows = entries.vectors
        if rows is None:
            raise TypeError(
                "this collection is of vectors, but got only documents. Pass vectors= (--vectors) beside them."
            )
        if not len(rows):
            return Rows.dense(rows)
        if not self.n_columns:
            if rows.shape[1] > MOST_COLUMNS:
                raise ValueError(
                    f"vectors have {rows.shape[1]:,} values, but a collection takes {MOST_COLUMNS:,} at most."
                )
            self._put_settings(n_columns=int(rows.shape[1]))
            self._open_records()
        if not self.learned:
            self._vectors.put(entries.ids, _bytes_of(rows))
            return Rows.dense(rows)
        return Rows.dense(self._put_rounded(entries.ids, rows))

    def _put_rounded(self, ids: Ids, rows: Floats) -> Floats:
        if self.precision == "int8" and are_clipped(rows, self.coder.steps):
            self._widen(rows)
        encoded = self._encode(rows)
        self._put_encoded(ids, encoded)
        return self._unrounded(encoded.vectors)

    def _widen(self, rows: Floats) -> None:
        """Widen the range of bytes, so that vectors unlike those learned from fit in; round all others anew."""
        self._vectors.flush()
        steps = np.maximum(self.coder.steps, steps_of([rows], "int8"))
        kept = [(ids, rounded(self._rows_of(records), "int8", steps)) for ids, records in self._vectors.parts()]
        self._vectors.clear()
        self._store.put("settings", f"{SETTING}.steps", steps.tobytes())
        self._put_settings(generation=self._settings["generation"] + 1)
        self.__dict__["coder"] = replace(self.coder, steps=steps)
        self.rewritten = True
        for ids, own in kept:
            self._vectors.put(ids, _bytes_of(own))

    def _encode(self, rows: Floats) -> EncodedVectors:
        """Encode vectors."""
        filled = self._filled(rows)
        encoded = self.coder.encode(filled, self._threads)
        if filled is not rows:
            encoded.vectors[~rows.any(axis=1)] = 0
        return encoded

    def _filled(self, rows: Floats) -> Floats:
        """Put something into zero vectors, such as those of blank texts: they go to some cell with similarity 0."""
        empty = ~rows.any(axis=1)
        if self.metric == "ip" or not empty.any():
            return rows
        filled = rows.copy()
        filled[empty, 0] = 1
        if self.precision == "int8":
            filled[empty] = self.coder.steps  # within the range of bytes
        return filled

    def _put_encoded(self, ids: Ids, encoded: EncodedVectors, *, vectors: bool = True) -> None:
        cells = np.ascontiguousarray(encoded.cells, dtype="<i4").view(np.uint8).reshape(-1, 4)
        self._places.put(ids, np.hstack([cells, encoded.packed]))
        if vectors:
            self._vectors.put(ids, _bytes_of(encoded.vectors))

    def remove(self, ids: Ids) -> None:
        """Remove documents."""
        self._vectors.remove(ids)
        self._places.remove(ids)

    def settle(self, report: Progress = silent) -> None:
        """Bring the segments up to date, and learn cells if there are enough vectors; at the end of each change."""
        self._vectors.flush()
        self._places.flush()
        if self._is_enough(len(self._vectors.ids())):
            self.learn(report)
        self._vectors.settle()
        self._places.settle()

    def _is_enough(self, count: int) -> bool:
        """Whether there are enough vectors to learn, or to learn again."""
        return count >= max(FEW_VECTORS, GROWTH * int(self._settings["learned_on"]))

    def learn(self, report: Progress = silent, *, random_state: int | None = None) -> None:
        """Learn cells from the vectors as they are now, and put all vectors into them."""
        if random_state is not None:
            self._put_settings(random_state=random_state)
        self._vectors.flush()
        ids = self._vectors.ids()
        if len(ids) < FEW_VECTORS:
            return
        report("cells", 0, len(ids))
        n_cells = max(1, round(CELLS_PER_ROOT * math.sqrt(len(ids)) / 16)) * 16
        sample = self._sample(ids, ROWS_PER_CELL * n_cells)
        if not len(sample):
            return
        rng = np.random.default_rng(self._settings["random_state"])
        held_out = np.sort(rng.choice(len(sample), n_queries(len(sample)), replace=False))
        coder = CellCoder.learn(
            sample,
            metric=self.metric,
            precision=self.precision,
            n_bytes=self._settings["n_bytes"],
            n_cells=n_cells,
            random_state=self._settings["random_state"],
            threads=self._threads,
            held_out=held_out,
        )
        rewrite = self.precision != "float32"
        parts = [(own, self._rows_of(records)) for own, records in self._vectors.parts()] if rewrite else None
        if parts is not None:
            coder = replace(coder, steps=steps_of((rows for _, rows in parts), self.precision))
        # What is measured on a sample holds for all: its nearest 10 are among so many more of them.
        measured = VectorIndex(coder)
        measured.add_encoded(coder.encode(sample, self._threads))
        measured.measure(held_out, threads=self._threads)
        coder, effort = measured.coder, measured.effort
        arrays = coder.arrays() | ({} if effort is None else effort.arrays())
        shapes = self._put_arrays(arrays)
        old, old_rows, done = self._vectors, self._rows_of, 0
        self._places.clear()
        if rewrite:
            old.clear()
            self.rewritten = True
        self._put_settings(learned_on=len(ids), generation=self._settings["generation"] + 1, arrays=shapes)
        self.__dict__.pop("_learned", None)
        self.__dict__["coder"] = coder
        self._open_records()
        for own, rows in parts if parts is not None else ((own, old_rows(records)) for own, records in old.parts()):
            self._put_encoded(own, self._encode(rows), vectors=rewrite)
            done += len(own)
            report("cells", done, len(ids))

    def _put_arrays(self, arrays: dict[str, npt.NDArray[Any]]) -> dict[str, Any]:
        """Write what was learned; return the types and shapes, for the settings."""
        for name, array in arrays.items():
            self._store.put("settings", f"{SETTING}.{name}", np.ascontiguousarray(array).tobytes())
        return {name: [array.dtype.str, list(array.shape)] for name, array in arrays.items()}

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Read what was learned."""
        return {
            name: np.frombuffer(self._store.blob(f"{SETTING}.{name}"), dtype=np.dtype(kind)).reshape(shape)
            for name, (kind, shape) in self._settings["arrays"].items()
        }

    def _sample(self, ids: Ids, most: int) -> Floats:
        if len(ids) > most:
            ids = np.sort(np.random.default_rng(self._settings["random_state"]).choice(ids, most, replace=False))
        rows = np.empty((len(ids), self.n_columns), dtype=np.float32)
        for held, records in self._vectors.parts():
            own = slice(*np.searchsorted(ids, [held[0], held[-1] + 1])) if len(held) else slice(0, 0)
            rows[own] = self._rows_of(records[np.searchsorted(held, ids[own])])
        return rows[rows.any(axis=1)]

    # Reading

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def ids(self) -> Ids:
        """Ids of all documents, ascending."""
        return self._vectors.ids()

    @cached_property
    def coder(self) -> CellCoder:
        """The cells that were learned."""
        return self._learned[0]

    @cached_property
    def _learned(self) -> tuple[CellCoder, Effort | None]:
        try:
            arrays = self._arrays()
            coder = CellCoder.restored(arrays, metric=self.metric, precision=self.precision)
            if (coder.n_features, coder.n_bytes) != (self.n_columns, self._settings["n_bytes"]):
                raise ValueError("they are of vectors of another width")
            return coder, Effort.restored(arrays)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise self._store.damaged(f"its cells cannot be read ({error})") from error

    def _kept_rows(self, records: npt.NDArray[np.uint8]) -> npt.NDArray[Any]:
        kept = np.dtype(self.precision if self.learned else np.float32)
        rows: npt.NDArray[Any] = np.ascontiguousarray(records).view(kept).reshape(len(records), self.n_columns)
        if rows.dtype.kind == "f" and rows.size and not -LONGEST <= float(rows.min()) <= float(rows.max()) <= LONGEST:
            raise self._store.damaged("a vector is not finite, or too long")
        return rows

    def _rows_of(self, records: npt.NDArray[np.uint8]) -> Floats:
        return self._unrounded(self._kept_rows(records))

    def _unrounded(self, rows: npt.NDArray[Any]) -> Floats:
        return unrounded(rows, self.coder.steps) if rows.dtype == np.int8 else rows.astype(np.float32, copy=False)

    @cached_property
    def index(self) -> VectorIndex:
        """The index of all vectors, which must be learned."""
        held = self._loaded
        now, removed = state_of(self._store), None
        changed, first = np.zeros(0, np.int64), -1
        if held.index is not None and held.state is not None and held.generation == self._settings["generation"]:
            removed = removed_since(self._store, held.state)
            first = held.state.next_id - 1
            changed = np.array(sorted(number for number, _ in removed or () if number <= first), dtype=np.int64)
        if removed is None or held.index is None or len(changed) > MANY_CHANGES * len(held.index):
            held.index, changed, first = VectorIndex(self.coder), np.zeros(0, np.int64), -1
            held.index.effort = self._learned[1]
        index = held.index
        assert index is not None  # noqa: S101
        held.generation = -1  # until all is done
        try:
            index.remove_encoded(changed)
            for ids, encoded in self._encoded(first):
                index.add_encoded(encoded, ids)
        except CollectionError:
            raise
        except (KeyError, ValueError) as error:
            raise self._store.damaged(f"a cell cannot be read ({error})") from error
        if len(index) != len(self.ids):
            raise self._store.damaged("vectors and cells are not equally many")
        held.state, held.generation = now, self._settings["generation"]
        return index

    def _encoded(self, after: int = -1) -> Iterator[tuple[Ids, EncodedVectors]]:
        """Iterate over the vectors that come after an id, with their places in cells, some at a time."""
        placed, records = self._places.joined(self._places.parts(after))
        for ids, rows in self._vectors.parts(after):
            new = np.searchsorted(ids, after, side="right")
            ids, rows = ids[new:], rows[new:]
            own = slice(*np.searchsorted(placed, [ids[0], ids[-1] + 1])) if len(ids) else slice(0, 0)
            if not np.array_equal(placed[own], ids):
                raise self._store.damaged("vectors and cells are not of the same documents")
            cells = np.ascontiguousarray(records[own, :4]).view("<i4").reshape(-1)
            yield ids, EncodedVectors(cells, np.ascontiguousarray(records[own, 4:]), self._kept_rows(rows))

    @cached_property
    def _all(self) -> Floats:
        """All vectors, for as long as there are few."""
        return self._rows_of(self._vectors.all()[1])

    def search(
        self, queries: Floats, k: int, *, allowed: Ids | None = None, recall: float = RECALL, exact: bool = False
    ) -> tuple[list[list[int]], list[list[float]]]:
        """Return the ids of the nearest documents of each query, best first, and their scores.

        Parameters
        ----------
        queries : array of float32, shape (n, d)
            One of zeros is like nothing, unless lengths count.
        k : int
        allowed : array of int64, optional
            Ids of documents; only these are found.
        recall : float
            The share of the true neighbors to find.
        exact : bool
            Compare with all vectors.
        """
        k = min(k, len(self) if allowed is None else len(allowed))
        nothing: tuple[list[list[int]], list[list[float]]] = [[] for _ in queries], [[] for _ in queries]
        if not k or not len(queries):
            return nothing
        if not self.learned:
            return self._compare(queries, k, allowed)
        known = np.arange(len(queries)) if self.metric == "ip" else np.flatnonzero(queries.any(axis=1))
        if not len(known):
            return nothing
        ids, scores = self._nearest(queries[known], k, allowed, recall, exact=exact)
        for place, own, rated in zip(known.tolist(), ids.tolist(), scores.tolist(), strict=True):
            size = own.index(-1) if own[-1] < 0 else len(own)
            nothing[0][place], nothing[1][place] = own[:size], rated[:size]
        return nothing

    def _nearest(self, queries: Floats, k: int, allowed: Ids | None, recall: float, *, exact: bool) -> Nearest:
        selection = None if allowed is None else self._selection(allowed)
        return self.index.search(queries, k, allowed=selection, recall=recall, exact=exact, threads=self._threads)

    def _selection(self, allowed: Ids) -> Selection:
        """Prepare ids; the same array, which nobody changes, is prepared once."""
        for ids, selection in self._selections:
            if ids is allowed:
                return selection
        selection = self.index.select(allowed)
        self._selections = [*self._selections[1 - MOST_SELECTIONS :], (allowed, selection)]
        return selection

    def _compare(self, queries: Floats, k: int, allowed: Ids | None) -> tuple[list[list[int]], list[list[float]]]:
        ids, rows = self.ids, self._all
        if allowed is not None:
            places = np.searchsorted(ids, allowed)
            ids, rows = ids[places], rows[places]
        found: list[list[int]] = []
        rated: list[list[float]] = []
        for query in queries if self.metric == "ip" else unit_rows(queries):
            if self.metric == "cosine" and not query.any():
                found.append([])
                rated.append([])
                continue
            # In double precision, so that equal vectors have equal scores whatever stands beside them.
            scores = np.einsum("ij,j->i", rows, query, dtype=np.float64)
            best = np.lexsort((ids, -scores))[:k]
            found.append(ids[best].tolist())
            rated.append(scores[best].astype(np.float32).tolist())
        return found, rated

    # Content

    def check_kept(self, what: str) -> None:
        """Refuse what the vectors themselves are needed for, if they are not kept; ``what`` names it."""

    def takes_texts(self, embedder: Embedder | None) -> bool:
        """Whether texts can be compared with the documents: if there is an embedder."""
        return embedder is not None

    def of_queries(self, queries: list[Any], embedder: Embedder | None = None) -> Rows:
        """Return the vectors of queries, which are vectors or texts for the embedder; for cosines, of unit length."""
        if not self.n_columns:  # no vector has ever been added, so nothing is known of their width
            return Rows.dense(np.zeros((len(queries), 0), dtype=np.float32))
        rows = query_vectors(self._store, queries, self.n_columns, embedder)
        return Rows.dense(rows if self.metric == "ip" else unit_rows(rows))

    def of_stored(self, ids: Ids) -> Iterator[Rows]:
        """Iterate over the vectors of documents, whose ids ascend, some at a time."""
        for batch in batched(ids.tolist()):
            yield Rows.dense(self._at(np.array(batch, dtype=np.int64)))

    def _at(self, ids: Ids) -> Floats:
        if self.learned and self._loaded.generation == self._settings["generation"]:
            return self.index.vectors(ids)
        return self._rows_of(self._vectors.at(ids))

    def compared(self, raw: Rows) -> Rows:
        """Return vectors as they are."""
        return raw

    def vectors(self, ids: Ids | None = None) -> Rows:
        """Return the vectors of some documents, whose ids ascend, or of all."""
        if ids is None:
            return Rows.dense(self._rows_of(self._vectors.all()[1]))
        return Rows.dense(self._at(ids))

    def unit_vectors(self) -> Rows:
        """Return the vectors of all documents, of unit length."""
        vectors = self.vectors()
        return vectors if self.metric == "cosine" else vectors.unit()

    # Checks

    def verify(self, ids: Ids) -> None:
        """Compare vectors and cells with the documents and with each other."""
        self._vectors.verify(ids)
        if not self.learned:
            self._rows_of(self._vectors.all()[1])
            return
        self._places.verify(ids)
        for _, held in self._encoded():
            if self.precision == "float32" and not self.coder.agrees(self._filled(held.vectors), held, self._threads):
                raise self._store.damaged("a vector is not in its cell")


def _bytes_of(rows: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    return np.ascontiguousarray(rows).view(np.uint8).reshape(len(rows), -1)


def _checked_settings(store: Store) -> dict[str, Any]:
    settings = store.setting(SETTING)
    try:
        check_choice("metric", settings["metric"], METRICS)
        check_choice("precision", settings["precision"], KEPT)
        if settings["precision"] == "codes" and settings["metric"] != "cosine":
            raise ValueError("codes keep no lengths")
        check_whole("n_bytes", settings["n_bytes"], 2, most=128)
        check_whole("n_columns", settings["n_columns"], 0, most=MOST_COLUMNS)
        check_whole("random_state", settings["random_state"], 0)
        check_whole("learned_on", settings["learned_on"], 0)
        check_whole("generation", settings["generation"], 0)
    except (KeyError, TypeError, ValueError) as error:
        raise store.damaged(f"the setting {SETTING} cannot be read ({error})") from error
    return dict(settings)
