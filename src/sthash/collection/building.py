"""Building a collection: documents stream in, the model is learnt, everything is encoded; then the file appears."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from sthash.checks import check_choice, check_positive, check_whole
from sthash.codes import pack
from sthash.collection.encoder import Scatter, batched, load_encoder
from sthash.collection.learning import Progress, draw, encode_texts, learn_from_texts, learn_from_vectors, texts
from sthash.collection.store import CollectionBusyError, CollectionError, Store
from sthash.collection.writing import change_codes, put_documents
from sthash.rows import check_dense, unit_rows
from sthash.sources import Document, as_document

if TYPE_CHECKING:
    from sthash.hashing import SelfTaughtHashing
    from sthash.hashing.sth import Recipe
    from sthash.text import TextVectorizer

__all__ = ["Plan", "Progress", "build", "paired", "relearn", "write_whole"]


@dataclass(frozen=True)
class Plan:
    """How to learn, as `Collection.create` describes it."""

    n_bits: int
    n_neighbors: int
    recipe: Recipe
    learn_on: int | None
    scatter: float
    vectorizer: TextVectorizer | None
    hasher: SelfTaughtHashing | None
    random_state: int
    replace: bool
    progress: Progress | None

    def __post_init__(self) -> None:
        check_whole("n_bits", self.n_bits)
        check_whole("n_neighbors", self.n_neighbors)
        if self.learn_on is not None:
            check_whole("learn_on", self.learn_on)
        check_positive("scatter", self.scatter, or_zero=True)
        # Before all documents are read, not when they have been.
        from sthash.hashing.sth import Recipe

        check_choice("recipe", self.recipe, get_args(Recipe))

    def report(self, step: str, done: int, total: int | None) -> None:
        """Tell how far it is."""
        if self.progress is not None:
            self.progress(step, done, total)

    def new_hasher(self) -> SelfTaughtHashing:
        """The user's hasher, or one with the plan's settings."""
        from sklearn.base import clone

        from sthash.hashing import SelfTaughtHashing

        if self.hasher is not None:
            hasher: SelfTaughtHashing = clone(self.hasher)
            return hasher
        return SelfTaughtHashing(self.n_bits, self.n_neighbors, recipe=self.recipe, random_state=self.random_state)

    def random_weights(self) -> Scatter:
        """What is added to the learnt weights, in units of them."""
        return Scatter(float(self.scatter), self.random_state)

    def new_vectorizer(self) -> TextVectorizer:
        """The user's vectorizer, or the default one."""
        from sklearn.base import clone

        from sthash.text import TextVectorizer

        if self.vectorizer is None:
            return TextVectorizer()
        if callable(self.vectorizer.analyzer):
            raise TypeError("a collection cannot store a vectorizer whose analyzer is a callable; use analyzer='word'.")
        vectorizer: TextVectorizer = clone(self.vectorizer)
        return vectorizer


def build(target: Path, documents: Iterable[Any] | None, vectors: Iterable[Any] | None, plan: Plan) -> None:
    """Build under another name beside the target, then rename."""
    if documents is None and vectors is None:
        raise TypeError("a collection is made from documents, vectors or both; got neither.")
    write_whole(target, lambda store: _fill(store, documents, vectors, plan))


