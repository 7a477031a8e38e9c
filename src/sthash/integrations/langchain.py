"""LangChain: a vector store in one local file, and a retriever over any collection (extra ``langchain``)."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from sthash.collection import Collection, DocumentCollection, Embedder, Hits
from sthash.extras import install_command
from sthash.integrations.embeddings import GivenVectors
from sthash.sources import Document as OwnDocument

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.vectorstores import VectorStore
    from langchain_core.vectorstores.utils import maximal_marginal_relevance
except ImportError as error:
    raise ImportError(f"this needs langchain-core. Install it: {install_command('langchain')}") from error


class SthashVectorStore(VectorStore):
    """Documents in a collection. By default a search uses their words and their vectors together.

    Parameters
    ----------
    path : path, optional
        The file; it is created if there is none. Without a path the collection is temporary.
    embedding : Embeddings, optional
        Embeds documents and queries. Without it, the collection is one of texts, and searches by words.
    **options
        Further arguments of `Collection.create`, if the file is new.

    Examples
    --------
    >>> from langchain_core.documents import Document
    >>> from sthash.integrations.langchain import SthashVectorStore
    >>> store = SthashVectorStore()
    >>> ids = store.add_documents([Document("Feed the starter."), Document("Water the plants.", id="b")])
    >>> store.similarity_search("plants", k=1)
    [Document(id='b', metadata={}, page_content='Water the plants.')]
    """

    def __init__(self, path: str | Path | None = None, embedding: Embeddings | None = None, **options: Any) -> None:
        self._embedding = embedding
        self._vectors = None if embedding is None else GivenVectors(embedding.embed_documents)
        named = type(embedding)
        embedder = self._vectors and Embedder.of(self._vectors, f"{named.__module__}:{named.__qualname__}")
        if path is not None and Path(path).exists():
            self.collection = Collection.open(path, embedder=embedder, **options)
        else:
            self.collection = Collection.create(path, [], embedder=embedder, **options)

    @property
    def embeddings(self) -> Embeddings | None:
        """What embeds documents and queries."""
        return self._embedding

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Add texts in one transaction, replacing those with the same ids; return the ids."""
        own = list(texts)
        keys = [str(key or uuid.uuid4()) for key in (ids or [None] * len(own))]
        about = metadatas or [{} for _ in own]
        if not len(own) == len(keys) == len(about):
            raise ValueError(f"got {len(own)} texts, {len(keys)} ids and {len(about)} metadatas. Pass one per text.")
        documents = [OwnDocument(key, text, None, dict(more)) for key, text, more in zip(keys, own, about, strict=True)]
        if documents:
            self.collection.upsert(list({document.key: document for document in documents}.values()))
        return keys

    def delete(self, ids: list[str] | None = None, **kwargs: Any) -> bool:
        """Delete documents by id, or all of them."""
        keys = [str(document.key) for document in self.collection] if ids is None else ids
        self.collection.delete(keys, missing_ok=True)
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return the documents with these ids; missing ones are left out."""
        found = [self.collection.get(key, None) for key in ids]
        return [_document(each) for each in found if each is not None]

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """Return the k best documents; ``filter``, or ``where``, and the other options are those of `SearchOptions`."""
        return [document for document, _ in self.similarity_search_with_score(query, k, **kwargs)]

    def similarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> list[tuple[Document, float]]:
        """Return the k best documents with their scores; the higher, the better."""
        if self._embedding is None or self._vectors is None:
            return _scored(self.collection.search(query, k, **_options(kwargs)))
        with self._vectors.query(self._embedding.embed_query(query)):
            return _scored(self.collection.search(query, k, **_options(kwargs)))

    def similarity_search_by_vector(self, embedding: list[float], k: int = 4, **kwargs: Any) -> list[Document]:
        """Return the documents whose vectors are nearest to a vector."""
        return [document for document, _ in _scored(self.collection.search(embedding, k, **_options(kwargs)))]

    def similarity_search_with_relevance_scores(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Return the k nearest documents with their cosines, negative ones as 0."""
        least = kwargs.pop("score_threshold", None)
        found = self.similarity_search_with_score(query, k, **{"ranking": "cosine", **kwargs})
        scored = [(document, min(1.0, max(0.0, score))) for document, score in found]
        return [pair for pair in scored if least is None or pair[1] >= least]

    def max_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """Return k of the ``fetch_k`` best documents that differ from each other; they are embedded once more."""
        if self._embedding is None:
            raise ValueError(
                "a collection of texts has no vectors to tell documents apart. Pass collapse=True instead."
            )
        found = self.similarity_search(query, fetch_k, **kwargs)
        vectors = self._embedding.embed_documents([document.page_content for document in found])
        asked = np.array(self._embedding.embed_query(query), dtype=np.float32)
        chosen = maximal_marginal_relevance(asked, vectors, lambda_mult, k) if found else []
        return [found[place] for place in chosen]

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings | None = None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        path: str | Path | None = None,
        **kwargs: Any,
    ) -> Self:
        """Make a store of texts."""
        store = cls(path, embedding, **kwargs)
        store.add_texts(texts, metadatas, ids=ids)
        return store


class SthashRetriever(BaseRetriever):
    """Asks a collection: a file, a service (`Client`) or Milvus. Documents have the score as ``score`` in the metadata.

    Parameters
    ----------
    collection : Collection, Client or MilvusCollection
    k : int
    options : dict
        Further arguments of ``search``, such as ``where`` and ``snippet``.
    """

    collection: Any
    k: int = 4
    options: dict[str, Any] = {}  # noqa: RUF012  # pydantic copies it

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        asked: DocumentCollection = self.collection
        given = {**self.options, **kwargs}
        hits = asked.search(query, given.pop("k", self.k), **_options(given))
        for document, score in (found := _scored(hits)):
            document.metadata["score"] = score
        return [document for document, _ in found]


def _options(given: dict[str, Any]) -> dict[str, Any]:
    """Return options of a search, of which ``filter`` is the name that LangChain has for ``where``."""
    return {"where" if name == "filter" else name: value for name, value in given.items()}


def _scored(hits: Hits) -> list[tuple[Document, float]]:
    return [(_document(hit), hit.score) for hit in hits]


def _document(found: Any) -> Document:
    label = {} if found.label is None else {"label": found.label}
    return Document(id=found.key, page_content=found.text, metadata=label | found.metadata)
