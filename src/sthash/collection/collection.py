"""`Collection`: documents in one file, and the indexes that find them."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy as np
import numpy.typing as npt

from sthash.checks import check_several, check_whole, resolve_threads
from sthash.codes import Codes
from sthash.collection.build import builder
from sthash.collection.build.builder import Source
from sthash.collection.build.facts import collection_facts, learning_facts, part_sizes
from sthash.collection.build.options import VectorOptions
from sthash.collection.build.sync import FolderSync, Synced, remember_folder
from sthash.collection.by_key import ByKey
from sthash.collection.duplicates import gathered, named, settled
from sthash.collection.file.documents import Documents, KeptDocuments, StoredDocument
from sthash.collection.file.export import export_documents
from sthash.collection.file.field_weights import read_weights
from sthash.collection.file.removals import note_all_changed
from sthash.collection.file.replacement import copy_file
from sthash.collection.file.store import WAIT_SECONDS, Store
from sthash.collection.indexes.embedder import Embedder, check_name
from sthash.collection.indexes.index_set import IndexSet, LoadedIndexes
from sthash.collection.indexes.stored_model import SETTING as CODES
from sthash.collection.search.answer import answer, answer_like
from sthash.collection.search.display import facts_html
from sthash.collection.search.hits import Hits
from sthash.collection.search.labels import predict
from sthash.collection.search.options import SearchKeywords, search_options
from sthash.collection.search.votes import Prediction, Vote, Voting
from sthash.collection.snapshot import Snapshot
from sthash.collection.verification import Verification, verify
from sthash.duplicates import DuplicateKeywords, DuplicateOptions, Duplicates
from sthash.duplicates.detection import compared, result_of
from sthash.model import Learning, Model
from sthash.progress import Progress, silent
from sthash.sources import Document, FieldNames, with_fields
from sthash.sources.fields import text_fields

if TYPE_CHECKING:
    from sthash.text import TextVectorizer
    from sthash.text.options import TextOptions

Embedding = Callable[[list[str]], Any] | Embedder


class Collection(ByKey):
    """Documents in one file, with the indexes that find them.

    Use `Collection.create` or `Collection.open` to get one. Each change is one transaction: after a crash, the file is
    in the state before the change or after it. Readers wait only while a change is written, and see it from the next
    call on; a second writer waits. Several threads can use one object.

    A collection of texts has an index of words and one of binary codes, which Self-Taught Hashing learns. A collection
    of vectors has an index of cells, and one of the words of its texts.

    Examples
    --------
    >>> import tempfile, pathlib, sthash
    >>> texts = [f"{animal} number {n} likes {food}" for n in range(6) for animal, food in
    ...          [("cat", "fish"), ("dog", "bones"), ("rabbit", "carrots")]]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "animals.sth")
    ...     with sthash.Collection.create(path, texts) as animals:
    ...         hit = animals.search("a dog with bones", k=1, explain=True)[0]
    >>> hit.key, hit.terms
    ('1', ('dog', 'bone'))
    """

    def __init__(self, store: Store, *, threads: int | None = None, embedder: Embedder | None = None) -> None:
        self._store = store
        self._threads = resolve_threads(threads)
        self._embedder = embedder
        self._remove: Callable[[], Any] | None = None
        self._forget()

    def _forget(self) -> None:
        self._current: Snapshot | None = None
        self._model: Model | None = None
        self._origin: tuple[int, int] | None = None
        self._forget_read()

    def _forget_read(self) -> None:
        self._loaded, self._kept = LoadedIndexes(), KeptDocuments()

    @classmethod
    def create(
        cls,
        path: str | PathLike[str] | Any = None,
        documents: Any = None,
        *,
        vectors: Any = None,
        embedder: Embedding | None = None,
        learning: Learning | None = None,
        text_options: TextOptions | TextVectorizer | None = None,
        vector_options: VectorOptions | None = None,
        model: Model | None = None,
        replace: bool = False,
        overwrite: bool = False,
        threads: int | None = None,
        progress: Progress | None = None,
        **fields: Unpack[FieldNames],
    ) -> Self:
        """Create a collection from documents, and open it.

        The documents are read once and not kept in memory. A build that is interrupted leaves nothing at the path. Any
        number of documents is allowed, including zero. Learning hash functions takes at least ``n_bits + 2`` documents
        that share words with others, and more than ``n_neighbors``. With fewer documents, searches scan all of them;
        the `add` that brings a collection to 1,000 documents learns the hash functions, if the limits allow it.

        Parameters
        ----------
        path : path, optional
            Without one, or with ``":memory:"``, the collection is temporary: its file is removed when it is closed. The
            documents can then be the first argument.
        documents : iterable of str, dict, dataclass, named tuple or Document; path object; DataFrame or Series
            See `sthash.sources.open_documents`. Optional if ``vectors`` are given.
        vectors : array, tensor, iterable of arrays, str or path, optional
            Your own dense vectors, one per document. A str names the field of the documents, or the column of the
            table, that holds them; a path, or a str that ends with ``.npy``, is a NumPy file. Zero vectors, NaN,
            infinity and vectors of different widths are errors.
        embedder : callable or Embedder, optional
            Any function from a list of str to an array with one row per text, such as ``encode`` of a
            sentence-transformers model. It embeds queries, and the documents unless ``vectors`` are given. The file
            stores its name, by default ``module:qualname``; pass the function again to `open`. Use
            ``Embedder.of(function, name)`` to choose another name.
        learning : Learning, optional
            How to learn the hash functions. Texts have codes by default; vectors have codes only if this is given.
        text_options : TextOptions or TextVectorizer, optional
            How to split texts into words. The limits of a vectorizer (``min_df``, ``max_df``, ``max_features``) apply
            to the hash functions, not to the search.
        vector_options : VectorOptions, optional
            How to compare and store vectors.
        model : TextModel or VectorModel, optional
            Encode with this model instead of learning one.
        replace : bool, default=False
            Whether a document replaces an earlier one with the same key. If False, a repeated key is an error.
        overwrite : bool, default=False
            Replace an existing file.
        threads : int or None
            Number of threads; None uses all available cores. The codes do not depend on it.
        progress : callable, optional
            Called with the name of the stage, the amount done, and the total (None if unknown).
        key, text, label : str, optional
            Names of the fields of a dict, or columns of a DataFrame, to use. All others are metadata. ``text`` may be
            several fields, as in ``["title", "body"]``: in a search, words of the last field count once and those of
            the others twice, or as often as their weights say: ``{"title": 3, "body": 1}``, or ``"title^3,body"``. The
            collection remembers the fields.
        """
        if documents is None and not (path is None or isinstance(path, str | PathLike)):
            path, documents = None, path
        if documents is None and vectors is None:
            raise TypeError(
                "a collection is made from documents, vectors or both, but got neither. Pass some, after the path: "
                "Collection.create('x.sth', documents)."
            )
        temporary = tempfile.mkdtemp(prefix="sthash-") if path is None or path == ":memory:" else None
        target = Path(path if temporary is None else Path(temporary, "collection.sth"))
        if target.exists() and not overwrite:
            raise FileExistsError(
                f"{target} exists already. Pass overwrite=True (--overwrite) to replace it, or add to it."
            )
        made, text = None if embedder is None else Embedder.of(embedder), fields.get("text")
        started = time.time()
        try:
            builder.build(
                target,
                Source(with_fields(documents, fields, vectors), vectors, made),
                learning=learning,
                text_options=text_options,
                vector_options=vector_options,
                model=model,
                replace_keys=replace,
                overwrite=overwrite,
                weights={} if text is None else text_fields(text),
                threads=threads,
                report=progress or silent,
            )
            collection = cls.open(target, threads=threads, embedder=made)
        except BaseException:
            if temporary is not None:
                shutil.rmtree(temporary, ignore_errors=True)
            raise
        if isinstance(documents, PathLike) and Path(documents).is_dir():
            collection.follow(documents, since=started)
        if temporary is not None:
            collection._remove = weakref.finalize(collection, shutil.rmtree, temporary, ignore_errors=True)
        return collection

    @classmethod
    def open(
        cls,
        path: str | PathLike[str],
        *,
        wait: float = WAIT_SECONDS,
        threads: int | None = None,
        max_read_bytes: int | None = None,
        embedder: Embedding | None = None,
    ) -> Self:
        """Open a collection.

        Parameters
        ----------
        path : path
        wait : float
            Seconds to wait for another process that is changing the file.
        threads : int or None
            Number of threads; None uses all available cores.
        max_read_bytes : int, optional
            Maximum bytes of documents read per answer. Larger answers raise `AnswerTooLargeError`; a page ends before
            the limit. Default: no limit.
        embedder : callable or Embedder, optional
            The function that a collection of vectors was built with. It is needed to search for texts by vector, and to
            add texts. A function with another name than the file states is an error; nothing is imported or run because
            of the file.
        """
        writable = os.access(path, os.W_OK) and os.access(Path(path).absolute().parent, os.W_OK)
        made = None if embedder is None else Embedder.of(embedder)
        collection = cls(Store(path, "rw" if writable else "ro", wait), threads=threads, embedder=made)
        collection._store.max_read_bytes = max_read_bytes
        try:
            with collection._store.reading():
                if made is not None:
                    check_name(collection._store, made)
        except BaseException:
            collection.close()
            raise
        return collection

    def close(self) -> None:
        """Close the file; a temporary one is removed."""
        self._store.close()
        if self._remove is not None:
            self._remove()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # One state of the file

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """Read one state of the file; concurrent changes are not visible.

        Other threads that use the same object wait until the ``with`` statement ends. Afterwards, or in another thread,
        the snapshot raises `CollectionError`. A model that was taken from it may be kept, until the collection is
        learned again.
        """
        with self._store.reading() as begins:
            version = self._store.version()
            if begins:
                self._loaded.words.trim()
            if self._current is None or self._current.version != version:
                self._current = Snapshot(
                    self._store,
                    version,
                    self._threads,
                    model=self._present_model(),
                    embedder=self._embedder,
                    loaded=self._loaded,
                    kept=self._kept,
                )
            yield self._current

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Make all changes of the block or none of them."""
        try:
            with self._store.writing():
                yield
        except BaseException:
            self._forget()
            raise

    def _present_model(self) -> Model | None:
        """Return the hash functions of the file: those in memory, if the file still has them."""
        origin = self._store.origin()
        if self._origin != origin:  # another file
            self._forget_read()
        known = self._model
        if not self._store.has_setting(CODES):
            known = None
        elif known is None or self._origin != origin or known.settings["generation"] != self._generation():
            known = builder.present_model(self._store, self._threads)
        self._origin, self._model = origin, known
        return known

    def _generation(self) -> Any:
        return self._store.setting(CODES).get("generation")

    @property
    def n_bits(self) -> int:
        """Number of bits of a code; 0 if the documents have none."""
        with self.snapshot() as now:
            return now.codes.n_bits if now.has_codes else 0

    def __len__(self) -> int:
        with self.snapshot() as now:
            return len(now)

    def __contains__(self, key: object) -> bool:
        with self.snapshot() as now:
            return isinstance(key, str) and now.documents.find(key) is not None

    def __repr__(self) -> str:
        try:
            about = f"{len(self):,} document{'' if len(self) == 1 else 's'}"
        except ValueError:
            about = "closed"
        return f"Collection({str(self.path)!r}, {about})"

    @property
    def takes_texts(self) -> bool:
        """Whether texts can be added. False for a collection of vectors that was opened without an embedder."""
        with self.snapshot() as now:
            return now.takes_texts

    @property
    def version(self) -> int:
        """A number that increases with every change of the file while it is open."""
        with self._store.reading():
            return self._store.version()

    @property
    def path(self) -> Path:
        """Path of the file."""
        return self._store.path

    # Documents

    def _find(self, key: str) -> Document:
        with self.snapshot() as now:
            return now.documents.get(self._id(now, key))

    def _id(self, snapshot: Snapshot, key: str, consequence: str = "") -> int:
        number = snapshot.documents.find(key)
        if number is None:
            raise KeyError(f"there is no document with the key {key!r} in {self.path}{consequence}")
        return number

    def page(self, after: int = -1, limit: int = 1000) -> list[StoredDocument]:
        """Return up to ``limit`` documents with ids greater than ``after``, in order.

        Pass the id of the last one as ``after`` to get the next page.
        """
        check_whole("limit", limit, 0)
        with self.snapshot() as now:
            return now.documents.page(after, limit)

    def __iter__(self) -> Iterator[Document]:
        return self.export()

    def export(self) -> Iterator[Document]:
        """Iterate over all documents in insertion order.

        The documents are a snapshot taken when iteration starts; writers are not blocked. A large collection is copied
        to a temporary file first.
        """
        return export_documents(self._store)

    def copy_to(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Copy a snapshot of the file to another path. Use it for backups, and to restore a collection from one.

        Other processes may use both files. After a crash, the target is either unchanged or complete.

        Parameters
        ----------
        path : path
        overwrite : bool, default=False
            Replace an existing file.
        """
        copy_file(self._store, Path(path), overwrite=overwrite)

    def info(self) -> dict[str, Any]:
        """Describe the contents of the file, and how its hash functions were learned.

        ``learned`` tells whether there are hash functions, and ``learned_on`` the number of documents they were learned
        from. The hash functions know the first ``n_terms`` of all ``words``. ``unseen_documents`` is the share of the
        documents that they were not learned from, and ``unseen_terms`` the share of the words of all documents that
        they do not know. ``advice`` recommends in one sentence whether to `relearn`.
        """
        with self.snapshot() as now:
            about = {**collection_facts(now), **learning_facts(self._store, now)}
            return {"path": str(self.path), "bytes": self.path.stat().st_size, **about}

    def part_sizes(self) -> dict[str, int]:
        """Return what the bytes of the file are for; ``tables`` is what SQLite and checksums add.

        This counts all rows, which takes about a second per gigabyte.
        """
        with self.snapshot():
            return part_sizes(self._store, self.path.stat().st_size)

    def _repr_html_(self) -> str:
        return facts_html(self.info())

    def check(self) -> Verification:
        """Verify all checksums and the consistency of the indexes; raise CollectionError if the file is damaged."""
        with self.snapshot() as now:
            return verify(self._store, now)

    # Changes

    def add(
        self,
        documents: Any = None,
        *,
        vectors: Any = None,
        progress: Progress | None = None,
        **fields: Unpack[FieldNames],
    ) -> int:
        """Add documents in one transaction; an existing key is an error. Return the number of added documents.

        New words can be searched for at once. The hash functions know them after `relearn`; `info` recommends when. The
        parameters are those of `create`. Documents without vectors are embedded by the embedder that the collection was
        opened with.
        """
        return self._put(documents, fields, vectors, progress, replace_keys=False)

    def upsert(
        self,
        documents: Any = None,
        *,
        vectors: Any = None,
        progress: Progress | None = None,
        **fields: Unpack[FieldNames],
    ) -> int:
        """Add documents in one transaction, replacing documents with the same key. Return the number of documents."""
        return self._put(documents, fields, vectors, progress, replace_keys=True)

    def follow(self, folder: str | PathLike[str], *, since: float | None = None) -> None:
        """Note that all documents came from a folder, so that `sync` deletes those whose files are gone by then.

        `create` does this if its documents are the path of a folder, and so does ``sth build``.

        Parameters
        ----------
        folder : path
        since : float, optional
            When the first file was read, as `time.time` says it. The next `sync` then reads only files that may have
            changed since; without it, all of them.

        Examples
        --------
        >>> import pathlib, tempfile, sthash
        >>> from sthash.sources import read_documents
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "bread.md")
        ...     _ = path.write_text("Feed the starter.")
        ...     with sthash.Collection.create(read_documents(folder)) as notes:
        ...         notes.follow(folder)
        ...         _ = path.rename(pathlib.Path(folder, "dough.md"))
        ...         done = notes.sync(folder)
        >>> done.added, done.deleted
        (1, 1)
        """
        with self._changing():
            remember_folder(self._store, Path(folder), since)

    def sync(
        self,
        folder: str | PathLike[str],
        *,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        encoding: str | None = None,
        progress: Progress | None = None,
    ) -> Synced:
        """Bring the collection up to date with a folder, in one transaction.

        New files are added, changed files replaced, and documents whose files are gone are deleted. The collection
        remembers the size, the time and a hash of each file, so files that did not change are not read again. Documents
        that did not come from the folder stay, unless a file has the same key; see `follow`.

        Parameters
        ----------
        folder : path
            Read as `sthash.sources.read_documents` reads folders.
        include, exclude, encoding
            See there.
        progress : callable, optional
            See `create`.

        Returns
        -------
        Synced
            Numbers of added, replaced and deleted documents, and the files that could not be read. A document whose
            file cannot be read stays as it was.

        Examples
        --------
        >>> import pathlib, tempfile, sthash
        >>> with tempfile.TemporaryDirectory() as folder, sthash.Collection.create([]) as notes:
        ...     _ = pathlib.Path(folder, "bread.md").write_text("Feed the starter.")
        ...     first = notes.sync(folder)
        ...     _ = pathlib.Path(folder, "bread.md").rename(pathlib.Path(folder, "dough.md"))
        ...     second = notes.sync(folder)
        >>> first.added, second.added, second.deleted
        (1, 1, 1)
        """
        with self._changing():
            run = FolderSync(self._store, Path(folder), include, exclude, encoding)
            self._store_documents(run.documents(), None, progress, replace_keys=True)
            run.done.deleted = self._delete(sorted(run.gone), missing_ok=True)
            run.finish()
            return run.done

    def _put(
        self, documents: Any, fields: FieldNames, vectors: Any, progress: Progress | None, *, replace_keys: bool
    ) -> int:
        with self._changing():
            default = () if fields.get("text") else tuple(read_weights(self._store))
            named = with_fields(documents, fields, vectors, default_text=default)
            return self._store_documents(named, vectors, progress, replace_keys=replace_keys)

    def _store_documents(self, documents: Any, vectors: Any, progress: Progress | None, *, replace_keys: bool) -> int:
        return builder.add_documents(
            self._store,
            Source(documents, vectors, self._embedder),
            # Another process may have learned a new model; from here on the lock keeps it as it is.
            model=self._present_model(),
            replace_keys=replace_keys,
            threads=self._threads,
            report=progress or silent,
        )

    def delete(self, keys: str | Iterable[str], *, missing_ok: bool = False) -> int:
        """Delete documents by key, in one transaction, and return their number.

        A missing key is an error, and nothing is deleted, unless ``missing_ok`` is set.
        """
        with self._changing():
            return self._delete([keys] if isinstance(keys, str) else keys, missing_ok=missing_ok)

    def _delete(self, keys: Iterable[str], *, missing_ok: bool) -> int:
        with self.snapshot() as now:
            ids: dict[int, None] = {}
            for key in keys:
                if missing_ok and now.documents.find(key) is None:
                    continue
                ids[self._id(now, key, "; nothing was deleted")] = None
            indexes = IndexSet(self._store, self._present_model(), self._threads)
            indexes.remove(np.array(sorted(ids), dtype=np.int64))
            now.documents.remove(list(ids))
            indexes.settle()
            return len(ids)

    def compact(self) -> None:
        """Return the space of deleted documents to the file system, and forget the log of their words.

        Texts that were added a few at a time are packed now, as those of a build are. Other open collections then read
        the file as if they had just opened it.
        """
        with self._changing():
            note_all_changed(self._store)
            Documents(self._store).pack()
        self._store.compact()

    def relearn(self, *, progress: Progress | None = None, **changes: Unpack[builder.RelearnChanges]) -> None:
        """Learn cells and hash functions from the current documents, and replace the old ones in one transaction.

        Settings that are not given stay the same. On a large corpus, ``recipe="paper"`` starts from the current ones
        and takes fewer steps. A collection of vectors without hash functions gets them if a setting is given.

        Parameters
        ----------
        n_bits, n_neighbors, recipe, sample_size, seconds, memory, scatter, random_state
            See `Learning`. ``sample_size=None`` uses all documents.
        progress : callable, optional
            See `create`.
        """
        with self._changing():
            builder.relearn(self._store, dict(changes), self._threads, progress or silent)

    # Search

    def search(
        self,
        query: str | npt.ArrayLike | None = None,
        k: int = 10,
        *,
        key: str | None = None,
        **options: Unpack[SearchKeywords],
    ) -> Hits:
        """Find the documents most similar to a text, a vector, or another document.

        Texts are ranked by BM25, smoothed over neighbors; see `SearchOptions`. A query of one line can contain
        "phrases in quotes", ``+required`` and ``-excluded`` words, and more (docs/queries.md).

        Parameters
        ----------
        query : str or array
            A text; or, in a collection of vectors, a vector.
        k : int, default=10
            Number of hits.
        key : str, optional
            Key of a document to search by, instead of a query. The document itself is not among the hits.
        radius, rerank, where, factor, explain, ranking, correct, syntax, offset, snippet, sort, facets, collapse
            See `SearchOptions`.
        recall, exact
            See `SearchOptions`.

        Examples
        --------
        >>> import tempfile, sthash
        >>> pets = [{"text": f"{pet} number {n}", "label": pet, "n": n} for n in range(6) for pet in ("cat", "dog")]
        >>> with tempfile.TemporaryDirectory() as folder, sthash.Collection.create(f"{folder}/pets.sth", pets) as found:
        ...     hits = found.search("dogs", k=2, sort="-n", where={"n": {">": 2}}, facets=["label"])
        >>> [hit.text for hit in hits], hits.total, hits.facets
        (['dog number 5', 'dog number 4'], 3, {'label': {'dog': 3}})
        """
        chosen = search_options(k, **options)
        if (query is None) == (key is None):
            raise TypeError("search takes either a query or a key. Pass one of them.")
        with self.snapshot() as now:
            if key is None:
                return answer(now, [query], chosen)[0].checked()
            return answer_like(now, self._id(now, key), chosen)

    def search_many(self, queries: Iterable[Any], k: int = 10, **options: Unpack[SearchKeywords]) -> list[Hits]:
        """Search for many texts or vectors at once; return the hits of each. See `search`."""
        chosen, several = search_options(k, **options), check_several(queries)
        with self.snapshot() as now:
            return answer(now, several, chosen)

    def encode(self, queries: Iterable[Any]) -> Codes:
        """Return the packed codes of texts or vectors, encoded as queries."""
        several = check_several(queries)
        with self.snapshot() as now:
            return now.encode(several).codes

    # Applications

    def near_duplicates(self, threshold: float | None = None, **options: Unpack[DuplicateKeywords]) -> Duplicates:
        """Find near-duplicate documents; see `sthash.near_duplicates`."""
        chosen = DuplicateOptions(threshold, **options)
        with self.snapshot() as now:
            chosen = settled(now, chosen)
            found = compared(gathered(now, chosen), chosen, self._threads)
            keys, pairs = named(now, now.ids, found)
        return result_of(self, keys, pairs, chosen)

    def classify(
        self,
        query: str | npt.ArrayLike,
        k: int | None = None,
        *,
        radius: int | None = None,
        voting: Voting = "auto",
        codes: bool = False,
    ) -> Prediction:
        """Return the label of a text or a vector, by the votes of the nearest documents; see `sthash.classify`."""
        with self.snapshot() as now:
            return predict(now, query, Vote(k, radius, voting, codes))
