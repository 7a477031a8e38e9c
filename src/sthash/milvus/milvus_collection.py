"""`MilvusCollection`: documents in Milvus, found by what they are about."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy as np

from sthash import codes as packed
from sthash.arrays import Ids
from sthash.batches import batched
from sthash.checks import check_key, check_positive, check_several, check_whole
from sthash.codes import Codes
from sthash.collection import (
    ByKey,
    Collection,
    DocumentCollection,
    FieldKinds,
    Hits,
    Prediction,
    SearchKeywords,
    SearchOptions,
    Vote,
    Voting,
)
from sthash.duplicates import DuplicateKeywords, DuplicateOptions, Duplicates
from sthash.duplicates.detection import compared, result_of
from sthash.index.hamming import Distances
from sthash.milvus.code_search import CodeSearch
from sthash.milvus.document_search import DocumentSearch
from sthash.milvus.duplicates import gathered
from sthash.milvus.entities import (
    DOCUMENT_FIELDS,
    FIRST_OWN_ID,
    Entity,
    OutgoingDocument,
    as_primary_key,
    entity_batches,
    make_entity,
    read_document,
)
from sthash.milvus.entity_table import PAGE, EntityTable
from sthash.milvus.generations import check_replaceable, generation, switch
from sthash.milvus.local_model import LocalModel, ModelSource
from sthash.milvus.milvus_server import MilvusServer
from sthash.milvus.schema import check_name, open_table
from sthash.milvus.sync import check_documents, push_documents
from sthash.milvus.votes import predict
from sthash.progress import Progress, silent
from sthash.sources import Document, FieldNames, open_documents, with_fields


class MilvusCollection(ByKey):
    """Documents and codes in a collection of Milvus, searched by text through a local model.

    Use `MilvusCollection.push` or `MilvusCollection.open` to get one. It has the methods and the answers of
    `sthash.Collection`, with these differences. The ball of a search holds the nearest codes by plain Hamming distance,
    and at most 16,384 of them. A document without a key gets one from the clock. Milvus has no transactions: documents
    are validated before the first one is sent, but other processes can change the collection during a call.

    Examples
    --------
    >>> import tempfile, sthash
    >>> from sthash.milvus import MilvusCollection
    >>> texts = [f"{animal} number {n} likes {food}" for n in range(6) for animal, food in
    ...          [("cat", "fish"), ("dog", "bones"), ("rabbit", "carrots")]]
    >>> learning = sthash.Learning(n_bits=4, n_neighbors=5)
    >>> with (
    ...     tempfile.TemporaryDirectory() as folder,
    ...     sthash.Collection.create(f"{folder}/animals.sth", texts, learning=learning) as animals,
    ...     MilvusCollection.push(animals, f"{folder}/milvus.db", "animals") as there,
    ... ):
    ...     hit = there.search("a dog that likes bones", k=1)[0]
    >>> hit.text
    'dog number 0 likes bones'
    """

    def __init__(self, table: EntityTable, model: LocalModel) -> None:
        self._table = table
        self._model = model
        self._last_id = FIRST_OWN_ID
        self._fields = FieldKinds()
        self._kept: dict[Any, Any] = {}  # what votes keep

    @classmethod
    def open(
        cls, uri: str, name: str, model: ModelSource, *, token: str = "", create: bool = False, timeout: float = 10.0
    ) -> Self:
        """Open a collection of Milvus.

        Parameters
        ----------
        uri : str
            A file of Milvus Lite (``some.db``), or the address of a server or a cluster (``http://host:19530``).
        name : str
            Name of the collection there, or an alias of it.
        model : Collection or TextModel
            The model that the documents there were encoded by; any other model is refused. A Collection stands for its
            own model, and must stay open.
        token : str
            For a server that wants one: an API key, or ``user:password``.
        create : bool
            Make an empty collection if there is none with this name.
        timeout : float
            Number of seconds that a request may take.
        """
        known = LocalModel(model)
        server = MilvusServer(uri, token, check_positive("timeout", timeout))
        try:
            return cls(open_table(server, name, known, create=create), known)
        except BaseException:
            server.close()
            raise

    @classmethod
    def push(
        cls,
        collection: Collection,
        uri: str,
        name: str,
        *,
        token: str = "",
        replace: bool = False,
        cut_long_texts: bool = False,
        timeout: float = 10.0,
        progress: Progress | None = None,
    ) -> Self:
        """Copy the documents and codes of a collection to Milvus, and open the result.

        All documents are checked before the first one is sent. A document that is there already, as it is in the file,
        is not sent again: after an interruption, or after a change of the file, push once more. Documents that the file
        no longer has are deleted there. Documents that `add` and `upsert` have put there under other keys stay.

        Parameters
        ----------
        collection : Collection
            Of texts.
        uri, name, token, timeout
            As in `open`.
        replace : bool
            Let ``name`` be an alias, behind which a collection with another model replaces the one before, as after
            `Collection.relearn`. The new collection is filled first; then the alias changes in one step, so that
            `open` finds a whole collection at every moment. Programs that have opened the old one keep it, and
            its model, until the next replacement. Push one model at a time. Milvus Lite has no aliases.
        cut_long_texts : bool
            Milvus holds texts of up to 65,535 bytes. If True, longer texts are cut there; their codes are those of the
            whole texts, their scores those of what is left. If False, they are an error.
        progress : callable, optional
            Called with the name of the step, how much is done, and of how much.
        """
        report = progress or silent
        check_documents(collection, cut_long_texts, report)
        known = LocalModel(collection)
        server = MilvusServer(uri, token, check_positive("timeout", timeout))
        try:
            check_name(name)
            if replace:
                check_replaceable(server, name)
            table = open_table(server, generation(name, known) if replace else name, known, create=True)
            push_documents(collection, table, known, cut_long_texts, report)
            if replace:
                switch(server, name, table.name)
            return cls(table, known)
        except BaseException:
            server.close()
            raise

    def close(self) -> None:
        """Close the connection; a file of Milvus Lite is then free for other processes."""
        self._table.server.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"MilvusCollection({self._table.name!r})"

    @property
    def n_bits(self) -> int:
        """Number of bits of a code."""
        return self._model.n_bits

    def __len__(self) -> int:
        return self._table.count()

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and bool(self._table.fetch([as_primary_key(key)], ["id"]))

    def _find(self, key: str) -> Document:
        for entity in self._table.fetch([as_primary_key(key)], DOCUMENT_FIELDS).values():
            return read_document(entity)
        raise self._no_document(key)

    def _no_document(self, key: str, consequence: str = "") -> KeyError:
        name, uri = self._table.name, self._table.server.uri
        return KeyError(f"there is no document with the key {key!r} in the collection {name!r} of {uri}{consequence}")

    def info(self) -> dict[str, Any]:
        """Describe the collection: where it is, how many documents it has, and the length of their codes."""
        where = {"uri": self._table.server.uri, "name": self._table.name}
        return where | {"documents": len(self), "kind": "text", "n_bits": self.n_bits}

    def __iter__(self) -> Iterator[Document]:
        return self.export()

    def export(self) -> Iterator[Document]:
        """Iterate over all documents in the order in which they came.

        Documents are read in batches. One that changes during the iteration may appear in its old or new state, or be
        missing.
        """
        for page in batched((entity["key"] for entity in self._table.scan()), PAGE):
            found = self._table.fetch(page, DOCUMENT_FIELDS)
            yield from (read_document(found[key]) for key in page if key in found)

    # Changes

    def add(
        self,
        documents: Any = None,
        *,
        vectors: Any = None,
        progress: Progress | None = None,
        cut_long_texts: bool = False,
        **fields: Unpack[FieldNames],
    ) -> int:
        """Encode and add documents. If a key already exists, raise an error and add nothing.

        Parameters
        ----------
        documents : iterable of str, dict or Document; path object; table
            As `sthash.sources.open_documents` takes them.
        vectors : None
            Not for Milvus, which keeps texts and the codes that the model makes of them.
        progress : callable, optional
            As in `push`.
        cut_long_texts : bool
            As in `push`.
        key, text, label : str, optional
            Which field of a dict, or column of a DataFrame, holds what.

        Returns
        -------
        count : int
            Number of documents that were added.
        """
        outgoing = self._outgoing(documents, vectors, fields)
        taken = set(self._table.fetch((as_primary_key(one.key) for one in outgoing), ["id"]))
        for one in outgoing:
            if as_primary_key(one.key) in taken:
                raise ValueError(
                    f"key {one.key!r} occurs more than once, but keys are unique. Give one of the documents another "
                    "key, or let the last one replace the others (upsert)."
                )
            taken.add(as_primary_key(one.key))
        self._send(outgoing, cut_long_texts, progress)
        return len(outgoing)

    def upsert(
        self,
        documents: Any = None,
        *,
        vectors: Any = None,
        progress: Progress | None = None,
        cut_long_texts: bool = False,
        **fields: Unpack[FieldNames],
    ) -> int:
        """Encode and add documents, replacing documents with the same key.

        All are checked before the first one is sent. They are sent in batches, each of which arrives whole or not at
        all: after an interruption, upsert them once more. The parameters are those of `add`.

        Returns
        -------
        count : int
            Number of documents that were given.
        """
        outgoing = self._outgoing(documents, vectors, fields)
        self._send(outgoing, cut_long_texts, progress)
        return len(outgoing)

    def _outgoing(self, documents: Any, vectors: Any, fields: FieldNames) -> list[OutgoingDocument]:
        """Give documents ids and, where they have none, keys."""
        if vectors is not None:
            raise TypeError(
                "a collection of Milvus keeps texts and their codes, not vectors. Leave vectors= out, or add them to a "
                "Collection."
            )
        given = [] if documents is None else list(open_documents(with_fields(documents, fields)))
        first = max(self._last_id + 1, time.time_ns())
        self._last_id = first + len(given)
        return [
            OutgoingDocument(number, -1, str(number) if document.key is None else document.key, document)
            for number, document in enumerate(given, first)
        ]

    def _send(self, outgoing: list[OutgoingDocument], cut_long_texts: bool, progress: Progress | None) -> None:
        report = progress or silent
        # Of several documents with one key the last one counts.
        newest = {one.key: one for one in outgoing}.values()
        entities = [make_entity(one, cut_long_texts=cut_long_texts) for one in newest]
        texts = (one.document.text for one in newest)
        sent = 0
        report("adding", sent, len(entities))
        for batch in entity_batches(entities):
            codes = self._model.encode(list(itertools.islice(texts, len(batch)))).codes
            self._kept.clear()
            self._table.upsert(_with_codes(batch, codes))
            sent += len(batch)
            report("adding", sent, len(entities))

    def delete(self, keys: str | Iterable[str], *, missing_ok: bool = False) -> int:
        """Delete documents by their keys, none if one is missing; return how many were deleted."""
        wanted = {as_primary_key(key): key for key in ([keys] if isinstance(keys, str) else keys)}
        present = self._table.fetch(wanted, ["id"])
        missing = [key for primary, key in wanted.items() if primary not in present]
        if missing and not missing_ok:
            raise self._no_document(missing[0], "; nothing was deleted")
        self._kept.clear()
        self._table.delete(present)
        return len(present)

    # Search

    def search(
        self,
        query: str | None = None,
        k: int = SearchOptions.k,
        *,
        key: str | None = None,
        filter: str = "",  # noqa: A002
        **options: Unpack[SearchKeywords],
    ) -> Hits:
        """Find the documents most similar to a text or to another document.

        Milvus gives the documents with the nearest codes; they are ranked here.

        Parameters
        ----------
        query : str
        k : int
            Number of hits.
        key : str, optional
            Instead of a query: the key of a document, which is then not among the hits.
        filter : str, optional
            Only documents that meet this condition in Milvus's own language, such as ``metadata["year"] > 2000``.
        radius, rerank, where, factor, explain, ranking
            See `SearchOptions`; the ranking is by cosine, and there are no suggestions. The texts of the documents in
            the ball come from Milvus: a smaller ``factor`` makes a search faster.
        """
        chosen = SearchOptions(k, **options)
        if (query is None) == (key is None):
            raise TypeError("search takes either a query or a key. Pass one of them.")
        if query is not None:
            return self._answer([query], chosen, filter)[0]
        # One more, because the document itself is the nearest.
        hits = self._answer([self.get(check_key(key)).text], replace(chosen, k=chosen.k + 1), filter)[0]
        return Hits([hit for hit in hits if hit.key != key][: chosen.k], ranking=hits.ranking)

    def search_many(
        self,
        queries: Iterable[str],
        k: int = SearchOptions.k,
        *,
        filter: str = "",  # noqa: A002
        **options: Unpack[SearchKeywords],
    ) -> list[Hits]:
        """Search for many texts at once; return the hits of each. See `search`."""
        return self._answer(check_several(queries), SearchOptions(k, **options), filter)

    def _answer(self, texts: list[str], options: SearchOptions, condition: str) -> list[Hits]:
        if not isinstance(condition, str):
            raise TypeError(f"filter={condition!r} must be a str in Milvus's own language. For a dict, use where.")
        if options.ranking not in ("auto", "cosine"):
            raise ValueError(
                f"ranking={options.ranking!r} needs posting lists or vectors. Milvus stores neither. Leave it out."
            )
        if options.syntax == "strict":
            raise ValueError("syntax='strict' needs posting lists, which Milvus does not store. Leave it out.")
        if options.correct:
            raise ValueError(
                "correct=True needs all words of the documents, which Milvus does not store. Leave it out."
            )
        if options.offset or options.snippet:
            raise ValueError("offset and snippet are for collections in a file. Milvus has neither; leave them out.")
        if options.sort is not None or options.facets or options.collapse:
            raise ValueError("sort, facets and collapse are for collections in a file. Leave them out.")
        if options.sets_effort:
            raise ValueError("recall and exact are for collections of vectors, which Milvus is not. Leave them out.")
        search = DocumentSearch(self._table, self._model, options, condition, self._fields)
        return search.answer(texts)

    def encode(self, queries: Iterable[str]) -> Codes:
        """Return the packed codes of texts."""
        return self._model.encode(check_several(queries)).codes

    # What people do with a collection

    def near_duplicates(self, threshold: float | None = None, **options: Unpack[DuplicateKeywords]) -> Duplicates:
        """Find near-duplicate documents; see `sthash.near_duplicates`.

        Milvus has no self-join: all texts, and with a radius all codes, are read and compared here.
        """
        chosen = DuplicateOptions(threshold, **options).settled(of_vectors=False)
        keys, material = gathered(self._table, self._model, chosen)
        return result_of(self, keys, compared(material, chosen), chosen)

    def classify(
        self,
        query: str,
        k: int | None = None,
        *,
        radius: int | None = None,
        voting: Voting = "auto",
        codes: bool = False,
    ) -> Prediction:
        """Return the label of a text, by the votes of the nearest documents; see `sthash.classify`.

        By default documents that codes find vote by their cosines. What leave-one-out has chosen is kept until this
        object changes the collection; make a new one after others have changed it.
        """
        return predict(self._table, self._model, query, Vote(k, radius, voting, codes), self._kept)

    # Search by codes, as in HammingIndex

    def search_codes(self, codes: Codes, k: int = 10) -> tuple[Ids, Distances]:
        """Find the k nearest codes of each code: ids and distances, as `sthash.HammingIndex.search` gives them."""
        codes, k = packed.check(codes, self.n_bits), check_whole("k", k)
        ids = np.full((len(codes), k), -1, dtype=np.int64)
        distances = np.full((len(codes), k), -1, dtype=np.int32)
        for query, matches in enumerate(CodeSearch(self._table, self.n_bits).nearest(codes, k)):
            for rank, match in enumerate(itertools.islice(matches, k)):
                ids[query, rank], distances[query, rank] = match.id, match.distance
        return ids, distances

    def radius_search(self, codes: Codes, radius: int) -> tuple[Ids, Ids, Distances]:
        """Find all codes in a radius of each code: as `sthash.HammingIndex.radius_search` gives them."""
        codes = packed.check(codes, self.n_bits)
        radius = check_whole("radius", radius, least=0)
        search = CodeSearch(self._table, self.n_bits)
        answers = [search.within(code, radius) for code in codes]
        lims = np.cumsum([0, *map(len, answers)], dtype=np.int64)
        ids = np.array([match.id for matches in answers for match in matches], dtype=np.int64)
        return lims, ids, np.array([match.distance for matches in answers for match in matches], dtype=np.int32)


def _with_codes(entities: list[Entity], codes: Codes) -> list[Entity]:
    return [entity | {"code": code.tobytes()} for entity, code in zip(entities, codes, strict=True)]


if TYPE_CHECKING:

    def _check_protocol(here: Collection, there: MilvusCollection) -> list[DocumentCollection]:
        """Let mypy check that both have the methods of every collection."""
        return [here, there]
