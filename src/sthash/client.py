"""`Client`: a collection that another process serves, with the methods of `Collection`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any, Self, Unpack
from urllib.parse import quote

import numpy as np
import numpy.typing as npt

from sthash.batches import batched
from sthash.checks import check_key, check_several
from sthash.codes import Codes, n_bytes
from sthash.collection import (
    ByKey,
    DocumentCollection,
    Hit,
    Hits,
    Prediction,
    SearchKeywords,
    SearchOptions,
    Snippet,
    Vote,
    Voting,
)
from sthash.duplicates import DuplicateKeywords, DuplicateOptions, Duplicates
from sthash.duplicates.similarity_join import SimilarPairs
from sthash.extras import install_command
from sthash.progress import Progress, silent
from sthash.serve import limits
from sthash.sources import Document, FieldNames, paired, with_fields
from sthash.vectors.conversion import as_array


class ServiceError(ConnectionError):
    """The service refused a request, or cannot be reached.

    Attributes
    ----------
    code : str
        The stable code of the error; empty if the service did not answer.
    """

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


class Client(ByKey):
    """A collection behind ``sth serve``, with the methods and the answers of `sthash.Collection`.

    A request that `Collection` would refuse raises the same kind of error: KeyError, ValueError or TypeError. A request
    that only a service can refuse, for a wrong key or too much load, raises a `ServiceError`. Several threads may use
    one object. Needs the extra ``client``.

    Parameters
    ----------
    url : str
        For example ``http://127.0.0.1:8000``.
    collection : str, optional
        Name of the collection, if the service has several.
    api_key : str, optional
        The read key, or the write key.
    timeout : float
        Number of seconds to wait for an answer.

    Examples
    --------
    >>> import sthash
    >>> client = sthash.Client("http://127.0.0.1:8000", api_key="my-secret-key")
    >>> client.search("a queue for threads", k=3)  # doctest: +SKIP
    """

    def __init__(
        self, url: str, *, collection: str | None = None, api_key: str | None = None, timeout: float = 60.0
    ) -> None:
        try:
            import httpx2
        except ImportError as error:
            raise ImportError(f"sthash.Client needs the extra: {install_command('client')} ({error}).") from error
        headers = {"authorization": f"Bearer {api_key}"} if api_key is not None else {}
        parameters = {"collection": collection} if collection is not None else {}
        self._failures: tuple[type[Exception], ...] = (httpx2.TransportError,)
        self._http = httpx2.Client(base_url=url, headers=headers, params=parameters, timeout=timeout)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        name = self._http.params.get("collection")
        return f"Client({str(self._http.base_url)!r}{f', collection={name!r}' if name else ''})"

    @property
    def n_bits(self) -> int:
        """Number of bits of a code."""
        return int(self.info()["n_bits"])

    def __len__(self) -> int:
        return int(self.info()["documents"])

    def __contains__(self, key: object) -> bool:
        if not isinstance(key, str):
            return False
        try:
            self.get(key)
        except KeyError:
            return False
        return True

    def _find(self, key: str) -> Document:
        return _document(self._ask("GET", _path(key)))

    def __iter__(self) -> Iterator[Document]:
        return self.export()

    def export(self) -> Iterator[Document]:
        """Iterate over all documents, in the order in which they were added.

        They come in pages, each of which is one state of the collection. A document that is added, changed or deleted
        between two pages may be included or missing. For a consistent snapshot, export the file itself.
        """
        cursor: dict[str, int] = {}
        while True:
            page = self._ask("GET", "/documents", params={"limit": limits.MAX_PAGE} | cursor)
            yield from map(_document, page["documents"])
            if page["next"] is None:
                return
            cursor = {"after": page["next"]}

    def info(self) -> dict[str, Any]:
        """Describe the collection: its size, its model, its settings."""
        found: dict[str, Any] = self._ask("GET", "/stats")
        return found

    def part_sizes(self) -> dict[str, int]:
        """Return what the bytes of the collection's file are for, as `Collection.part_sizes` does."""
        found: dict[str, int] = self._ask("GET", "/parts")["parts"]
        return found

    # Changes

    def add(
        self,
        documents: Any = None,
        *,
        vectors: Any = None,
        progress: Progress | None = None,
        **fields: Unpack[FieldNames],
    ) -> int:
        """Add documents in one transaction; an existing key is an error. Return the number of added documents."""
        return self._put(with_fields(documents, fields, vectors), vectors, progress, "add")

    def upsert(
        self,
        documents: Any = None,
        *,
        vectors: Any = None,
        progress: Progress | None = None,
        **fields: Unpack[FieldNames],
    ) -> int:
        """Add documents, replacing documents with the same key. Return the number of documents."""
        return self._put(with_fields(documents, fields, vectors), vectors, progress, "upsert")

    def _put(self, documents: Any, vectors: Any, progress: Progress | None, mode: str) -> int:
        # The service knows its metric, and which vectors that can compare.
        pairs = list(paired(documents, vectors, metric=None))
        rows = [
            {"key": document.key, "text": document.text, "label": document.label, "metadata": document.metadata}
            for document, _ in pairs
        ]
        body: dict[str, Any] = {"documents": rows, "mode": mode}
        if vectors is not None:
            body["vectors"] = [_numbers(vector) for _, vector in pairs]
        report = progress or silent
        report("adding", 0, len(rows))
        count = int(self._ask("POST", "/documents", body)["count"])
        report("adding", len(rows), len(rows))
        return count

    def delete(self, keys: str | Iterable[str], *, missing_ok: bool = False) -> int:
        """Delete documents by key, or none if a key is missing. Return the number of deleted documents."""
        several = [check_key(key) for key in ([keys] if isinstance(keys, str) else keys)]
        return int(self._ask("POST", "/delete", {"keys": several, "missing_ok": missing_ok})["count"])

    # Search

    def search(
        self, query: Any = None, k: int = SearchOptions.k, *, key: str | None = None, **options: Unpack[SearchKeywords]
    ) -> Hits:
        """Find the documents most similar to a text, a vector, or another document; see `SearchOptions`."""
        if (query is None) == (key is None):
            raise TypeError("search takes either a query or a key. Pass one of them.")
        body = SearchOptions(k, **options).keywords() | ({"key": check_key(key)} if key is not None else _query(query))
        answer = self._ask("POST", "/search", body)
        return _hits(answer["hits"], answer)

    def search_many(
        self, queries: Iterable[Any], k: int = SearchOptions.k, **options: Unpack[SearchKeywords]
    ) -> list[Hits]:
        """Search for many texts or vectors at once; return the hits of each. See `search`."""
        chosen = SearchOptions(k, **options)
        return [
            hits
            for batch in batched(check_several(queries), limits.queries_per_request(chosen.k))
            for hits in self._answers(batch, chosen)
        ]

    def _answers(self, queries: list[Any], options: SearchOptions) -> list[Hits]:
        """Return the hits of each query; if they are too large for one request, by several."""
        try:
            found = self._ask("POST", "/search_many", options.keywords() | _queries(queries))
        except ServiceError as error:
            if error.code != "answer_too_large" or len(queries) == 1:
                raise
            half = len(queries) // 2
            return self._answers(queries[:half], options) + self._answers(queries[half:], options)
        return [_hits(rows, about) for rows, about in zip(found["answers"], found["details"], strict=True)]

    # Applications

    def encode(self, queries: Iterable[Any]) -> Codes:
        """Return the packed codes of texts, or of vectors."""
        batches = batched(check_several(queries), limits.MAX_DOCUMENTS)
        answers = [self._ask("POST", "/encode", _queries(batch)) for batch in batches]
        width = n_bytes(answers[0]["n_bits"] if answers else self.n_bits)
        content = b"".join(bytes.fromhex(code) for answer in answers for code in answer["codes"])
        return np.frombuffer(content, dtype=np.uint8).reshape(-1, width)

    def near_duplicates(self, threshold: float | None = None, **options: Unpack[DuplicateKeywords]) -> Duplicates:
        """Find near-duplicate documents; see `sthash.near_duplicates`."""
        chosen = DuplicateOptions(threshold, **options)
        asked = {name: value for name, value in chosen.keywords().items() if value is not None and name != "grouping"}
        found = self._ask("GET", "/duplicates", params=asked)
        place = {key: number for number, key in enumerate(found["keys"])}
        left, right = (
            np.array([place[pair[side]] for pair in found["pairs"]], dtype=np.int64) for side in ("left", "right")
        )
        scores = np.array([pair["score"] for pair in found["pairs"]], dtype=np.float64)
        pairs = SimilarPairs(left, right, scores, found["copies"], found["complete"])
        return Duplicates(self, found["keys"], pairs, found["measure"], found["threshold"], chosen.grouping)

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
        body = asdict(Vote(k, radius, voting, codes)) | _query(query)
        found = self._ask("POST", "/classify", body)
        ignored, unknown = tuple(found["ignored"]), tuple(found["unknown"])
        return Prediction(found["label"], found["shares"], found["voters"], found["known"], ignored, unknown)

    def _ask(self, method: str, path: str, body: Any = None, params: dict[str, Any] | None = None) -> Any:
        # In ASCII, so that a lone surrogate reaches the service, whose error says what is wrong with it.
        content = None if body is None else json.dumps(body, default=_plain).encode("ascii")
        headers = {} if body is None else {"content-type": "application/json"}
        try:
            response = self._http.request(method, path, content=content, headers=headers, params=params)
        except self._failures as error:
            raise ServiceError(
                f"{self._http.base_url} does not answer ({error}). Check that sth serve runs there."
            ) from error
        try:
            answer = response.json()
            problem = None if response.is_success else answer["error"]
            raised = None if problem is None else _error(problem["code"], f"{problem['message']} {problem['remedy']}")
        except (ValueError, KeyError, TypeError) as error:
            status = response.status_code
            raise ServiceError(
                f"{self._http.base_url} answers {status}, but not as sth serve does. Check the address."
            ) from error
        if raised is not None:
            raise raised
        return answer


