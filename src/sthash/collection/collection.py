"""`Collection`: documents in one file, found by what they are about."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy.typing as npt

from sthash.codes import Codes
from sthash.collection import builder
from sthash.collection.conditions import Where
from sthash.collection.corrections import answer_corrected
from sthash.collection.display import facts_html
from sthash.collection.document_table import StoredDocument, remove
from sthash.collection.embedder import Embedder
from sthash.collection.export import export_documents
from sthash.collection.hits import Hits
from sthash.collection.learning_facts import collection_facts, learning_facts
from sthash.collection.learning_plan import LearningPlan
from sthash.collection.open_file import OpenFile
from sthash.collection.packed_vectors import Ids
from sthash.collection.posting_table import settle
from sthash.collection.replacement import copy_file
from sthash.collection.search import answer_by_key
from sthash.collection.search_options import SearchKeywords, SearchOptions
from sthash.collection.snapshot import Snapshot
from sthash.collection.term_table import next_column
from sthash.collection.verification import Verification, verify
from sthash.index.stored_vectors import Metric
from sthash.model import Margins, Model
from sthash.model.learning_limits import LEARNING_SECONDS
from sthash.model.linear import default_recipe
from sthash.progress import Progress, silent
from sthash.sources import Document, FieldNames, with_fields

if TYPE_CHECKING:
    from sthash.hashing import SelfTaughtHashing
    from sthash.hashing.sth import Recipe
    from sthash.text import TextVectorizer


class Collection(OpenFile):
    """Documents in one file, with the model that was learned from them and their codes.

    Made by `Collection.create` or `Collection.open`. Each change is one transaction: after a crash the file is as it
    was before the change or after it. Other processes can read meanwhile, and see a change from the next call on; a
    second one that wants to change the file waits. Several threads can use one object.

    Examples
    --------
    >>> import tempfile, pathlib, sthash
    >>> texts = [f"{animal} number {n} likes {food}" for n in range(6) for animal, food in
    ...          [("cat", "fish"), ("dog", "bones"), ("rabbit", "carrots")]]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "animals.sth")
    ...     with sthash.Collection.create(path, texts, n_bits=4, n_neighbors=5) as animals:
    ...         hit = animals.search("a dog with bones", k=1, explain=True)[0]
    >>> hit.key, hit.terms
    ('1', ('bone', 'dog'))
    """

    @classmethod
    def create(
        cls,
        path: str | PathLike[str],
        documents: Any = None,
        *,
        vectors: Any = None,
        embedder: Callable[[list[str]], Any] | None = None,
        embedder_name: str | None = None,
        text_search: bool = False,
        n_bits: int = 64,
        n_neighbors: int = 25,
        metric: Metric = "cosine",
        recipe: Recipe | None = None,
        sample_size: int | None = None,
        learning_seconds: float = LEARNING_SECONDS,
        learning_bytes: int | None = None,
        scatter: float = 0.0,
        language: str | None = None,
        fold_accents: bool = False,
        vectorizer: TextVectorizer | None = None,
        hasher: SelfTaughtHashing | None = None,
        model: Model | None = None,
        random_state: int = 0,
        replace: bool = False,
        overwrite: bool = False,
        threads: int | None = None,
        progress: Progress | None = None,
        **fields: Unpack[FieldNames],
    ) -> Self:
        """Learn, encode and store documents in a new file, and open it.

        The documents are read once and not kept in memory. Vocabulary and hash functions are learned from all of them,
        the latter within limits of time and memory, and beyond these from a random sample. A build that is interrupted
        leaves nothing at the path.

        There may be any number of documents, also none. Hash functions need two more than ``n_bits``, and more than
        ``n_neighbors``, that share words with others. Without hash functions all codes are zero, and a search compares
        the query with all documents. The `add` that brings a collection to 1,000 documents then learns them.

        Parameters
        ----------
        path : path
        documents : iterable of str, dict or Document; path object; DataFrame or Series
            As `sthash.sources.open_documents` takes them; not needed where there are vectors.
        vectors : array, tensor, iterable of arrays, str or path, optional
            Dense vectors of your own, one per document, which are compared instead of the texts. A str is the field of
            the documents, or the column of the table, that holds them; a path, or a str that ends with ``.npy``, is a
            NumPy file. A vector of zeros, with NaN or infinity, or not as wide as the first is an error.
        embedder, embedder_name : callable, str, optional
            Any function from a list of str to an array with one row per text, such as ``encode`` of a
            sentence-transformers model. It makes the vectors of queries, and of the documents unless there are
            ``vectors``. The file keeps its name, by default ``module:qualname``; pass it again to `open`.
        text_search : bool
            Index the words of texts beside vectors: searches are then by both; see ``ranking`` of `SearchOptions`.
        n_bits, n_neighbors : int
            Of the hasher. More bits find more of the nearest documents in a ball of the same size.
        metric : {"cosine", "ip"}
            What vectors are compared by. With "ip", the inner product, their lengths count: scores are inner products,
            and a vector of zeros is allowed. Near-duplicates are still found by cosine.
        recipe : str, optional
            Of the hasher. By default the one that finds the most of the nearest documents: "neighbors" for texts
            (docs/better-codes.md), "embeddings" for vectors (docs/embedding-codes.md). `sthash.evaluation.tune` finds
            which is best for documents like yours.
        sample_size : int or None
            Learn from a random sample of at most this size; None takes all documents. From fewer documents the hash
            functions are learned sooner, and codes find less: on 244,163 texts the 100 nearest codes hold .38 of the
            true 10 nearest documents if 20,000 were learned from, and .64 if all were (docs/scaling.md).
        learning_seconds : float
            Learn from as many documents as take about so long on two cores. The time is estimated from the numbers of
            documents, terms and bits, not measured, so that the same arguments give the same codes.
        learning_bytes : int or None
            Learn from as many documents as take about so much memory; None takes half of the machine's.
        scatter : float
            How much random hyperplanes are mixed into the learned ones: so many times as large as these on average.
            With 0, as published, codes bring together what is about the same topic. With about 4 and long codes
            (``n_bits=512``) a small ball holds most of the nearest documents by cosine, also those that are near
            because of rare terms; codes of 64 bits gain little.
        language : str, optional
            Which stems and stop words the texts have: English by default; "none" for neither. See
            `sthash.text.languages.language_names`. Not with ``vectorizer``, which has its own.
        fold_accents : bool
            Whether accents make no difference, so that "cafe" finds "café". Not with ``vectorizer``.
        vectorizer, hasher : TextVectorizer, SelfTaughtHashing, optional
            With settings of your own. Those of the hasher replace ``n_bits``, ``n_neighbors`` and ``recipe``. Limits of
            the vectorizer (``min_df``, ``max_df``, ``max_features``) limit the hash functions, not the search.
        model : TextModel or VectorModel, optional
            Encode by this model; nothing is learned, and the parameters of learning are not used.
        random_state : int
            Seed of the sample and the hasher.
        replace : bool
            Let a later document replace an earlier one with the same key; otherwise that is an error.
        overwrite : bool
            Replace the file if there is one at the path.
        threads : int or None
            None takes one thread per available core. The codes do not depend on it.
        progress : callable, optional
            Called with the name of the stage (reading, graph, embedding, hash functions, encoding, posting lists), how
            much of it is done, and of how much (None if not known).
        key, text, label : str, optional
            Which field of a dict, or column of a DataFrame, holds what; all others are metadata.
        """
        target = Path(path)
        if target.exists() and not overwrite:
            raise FileExistsError(
                f"{target} exists already. Pass overwrite=True (--force) to replace it, or add to it."
            )
        learning = LearningPlan(
            n_bits,
            n_neighbors,
            recipe or default_recipe(dense=vectors is not None or embedder is not None),
            sample_size,
            learning_seconds,
            learning_bytes,
            scatter,
            vectorizer,
            hasher,
            random_state,
            threads,
            language,
            fold_accents,
            metric,
        )
        if model is not None and metric != "cosine" and model.metric != metric:
            raise ValueError(f"the model has metric={model.metric!r}, but got {metric!r}. Leave metric out.")
        builder.build(
            target,
            with_fields(documents, fields, vectors),
            vectors,
            model or learning,
            replace_keys=replace,
            progress=progress,
            overwrite=overwrite,
            embedder=None if embedder is None else Embedder.of(embedder, embedder_name),
            text_search=learning if text_search else None,
        )
        return cls.open(target, threads=threads, embedder=embedder, embedder_name=embedder_name)

    def get(self, key: str) -> Document:
        """Return a document; KeyError if there is none with this key."""
        with self.snapshot() as now:
            number = self._id(now, key)
            return now.documents([number])[number]

    def _id(self, snapshot: Snapshot, key: str, consequence: str = "") -> int:
        number = snapshot.find(key)
        if number is None:
            raise KeyError(f"there is no document with the key {key!r} in {self.path}{consequence}")
        return number

    def page(self, after: int = -1, limit: int = 1000) -> list[StoredDocument]:
        """Return the first documents whose ids are greater than ``after``, at most ``limit`` of them.

        The id of the last one is where the next page starts.
        """
        with self.snapshot() as now:
            return now.page(after, limit)

    def __iter__(self) -> Iterator[Document]:
        return self.export()

    def export(self) -> Iterator[Document]:
        """Iterate over all documents in the order in which they came.

        They are those of one state of the file, when the first is asked for; who changes the file meanwhile does not
        wait. They are copied to a temporary file for that, if they are many.
        """
        return export_documents(self._store)

    def copy_to(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Copy the file, in one state of it, to another path; also to restore a copy over a collection.

        Other processes may use both files. After a crash the target is as it was before, or the whole copy.

        Parameters
        ----------
        path : path
        overwrite : bool
            Replace the file if there is one at the path.
        """
        copy_file(self._store, Path(path), overwrite=overwrite)

    def ids_where(self, where: Where) -> Ids:
        """Return the ids of the documents that meet conditions; see `SearchOptions`."""
        with self.snapshot() as now:
            return now.ids_where(where)

    def info(self) -> dict[str, Any]:
        """Return what the file holds and how it was learned.

        ``learned`` says whether there are hash functions, and ``learned_on`` from how many documents they were learned.
        Of all ``words``, the first ``n_terms`` are those that the hash functions know. ``unseen_documents`` is the
        share of the documents that they were not learned from, and ``unseen_terms`` the share of the words of all
        documents that they do not know. ``advice`` says in one sentence whether to `relearn`.
        """
        with self.snapshot() as now:
            about = {**collection_facts(now), **learning_facts(self._store, now)}
            return {"path": str(self.path), "bytes": self.path.stat().st_size, **about}

    def _repr_html_(self) -> str:
        return facts_html(self.info())

    def check(self) -> Verification:
        """Read everything and compare it with its checksums and with each other; CollectionError if it is damaged."""
        with self.snapshot() as now:
            return verify(self._store, now.model)

    # Changes

    def add(
        self,
        documents: Any,
        *,
        vectors: Any = None,
        progress: Progress | None = None,
        **fields: Unpack[FieldNames],
    ) -> int:
        """Add documents, all or, on an error, none of them; a key that is there already is an error.

        Words that are new can be searched for at once. The hash functions know them after `relearn`, and `info` says
        when that is worth it. ``vectors`` and the others are as for `create`; the embedder that the collection was
        opened with embeds documents that come without vectors. Return how many documents were added.
        """
        return self._put(with_fields(documents, fields, vectors), vectors, progress, replace_keys=False)

    def upsert(
        self,
        documents: Any,
        *,
        vectors: Any = None,
        progress: Progress | None = None,
        **fields: Unpack[FieldNames],
    ) -> int:
        """Add documents, each in place of the one with the same key, if there is one."""
        return self._put(with_fields(documents, fields, vectors), vectors, progress, replace_keys=True)

    def _put(self, documents: Any, vectors: Any, progress: Progress | None, *, replace_keys: bool) -> int:
        with self._changing():
            # Another process may have learned a new model; from here on the lock keeps it as it is.
            model = self._present_model()
            return builder.add_documents(
                self._store,
                model,
                documents,
                vectors,
                replace_keys=replace_keys,
                threads=self._threads,
                progress=progress or silent,
                embedder=self._embedder if model.dense else None,
            )

    def delete(self, keys: str | Iterable[str], *, missing_ok: bool = False) -> int:
        """Delete documents by their keys, none if one is missing; return how many were deleted."""
        with self._changing(), self.snapshot() as now:
            ids: dict[int, None] = {}
            for key in [keys] if isinstance(keys, str) else keys:
                if missing_ok and now.find(key) is None:
                    continue
                ids[self._id(now, key, "; nothing was deleted")] = None
            remove(self._store, list(ids))
            settle(self._store, next_column(self._store), self._threads)
            return len(ids)

    def compact(self) -> None:
        """Give the space of deleted documents back to the disk."""
        self._store.compact()

    def relearn(self, *, progress: Progress | None = None, **changes: Unpack[builder.RelearnChanges]) -> None:
        """Learn a new model from the documents as they are now; it replaces the old one in one step.

        Every setting that is not given stays as it was. Where there are many documents, learning starts from the
        present hash functions, and takes fewer steps.

        Parameters
        ----------
        n_bits, n_neighbors, recipe, sample_size, learning_seconds, learning_bytes, scatter, random_state
            As of `create`. For ``sample_size``, None takes all documents.
        progress : callable, optional
            As of `create`.
        """
        with self._changing():
            builder.relearn(self._store, dict(changes), self._threads, progress or silent)

    def search(
        self,
        query: str | npt.ArrayLike | None = None,
        k: int = 10,
        *,
        key: str | None = None,
        **options: Unpack[SearchKeywords],
    ) -> Hits:
        """Find the documents that are most like a text, a vector, or another document.

        A text ranks by BM25 and the neighbors; see `SearchOptions`. A text of one line may have "phrases in quotes",
        ``+words`` that must be there, and ``-words`` that must not.

        Parameters
        ----------
        query : str or array
            A text; or, in a collection of vectors, a vector, or a text if the collection was opened with an embedder.
        k : int
            Number of hits.
        key : str, optional
            Instead of a query: the key of a document, which is then not among the hits.
        radius, rerank, where, factor, explain, ranking, correct
            See `SearchOptions`.
        """
        chosen = SearchOptions(k, **options)
        if (query is None) == (key is None):
            raise TypeError("search takes either a query or a key. Pass one of them.")
        with self.snapshot() as now:
            if key is None:
                return answer_corrected(now, [query], chosen)[0]
            return answer_by_key(now, self._id(now, key), chosen)

    def search_many(self, queries: Iterable[Any], k: int = 10, **options: Unpack[SearchKeywords]) -> list[Hits]:
        """Like `search`, for many texts or vectors at once: the hits of each."""
        chosen = SearchOptions(k, **options)
        with self.snapshot() as now:
            return answer_corrected(now, list(queries), chosen)

    def encode(self, queries: Iterable[Any]) -> Codes:
        """Return the packed codes of texts, or of vectors, by the model of the collection, as queries have them."""
        with self.snapshot() as now:
            return now.encode(list(queries)).codes

    def margins(self, queries: Iterable[Any]) -> Margins:
        """Return the margins of texts, or of vectors: a bit is on where its margin is positive."""
        with self.snapshot() as now:
            return now.encode(list(queries)).margins
