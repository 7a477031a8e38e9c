"""`MilvusCollection`: documents in Milvus, found by what they are about."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from sthash import codes as packed
from sthash.checks import check_positive, check_whole
from sthash.codes import Codes
from sthash.collection import Collection, Hit
from sthash.collection.building import Progress
from sthash.collection.encoder import Encoded
from sthash.index.arguments import Ids
from sthash.index.hamming import Distances
from sthash.milvus.layout import prepare
from sthash.milvus.models import Encoding, Model, encoding
from sthash.milvus.nearest import LIMIT, Found, Searcher
from sthash.milvus.pushing import FIRST_OWN_ID, check_documents, push_documents
from sthash.milvus.rows import BATCH_ROWS, DOCUMENT_FIELDS, Entry, Row, as_key, batches, make_row, read_row, with_codes
from sthash.milvus.server import Server
from sthash.sources import Document, as_document

# So many documents are ranked anew for each one asked for; their texts have to come from Milvus.
FACTOR = 100
PAGE = 250


class MilvusCollection:
    """Documents and codes in a collection of Milvus, searched by text through a local model.

    Made by `MilvusCollection.push` or `MilvusCollection.open`.

    Examples
    --------
    >>> import tempfile, sthash
    >>> from sthash.milvus import MilvusCollection
    >>> texts = [f"{animal} number {n} likes {food}" for n in range(6) for animal, food in
    ...          [("cat", "fish"), ("dog", "bones"), ("rabbit", "carrots")]]
    >>> with (
    ...     tempfile.TemporaryDirectory() as folder,
    ...     sthash.Collection.create(f"{folder}/animals.sth", texts, n_bits=4, n_neighbors=5) as animals,
    ...     MilvusCollection.push(animals, f"{folder}/milvus.db", "animals") as there,
    ... ):
    ...     hit = there.search("a dog that likes bones", k=1)[0]
    >>> hit.text
    'dog number 0 likes bones'
    """

    def __init__(self, server: Server, name: str, model: Encoding) -> None:
        self._server = server
        self._name = name
        self._model = model
        self._last_id = FIRST_OWN_ID

    @classmethod
    def open(
        cls, uri: str, name: str, model: Model, *, token: str = "", create: bool = False, timeout: float = 10.0
    ) -> Self:
        """Open a collection of Milvus.

        Parameters
        ----------
        uri : str
            A file of Milvus Lite (``some.db``), or the address of a server or a cluster (``http://host:19530``).
        name : str
            Of the collection there.
        model : Collection, or a pair of TextVectorizer and hasher
            What the documents there were encoded by; any other model is refused.
        token : str
            For a server that wants one: an API key, or ``user:password``.
        create : bool
            Make an empty collection if there is none of this name.
        timeout : float
            Seconds that a request may take.
        """
        known = encoding(model)
        server = Server(uri, token, check_positive("timeout", timeout))
        try:
            prepare(server, name, known, create=create)
        except BaseException:
            server.close()
            raise
        return cls(server, name, known)

    @classmethod
    def push(
        cls,
        collection: Collection,
        uri: str,
        name: str,
        *,
        token: str = "",
        cut_long_texts: bool = False,
        timeout: float = 10.0,
        progress: Progress | None = None,
    ) -> Self:
        """Make a collection of Milvus hold what a collection's file holds, and open it.

        All documents are checked before the first is sent. What is there already, as it is in the file, is not sent
        again: after an interruption, or a change to the file, push once more. Documents that the file no longer has
        are deleted there; those that `upsert` has put there under keys of their own stay.

        Parameters
        ----------
        collection : Collection
            Of texts.
        uri, name, token, timeout
            As of `open`.
        cut_long_texts : bool
            Milvus holds texts of up to 65,535 bytes. If True, longer ones are cut to that there; their codes are
            those of the whole texts, their scores those of what is left. Otherwise they are refused.
        progress : callable, optional
            Called with the name of the step, how much is done, and of how much.
        """
        report = progress or _silent
        check_documents(collection, cut_long_texts, report)
        there = cls.open(uri, name, collection, token=token, create=True, timeout=timeout)
        try:
            push_documents(collection, there._server, name, there._model, cut_long_texts, report)
        except BaseException:
            there.close()
            raise
        return there

    def close(self) -> None:
        """Close the connection; a file of Milvus Lite is free for other processes then."""
        self._server.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def n_bits(self) -> int:
        """Bits of a code."""
        return self._model.n_bits

    def __len__(self) -> int:
        (row,) = self._server.call(
            "query", self._name, filter="", output_fields=["count(*)"], consistency_level="Strong"
        )
        return int(row["count(*)"])

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and bool(self._fetch([as_key(key)], ["id"]))

    def get(self, key: str) -> Document:
        """Give a document; KeyError if there is none with this key."""
        for row in self._fetch([as_key(key)], DOCUMENT_FIELDS).values():
            return read_row(row)
        raise KeyError(f"there is no document with the key {key!r} in {self._name} of {self._server.uri}")

    def _fetch(self, keys: list[str], fields: list[str]) -> dict[str, Row]:
        """Give rows by their primary keys."""
        found = {}
        for page in _pages(keys, PAGE):
            rows = self._server.call(
                "get", self._name, ids=page, output_fields=["key", *fields], consistency_level="Strong"
            )
            found.update({row["key"]: row for row in rows})
        return found

    # Changes

    def upsert(self, documents: Iterable[Any], *, cut_long_texts: bool = False) -> int:
        """Encode documents and put them there, each in place of the one with the same key, if there is one.

        All are checked before the first is sent. They go in batches, each of which arrives whole or not at all: after
        an interruption, do it once more. A document without a key gets its id as key.

        Parameters
        ----------
        documents : iterable of str, dict or Document
        cut_long_texts : bool
            As of `push`.

        Returns
        -------
        count : int
            How many documents were given.
        """
        if isinstance(documents, str | bytes | dict | Document):
            raise TypeError(f"documents must be an iterable of documents, got a single {type(documents).__name__}.")
        given = [as_document(value, place) for place, value in enumerate(documents)]
        first = max(self._last_id + 1, time.time_ns())
        self._last_id = first + len(given)
        entries = (
            Entry(number, -1, str(number) if document.key is None else document.key, document)
            for number, document in enumerate(given, first)
        )
        newest = {entry.key: (make_row(entry, cut_long_texts=cut_long_texts), entry) for entry in entries}
        texts = iter([entry.document.text for _, entry in newest.values()])
        for batch in batches(row for row, _ in newest.values()):
            codes = self._model.encode(list(itertools.islice(texts, len(batch)))).codes
            self._server.call("upsert", self._name, data=with_codes(batch, codes))
        return len(given)

    def delete(self, keys: str | Iterable[str], *, missing_ok: bool = False) -> int:
        """Delete documents by their keys, none if one is missing; give how many were deleted."""
        wanted = {as_key(key): key for key in ([keys] if isinstance(keys, str) else keys)}
        present = self._fetch(list(wanted), ["id"])
        missing = [key for primary, key in wanted.items() if primary not in present]
        if missing and not missing_ok:
            raise KeyError(f"there is no document with the key {missing[0]!r} in {self._name}; nothing was deleted")
        for page in _pages(list(present), BATCH_ROWS):
            self._server.call("delete", self._name, ids=page)
        return len(present)

    # Search

    def search(
        self,
        query: str,
        k: int = 10,
        *,
        radius: int | None = None,
        rerank: bool = True,
        where: str = "",
        factor: int = FACTOR,
    ) -> list[Hit]:
        """Find the documents that are most like a text.

        Milvus gives the ``k * factor`` documents with the nearest codes; their texts are ranked here by cosine.

        Parameters
        ----------
        query : str
        k : int
        radius : int, optional
            Only documents whose codes are at most so many bits away.
        rerank : bool
            Without, the hits are the k with the nearest codes, ordered by distance, then id.
        where : str, optional
            Only documents that meet this condition in Milvus's own language, such as ``metadata["year"] > 2000``.
        factor : int
        """
        return self.search_many([query], k, radius=radius, rerank=rerank, where=where, factor=factor)[0]

    def search_many(
        self,
        queries: Iterable[str],
        k: int = 10,
        *,
        radius: int | None = None,
        rerank: bool = True,
        where: str = "",
        factor: int = FACTOR,
    ) -> list[list[Hit]]:
        """Like `search`, for many texts: a list of hits for each."""
        texts = list(queries)
        for text in texts:
            if not isinstance(text, str):
                raise TypeError(f"a query must be a str, got {type(text).__name__}.")
        k, factor = _check_k(k), check_whole("factor", factor)
        radius = self.n_bits if radius is None else check_whole("radius", radius, least=0)
        if not texts:
            return []
        encoded = self._model.encode(texts)
        wanted = min(k * factor, LIMIT) if rerank else k
        answers = []
        for place, found in enumerate(Searcher(self._server, self._name, where).nearest(encoded.codes, wanted)):
            inside = [one for one in found if one.distance <= radius]
            # A query without a known term is like nothing: its code says nothing, and all cosines are zero.
            start, end = encoded.indptr[place : place + 2]
            hits = self._hits(inside, encoded, place) if encoded.values[start:end].any() else []
            if rerank:
                hits.sort(key=lambda hit: -hit.score)  # stable: ties stay in the order of distance, then id
            answers.append(hits[:k])
        return answers

    def _hits(self, found: list[Found], queries: Encoded, query: int) -> list[Hit]:
        rows = self._fetch([one.key for one in found], DOCUMENT_FIELDS)
        # One that was deleted since the search is left out.
        found = [one for one in found if one.key in rows]
        if not found:
            return []
        documents = [read_row(rows[one.key]) for one in found]
        own = self._vectors(queries)[[query]]
        scores = (self._vectors(self._model.encode([document.text for document in documents])) @ own.T).toarray()
        return [
            Hit(document.key or "", document.text, document.label, document.metadata, one.distance, float(score))
            for one, document, score in zip(found, documents, scores[:, 0], strict=True)
        ]

    def _vectors(self, encoded: Encoded) -> sp.csr_array:
        shape = (len(encoded), self._model.n_columns)
        return sp.csr_array((encoded.values, encoded.indices, encoded.indptr), shape=shape)

    # Search by codes, as of HammingIndex

    def nearest(self, codes: Codes, k: int) -> tuple[Ids, Distances]:
        """Find the k nearest codes of each code: ids and distances, as `sthash.HammingIndex.search` gives them."""
        codes, k = packed.check(codes, self.n_bits), _check_k(k)
        ids = np.full((len(codes), k), -1, dtype=np.int64)
        distances = np.full((len(codes), k), -1, dtype=np.int32)
        for place, found in enumerate(Searcher(self._server, self._name).nearest(codes, k)):
            ids[place, : len(found)] = [one.id for one in found]
            distances[place, : len(found)] = [one.distance for one in found]
        return ids, distances

    def within(self, codes: Codes, radius: int) -> tuple[Ids, Ids, Distances]:
        """Find all codes in a radius of each code: as `sthash.HammingIndex.radius_search` gives them."""
        codes = packed.check(codes, self.n_bits)
        radius = check_whole("radius", radius, least=0)
        searcher = Searcher(self._server, self._name)
        answers = [searcher.within(code, min(radius, self.n_bits)) for code in codes]
        lims = np.cumsum([0, *map(len, answers)], dtype=np.int64)
        ids = np.array([one.id for found in answers for one in found], dtype=np.int64)
        return lims, ids, np.array([one.distance for found in answers for one in found], dtype=np.int32)


def _check_k(k: int) -> int:
    if check_whole("k", k) > LIMIT:
        raise ValueError(f"k={k} must be at most {LIMIT}: Milvus gives no more at once.")
    return int(k)


def _pages(items: list[str], size: int) -> Iterator[list[str]]:
    return (items[start : start + size] for start in range(0, len(items), size))


def _silent(step: str, done: int, total: int | None) -> None:
    """Report no progress."""
