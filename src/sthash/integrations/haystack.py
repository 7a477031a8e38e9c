"""Haystack: a document store in one local file, and a retriever by words, vectors or both (extra ``haystack``)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sthash.collection import Collection, Embedder, VectorOptions
from sthash.extras import install_command
from sthash.integrations.embeddings import GivenVectors
from sthash.sources import Document as OwnDocument

try:
    from haystack import Document, component, default_from_dict, default_to_dict
    from haystack.document_stores.errors import DuplicateDocumentError
    from haystack.document_stores.types import DuplicatePolicy
    from haystack.utils.filters import document_matches_filter
except ImportError as error:
    raise ImportError(f"this needs haystack-ai. Install it: {install_command('haystack')}") from error

# The name of the embedder in the file: components of the pipeline embed, so any store can open any file of another.
NAME = "haystack"
# The field of the metadata that says that a document came with an embedding.
EMBEDDED = "_embedded"


class SthashDocumentStore:
    """Documents in a collection.

    Documents come back without their embeddings. Filters are evaluated by Haystack's own function, so a query with
    filters reads all documents.

    Parameters
    ----------
    path : str, optional
        The file; it is created if there is none. Without a path the collection is temporary.
    embedding_dim : int, optional
        Number of values of an embedding. Without it, the collection is one of texts, which are found by their words,
        and embeddings are not stored.

    Examples
    --------
    >>> from haystack import Document
    >>> from sthash.integrations.haystack import SthashDocumentStore, SthashRetriever
    >>> store = SthashDocumentStore()
    >>> store.write_documents([Document(content="Feed the starter."), Document(content="Water the plants.")])
    2
    >>> SthashRetriever(store).run(query="plants", top_k=1)["documents"][0].content
    'Water the plants.'
    """

    def __init__(self, path: str | None = None, embedding_dim: int | None = None) -> None:
        self._path, self._dim = path, embedding_dim
        self._vectors = GivenVectors()
        embedder = None if embedding_dim is None else Embedder.of(self._vectors, NAME)
        if path is not None and Path(path).exists():
            self.collection = Collection.open(path, embedder=embedder)
        else:
            # Documents without an embedding have the vector zero, of which there is no cosine: unit vectors are
            # compared by inner product instead, which is the same.
            options = None if embedding_dim is None else VectorOptions(metric="ip")
            self.collection = Collection.create(path, [], embedder=embedder, vector_options=options)

    def to_dict(self) -> dict[str, Any]:
        """Return the arguments that the store was made with, for a pipeline that is saved."""
        return default_to_dict(self, path=self._path, embedding_dim=self._dim)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> SthashDocumentStore:
        """Make a store from what `to_dict` returned."""
        made: SthashDocumentStore = default_from_dict(cls, data)
        return made

    def count_documents(self) -> int:
        """Return the number of documents."""
        return len(self.collection)

    def filter_documents(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """Return the documents that meet the filters."""
        found = [_from_own(document) for document in self.collection]
        _check(filters)
        return [document for document in found if not filters or document_matches_filter(filters, document)]

    def write_documents(self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE) -> int:
        """Write documents in one transaction. By default a document that is there already is an error."""
        if not isinstance(documents, Iterable) or isinstance(documents, str):
            raise ValueError("documents must be a list of haystack.Document.")
        own = list(documents)
        for document in own:
            if not isinstance(document, Document):
                raise ValueError(f"a document is a {type(document).__name__}. Pass a list of haystack.Document.")
            if document.blob is not None or document.sparse_embedding is not None:
                raise ValueError(f"the document {document.id} has a blob or a sparse embedding, which is not stored.")
            if document.embedding is not None and self._dim not in (None, len(document.embedding)):
                raise ValueError(
                    f"the document {document.id} has an embedding of {len(document.embedding)} values, but the store "
                    f"was made for {self._dim}. Pass another embedding_dim."
                )
        if policy == DuplicatePolicy.SKIP:
            own = [document for document in own if document.id not in self.collection]
        elif policy != DuplicatePolicy.OVERWRITE:
            twice = next((document.id for document in own if document.id in self.collection), None)
            if twice is not None:
                raise DuplicateDocumentError(
                    f"there is a document with the id {twice!r} already. Choose another policy."
                )
        last = list({document.id: document for document in own}.values())
        if last:
            vectors = None if self._dim is None else [_unit(document.embedding, self._dim) for document in last]
            self.collection.upsert([_to_own(document) for document in last], vectors=vectors)
        return len(last)

    def delete_documents(self, document_ids: list[str]) -> None:
        """Delete documents by id; missing ones are no error."""
        self.collection.delete(document_ids, missing_ok=True)

    def search(
        self,
        query: str | None = None,
        embedding: list[float] | None = None,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
    ) -> list[Document]:
        """Find documents by words, by an embedding, or by both, and return them with their scores."""
        if embedding is not None and self._dim is None:
            raise ValueError("the store has no embeddings. Make it with embedding_dim.")
        if query is None and embedding is None:
            raise TypeError("search needs a query, an embedding, or both. Pass one of them.")
        where: dict[str, Any] = {}
        if filters:
            _check(filters)
            keys = [document.id for document in self.filter_documents(filters)]
            where["key"] = keys
            if not keys:
                return []
        if not len(self.collection):
            return []
        if query is None:
            if any(EMBEDDED in document.metadata for document in self.collection):
                where[EMBEDDED] = True
            hits = self.collection.search(_unit(embedding, self._dim or 0), top_k, where=where)
        elif embedding is None:
            ranking: Any = "graph" if self._dim is None else "bm25"
            hits = self.collection.search(query, top_k, where=where, ranking=ranking)
        else:
            with self._vectors.query(_unit(embedding, self._dim or 0)):
                hits = self.collection.search(query, top_k, where=where, ranking="hybrid")
        return [_from_own(hit, hit.score) for hit in hits]


@component
class SthashRetriever:
    """Retrieves documents of a `SthashDocumentStore` by words, by an embedding, or by both (hybrid search).

    Parameters
    ----------
    document_store : SthashDocumentStore
    filters : dict, optional
    top_k : int, default=10
    """

    def __init__(
        self, document_store: SthashDocumentStore, filters: dict[str, Any] | None = None, top_k: int = 10
    ) -> None:
        if not isinstance(document_store, SthashDocumentStore):
            raise ValueError(f"document_store is a {type(document_store).__name__}. Pass a SthashDocumentStore.")
        self._documents, self._filters, self._top_k = document_store, filters, top_k

    def to_dict(self) -> dict[str, Any]:
        """Return the arguments that the retriever was made with, for a pipeline that is saved."""
        return default_to_dict(self, document_store=self._documents.to_dict(), filters=self._filters, top_k=self._top_k)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> SthashRetriever:
        """Make a retriever from what `to_dict` returned."""
        own = data["init_parameters"]
        own["document_store"] = SthashDocumentStore.from_dict(own["document_store"])
        made: SthashRetriever = default_from_dict(cls, data)
        return made

    @component.output_types(documents=list[Document])
    def run(
        self,
        query: str | None = None,
        query_embedding: list[float] | None = None,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
    ) -> dict[str, list[Document]]:
        """Retrieve documents."""
        k = self._top_k if top_k is None else top_k
        return {"documents": self._documents.search(query, query_embedding, filters or self._filters, k)}


def _check(filters: dict[str, Any] | None) -> None:
    if filters and "operator" not in filters and "conditions" not in filters:
        raise ValueError("filters must have an operator and conditions, or a field, an operator and a value.")


def _unit(embedding: list[float] | None, size: int) -> list[float]:
    if embedding is None:
        return [0.0] * size
    length = sum(value * value for value in embedding) ** 0.5
    return [value / length for value in embedding] if length else [0.0] * size


def _to_own(document: Document) -> OwnDocument:
    about = dict(document.meta)
    if document.embedding is not None:
        about[EMBEDDED] = True
    return OwnDocument(document.id, document.content or "", None, about)


def _from_own(found: Any, score: float | None = None) -> Document:
    meta = {name: value for name, value in found.metadata.items() if name != EMBEDDED}
    label = {} if found.label is None else {"label": found.label}
    return Document(id=found.key, content=found.text, meta=label | meta, score=score)
