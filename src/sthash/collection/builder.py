"""Building a collection: documents are stored, a model is learned, everything is encoded; then the file appears."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, get_args

import numpy as np
import numpy.typing as npt

from sthash.batches import batched
from sthash.checks import check_choice, check_positive, check_whole
from sthash.collection.corpus import FEW_DOCUMENTS, LearningCorpus, TextCorpus, VectorCorpus
from sthash.collection.document_table import all_ids, count_documents, put_documents, read_texts
from sthash.collection.replacement import write_new
from sthash.collection.store import Store
from sthash.collection.stored_model import load_model, write_model
from sthash.collection.writers import writer_for
from sthash.index.hamming import MAX_BITS
from sthash.model import Model
from sthash.model.linear import new_hasher, sample
from sthash.progress import Progress, silent
from sthash.sources import Document, paired

if TYPE_CHECKING:
    from sthash.hashing import SelfTaughtHashing
    from sthash.hashing.sth import Recipe
    from sthash.text import TextVectorizer

SAMPLE_SIZE = 20_000
# A collection without hash functions learns them in the `add` that brings it to this number of documents. Up to it, a
# search compares the query with all documents, exactly and fast.
LEARN_AT = FEW_DOCUMENTS
MOST_SCATTER = 1e6  # far beyond use; weights are float32
LAST_SEED = 2**32 - 1  # of NumPy


@dataclass(frozen=True)
class LearningPlan:
    """How to learn, as `Collection.create` describes it."""

    n_bits: int = 64
    n_neighbors: int = 25
    recipe: Recipe = "neighbors"
    sample_size: int | None = SAMPLE_SIZE
    scatter: float = 0.0
    vectorizer: TextVectorizer | None = None
    hasher: SelfTaughtHashing | None = None
    random_state: int = 0
    threads: int | None = None
    language: str | None = None
    fold_accents: bool = False

    def __post_init__(self) -> None:
        if check_whole("n_bits", self.n_bits) > MAX_BITS:
            raise ValueError(f"n_bits={self.n_bits} must be at most {MAX_BITS}. Ask for fewer bits.")
        check_whole("n_neighbors", self.n_neighbors)
        if self.sample_size is not None:
            check_whole("sample_size", self.sample_size)
        check_positive("scatter", self.scatter, or_zero=True, most=MOST_SCATTER)
        check_whole("random_state", self.random_state, least=0, most=LAST_SEED)
        # Before all documents are read, not when they have been.
        from sthash.hashing.sth import Recipe

        check_choice("recipe", self.recipe, get_args(Recipe))
        if self.language is not None:
            from sthash.text.languages import check_language

            check_language(self.language)
        if not isinstance(self.fold_accents, bool | np.bool_):
            raise TypeError(f"fold_accents={self.fold_accents!r} must be True or False.")
        if self.vectorizer is not None and (self.language is not None or self.fold_accents):
            raise TypeError("a vectorizer has its own language and fold_accents. Set them there, or leave it out.")

    def new_hasher(self) -> SelfTaughtHashing:
        """Return the user's hasher, or one with the settings of the plan."""
        return new_hasher(self.hasher, self.n_bits, self.n_neighbors, self.recipe, self.random_state, self.threads)

    def new_vectorizer(self) -> TextVectorizer:
        """Return the user's vectorizer, or the default one."""
        from sklearn.base import clone

        from sthash.text import TextVectorizer

        if self.vectorizer is None:
            return TextVectorizer(
                language=self.language or "english",
                stop_words="function words",
                fold_accents=bool(self.fold_accents),
                threads=self.threads,
            )
        if callable(self.vectorizer.analyzer):
            raise TypeError("a collection cannot store a vectorizer whose analyzer is a callable. Use analyzer='word'.")
        vectorizer: TextVectorizer = clone(self.vectorizer)
        return vectorizer


def build(
    target: Path,
    documents: Any,
    vectors: Iterable[Any] | None,
    plan: LearningPlan | Model,
    *,
    replace_keys: bool,
    progress: Progress | None,
    overwrite: bool = False,
) -> None:
    """Build a file, by a model that is given or one that is learned."""
    if documents is None and vectors is None:
        raise TypeError("a collection is made from documents, vectors or both, but got neither. Pass some.")
    report = progress or silent

    def fill(store: Store) -> None:
        if isinstance(plan, LearningPlan):
            corpus = _stored(store, documents, vectors, plan, replace_keys, report)
            learn(store, corpus, plan, 1, report)
        else:
            write_model(store, plan)
            add_documents(store, plan, documents, vectors, replace_keys=replace_keys, progress=report)

    write_whole(target, fill, overwrite=overwrite)


def _stored(
    store: Store,
    documents: Any,
    vectors: Iterable[Any] | None,
    plan: LearningPlan,
    replace_keys: bool,
    report: Progress,
) -> LearningCorpus:
    """Store documents, and return the corpus of all that are there in the end."""
    texts_only = vectors is None
    corpus: LearningCorpus = TextCorpus(store, plan.new_vectorizer()) if texts_only else VectorCorpus(store)
    done = added = 0
    for batch in document_batches(documents, vectors):
        kept = put_documents(store, [document for document, _ in batch], replace=replace_keys)
        inputs = [batch[position][0].text if texts_only else batch[position][1] for position, _ in kept]
        corpus.add([number for _, number in kept], inputs)
        done, added = done + len(batch), added + len(kept)
        report("reading", done, None)
    if texts_only and count_documents(store) < added:  # a later batch has replaced documents of an earlier one
        return stored_texts(store, plan.new_vectorizer())
    return corpus


