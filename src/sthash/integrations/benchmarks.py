"""BEIR and MTEB: a collection as the model that their benchmarks of retrieval measure.

Neither package is needed to import this; `MtebModel` needs ``mteb`` when it is asked for its description.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sthash import __version__
from sthash.collection import Collection
from sthash.evaluation import rank_queries

Run = dict[str, dict[str, float]]


class BeirModel:
    """The search model of ``beir.retrieval.evaluation.EvaluateRetrieval``.

    Parameters
    ----------
    search : dict, optional
        Further arguments of `Collection.search`, such as ``ranking``.
    **options
        Further arguments of `Collection.create`, such as ``embedder``.

    Examples
    --------
    >>> from sthash.integrations.benchmarks import BeirModel
    >>> corpus = {"a": {"title": "Bread", "text": "Feed the starter."}, "b": {"title": "", "text": "Prune the roses."}}
    >>> run = BeirModel().search(corpus, {"q": "a starter for bread"}, top_k=10)
    >>> list(run["q"])
    ['a']
    """

    def __init__(self, *, search: dict[str, Any] | None = None, **options: Any) -> None:
        self._options, self._search = options, search or {}

    def search(
        self,
        corpus: Mapping[str, Mapping[str, str]],
        queries: Mapping[str, str],
        top_k: int,
        score_function: str | None = None,
        **kwargs: Any,
    ) -> Run:
        """Build a temporary collection of the corpus, and return for each query the best documents and their scores."""
        documents = (_document(key, record) for key, record in corpus.items())
        with Collection.create(None, documents, **self._options) as collection:
            return rank_queries(collection, queries, top_k, **self._search)


class MtebModel:
    """The model of ``mteb.evaluate``: MTEB's search protocol.

    Parameters
    ----------
    search, **options
        See `BeirModel`.
    """

    def __init__(self, *, search: dict[str, Any] | None = None, **options: Any) -> None:
        self._options, self._search = options, search or {}
        self._collection: Collection | None = None

    def index(self, corpus: Iterable[Mapping[str, Any]], **kwargs: Any) -> None:
        """Build a temporary collection of the corpus."""
        if self._collection is not None:
            self._collection.close()
        documents = (_document(str(record["id"]), record) for record in corpus)
        self._collection = Collection.create(None, documents, **self._options)

    def search(
        self,
        queries: Iterable[Mapping[str, Any]],
        *,
        top_k: int,
        top_ranked: Mapping[str, list[str]] | None = None,
        **kwargs: Any,
    ) -> Run:
        """Return for each query the best documents and their scores; with ``top_ranked``, only of those it lists."""
        if self._collection is None:
            raise RuntimeError("there is no corpus. Call index first.")
        texts = {str(query["id"]): str(query["text"]) for query in queries}
        if top_ranked is None:
            return rank_queries(self._collection, texts, top_k, **self._search)
        run = Run()
        for name, text in texts.items():
            among = {"key": list(top_ranked[name])}
            run |= rank_queries(self._collection, {name: text}, top_k, where=among, **self._search)
        return run

    @property
    def mteb_model_meta(self) -> Any:
        """What MTEB writes beside the results."""
        from mteb.models import ModelMeta

        return ModelMeta.create_empty({"name": "sthash/collection", "revision": __version__})


def _document(key: str, record: Mapping[str, Any]) -> dict[str, Any]:
    parts = [record.get("title") or "", record.get("text") or ""]
    return {"key": key, "text": "\n\n".join(part for part in parts if part)}
