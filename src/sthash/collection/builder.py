"""Building a collection: documents are stored, a model is learned, everything is encoded; then the file appears."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
import numpy.typing as npt

from sthash.batches import batched
from sthash.collection.corpus import FEW_DOCUMENTS, LearningCorpus, TextCorpus, VectorCorpus
from sthash.collection.document_table import all_ids, count_documents, next_id, put_documents, read_texts
from sthash.collection.embedder import Embedder, embedder_needed, write_name
from sthash.collection.learning_plan import LearningPlan
from sthash.collection.replacement import write_new
from sthash.collection.store import Store
from sthash.collection.stored_model import load_model, write_model
from sthash.collection.word_index import WordWriter, index_words, restore_lengths, word_model
from sthash.collection.writers import writer_for
from sthash.index.stored_vectors import Metric
from sthash.model import Model
from sthash.model.learning_limits import LEARNING_SECONDS
from sthash.model.linear import sample
from sthash.progress import Progress, silent
from sthash.sources import Document, paired

if TYPE_CHECKING:
    from sthash.hashing.sth import Recipe
    from sthash.text import TextVectorizer

# A collection without hash functions learns them in the `add` that brings it to this number of documents. Up to it, a
# search compares the query with all documents, exactly and fast.
LEARN_AT = FEW_DOCUMENTS


def build(
    target: Path,
    documents: Any,
    vectors: Any,
    plan: LearningPlan | Model,
    *,
    replace_keys: bool,
    progress: Progress | None,
    overwrite: bool = False,
    embedder: Embedder | None = None,
    text_search: LearningPlan | None = None,
) -> None:
    """Build a file, by a model that is given or one that is learned."""
    if documents is None and vectors is None:
        raise TypeError("a collection is made from documents, vectors or both, but got neither. Pass some.")
    if text_search is not None and vectors is None and embedder is None:
        raise TypeError("text_search is for vectors; a collection of texts has it anyway. Leave it out.")
    if embedder is not None and not isinstance(plan, LearningPlan) and not plan.dense:
        raise TypeError("the model is one of texts, which need no embedder. Leave one of them out.")
    if isinstance(plan, LearningPlan) and plan.metric != "cosine" and vectors is None and embedder is None:
        remedy = "Leave it out, or pass vectors or an embedder (--vectors, --embedder)."
        raise TypeError(f"metric={plan.metric!r} is for vectors, but texts are compared by cosine. {remedy}")
    report = progress or silent

    def fill(store: Store) -> None:
        if isinstance(plan, LearningPlan):
            corpus = _stored(store, documents, vectors, plan, replace_keys, report, embedder)
            learn(store, corpus, plan, 1, report)
        else:
            write_model(store, plan)
            add_documents(
                store, plan, documents, vectors, replace_keys=replace_keys, progress=report, embedder=embedder
            )
        if embedder is not None:
            write_name(store, embedder.name)
        if text_search is not None:
            index_words(store, text_search, report)

    write_whole(target, fill, overwrite=overwrite)


def _stored(
    store: Store,
    documents: Any,
    vectors: Any,
    plan: LearningPlan,
    replace_keys: bool,
    report: Progress,
    embedder: Embedder | None,
) -> LearningCorpus:
    """Store documents, and return the corpus of all that are there in the end."""
    texts_only = vectors is None and embedder is None
    corpus: LearningCorpus = (
        TextCorpus(store, plan.new_vectorizer()) if texts_only else VectorCorpus(store, plan.metric)
    )
    done = added = 0
    stage = "reading" if embedder is None or vectors is not None else "embedding texts"
    for batch in document_batches(documents, vectors, embedder, metric=plan.metric):
        kept = put_documents(store, [document for document, _ in batch], replace=replace_keys)
        inputs = [batch[position][0].text if texts_only else batch[position][1] for position, _ in kept]
        corpus.add([number for _, number in kept], inputs)
        done, added = done + len(batch), added + len(kept)
        report(stage, done, None)
    if texts_only and count_documents(store) < added:  # a later batch has replaced documents of an earlier one
        return stored_texts(store, plan.new_vectorizer(), report)
    return corpus


def stored_texts(store: Store, vectorizer: TextVectorizer, report: Progress) -> TextCorpus:
    """Return the corpus of the texts that are in the file."""
    corpus = TextCorpus(store, vectorizer)
    done, total = 0, count_documents(store)
    report("reading", done, total)
    for batch in batched(read_texts(store), length=lambda pair: len(pair[1])):
        corpus.add([number for number, _ in batch], [text for _, text in batch])
        done += len(batch)
        report("reading", done, total)
    return corpus


def learn(
    store: Store,
    corpus: LearningCorpus,
    plan: LearningPlan,
    generation: int,
    report: Progress,
    *,
    present: Model | None = None,
    strict: bool = False,
) -> None:
    """Learn a model from a corpus, write it, and encode all documents by it.

    If there is too little to learn from, that is an error if ``strict``; otherwise the model has no hash functions, and
    all codes are zero. Learning starts from the ``present`` model, if there is one.
    """
    ids = np.array(all_ids(store), dtype=np.int64)
    model = _learned(corpus, ids, plan, present, report, strict=strict)
    model.settings |= {"generation": generation, "learned_of": len(ids), "next_id": next_id(store), **plan.kept}
    if model.learned:
        # Who asks later whether to learn anew needs no part of the learner for it.
        model.settings["cost_of_all"] = plan.cost(corpus.size()).rounded()
    else:
        model.settings["tried_on"] = len(ids)
    write_model(store, model)
    corpus.encode(model, report)
    if model.dense and word_model(store) is not None:
        restore_lengths(store)


def _learned(
    corpus: LearningCorpus,
    ids: npt.NDArray[np.int64],
    plan: LearningPlan,
    present: Model | None,
    report: Progress,
    *,
    strict: bool,
) -> Model:
    hasher = plan.new_hasher()
    common: dict[str, Any] = {
        "scatter": float(plan.scatter),
        "random_state": plan.random_state,
        "threads": plan.threads,
    }
    from sthash.hashing.embedding import TooFewDocumentsError

    try:
        corpus.finish()
        if len(ids) == 0:
            return corpus.unlearned(hasher, **common)
        chosen = ids[sample(len(ids), plan.n_documents(corpus.size()), plan.random_state)]
        start = None if present is None else corpus.margins(chosen, present)
        if start is not None and not np.isfinite(start).all():
            start = None  # weights of a forged file, too large to start from
        hasher.fit(corpus.sample(chosen), start=start, progress=report)
    except TooFewDocumentsError:
        if strict:
            raise
        return corpus.unlearned(hasher, **common)
    return corpus.model(hasher, learned_on=len(chosen), **common)


class RelearnChanges(TypedDict, total=False):
    """The settings that `Collection.relearn` can change."""

    n_bits: int | None
    n_neighbors: int | None
    recipe: Recipe | None
    sample_size: int | None
    learning_seconds: float | None
    learning_bytes: int | None
    scatter: float | None
    random_state: int | None


def relearn(store: Store, changes: dict[str, Any], threads: int | None, report: Progress) -> None:
    """Learn a new model from the stored documents, with the settings of the present one except for ``changes``."""
    known = RelearnChanges.__annotations__
    if unknown := set(changes) - set(known):
        raise TypeError(f"relearn has no parameter {min(unknown)!r}. It takes: {', '.join(known)}.")
    given = {name: value for name, value in changes.items() if value is not None or name == "sample_size"}
    model = load_model(store, threads)
    present = model.settings
    try:
        plan = LearningPlan(
            n_bits=present["n_bits"],
            n_neighbors=present["n_neighbors"],
            metric=present.get("metric", "cosine"),
            recipe=present.get("recipe", "paper"),
            scatter=present.get("scatter", 0.0),
            sample_size=present.get("sample_size"),
            learning_seconds=present.get("learning_seconds", LEARNING_SECONDS),
            learning_bytes=present.get("learning_bytes"),
            random_state=present.get("random_state", 0),
            threads=threads,
        )
        vectorizer = None if present["kind"] == "vectors" else _same_vectorizer(present, threads)
        generation = present["generation"] + 1
    except (KeyError, TypeError, ValueError) as error:
        raise store.damaged(f"the settings of its model cannot be used ({error})") from error
    plan = replace(plan, **given)
    corpus: LearningCorpus
    if vectorizer is None:
        corpus = VectorCorpus(store, plan.metric, present["n_columns"])
    else:
        corpus = stored_texts(store, vectorizer, report)
    # Hash functions are not given up for settings that cannot be met.
    strict = bool(given) and model.learned
    learn(store, corpus, plan, generation, report, present=model if model.learned else None, strict=strict)


def _same_vectorizer(settings: dict[str, Any], threads: int | None) -> TextVectorizer:
    from sthash.text import TextVectorizer

    vectorizer = TextVectorizer(
        weighting=settings["weighting"],
        language=settings.get("language", "english"),
        stemmer=settings["stemmer"],
        fold_accents=settings.get("fold_accents", False),
        segmentation=settings.get("segmentation", 1),
        stop_words=settings["stop_words"] or None,
        threads=threads,
        **{name: settings[name] for name in ("min_df", "max_df", "max_features")},
    )
    vectorizer._validate()
    return vectorizer


def add_documents(
    store: Store,
    model: Model,
    documents: Any,
    vectors: Any,
    *,
    replace_keys: bool,
    threads: int | None = None,
    progress: Progress = silent,
    embedder: Embedder | None = None,
) -> int:
    """Store documents and encode them by the model; return how many were given.

    A collection without hash functions learns them if there are now enough documents.
    """
    if model.dense and vectors is None and embedder is None:
        needed = embedder_needed(store)
        raise TypeError(f"this collection is of vectors, but got only documents. Pass vectors= beside them. {needed}")
    if not model.dense and vectors is not None:
        raise TypeError("this collection is of texts, and makes its own vectors. Leave vectors= out.")
    done = 0
    writer = writer_for(store, model, threads)
    indexed = word_model(store, threads) if model.dense else None
    words = None if indexed is None else WordWriter(store, indexed, threads)
    width = model.n_columns if model.dense else None
    for batch in document_batches(documents, vectors, embedder, width, metric=model.metric):
        kept = put_documents(store, [document for document, _ in batch], replace=replace_keys)
        inputs = [batch[position][1] if model.dense else batch[position][0].text for position, _ in kept]
        writer.put([number for _, number in kept], inputs)
        if words is not None:
            words.put([number for _, number in kept], [batch[position][0].text for position, _ in kept])
        done += len(batch)
        progress("adding", done, None)
    if not model.learned and _is_enough(store, model):
        relearn(store, {}, threads, progress)
    else:
        writer.finish(progress)
    if words is not None:
        words.finish(progress)
    return done


def _is_enough(store: Store, model: Model) -> bool:
    """Whether it is time to learn hash functions, or to try again: after a failure, with twice as many documents."""
    return count_documents(store) >= max(LEARN_AT, model.n_bits + 2, 2 * int(model.settings.get("tried_on", 0)))


def document_batches(
    documents: Any,
    vectors: Any,
    embedder: Embedder | None = None,
    width: int | None = None,
    *,
    metric: Metric,
) -> Iterable[list[tuple[Document, Any]]]:
    """Cut documents, each with its vector, into batches; without vectors, an embedder makes them."""
    pairs = paired(documents, vectors, width, metric)
    if vectors is None and embedder is not None:
        return embedder.embedded(pairs, width)
    return batched(pairs, length=lambda pair: len(pair[0].text))


def write_whole(target: Path, fill: Callable[[Store], None], *, overwrite: bool = False) -> None:
    """Let ``fill`` write a new file under another name, then put it in its place; if it fails, nothing is left."""
    write_new(target, fill, overwrite=overwrite)