def stored_texts(store: Store, vectorizer: TextVectorizer) -> TextCorpus:
    """Return the corpus of the texts that are in the file."""
    corpus = TextCorpus(store, vectorizer)
    for batch in batched(read_texts(store), length=lambda pair: len(pair[1])):
        corpus.add([number for number, _ in batch], [text for _, text in batch])
    return corpus


def learn(
    store: Store, corpus: LearningCorpus, plan: LearningPlan, generation: int, report: Progress, *, strict: bool = False
) -> None:
    """Learn a model from a corpus, write it, and encode all documents by it.

    If there is too little to learn from, that is an error if ``strict``; otherwise the model has no hash functions, and
    all codes are zero.
    """
    report("learning", 0, None)
    ids = np.array(all_ids(store), dtype=np.int64)
    model = _learned(corpus, ids, plan, strict=strict)
    model.settings |= {
        "generation": generation,
        "sample_size": plan.sample_size,
        "random_state": plan.random_state,
    }
    if not model.learned:
        model.settings["tried_on"] = len(ids)
    write_model(store, model)
    done = 0
    for count in corpus.encode(model):
        done += count
        report("encoding", done, len(ids))


def _learned(corpus: LearningCorpus, ids: npt.NDArray[np.int64], plan: LearningPlan, *, strict: bool) -> Model:
    hasher = plan.new_hasher()
    chosen = ids[sample(len(ids), plan.sample_size, plan.random_state)]
    common: dict[str, Any] = {
        "scatter": float(plan.scatter),
        "random_state": plan.random_state,
        "threads": plan.threads,
    }
    from sthash.hashing.embedding import TooFewDocumentsError

    try:
        corpus.finish()
        if len(chosen) == 0:
            return corpus.unlearned(hasher, **common)
        hasher.fit(corpus.sample(chosen))
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
    scatter: float | None
    random_state: int | None


def relearn(store: Store, changes: dict[str, Any], threads: int | None, report: Progress) -> None:
    """Learn a new model from the stored documents, with the settings of the present one except for ``changes``."""
    known = RelearnChanges.__annotations__
    if unknown := set(changes) - set(known):
        raise TypeError(f"relearn has no parameter {min(unknown)!r}. It takes: {', '.join(known)}.")
    given = {name: value for name, value in changes.items() if value is not None or name == "sample_size"}
    present = load_model(store, threads).settings
    try:
        plan = LearningPlan(
            n_bits=present["n_bits"],
            n_neighbors=present["n_neighbors"],
            recipe=present.get("recipe", "paper"),
            scatter=present.get("scatter", 0.0),
            sample_size=present.get("sample_size", SAMPLE_SIZE),
            random_state=present.get("random_state", 0),
            threads=threads,
        )
        vectorizer = None if present["kind"] == "vectors" else _same_vectorizer(present, threads)
        generation = present["generation"] + 1
    except (KeyError, TypeError, ValueError) as error:
        raise store.damaged(f"the settings of its model cannot be used ({error})") from error
    plan = replace(plan, **given)
    corpus: LearningCorpus
    corpus = VectorCorpus(store, present["n_columns"]) if vectorizer is None else stored_texts(store, vectorizer)
    # Hash functions are not given up for settings that cannot be met.
    learn(store, corpus, plan, generation, report, strict=bool(given) and present["learnt_on"] > 0)


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
    vectors: Iterable[Any] | None,
    *,
    replace_keys: bool,
    threads: int | None = None,
    progress: Progress = silent,
) -> int:
    """Store documents and encode them by the model; return how many were given.

    A collection without hash functions learns them if there are now enough documents.
    """
    if model.dense and vectors is None:
        raise TypeError("this collection is of vectors, but got only documents. Pass vectors= beside them.")
    if not model.dense and vectors is not None:
        raise TypeError("this collection is of texts, and makes its own vectors. Leave vectors= out.")
    done = 0
    writer = writer_for(store, model, threads)
    for batch in document_batches(documents, vectors):
        kept = put_documents(store, [document for document, _ in batch], replace=replace_keys)
        inputs = [batch[position][1] if model.dense else batch[position][0].text for position, _ in kept]
        writer.put([number for _, number in kept], inputs)
        done += len(batch)
        progress("adding", done, None)
    if not model.learned and _is_enough(store, model):
        relearn(store, {}, threads, progress)
    else:
        writer.finish()
    return done


def _is_enough(store: Store, model: Model) -> bool:
    """Whether it is time to learn hash functions, or to try again: after a failure, with twice as many documents."""
    return count_documents(store) >= max(LEARN_AT, model.n_bits + 2, 2 * int(model.settings.get("tried_on", 0)))


def document_batches(documents: Any, vectors: Iterable[Any] | None) -> Iterable[list[tuple[Document, Any]]]:
    """Cut documents, each with its vector, into batches."""
    return batched(paired(documents, vectors), length=lambda pair: len(pair[0].text))


def write_whole(target: Path, fill: Callable[[Store], None], *, overwrite: bool = False) -> None:
    """Let ``fill`` write a new file under another name, then put it in its place; if it fails, nothing is left."""
    write_new(target, fill, overwrite=overwrite)
