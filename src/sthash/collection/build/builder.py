"""The one way into a file: documents are stored, indexes take what they need of them, models are learned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypedDict

import numpy as np

from sthash.arrays import Ids
from sthash.batches import batched
from sthash.collection.build.corpus import FEW_DOCUMENTS, LearningCorpus, TextCorpus, VectorCorpus
from sthash.collection.build.options import VectorOptions
from sthash.collection.file import documents as document_table
from sthash.collection.file.documents import Documents
from sthash.collection.file.removals import State, state_of
from sthash.collection.file.replacement import write_new
from sthash.collection.file.store import Store
from sthash.collection.indexes.cells import Cells
from sthash.collection.indexes.codes import Codes
from sthash.collection.indexes.content import Content
from sthash.collection.indexes.embedder import Embedder, embedder_needed, write_name
from sthash.collection.indexes.entries import Entries
from sthash.collection.indexes.index_set import IndexSet
from sthash.collection.indexes.stored_model import load_model
from sthash.collection.indexes.words import Words
from sthash.model import Learning, Model, TextModel, VectorModel
from sthash.model.learning import LearningLimitError
from sthash.model.linear import sample
from sthash.model.vector_model import rows_of
from sthash.progress import SEARCHABLE, Progress, silent
from sthash.sources import Document, paired
from sthash.text.options import TextOptions, new_vectorizer, refuse_callable
from sthash.vectors.metric import Metric

if TYPE_CHECKING:
    from sthash.hashing.sth import Recipe
    from sthash.text import TextVectorizer

# A collection of texts without hash functions learns them in the `add` that brings it to this number of documents. Up
# to it, a search compares the query with all documents, exactly and fast.
LEARN_AT = FEW_DOCUMENTS
# With ``Learning(when="after")``, learning that takes longer, as estimated, does not delay the search for words.
SECONDS_BEFORE = 20.0
# Settings of learning that a model keeps for the next time.
KEPT = ("sample_size", "seconds", "memory", "random_state")


@dataclass(frozen=True)
class Source:
    """What is to be stored: documents, vectors, or both; and what makes vectors of texts."""

    documents: Any
    vectors: Any = None
    embedder: Embedder | None = None

    @property
    def has_vectors(self) -> bool:
        """Whether documents come with vectors."""
        return self.vectors is not None or self.embedder is not None

    def batches(self, metric: Metric, width: int | None = None) -> Iterable[list[tuple[Document, Any]]]:
        """Cut documents, each with its vector, into batches; without vectors, an embedder makes them."""
        pairs = paired(self.documents, self.vectors, width, metric)
        if self.vectors is None and self.embedder is not None:
            return self.embedder.embedded(pairs, width)
        return batched(pairs, length=lambda pair: len(pair[0].text))


class Sink(Protocol):
    """What takes documents in that are stored, and lets go of those that are replaced."""

    def put(self, entries: Entries) -> None:
        """Take documents in."""

    def remove(self, ids: Ids) -> None:
        """Let go of documents."""


def store_documents(
    store: Store, source: Source, sink: Sink, metric: Metric, width: int | None, report: Progress, *, replace: bool
) -> int:
    """Store documents, batch by batch; return how many were given."""
    documents, done = Documents(store), 0
    first = documents.next_id()
    stage = "embedding texts" if source.embedder is not None and source.vectors is None else "reading"
    for batch in source.batches(metric, width):
        positions, ids, replaced = documents.put([document for document, _ in batch], first, replace=replace)
        if replaced:
            sink.remove(np.array(sorted(replaced), dtype=np.int64))
        kept = [batch[position] for position in positions]
        rows = None
        if source.has_vectors and kept:
            rows = rows_of([vector for _, vector in kept], metric, width)
            width = rows.shape[1]
        texts = [documents.counted_text(document) for document, _ in kept]
        sink.put(Entries(np.array(ids, dtype=np.int64), texts, rows))
        done += len(batch)
        report(stage, done, None)
    return done


class NewIndexes:
    """The indexes of a file that is being built, as a `Sink`: words are counted, and written when all are known.

    The words of a batch are counted on a thread of their own, while the next batch is read and stored.
    """

    def __init__(self, indexes: IndexSet, texts: TextCorpus) -> None:
        self._texts = texts
        self._counting = ThreadPoolExecutor(1)
        self._counted: Future[None] | None = None
        self._others = [content for content in indexes.contents if content is not indexes.words]
        self.replaced = False

    def put(self, entries: Entries) -> None:
        """Count the words of documents, and write their vectors."""
        self._wait()  # so at most one batch waits
        self._counted = self._counting.submit(self._texts.put, entries)
        for content in self._others:
            content.put(entries)

    def remove(self, ids: Ids) -> None:
        """Remove documents; their words have been counted, so the texts must be read again."""
        self.replaced = True
        for content in self._others:
            content.remove(ids)

    def _wait(self) -> None:
        if self._counted is not None:
            self._counted.result()

    def close(self) -> None:
        """End the thread that counts."""
        self._counting.shutdown(cancel_futures=True)

    def settle(self, report: Progress) -> None:
        """Finish counting, and bring the segments of vectors up to date."""
        self._wait()
        for content in self._others:
            content.settle(report)


def build(
    target: Path,
    source: Source,
    *,
    learning: Learning | None,
    text_options: TextOptions | TextVectorizer | None,
    vector_options: VectorOptions | None,
    model: Model | None,
    replace_keys: bool,
    overwrite: bool,
    weights: Mapping[str, int],
    threads: int | None,
    report: Progress,
) -> None:
    """Build a file, by a model that is given or one that is learned."""
    if source.documents is None and source.vectors is None:
        raise TypeError("a collection is made from documents, vectors or both, but got neither. Pass some.")
    _check_options(learning, vector_options, model)
    _check_model(source, model, learning, vector_options)
    if isinstance(model, TextModel) and text_options is not None:
        raise TypeError("the model has text options of its own. Leave text_options= out.")

    chosen = learning or Learning()

    def new_texts(store: Store) -> TextCorpus:
        if isinstance(model, TextModel):
            return TextCorpus(store, _same_vectorizer(model.settings, threads), chosen.most_bytes)
        vectorizer = new_vectorizer(text_options, threads)
        refuse_callable(vectorizer, "a collection")
        return TextCorpus(store, vectorizer, chosen.most_bytes)

    started = None  # from what to learn, and the state of the file, where that is done after it is there
    metric = (vector_options or VectorOptions()).metric if model is None else model.metric
    width = model.n_columns if isinstance(model, VectorModel) else None

    def fill(store: Store) -> None:
        nonlocal started
        document_table.lay_out(store, weights)
        texts = new_texts(store)
        Words.lay_out(store, texts.word_settings())
        if source.has_vectors:
            options = vector_options or VectorOptions(metric=metric)
            seed = 0 if learning is None else learning.random_state
            Cells.lay_out(store, metric, options.precision, options.n_bytes, seed, width or 0)
        new = NewIndexes(IndexSet(store, threads=threads), texts)
        with closing(new):
            store_documents(store, source, new, metric, width, report, replace=replace_keys)
            new.settle(report)
        if new.replaced:
            texts = new_texts(store)
            texts.put_stored(report)
        used, content, after = model, IndexSet(store, threads=threads).content, False
        if used is None and (learning is not None or content.strategy == "codes"):
            corpus = learning_corpus(content, texts)
            if chosen.when == "after" and isinstance(corpus, TextCorpus):
                after = _takes_long(corpus, chosen)
            if after:
                texts.expect_model()
            if after or chosen.when == "later":
                used = postponed_model(store, corpus, chosen, threads)
            else:
                used = learned_model(store, corpus, chosen, 1, report, threads=threads)
        write_indexes(store, texts, used, threads, report)
        if source.embedder is not None:
            write_name(store, source.embedder.name)
        if after:
            started = texts, state_of(store)

    write_new(target, fill, overwrite=overwrite)
    if started is not None:
        report(SEARCHABLE, 1, 1)
        _learn_after(target, *started, chosen, threads, report)


def _takes_long(corpus: TextCorpus, learning: Learning) -> bool:
    from sthash.hashing.embedding import TooFewDocumentsError

    try:
        corpus.finish()
        size = corpus.size()
        cost = learning.with_default("neighbors").cost(size, learning.with_default("neighbors").n_documents(size))
    except (TooFewDocumentsError, LearningLimitError):
        return False  # there is nothing to wait for, or the reason is said when it is learned
    return cost.seconds > SECONDS_BEFORE


def _learn_after(
    target: Path, texts: TextCorpus, state: State, learning: Learning, threads: int | None, report: Progress
) -> None:
    """Learn hash functions for a file that is there, in one transaction of it; its words stay as they are."""
    store = Store(target)
    try:
        with store.writing():
            if state_of(store) != state:  # somebody has changed it already
                return relearn(store, {}, threads, report)
            texts.move_to(store)
            model = learned_model(store, texts, learning, 2, report, threads=threads)
            indexes = IndexSet(store, model, threads)
            Codes(store, indexes.content, model, threads).lay_out()
            indexes.encode(report)
            indexes.codes.settle(report)
    finally:
        store.close()


def _check_options(learning: Any, vector_options: Any, model: Any) -> None:
    for name, given, kind in (("learning", learning, Learning), ("vector_options", vector_options, VectorOptions)):
        if given is not None and not isinstance(given, kind):
            raise TypeError(f"{name} must be a {kind.__name__}, got {type(given).__name__}. Pass {kind.__name__}(…).")
    if vector_options is not None and vector_options.precision == "codes" and (learning or model) is not None:
        raise ValueError(
            "precision='codes' keeps no vectors to make other codes of. Leave learning= (--n-bits, …) and model= out."
        )


def _check_model(
    source: Source, model: Model | None, learning: Learning | None, vector_options: VectorOptions | None
) -> None:
    if not source.has_vectors and vector_options is not None:
        remedy = "Leave it out, or pass vectors= (--vectors) or embedder= (--embedder)."
        raise TypeError(f"vector_options is for vectors, but these are texts, which are compared by cosine. {remedy}")
    if model is None:
        return
    if not isinstance(model, TextModel | VectorModel):
        raise TypeError(f"model is a {type(model).__name__}. Pass a TextModel or a VectorModel.")
    if learning is not None:
        raise TypeError("model= has been learned already, so learning= has no effect. Leave one of them out.")
    if isinstance(model, VectorModel) and not source.has_vectors:
        raise TypeError("the model is one of vectors, but got only documents. Pass vectors= beside them.")
    if isinstance(model, TextModel) and source.has_vectors:
        what = "vectors=" if source.embedder is None else "embedder="
        raise TypeError(f"the model is one of texts, which need no vectors. Leave {what} out.")
    if vector_options is not None and vector_options.metric != model.metric:
        given = vector_options.metric
        raise ValueError(f"the model has metric={model.metric!r}, but got {given!r}. Leave metric out.")


def write_indexes(
    store: Store, texts: TextCorpus | None, model: Model | None, threads: int | None, report: Progress
) -> None:
    """Rewrite the words of all documents if texts are given, and their codes if a model is given."""
    if model is not None:
        Codes(store, IndexSet(store, threads=threads).content, model, threads).lay_out()
    indexes = IndexSet(store, model, threads)
    of_texts = indexes.content is indexes.words
    if texts is not None:
        texts.write(indexes.words, indexes.codes if of_texts else None, report)
        indexes.words.settle(report)
    if model is not None:
        if not of_texts:
            indexes.encode(report)
        indexes.codes.settle(report)


def learning_corpus(content: Content, texts: TextCorpus | None) -> LearningCorpus:
    """Return what hash functions are learned from: vectors if there are some, or else texts."""
    if isinstance(content, Cells):
        return VectorCorpus(content)
    assert texts is not None  # noqa: S101
    return texts


def learned_model(
    store: Store,
    corpus: LearningCorpus,
    learning: Learning,
    generation: int,
    report: Progress,
    *,
    threads: int | None,
    start_from: Codes | None = None,
    strict: bool = False,
    unasked: bool = False,
) -> Model:
    """Learn hash functions from a corpus.

    If there is too little to learn from, that is an error if ``strict``; otherwise the model has no hash functions, and
    all codes are zero. So it is if the limits of learning allow too few documents and learning was ``unasked``. The
    recipe ``paper`` starts from the present codes, if there are some.
    """
    documents = Documents(store)
    ids = documents.ids()
    recipe: Recipe = "neighbors" if isinstance(corpus, TextCorpus) else "embeddings"
    learning = learning.with_default(recipe)
    refused = None
    try:
        model = _learned(corpus, ids, learning, start_from, report, threads, strict=strict)
    except LearningLimitError as error:
        if not unasked:
            raise
        model, refused = _unlearned(corpus, learning, threads), str(error)
    model.settings |= {"generation": generation, "learned_of": len(ids), "next_id": documents.next_id()}
    model.settings |= {name: getattr(learning, name) for name in KEPT}
    if model.learned:
        # `info` can then give its advice without importing the learner.
        model.settings["cost_of_all"] = learning.cost(corpus.size()).rounded()
    else:
        model.settings |= {"tried_on": len(ids), "refused": refused}
    return model


def postponed_model(store: Store, corpus: LearningCorpus, learning: Learning, threads: int | None) -> Model:
    """Return a model without hash functions, which says what it takes to learn them."""
    from sthash.hashing.embedding import TooFewDocumentsError

    recipe: Recipe = "neighbors" if isinstance(corpus, TextCorpus) else "embeddings"
    learning, ids = learning.with_default(recipe), Documents(store).ids()
    cost = None
    with suppress(TooFewDocumentsError):
        corpus.finish()
        cost = learning.cost(corpus.size()).rounded()
    model = _unlearned(corpus, learning, threads)
    if cost is not None:
        model.settings["cost_of_all"] = cost
    model.settings |= {name: getattr(learning, name) for name in KEPT} | {"postponed": True, "tried_on": len(ids)}
    model.settings |= {"generation": 1, "learned_of": len(ids), "next_id": Documents(store).next_id()}
    return model


def _unlearned(corpus: LearningCorpus, learning: Learning, threads: int | None) -> Model:
    return corpus.unlearned(learning.new_hasher(threads=threads), **_common(learning, threads))


def _common(learning: Learning, threads: int | None) -> dict[str, Any]:
    return {"scatter": float(learning.scatter), "random_state": learning.random_state, "threads": threads}


def _learned(
    corpus: LearningCorpus,
    ids: Ids,
    learning: Learning,
    start_from: Codes | None,
    report: Progress,
    threads: int | None,
    *,
    strict: bool,
) -> Model:
    from sthash.hashing.embedding import TooFewDocumentsError

    hasher = learning.new_hasher(threads=threads)
    try:
        corpus.finish()
        if len(ids) == 0:
            return _unlearned(corpus, learning, threads)
        chosen = ids[sample(len(ids), learning.n_documents(corpus.size()), learning.random_state)]
        start = None if start_from is None else start_from.margins(chosen)
        if start is not None and not np.isfinite(start).all():
            start = None  # weights of a forged file, too large to start from
        hasher.fit(corpus.sample(chosen), start=start, progress=report)
    except TooFewDocumentsError:
        if strict:
            raise
        return _unlearned(corpus, learning, threads)
    return corpus.model(hasher, learned_on=len(chosen), **_common(learning, threads))


class RelearnChanges(TypedDict, total=False):
    """The fields of `Learning` that `Collection.relearn` can change."""

    n_bits: int | None
    n_neighbors: int | None
    recipe: Recipe | None
    sample_size: int | None
    seconds: float | None
    memory: int | str | None
    scatter: float | None
    random_state: int | None


def relearn(
    store: Store, changes: dict[str, Any], threads: int | None, report: Progress, *, unasked: bool = False
) -> None:
    """Learn cells and hash functions from the stored documents, with the present settings except for ``changes``."""
    known = RelearnChanges.__annotations__
    if unknown := set(changes) - set(known):
        raise TypeError(f"relearn has no parameter {min(unknown)!r}. It takes: {', '.join(known)}.")
    given = {name: value for name, value in changes.items() if value is not None or name == "sample_size"}
    indexes = IndexSet(store, threads=threads)
    if isinstance(indexes.content, Cells):
        if set(given) - {"random_state", "sample_size"}:
            indexes.content.check_kept("no hash functions can be learned from them")
        indexes.content.learn(report, random_state=given.get("random_state"))
        indexes.content.settle(report)
        indexes = IndexSet(store, threads=threads)
    learning, present, learned = Learning(), dict[str, Any](), False
    try:
        if indexes.has_codes:
            present, learned = indexes.codes.model.settings, indexes.codes.learned
            # Hash functions that were learned elsewhere do not say everything.
            names = {field.name for field in fields(Learning)} - {"hasher"}
            learning = Learning(**{name: present[name] for name in names if name in present})
        elif not given:
            return  # a collection of vectors without hash functions
        vectorizer = _same_vectorizer(present, threads) if indexes.content is indexes.words else None
        generation = present.get("generation", 0) + 1
    except (KeyError, TypeError, ValueError) as error:
        raise store.damaged(f"the settings of its model cannot be used ({error})") from error
    learning = replace(learning, **given)
    texts = None if vectorizer is None else TextCorpus(store, vectorizer, learning.most_bytes)
    if texts is not None:
        texts.put_stored(report)
    model = learned_model(
        store,
        learning_corpus(indexes.content, texts),
        learning,
        generation,
        report,
        threads=threads,
        start_from=indexes.codes if learned else None,
        # Hash functions are not given up for settings that cannot be met.
        strict=bool(given) and learned,
        unasked=unasked,
    )
    write_indexes(store, texts, model, threads, report)


def _same_vectorizer(settings: dict[str, Any], threads: int | None) -> TextVectorizer:
    from sthash.text import TextVectorizer

    names = ("weighting", "language", "stemmer", "fold_accents", "min_df", "max_df", "max_features")
    vectorizer = TextVectorizer(
        stop_words=settings["stop_words"] or None, threads=threads, **{name: settings[name] for name in names}
    )
    vectorizer._validate()
    return vectorizer


def add_documents(
    store: Store,
    source: Source,
    *,
    model: Model | None,
    replace_keys: bool,
    threads: int | None = None,
    report: Progress = silent,
) -> int:
    """Store documents and put them into all indexes; return how many were given.

    A collection of texts without hash functions learns them if there are now enough documents, and the limits of
    learning allow it.
    """
    indexes = IndexSet(store, model, threads)
    width = None
    if isinstance(indexes.content, Cells):
        width = indexes.content.n_columns or None
        if not source.has_vectors:
            remedy = f"Pass vectors= (--vectors) beside them. {embedder_needed(store)}"
            raise TypeError(f"this collection is of vectors, but got only documents. {remedy}")
    elif source.vectors is not None:
        raise TypeError("this collection is of texts, and makes its own vectors. Leave vectors= (--vectors) out.")
    done = store_documents(store, source, indexes, indexes.content.metric, width, report, replace=replace_keys)
    indexes.settle(report)
    if indexes.has_codes and not indexes.codes.learned and _is_due(store, indexes.codes.model):
        relearn(store, {}, threads, report, unasked=True)
    return done


def _is_due(store: Store, model: Model) -> bool:
    """Whether it is time to learn hash functions, or to try again: after a failure, with twice as many documents."""
    if model.settings.get("postponed"):
        return False
    return Documents(store).count() >= max(LEARN_AT, model.n_bits + 2, 2 * int(model.settings.get("tried_on", 0)))


def present_model(store: Store, threads: int | None) -> Model | None:
    """Return the hash functions of a file, if it has some."""
    return load_model(store, threads) if Codes.are_in(store) else None
