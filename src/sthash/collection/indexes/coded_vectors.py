"""`CodedVectors`: codes of vectors in the file of a collection, and no vectors.

A search scans all codes, and scores are estimates. What the codes mean is learned once: there are no vectors to learn
from again. Until there are enough of them, the vectors themselves are there.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sthash.arrays import Floats, Ids
from sthash.codes import Codes
from sthash.collection.file.records import Records
from sthash.collection.file.removals import removed_since, state_of
from sthash.collection.file.store import Store
from sthash.collection.indexes.cells import SETTING, Cells, LoadedCells, Nearest
from sthash.index.vectors import RECALL
from sthash.progress import Progress, silent
from sthash.vectors.rows import Rows

if TYPE_CHECKING:
    from sthash.hashing import EmbeddingQuantizer

# Fewer vectors are kept as they are, and searched by brute force.
FEW_VECTORS = 10_000
# Vectors that are learned from.
LEARNING_ROWS = 20_000
# The byte that the code of a zero vector, such as that of a blank text, consists of.
NOTHING = 255


def vectors_in(store: Store, threads: int | None, loaded: LoadedCells) -> Cells | None:
    """Return the vectors of a file as they are kept in it; None if it has none."""
    if not Cells.are_in(store):
        return None
    settings = store.setting(SETTING)
    coded = isinstance(settings, dict) and settings.get("precision") == "codes"
    return CodedVectors(store, threads, loaded) if coded else Cells(store, threads, loaded)


class CodedVectors(Cells):
    """The codes of the documents' vectors, within a transaction of the caller's."""

    @property
    def n_cells(self) -> int:
        """There are none."""
        return 0

    @property
    def segment_kinds(self) -> tuple[str, ...]:
        """Kinds of the segments that it has in the file."""
        return ("vectors",)

    def facts(self) -> dict[str, Any]:
        """Return the width of the vectors, how they are kept and compared, and the bytes of a code."""
        return super().facts() | {"code_bytes": self._settings["n_bytes"] if self.learned else 0}

    def _open_records(self) -> None:
        width = self._settings["n_bytes"] if self.learned else 4 * self.n_columns
        self._vectors = Records(self._store, "vectors", width)
        self._places = Records(self._store, "cells", 0)  # stays empty

    # Writing

    def _put_rounded(self, ids: Ids, rows: Floats) -> Floats:
        codes = self._codes_of(rows)
        self._vectors.put(ids, codes)
        return self._rows_of(codes)

    def _codes_of(self, rows: Floats) -> Codes:
        codes = self.quantizer.transform(rows)
        codes[(codes == NOTHING).all(axis=1), -1] -= 1
        codes[~rows.any(axis=1)] = NOTHING
        return codes

    def _is_enough(self, count: int) -> bool:
        return not self.learned and count >= FEW_VECTORS

    def learn(self, report: Progress = silent, *, random_state: int | None = None) -> None:
        """Learn codes from the vectors, and keep only the codes."""
        if self.learned:
            self.check_kept("nothing can be learned anew")
        if random_state is not None:
            self._put_settings(random_state=random_state)
        self._vectors.flush()
        ids = self._vectors.ids()
        if not self._is_enough(len(ids)):
            return
        sample = self._sample(ids, LEARNING_ROWS)
        if not len(sample):
            return
        from sthash.hashing import EmbeddingQuantizer

        report("codes", 0, len(ids))
        quantizer = EmbeddingQuantizer(
            self._settings["n_bytes"], random_state=self._settings["random_state"], threads=self._threads
        ).fit(sample)
        self.__dict__["quantizer"] = quantizer
        coded, done = list[tuple[Ids, Codes]](), 0
        for own, records in self._vectors.parts():
            coded.append((own, self._codes_of(self._rows_of(records))))
            done += len(own)
            report("codes", done, len(ids))
        self._vectors.clear()
        config, arrays = quantizer.state()
        shapes = self._put_arrays(arrays)
        generation = self._settings["generation"] + 1
        self._put_settings(learned_on=len(ids), generation=generation, arrays=shapes, quantizer=config)
        self.rewritten = True
        self._open_records()
        for own, codes in coded:
            self._vectors.put(own, codes)

    # Reading

    @cached_property
    def quantizer(self) -> EmbeddingQuantizer:
        """What the codes mean."""
        from sthash.hashing import EmbeddingQuantizer

        try:
            quantizer = EmbeddingQuantizer.restored(self._settings["quantizer"], self._arrays())
            if (quantizer.n_features_in_, quantizer.n_bytes) != (self.n_columns, self._settings["n_bytes"]):
                raise ValueError("they are of vectors of another width")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise self._store.damaged(f"its codes cannot be read ({error})") from error
        quantizer.threads = self._threads
        return quantizer

    @cached_property
    def _scanned(self) -> tuple[Ids, Codes]:
        """The ids and codes of all documents but those whose vector is zero. Nobody changes these arrays."""
        held, now, removed = self._loaded, state_of(self._store), None
        ids, codes, first = np.zeros(0, np.int64), np.zeros((0, self._settings["n_bytes"]), np.uint8), -1
        if held.codes is not None and held.state is not None and held.generation == self._settings["generation"]:
            removed = removed_since(self._store, held.state)
        if removed is not None and held.codes is not None and held.state is not None:
            first = held.state.next_id - 1
            kept = ~np.isin(held.codes[0], np.array([number for number, _ in removed], dtype=np.int64))
            ids, codes = held.codes if kept.all() else (held.codes[0][kept], held.codes[1][kept])
        all_ids, all_codes = [ids], [codes]
        for own, records in self._vectors.parts(first):
            new = (own > first) & (records != NOTHING).any(axis=1)
            all_ids.append(own[new])
            all_codes.append(records[new])
        if len(all_ids) > 1:
            ids, codes = np.concatenate(all_ids), np.concatenate(all_codes)
        held.state, held.generation, held.codes = now, self._settings["generation"], (ids, codes)
        return held.codes

    def _nearest(self, queries: Floats, k: int, allowed: Ids | None, recall: float, *, exact: bool) -> Nearest:
        ids, codes = self._scanned
        if allowed is not None:
            kept = np.isin(ids, allowed)
            ids, codes = ids[kept], codes[kept]
        found = np.full((len(queries), k), -1, dtype=np.int64)
        scores = np.full((len(queries), k), -np.inf, dtype=np.float32)
        if len(ids):
            places, estimates = self.quantizer.search(queries, codes, min(k, len(ids)))
            found[:, : places.shape[1]], scores[:, : places.shape[1]] = ids[places], estimates
        return found, scores

    def search(
        self, queries: Floats, k: int, *, allowed: Ids | None = None, recall: float = RECALL, exact: bool = False
    ) -> tuple[list[list[int]], list[list[float]]]:
        """Return the documents whose codes have the largest estimates of the cosine with each query."""
        if exact or recall != RECALL:
            self.check_kept("a search can promise no recall: leave exact and recall out")
        return super().search(queries, k, allowed=allowed)

    def _rows_of(self, records: npt.NDArray[np.uint8]) -> Floats:
        if not self.learned:
            return super()._rows_of(records)
        codes = np.ascontiguousarray(records)
        rows = self.quantizer.inverse_transform(codes)
        rows[(codes == NOTHING).all(axis=1)] = 0
        return rows

    def _at(self, ids: Ids) -> Floats:
        return self._rows_of(self._vectors.at(ids))

    def check_kept(self, what: str) -> None:
        """Refuse what the vectors themselves are needed for; ``what`` names it."""
        raise ValueError(
            f"this collection keeps codes of its vectors, not the vectors (precision='codes'), so {what}. For this, "
            "build it with another precision."
        )

    def unit_vectors(self) -> Rows:
        """Refused: codes of vectors are too coarse to tell near-duplicates."""
        self.check_kept("near-duplicates cannot be found by cosine: take another measure")
        raise AssertionError

    def verify(self, ids: Ids) -> None:
        """Compare codes with the documents."""
        self._vectors.verify(ids)
        if self.learned:
            assert self.quantizer  # noqa: S101
        else:
            super().verify(ids)
