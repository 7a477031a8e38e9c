"""Learning a collection's model from the documents in its file, and encoding them all by it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sthash.collection.encoder import Scatter, load_encoder
from sthash.collection.store import Store, decode, encode
from sthash.collection.writing import put_encoded

if TYPE_CHECKING:
    from sthash.hashing import SelfTaughtHashing
    from sthash.text import TextVectorizer

Progress = Callable[[str, int, int | None], None]
BATCH = 4096


def learn_from_texts(
    store: Store,
    vectorizer: TextVectorizer,
    hasher: SelfTaughtHashing,
    sample: npt.NDArray[np.int64],
    scatter: Scatter,
    generation: int,
) -> None:
    """Learn hash functions from a sample of the documents, and write the model; the vectorizer is fitted."""
    X = vectorizer.transform(text for _, text in texts(store, sample.tolist()))
    hasher.fit(X)
    # Frequent terms come first, so that what most documents need of a query lies close together in memory.
    order = np.argsort(-vectorizer.statistics_.document_frequency, kind="stable")
    put_text_model(store, vectorizer, hasher, order, len(sample), scatter, generation)


def put_text_model(
    store: Store,
    vectorizer: TextVectorizer,
    hasher: SelfTaughtHashing,
    order: npt.NDArray[np.int64],
    learnt_on: int,
    scatter: Scatter,
    generation: int,
) -> None:
    """Write a fitted vectorizer and hasher as the model; ``order`` lists the terms as the file is to number them."""
    weights, intercept = _linear(hasher)
    frequency = vectorizer.statistics_.document_frequency
    used = (weights != 0).any(axis=1).tolist()
    model = {
        "kind": "text",
        "generation": generation,
        "n_bits": int(hasher.n_bits),
        "n_neighbors": int(hasher.n_neighbors),
        "recipe": hasher.recipe,
        "learnt_on": learnt_on,
        "n_terms": len(frequency),
        "weighting": vectorizer.weighting,
        "stemmer": vectorizer.stemmer,
        "min_df": vectorizer.min_df,
        "max_df": vectorizer.max_df,
        "max_features": vectorizer.max_features,
        "stop_words": sorted(vectorizer.stop_words_),
        "n_documents": vectorizer.statistics_.n_documents,
        "mean_length": vectorizer.statistics_.mean_length,
        "intercept": intercept,
        "scatter": scatter.weight,
        "random_weights": asdict(_scaled(scatter, weights[used])),
    }
    store.connection.execute("DELETE FROM terms")
    names = vectorizer.get_feature_names_out()
    for start in range(0, len(order), BATCH):
        rows = [
            (column, encode(names[at]), int(frequency[at]), weights[at].tobytes() if used[at] else b"")
            for column, at in enumerate(order[start : start + BATCH].tolist(), start)
        ]
        store.put_many("terms", rows)
    store.put_model(model)


def learn_from_vectors(
    store: Store, hasher: SelfTaughtHashing, rows: npt.NDArray[np.float32], scatter: Scatter, generation: int
) -> None:
    """Learn hash functions from dense unit rows, and write the model."""
    put_vector_model(store, hasher.fit(rows), len(rows), scatter, generation)


def put_vector_model(
    store: Store, hasher: SelfTaughtHashing, learnt_on: int, scatter: Scatter, generation: int
) -> None:
    """Write a hasher that was fitted on dense rows as the model."""
    weights, intercept = _linear(hasher)
    # Vectors of a user's own have few columns: here the random weights are kept with the learnt ones.
    each_column = np.arange(len(weights) + 1, dtype=np.int64)
    weights = _scaled(scatter, weights).added(
        weights, each_column, each_column[:-1].astype(np.int32), np.ones(len(weights), dtype=np.float32)
    )
    model = {
        "kind": "vectors",
        "generation": generation,
        "n_bits": int(hasher.n_bits),
        "n_neighbors": int(hasher.n_neighbors),
        "recipe": hasher.recipe,
        "learnt_on": learnt_on,
        "n_columns": int(hasher.n_features_in_),
        "intercept": intercept,
        "scatter": scatter.weight,
    }
    store.put_model(model)
    store.put("settings", "weights", np.ascontiguousarray(weights, dtype=np.float32).tobytes())


def encode_texts(store: Store, report: Progress) -> None:
    """Make the vectors and codes of all documents anew from their texts."""
    store.connection.execute("DELETE FROM vectors")
    store.connection.execute("DELETE FROM codes")
    encoder = load_encoder(store)
    total = count(store)
    done = 0
    for batch in pages(texts(store)):
        put_encoded(store, encoder, [number for number, _ in batch], [text for _, text in batch])
        done += len(batch)
        report("encoding", done, total)


def texts(store: Store, ids: list[int] | None = None) -> Iterator[tuple[int, str]]:
    """Give the ids and texts of all documents, or of some."""
    if ids is None:
        for row in store.rows("documents", "ORDER BY id"):
            yield row[0], decode(row[4])
        return
    for number in ids:
        for row in store.rows("documents", "WHERE id = ?", (number,)):
            yield row[0], decode(row[4])


def draw(store: Store, learn_on: int | None, seed: int) -> npt.NDArray[np.int64]:
    """Ids of all documents, or of a random sample of them, ascending."""
    ids = np.array([row[0] for row in store.connection.execute("SELECT id FROM documents ORDER BY id")], np.int64)
    if learn_on is None or learn_on >= len(ids):
        return ids
    return np.sort(np.random.default_rng(seed).choice(ids, learn_on, replace=False))


def count(store: Store) -> int:
    """How many documents there are."""
    return int(store.connection.execute("SELECT count(*) FROM documents").fetchone()[0])


def pages(rows: Iterator[Any]) -> Iterator[list[Any]]:
    """Cut rows (id, text) into lists of bounded size."""
    page: list[Any] = []
    characters = 0
    for row in rows:
        page.append(row)
        characters += len(row[1])
        if len(page) == BATCH or characters > 1 << 24:
            yield page
            page, characters = [], 0
    if page:
        yield page


def _scaled(scatter: Scatter, weights: npt.NDArray[np.float32]) -> Scatter:
    """Random weights that are so many times as large as the learnt ones are on average."""
    typical = np.sqrt(np.square(weights, dtype=np.float64).mean())
    return replace(scatter, weight=float(scatter.weight * typical))


def _linear(hasher: SelfTaughtHashing) -> tuple[npt.NDArray[np.float32], list[float]]:
    from sthash.hashing.linear_hash import LinearHash

    function = hasher.hash_function_
    if not isinstance(function, LinearHash):
        raise TypeError(
            f"a collection cannot store a hash function that is a {type(function).__name__}; "
            "use the hasher's default, hash_function=None."
        )
    return function.weights_, [float(value) for value in function.intercept_]
