"""`Client`: a collection that another process serves, with the methods of one that is a file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self
from urllib.parse import quote

import numpy as np
import numpy.typing as npt

from sthash.applications.duplicates import Duplicates
from sthash.applications.votes import Prediction, Voting
from sthash.codes import Codes, n_bytes
from sthash.collection import Hit
from sthash.collection.building import paired
from sthash.collection.collection import FACTOR
from sthash.sources import Document

# As many as fit into one request by the limits of the server.
PAGE = 1000
MOST_QUERIES = 1000
MOST_HITS = 20_000
MOST_TEXTS = 10_000


class ServiceError(ConnectionError):
    """The service refused a request, or cannot be reached.

    Attributes
    ----------
    code : str
        The error's stable code; empty if the service did not answer.
    """

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


class Client:
    """A collection behind ``sth serve``, with the methods and the answers of `sthash.Collection`.

    A question that a `Collection` would refuse is refused with the same kind of error: KeyError, ValueError or
    TypeError. What only a service can refuse, for want of a key or of room, is a `ServiceError`. One object may be
    used by several threads. Needs the extra ``client``.

    Parameters
    ----------
    url : str
        For example ``http://127.0.0.1:8000``.
    collection : str, optional
        Its name, where the service has several.
    key : str, optional
        The read key, or the write key.
    timeout : float
        Seconds to wait for an answer.

    Examples
    --------
    >>> import sthash
    >>> client = sthash.Client("http://127.0.0.1:8000", key="a-secret-of-mine")
    >>> client.search("a queue for threads", k=3)  # doctest: +SKIP
    """

    def __init__(
        self, url: str, *, collection: str | None = None, key: str | None = None, timeout: float = 60.0
    ) -> None:
        try:
            import httpx2
        except ImportError as error:
            raise ImportError(f"sthash.Client needs the extra: pip install 'sthash[client]' ({error}).") from error
        headers = {"authorization": f"Bearer {key}"} if key is not None else {}
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

    @property
    def n_bits(self) -> int:
        """Bits of a code."""
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

    def get(self, key: str) -> Document:
        """Give a document; KeyError if there is none with this key."""
        return _document(self._ask("GET", _path(key)))

    def __iter__(self) -> Iterator[Document]:
        return self.export()

    def export(self) -> Iterator[Document]:
        """Give all documents in the order in which they came."""
        after: int | None = 0
        while after is not None:
            page = self._ask("GET", "/documents", params={"after": after, "limit": PAGE})
            yield from map(_document, page["documents"])
            after = page["next"]

    def info(self) -> dict[str, Any]:
        """Tell what the collection holds."""
        found: dict[str, Any] = self._ask("GET", "/stats")
        return found

    # Changes

    def add(self, documents: Iterable[Any], *, vectors: Iterable[Any] | None = None) -> int:
        """Add documents, all or, on an error, none of them; a key that is there already is an error."""
        return self._put(documents, vectors, "add")

    def upsert(self, documents: Iterable[Any], *, vectors: Iterable[Any] | None = None) -> int:
        """Add documents, each in place of the one with the same key, if there is one."""
        return self._put(documents, vectors, "upsert")

    def _put(self, documents: Iterable[Any], vectors: Iterable[Any] | None, mode: str) -> int:
        pairs = list(paired(documents, vectors))
        rows = [
            {"key": document.key, "text": document.text, "label": document.label, "metadata": document.metadata}
            for document, _ in pairs
        ]
        body: dict[str, Any] = {"documents": rows, "mode": mode}
        if vectors is not None:
            body["vectors"] = [_numbers(vector) for _, vector in pairs]
        return int(self._ask("POST", "/documents", body)["count"])

    def delete(self, keys: str | Iterable[str], *, missing_ok: bool = False) -> int:
        """Delete documents by their keys, all or, if one is missing, none of them; give how many were deleted."""
        several = [keys] if isinstance(keys, str) else list(keys)
        return int(self._ask("POST", "/delete", {"keys": several, "missing_ok": missing_ok})["count"])

    # Search

    def search(
        self,
        query: str | npt.ArrayLike | None = None,
        k: int = 10,
        *,
        key: str | None = None,
        radius: int | None = None,
        rerank: bool = True,
        where: Mapping[str, Any] | None = None,
        factor: int = FACTOR,
        explain: bool = True,
    ) -> list[Hit]:
        """Find the documents that are most like a text, a vector, or another document; see `Collection.search`."""
        if (query is None) == (key is None):
            raise TypeError("search takes either a query or a key.")
        body = _how(k, radius, rerank, where, factor) | {"explain": explain}
        body |= {"key": key} if key is not None else _query(query)
        return [_hit(row) for row in self._ask("POST", "/search", body)["hits"]]

    def search_many(
        self,
        queries: Iterable[Any],
        k: int = 10,
        *,
        radius: int | None = None,
        rerank: bool = True,
        where: Mapping[str, Any] | None = None,
        factor: int = FACTOR,
        explain: bool = False,
    ) -> list[list[Hit]]:
        """Like `search`, for many texts or vectors at once: a list of hits for each."""
        body = _how(k, radius, rerank, where, factor) | {"explain": explain}
        size = max(1, min(MOST_QUERIES, MOST_HITS // k if isinstance(k, int) and k > 0 else 1))
        return [
            [_hit(row) for row in rows]
            for part in _parts(list(queries), size)
            for rows in self._ask("POST", "/search_many", body | _queries(part))["answers"]
        ]

    # Applications

    def encode(self, queries: Iterable[Any]) -> Codes:
        """Give the packed codes of texts, or of vectors, by the collection's own model."""
        every = list(queries)
        answers = [self._ask("POST", "/encode", _queries(part)) for part in _parts(every, MOST_TEXTS)]
        width = n_bytes(answers[0]["n_bits"] if answers else self.n_bits)
        content = b"".join(bytes.fromhex(code) for answer in answers for code in answer["codes"])
        return np.frombuffer(content, dtype=np.uint8).reshape(-1, width)

    def near_duplicates(self, radius: int | None = None, min_cosine: float = 0.9) -> Duplicates:
        """Find the documents that say nearly the same; see `Collection.near_duplicates`."""
        chosen = {} if radius is None else {"radius": radius}
        found = self._ask("GET", "/duplicates", params={"min_cosine": min_cosine} | chosen)
        return Duplicates(self, found["groups"])

    def classify(
        self, query: str | npt.ArrayLike, k: int = 25, *, radius: int | None = None, voting: Voting = "majority"
    ) -> Prediction:
        """Give the label that most of the documents around a query have; see `sthash.applications.votes`."""
        body = {"k": k, "radius": radius, "voting": voting} | _query(query)
        found = self._ask("POST", "/classify", body)
        return Prediction(found["label"], found["shares"], found["voters"])

    def _ask(self, method: str, path: str, body: Any = None, params: dict[str, Any] | None = None) -> Any:
        # In ASCII: a lone surrogate then comes as far as the service, whose error says what is wrong with it.
        content = None if body is None else json.dumps(body, default=_plain).encode("ascii")
        headers = {} if body is None else {"content-type": "application/json"}
        try:
            response = self._http.request(method, path, content=content, headers=headers, params=params)
        except self._failures as error:
            raise ServiceError(f"{self._http.base_url} does not answer ({error}); does sth serve run there?") from error
        try:
            answer = response.json()
            problem = None if response.is_success else answer["error"]
            raised = None if problem is None else _error(problem["code"], f"{problem['message']} {problem['remedy']}")
        except (ValueError, KeyError, TypeError) as error:
            status = response.status_code
            raise ServiceError(f"{self._http.base_url} answers {status}, but not as sth serve does.") from error
        if raised is not None:
            raise raised
        return answer