def _error(code: str, message: str) -> Exception:
    """Return the error that `Collection` would raise, or a `ServiceError`."""
    if code == "no_such_document":
        return KeyError(message)
    if code == "wrong_type":
        return TypeError(message)
    if code in ("invalid_request", "invalid_value", "key_exists"):
        return ValueError(message)
    return ServiceError(message, code)


def _path(key: str) -> str:
    # Dots are percent-encoded, because .. would mean the parent path.
    return "/documents/" + quote(check_key(key), safe="", errors="surrogatepass").replace(".", "%2E")


def _document(row: dict[str, Any]) -> Document:
    return Document(row["key"], row["text"], row["label"], row["metadata"])


def _hit(row: dict[str, Any]) -> Hit:
    hit = Hit(
        row["key"], row["text"], row["label"], row["metadata"], row["score"], row["distance"], tuple(row["terms"])
    )
    hit.copies = tuple(row["copies"])
    if row["snippet"] is not None:
        passage = row["snippet"]
        hit.snippet = Snippet(passage["text"], tuple((start, end) for start, end in passage["spans"]), passage["start"])
    return hit


def _hits(rows: list[dict[str, Any]], about: dict[str, Any]) -> Hits:
    names = ("ignored", "unknown", "suggestions", "corrected", "strategy", "ranking", "reading", "error", "total")
    facets = {name: {entry["value"]: entry["count"] for entry in counts} for name, counts in about["facets"].items()}
    return Hits(map(_hit, rows), facets=facets, **{name: about[name] for name in names})


def _query(query: Any) -> dict[str, Any]:
    return {"text": query} if isinstance(query, str) else {"vector": _numbers(query)}


def _queries(queries: list[Any]) -> dict[str, Any]:
    if all(isinstance(query, str) for query in queries):
        return {"texts": queries}
    if any(isinstance(query, str) for query in queries):
        raise TypeError("queries must be all texts or all vectors, got both. Search for them one kind at a time.")
    return {"vectors": [_numbers(query) for query in queries]}


def _numbers(vector: Any) -> list[float]:
    numbers: list[float] = as_array(vector, "a query").reshape(-1).tolist()
    return numbers


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    # As of a collection, whose metadata must be JSON values; all else is checked before.
    raise ValueError(f"{value!r} cannot be sent, because JSON has no {type(value).__name__}. Convert it.")


def _check_protocol(client: Client) -> DocumentCollection:
    """Let mypy check that the client has the methods of every collection."""
    return client
