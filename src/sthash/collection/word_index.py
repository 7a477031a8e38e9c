"""The words of texts that stand beside vectors: counts and posting lists, for search by words and by both.

They are in the tables that a collection of texts has. A setting says how texts become words; files
without it have none.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from sthash.batches import batched
from sthash.checks import resolve_threads
from sthash.collection.code_table import put_lengths
from sthash.collection.count_table import CountRows, load_counts, put_counts
from sthash.collection.document_table import all_ids, count_documents, read_texts
from sthash.collection.posting_table import settle
from sthash.collection.store import Store
from sthash.collection.stored_model import text_model
from sthash.collection.term_table import TermTable, change_frequencies, next_column
from sthash.model import TextModel
from sthash.progress import Progress, silent

if TYPE_CHECKING:
    from sthash.collection.learning_plan import LearningPlan

SETTING = "texts"


def word_model(store: Store, threads: int | None = None) -> TextModel | None:
    """Return what makes words of the texts of a collection of vectors; None if its words are not indexed.

    It knows no terms of its own, and all of its codes are zero.
    """
    if next(store.rows("settings", "WHERE name = ?", (SETTING,)), None) is None:
        return None
    settings = store.setting(SETTING)
    if not isinstance(settings, dict) or settings.get("kind") != "text" or settings.get("n_terms") != 0:
        raise store.damaged("the setting texts cannot be read")
    return text_model(store, settings, threads)


class WordWriter:
    """Writes the words of texts, within a transaction of the caller's."""

    def __init__(self, store: Store, model: TextModel, threads: int | None = None) -> None:
        self._store = store
        self._threads = resolve_threads(threads)
        self._terms = TermTable(store, grow=True)
        self._counter = model.new_counter(self._terms, grow=True)

    def put(self, ids: list[int], texts: list[str]) -> None:
        """Write the words of texts, whose codes are there already."""
        rows = CountRows(*self._counter.count_parts(texts))
        self._terms.flush()
        put_counts(self._store, ids, rows, self._threads)
        change_frequencies(self._store, rows.columns, 1)
        put_lengths(self._store, ids, rows.lengths())

    def finish(self, report: Progress = silent) -> None:
        """Bring the posting lists up to date."""
        settle(self._store, len(self._terms), self._threads, report)


def index_words(store: Store, plan: LearningPlan, report: Progress) -> None:
    """Write the words of all documents of a new file, and how they were made."""
    unfitted = TextModel.unlearned(plan.new_vectorizer(), plan.new_hasher())
    store.put("settings", SETTING, json.dumps(unfitted.settings).encode())
    writer, done, total = WordWriter(store, unfitted, plan.threads), 0, count_documents(store)
    report("words", done, total)
    for batch in batched(read_texts(store), length=lambda pair: len(pair[1])):
        writer.put([number for number, _ in batch], [text for _, text in batch])
        done += len(batch)
        report("words", done, total)
    writer.finish(report)


def restore_lengths(store: Store) -> None:
    """Write the numbers of words of all documents anew, after their codes were."""
    for ids in batched(all_ids(store)):
        numbers, lengths = np.array(ids, dtype=np.int64), list[int]()
        for rows in load_counts(store, numbers, next_column(store), whole=False):
            lengths.extend(rows.lengths().tolist())
        put_lengths(store, ids, np.array(lengths, dtype=np.int64))