def _error(code: str, message: str) -> Exception:
    """What a `Collection` would have raised, or else a `ServiceError`."""
    if code == "no_such_document":
        return KeyError(message)
    if code == "wrong_type":
        return TypeError(message)
    if code in ("invalid_request", "invalid_value", "key_exists"):
        return ValueError(message)
    return ServiceError(message, code)


def _path(key: str) -> str:
    # A dot is written as a number, because .. would be taken for the way up.
    return "/documents/" + quote(key, safe="", errors="surrogatepass").replace(".", "%2E")


def _document(row: dict[str, Any]) -> Document:
    return Document(row["key"], row["text"], row["label"], row["metadata"])


def _hit(row: dict[str, Any]) -> Hit:
    return Hit(
        row["key"], row["text"], row["label"], row["metadata"], row["distance"], row["score"], tuple(row["terms"])
    )


def _how(k: int, radius: int | None, rerank: bool, where: Mapping[str, Any] | None, factor: int) -> dict[str, Any]:
    conditions = None
    if where is not None:
        if not isinstance(where, Mapping):
            raise TypeError(f"where={where!r} must be a dict from a metadata field to a value or a list of values.")
        conditions = {
            str(name): list(value) if isinstance(value, tuple | set | frozenset) else value
            for name, value in where.items()
        }
    return {"k": k, "radius": radius, "rerank": rerank, "where": conditions, "factor": factor}


def _query(query: Any) -> dict[str, Any]:
    return {"text": query} if isinstance(query, str) else {"vector": _numbers(query)}


def _queries(queries: list[Any]) -> dict[str, Any]:
    if all(isinstance(query, str) for query in queries):
        return {"texts": queries}
    if any(isinstance(query, str) for query in queries):
        raise TypeError("queries must be all texts or all vectors, got both.")
    return {"vectors": [_numbers(query) for query in queries]}


def _numbers(vector: Any) -> list[float]:
    numbers: list[float] = np.asarray(vector, dtype=np.float32).reshape(-1).tolist()
    return numbers


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} cannot be sent: it is a {type(value).__name__}, which JSON has not.")


def _parts(queries: list[Any], size: int) -> Iterator[list[Any]]:
    for start in range(0, len(queries), size):
        yield queries[start : start + size]
