"""LlamaIndex: a vector store in one local file, which also searches by words (extra ``llama-index``)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sthash.collection import Collection, Embedder, Hits
from sthash.extras import install_command
from sthash.integrations.embeddings import GivenVectors
from sthash.sources import Document

try:
    from llama_index.core.bridge.pydantic import PrivateAttr
    from llama_index.core.schema import BaseNode, MetadataMode
    from llama_index.core.vector_stores.types import (
        BasePydanticVectorStore,
        MetadataFilters,
        VectorStoreQuery,
        VectorStoreQueryMode,
        VectorStoreQueryResult,
    )
    from llama_index.core.vector_stores.utils import (
        build_metadata_filter_fn,
        metadata_dict_to_node,
        node_to_metadata_dict,
    )
except ImportError as error:
    raise ImportError(f"this needs llama-index-core. Install it: {install_command('llama-index')}") from error

# The name of the embedder in the file: the index embeds, so any file of it can be opened by any store.
NAME = "llama-index"
_RANKINGS = {
    VectorStoreQueryMode.DEFAULT: "cosine",
    VectorStoreQueryMode.HYBRID: "hybrid",
    VectorStoreQueryMode.SEMANTIC_HYBRID: "hybrid",
    VectorStoreQueryMode.TEXT_SEARCH: "bm25",
    VectorStoreQueryMode.SPARSE: "bm25",
}


class SthashVectorStore(BasePydanticVectorStore):
    """Nodes in a collection. The modes of a query are ``default`` (vectors), ``text_search`` (words) and ``hybrid``.

    Filters are evaluated as LlamaIndex does it in memory, so a query with filters reads the metadata of all nodes.

    Parameters
    ----------
    path : path, optional
        The file; it is created if there is none. Without a path the collection is temporary.
    **options
        Further arguments of `Collection.create`, if the file is new.

    Examples
    --------
    >>> from llama_index.core.schema import TextNode
    >>> from llama_index.core.vector_stores.types import VectorStoreQuery
    >>> from sthash.integrations.llama_index import SthashVectorStore
    >>> store = SthashVectorStore()
    >>> nodes = [TextNode(id_="a", text="bread", embedding=[1, 0]), TextNode(id_="b", text="roses", embedding=[0, 1])]
    >>> store.add(nodes)
    ['a', 'b']
    >>> store.query(VectorStoreQuery(query_embedding=[0.9, 0.1], similarity_top_k=1)).ids
    ['a']
    """

    stores_text: bool = True
    is_embedding_query: bool = True
    _collection: Collection = PrivateAttr()
    _vectors: GivenVectors = PrivateAttr()

    def __init__(self, path: str | Path | None = None, **options: Any) -> None:
        super().__init__(stores_text=True)
        self._vectors = GivenVectors()
        embedder = Embedder.of(self._vectors, NAME)
        if path is not None and Path(path).exists():
            self._collection = Collection.open(path, embedder=embedder, **options)
        else:
            self._collection = Collection.create(path, [], embedder=embedder, **options)

    @classmethod
    def class_name(cls) -> str:
        """Return the name of the class."""
        return "SthashVectorStore"

    @property
    def client(self) -> Collection:
        """The collection."""
        return self._collection

    def add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """Add nodes, which have their embeddings, in one transaction; those with the same ids are replaced."""
        last = {node.node_id: node for node in nodes}.values()
        documents = [
            Document(
                node.node_id,
                node.get_content(metadata_mode=MetadataMode.NONE),
                None,
                node_to_metadata_dict(node, remove_text=True, flat_metadata=False),
            )
            for node in last
        ]
        if documents:
            self._collection.upsert(documents, vectors=[node.get_embedding() for node in last])
        return [node.node_id for node in nodes]

    def delete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """Delete the nodes of a document."""
        own = [key for key, metadata in self._about() if metadata.get("ref_doc_id") == ref_doc_id]
        self._collection.delete(own, missing_ok=True)

    def delete_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **delete_kwargs: Any
    ) -> None:
        """Delete the nodes with these ids that meet the filters."""
        self._collection.delete(self._chosen(node_ids, filters) or [], missing_ok=True)

    def clear(self) -> None:
        """Delete all nodes."""
        self._collection.delete([key for key, _ in self._about()])

    def get_nodes(self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None) -> list[BaseNode]:
        """Return the nodes with these ids that meet the filters, without their embeddings."""
        keys = self._chosen(node_ids, filters)
        if keys is None:
            return [_node(document) for document in self._collection]
        found = [self._collection.get(key, None) for key in keys]
        return [_node(document) for document in found if document is not None]

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """Find the nodes that answer a query best; ``kwargs`` are further arguments of `Collection.search`."""
        if query.mode not in _RANKINGS:
            raise ValueError(f"the mode {query.mode.value!r} is not known. Use one of: default, text_search, hybrid.")
        keys = self._chosen(query.node_ids or None, query.filters, query.doc_ids or None)
        if keys is not None:
            kwargs["where"] = {"key": keys}
        hits = self._search(query, kwargs) if keys is None or keys else []
        return VectorStoreQueryResult(
            nodes=[_node(hit) for hit in hits],
            similarities=[hit.score for hit in hits],
            ids=[str(hit.key) for hit in hits],
        )

    def _search(self, query: VectorStoreQuery, options: dict[str, Any]) -> Hits:
        ranking: Any = _RANKINGS[query.mode]
        k = query.similarity_top_k
        if ranking == "cosine":
            if query.query_embedding is None:
                raise ValueError("a query of the mode 'default' needs a vector. Pass query_embedding.")
            return self._collection.search(query.query_embedding, k, **options)
        if query.query_str is None:
            raise ValueError(f"a query of the mode {query.mode.value!r} needs a text. Pass query_str.")
        if ranking == "hybrid":
            if query.query_embedding is None:
                raise ValueError("a query of the mode 'hybrid' needs a vector, too. Pass query_embedding.")
            k = query.hybrid_top_k or k
        with self._vectors.query(query.query_embedding or []):
            return self._collection.search(query.query_str, k, ranking=ranking, **options)

    def _chosen(
        self, ids: list[str] | None, filters: MetadataFilters | None, documents: list[str] | None = None
    ) -> list[str] | None:
        """Return the keys of the nodes that are asked for; None if all are."""
        if filters is None and documents is None:
            return ids
        about = dict(self._about())
        meets = build_metadata_filter_fn(about.__getitem__, filters)
        return [
            key
            for key, metadata in about.items()
            if (ids is None or key in ids)
            and (documents is None or metadata.get("ref_doc_id") in documents)
            and meets(key)
        ]

    def _about(self) -> list[tuple[str, dict[str, Any]]]:
        return [(str(document.key), document.metadata) for document in self._collection]


def _node(found: Any) -> BaseNode:
    return metadata_dict_to_node(found.metadata, text=found.text)
