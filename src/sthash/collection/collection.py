"""`Collection`: documents in one file, found by what they are about."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy.typing as npt

from sthash.codes import Codes
from sthash.collection import building
from sthash.collection.encoder import batched
from sthash.collection.hits import Hit
from sthash.collection.search import (
    Request,
    Where,
    answer,
    documents_at,
    encode_queries,
    read_document,
    stored_query,
)
from sthash.collection.store import WAIT_SECONDS, Store, encode
from sthash.collection.verifying import Report, verify
from sthash.collection.view import View
from sthash.collection.writing import find, put_documents, put_encoded, remove
from sthash.sources import Document

if TYPE_CHECKING:
    from sthash.applications.duplicates import Duplicates
    from sthash.applications.votes import Prediction, Voting
    from sthash.hashing import SelfTaughtHashing
    from sthash.hashing.sth import Recipe
    from sthash.text import TextVectorizer

# The ball around a query grows until it holds so many documents for each one asked for.
FACTOR = 500
PAGE = 1000


class Collection:
    """Documents in one file, with the model that was learnt from them and their codes.

    Made by `Collection.create` or `Collection.open`. Each change is one transaction: after a crash the file is as it
    was before the change or after it. Other processes may read meanwhile, and see a change from the next call on; a
    second one that wants to change the file waits. One object may be used by several threads.

    Examples
    --------
    >>> import tempfile, pathlib, sthash
    >>> texts = [f"{animal} number {n} likes {food}" for n in range(6) for animal, food in
    ...          [("cat", "fish"), ("dog", "bones"), ("rabbit", "carrots")]]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "animals.sth")
    ...     with sthash.Collection.create(path, texts, n_bits=4, n_neighbors=5) as animals:
    ...         hit = animals.search("a dog that likes bones", k=1)[0]
    >>> hit.terms
    ('bone', 'dog')
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._view = View(store)

    @classmethod
    def create(
        cls,
        path: str | PathLike[str],
        documents: Iterable[Any] | None = None,
        *,
        vectors: Iterable[Any] | None = None,
        n_bits: int = 64,
        n_neighbors: int = 25,
        recipe: Recipe = "neighbors",
        learn_on: int | None = 20_000,
        scatter: float = 0.0,
        vectorizer: TextVectorizer | None = None,
        hasher: SelfTaughtHashing | None = None,
        random_state: int = 0,
        replace: bool = False,
        overwrite: bool = False,
        progress: building.Progress | None = None,
    ) -> Self:
        """Learn, encode and store documents in a new file, and open it.

        The documents are read once and not kept in memory. The vocabulary is that of all of them; the hash functions
        are learnt from ``learn_on`` of them. A build that is interrupted leaves nothing at the path.

        Parameters
        ----------
        path : path
        documents : iterable of str, dict or Document
            May be left out where there are vectors.
        vectors : array or iterable of arrays, optional
            Dense vectors of your own, one a document. They are then hashed and compared instead of the texts.
        n_bits, n_neighbors : int
            Of the hasher. More bits find more of the nearest documents in a ball of the same size.
        recipe : str
            Of the hasher. The default finds the most of the nearest documents by cosine (docs/better-codes.md);
            `sthash.evaluation.tune` finds which is best for documents like yours.
        learn_on : int or None
            Learn from a random sample of this size; None takes all documents.
        scatter : float
            How much random hyperplanes are mixed into the learnt ones: so many times as large as these on average.
            With 0, as published, codes bring together what is about the same topic. With about 4 and long codes
            (``n_bits=512``) a small ball holds most of the nearest documents by cosine, also those that are near for
            the sake of rare terms; codes of 64 bits gain little.
        vectorizer, hasher : TextVectorizer, SelfTaughtHashing, optional
            With settings of your own. The hasher's take the place of ``n_bits``, ``n_neighbors`` and ``recipe``.
        random_state : int
            Of the sample and the hasher.
        replace : bool
            Let a later document take the place of an earlier one with the same key; otherwise that is an error.
        overwrite : bool
            Whether there may be a file at the path already.
        progress : callable, optional
            Called with the name of the step, how much is done, and of how much (None if not known).
        """
        target = Path(path)
        if target.exists() and not overwrite:
            raise FileExistsError(
                f"{target} exists already; pass overwrite=True (--force) to replace it, or add to it."
            )
        plan = building.Plan(
            n_bits, n_neighbors, recipe, learn_on, scatter, vectorizer, hasher, random_state, replace, progress
        )
        building.build(target, documents, vectors, plan)
        return cls.open(target)

    @classmethod
    def open(cls, path: str | PathLike[str], *, wait: float = WAIT_SECONDS) -> Self:
        """Open a collection; ``wait`` is how many seconds to wait for another process that is changing it."""
        writable = os.access(path, os.W_OK) and os.access(Path(path).absolute().parent, os.W_OK)
        collection = cls(Store(path, "rw" if writable else "ro", wait))
        try:
            with collection._view.reading():
                pass
        except BaseException:
            collection.close()
            raise
        return collection

    def close(self) -> None:
        """Close the file."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def path(self) -> Path:
        """Where the file is."""
        return self._store.path

    @property
    def n_bits(self) -> int:
        """Bits of a code."""
        with self._view.reading():
            return self._view.encoder().n_bits

    def __len__(self) -> int:
        with self._view.reading():
            return len(self._view.shelf().ids)

    def __contains__(self, key: object) -> bool:
        with self._view.reading():
            return isinstance(key, str) and find(self._store, encode(key)) is not None

    def get(self, key: str) -> Document:
        """Give a document; KeyError if there is none with this key."""
        with self._view.reading():
            number = self._id(key)
            return documents_at(self._store, [number])[number]

    def _id(self, key: str) -> int:
        number = find(self._store, encode(key))
        if number is None:
            raise KeyError(f"there is no document with the key {key!r} in {self.path}")
        return number

    def __iter__(self) -> Iterator[Document]:
        return self.export()

    def export(self) -> Iterator[Document]:
        """Give all documents in the order in which they came.

        They are read some at a time: one that is changed meanwhile comes as it was or as it is.
        """
        last = -1
        while True:
            with self._view.reading():
                rows = list(self._store.rows("documents", "WHERE id > ? ORDER BY id LIMIT ?", (last, PAGE)))
                documents = [read_document(self._store, row) for row in rows]
            if not rows:
                return
            yield from documents
            last = rows[-1][0]

    # Changes

    def add(self, documents: Iterable[Any], *, vectors: Iterable[Any] | None = None) -> int:
        """Add documents, all or, on an error, none of them; a key that is there already is an error.

        Returns
        -------
        count : int
            How many were added.
        """
        return self._put(documents, vectors, replace=False)

    def upsert(self, documents: Iterable[Any], *, vectors: Iterable[Any] | None = None) -> int:
        """Add documents, each in place of the one with the same key, if there is one."""
        return self._put(documents, vectors, replace=True)

    def _put(self, documents: Iterable[Any], vectors: Iterable[Any] | None, *, replace: bool) -> int:
        with self._view.writing():
            encoder = self._view.encoder()
            building.check_kind(encoder.dense, vectors)
            count = 0
            for batch in batched(building.paired(documents, vectors)):
                kept = put_documents(self._store, [document for document, _ in batch], replace=replace)
                inputs = [batch[place][1] if encoder.dense else batch[place][0].text for place, _ in kept]
                put_encoded(self._store, encoder, [number for _, number in kept], inputs)
                count += len(batch)
            return count

    def delete(self, keys: str | Iterable[str], *, missing_ok: bool = False) -> int:
        """Delete documents by their keys, all or, if one is missing, none of them; give how many were deleted."""
        with self._view.writing():
            ids: dict[int, None] = {}
            for key in [keys] if isinstance(keys, str) else keys:
                number = find(self._store, encode(key))
                if number is None and not missing_ok:
                    raise KeyError(f"there is no document with the key {key!r} in {self.path}; nothing was deleted")
                if number is not None:
                    ids[number] = None
            remove(self._store, list(ids))
            return len(ids)

    def compact(self) -> None:
        """Give the room that deleted documents took back to the disk."""
        with self._view.lock, self._store.clear_errors():
            self._store.connection.execute("VACUUM")

    def relearn(
        self,
        *,
        n_bits: int | None = None,
        n_neighbors: int | None = None,
        recipe: Recipe | None = None,
        learn_on: int | None = 20_000,
        scatter: float | None = None,
        random_state: int = 0,
        progress: building.Progress | None = None,
    ) -> None:
        """Learn a new model from the documents as they are now; it takes the old one's place in one step.

        What is left out of ``n_bits``, ``n_neighbors``, ``recipe`` and ``scatter`` stays as it was.
        """
        with self._view.writing():
            model = self._store.setting("model")
            n_bits = model["n_bits"] if n_bits is None else n_bits
            n_neighbors = model["n_neighbors"] if n_neighbors is None else n_neighbors
            scatter = model.get("scatter", 0.0) if scatter is None else scatter
            recipe = model.get("recipe", "paper") if recipe is None else recipe
            plan = building.Plan(
                n_bits, n_neighbors, recipe, learn_on, scatter, None, None, random_state, False, progress
            )
            building.relearn(self._store, model, plan)

    def check(self) -> Report:
        """Read everything and compare it with its checksums and with each other; CollectionError if it is damaged."""
        with self._view.reading():
            return verify(self._store, self._view.encoder())

    def info(self) -> dict[str, Any]:
        """Tell what the file holds."""
        with self._view.reading():
            model = self._store.setting("model")
            shown = (
                "kind",
                "n_bits",
                "n_neighbors",
                "recipe",
                "scatter",
                "learnt_on",
                "n_terms",
                "n_columns",
                "weighting",
                "stemmer",
            )
            return {
                "path": str(self.path),
                "documents": len(self),
                "bytes": self.path.stat().st_size,
                **{name: model[name] for name in shown if name in model},
            }

    # Search

    def search(
        self,
        query: str | npt.ArrayLike | None = None,
        k: int = 10,
        *,
        key: str | None = None,
        radius: int | None = None,
        rerank: bool = True,
        where: Where | None = None,
        factor: int = FACTOR,
        explain: bool = True,
    ) -> list[Hit]:
        """Find the documents that are most like a text, a vector, or another document.

        The documents in the ball around the query's code are ranked by the cosine of their vectors.

        Parameters
        ----------
        query : str or array
            A text; or a vector, in a collection of vectors.
        k : int
        key : str, optional
            Instead of a query: the key of a document, which is then not among the hits.
        radius : int, optional
            Of the ball, in bits. By default it grows until it holds ``factor`` documents for each one asked for; a bit
            then counts as much as the query is sure of it, which brings more of the nearest documents into the ball.
        rerank : bool
            Without, the hits are those with the nearest codes, in this order, by the weights of the bits that differ.
        where : dict, optional
            Only documents whose metadata has these values; for a list, one of its values.
        factor : int
        explain : bool
            Whether to look up the terms that made a hit match.
        """
        if (query is None) == (key is None):
            raise TypeError("search takes either a query or a key.")
        with self._view.reading():
            if key is None:
                request = Request(k, radius, rerank, where, factor, explain)
                return answer(self._view, encode_queries(self._view, [query]), request)[0]
            # One more, because the document itself is the nearest.
            request = Request(k + 1, radius, rerank, where, factor, explain)
            hits = answer(self._view, stored_query(self._view, self._id(key)), request)[0]
            return [hit for hit in hits if hit.key != key][:k]

    def search_many(
        self,
        queries: Iterable[Any],
        k: int = 10,
        *,
        radius: int | None = None,
        rerank: bool = True,
        where: Where | None = None,
        factor: int = FACTOR,
        explain: bool = False,
    ) -> list[list[Hit]]:
        """Like `search`, for many texts or vectors at once: a list of hits for each."""
        request = Request(k, radius, rerank, where, factor, explain)
        with self._view.reading():
            return answer(self._view, encode_queries(self._view, list(queries)), request)

    # Applications

    def encode(self, queries: Iterable[Any]) -> Codes:
        """Give the packed codes of texts, or of vectors, by the collection's own model."""
        with self._view.reading():
            return encode_queries(self._view, list(queries)).codes

    def near_duplicates(self, radius: int | None = None, min_cosine: float = 0.9) -> Duplicates:
        """Find the documents that say nearly the same.

        Pairs whose vectors have at least the cosine are joined to groups. Documents without a known term are left out.

        Parameters
        ----------
        radius : int, optional
            Compare only documents whose codes differ in at most so many bits. By default other codes, made for this
            alone, find 99 in 100 of the pairs that just reach the cosine, and more of the closer ones.
        min_cosine : float
        """
        from sthash.applications.duplicates import duplicates_in

        return duplicates_in(self, radius, min_cosine)

    def classify(
        self, query: str | npt.ArrayLike, k: int = 25, *, radius: int | None = None, voting: Voting = "majority"
    ) -> Prediction:
        """Give the label that most of the documents around a query have; see `sthash.applications.votes`."""
        from sthash.applications.votes import classify

        return classify(self, query, k, radius, voting)