def write_whole(target: Path, fill: Callable[[Store], None]) -> None:
    """Let ``fill`` write a new file under another name, then rename it; if it fails, nothing is left."""
    unfinished = target.with_name(f"{target.name}.building")
    with suppress(FileNotFoundError):
        _claim(unfinished)
    store = Store(unfinished, "rwc", wait=0)
    try:
        try:
            with store.clear_errors():
                fill(store)
                store.connection.execute("COMMIT")
        finally:
            store.close()
        unfinished.replace(target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _claim(unfinished: Path) -> None:
    """Remove what a killed build has left; if a build still runs, leave it alone and say so."""
    try:
        Store(unfinished, "rw", wait=0).close()
    except CollectionBusyError as error:
        raise CollectionBusyError(f"{unfinished} is being built by another process; wait for it.") from error
    except CollectionError:
        pass
    unfinished.unlink()


def _fill(store: Store, documents: Iterable[Any] | None, vectors: Iterable[Any] | None, plan: Plan) -> None:
    if vectors is not None:
        _fill_with_vectors(store, documents, vectors, plan)
        return
    vectorizer = plan.new_vectorizer()

    def stored() -> Iterator[str]:
        count = 0
        for batch in batched(paired(documents, None)):
            put_documents(store, [document for document, _ in batch], replace=plan.replace)
            count += len(batch)
            plan.report("reading", count, None)
            yield from (document.text for document, _ in batch)

    vectorizer.fit(stored())
    _learn(store, vectorizer, plan, generation=1)


def _learn(store: Store, vectorizer: TextVectorizer, plan: Plan, generation: int) -> None:
    sample = draw(store, plan.learn_on, plan.random_state)
    plan.report("learning", 0, None)
    learn_from_texts(store, vectorizer, plan.new_hasher(), sample, plan.random_weights(), generation)
    encode_texts(store, plan.report)


def _fill_with_vectors(store: Store, documents: Iterable[Any] | None, vectors: Iterable[Any], plan: Plan) -> None:
    width: int | None = None
    count = 0
    for batch in batched(paired(documents, vectors)):
        rows = unit_rows(check_dense([vector for _, vector in batch], width))
        width = rows.shape[1]
        kept = put_documents(store, [document for document, _ in batch], replace=plan.replace)
        store.put_many("vectors", [(number, rows[place].tobytes()) for place, number in kept])
        count += len(batch)
        plan.report("reading", count, None)
    if width is None:
        raise ValueError("the corpus is empty: pass at least one document.")
    _learn_vectors(store, width, plan, generation=1)


def _learn_vectors(store: Store, width: int, plan: Plan, generation: int) -> None:
    plan.report("learning", 0, None)
    sample = draw(store, plan.learn_on, plan.random_state)
    contents = [
        content for number in sample.tolist() for _, content in store.rows("vectors", "WHERE id = ?", (number,))
    ]
    rows = np.frombuffer(b"".join(contents), np.float32).reshape(-1, width)
    learn_from_vectors(store, plan.new_hasher(), rows, plan.random_weights(), generation)
    encoder = load_encoder(store)
    store.connection.execute("DELETE FROM codes")
    stored = store.rows("vectors", "ORDER BY id")
    done = 0
    while page := list(itertools.islice(stored, 4096)):
        change_codes(
            store, [number for number, _ in page], pack(encoder.margins_of([content for _, content in page]) > 0)
        )
        done += len(page)
        plan.report("encoding", done, None)


def relearn(store: Store, model: dict[str, Any], plan: Plan) -> None:
    """Learn a new model from the stored documents and encode them by it, in the caller's transaction."""
    generation = model["generation"] + 1
    if model["kind"] == "vectors":
        _learn_vectors(store, model["n_columns"], plan, generation)
        return
    from sthash.text import TextVectorizer

    vectorizer = TextVectorizer(
        weighting=model["weighting"],
        stemmer=model["stemmer"],
        stop_words=model["stop_words"] or None,
        **{name: model[name] for name in ("min_df", "max_df", "max_features")},
    )
    vectorizer.fit(text for _, text in texts(store))
    _learn(store, vectorizer, plan, generation)


def paired(documents: Iterable[Any] | None, vectors: Iterable[Any] | None) -> Iterator[tuple[Document, Any]]:
    """Give checked documents, each with its vector, if there are vectors."""
    if isinstance(documents, str | bytes | dict | Document):
        raise TypeError(f"documents must be an iterable of documents, got a single {type(documents).__name__}.")
    if vectors is None:
        for position, value in enumerate(documents or ()):
            yield as_document(value, position), None
        return
    some = itertools.repeat({}) if documents is None else documents
    nothing = object()
    pairs = zip(some, vectors) if documents is None else itertools.zip_longest(some, vectors, fillvalue=nothing)  # noqa: B905
    for position, (value, vector) in enumerate(pairs):
        if value is nothing or vector is nothing:
            raise ValueError(f"documents and vectors must be equally many; one of them ends after {position}.")
        yield as_document(value, position), vector


def check_kind(dense: bool, vectors: Iterable[Any] | None) -> None:
    """Refuse to add texts to a collection of vectors, or the other way round."""
    if dense and vectors is None:
        raise TypeError("this collection is of vectors: pass vectors= beside the documents.")
    if not dense and vectors is not None:
        raise TypeError("this collection is of texts, and makes its own vectors: leave vectors= out.")


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
