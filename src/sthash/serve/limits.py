"""The one list of limits: what one request may ask for, and what a server accepts in total.

The routes, the OpenAPI document and `sthash.Client` all read them here. This module imports nothing of the extra
``serve``, so that a client without it can.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

# Per request. All that concern parameters are in the OpenAPI document; docs/serving.md lists all of them.
MAX_TEXT_CHARACTERS = 1_000_000
MAX_KEY_CHARACTERS = 1024
MAX_WORD_CHARACTERS = 1000  # of a metadata field, or of a value to filter by
MAX_VECTOR_COLUMNS = 65_536
MAX_METADATA_LEVELS = 64
MAX_DOCUMENTS = 10_000  # documents to add, keys to delete, texts or vectors to encode
MAX_HITS = 1000  # k
MAX_OFFSET = 10_000
MAX_SNIPPET_CHARACTERS = 10_000
MAX_QUERIES = 1000  # of one search_many
MAX_TOTAL_HITS = 20_000  # queries times k of one search_many
MAX_RADIUS = 4096
MAX_DUPLICATES_RADIUS = 16
MAX_SHINGLE_WORDS = 100
MIN_DUPLICATES_THRESHOLD = 0.5  # the time grows steeply below it
MAX_FACTOR = 100_000
MAX_WHERE_FIELDS = 16
MAX_FACETS = 16  # fields
MAX_WHERE_VALUES = 10_000  # per field
MAX_PAGE = 1000  # documents
PAGE = 100  # documents, if the request does not say how many
MAX_JSON_VALUES = 4_000_000  # of one body, in all lists and objects
MAX_JSON_CONTAINERS = 250_000  # lists and objects of one body
MAX_HEADERS = 100
MAX_PIPELINED = 16  # requests that one connection sends before it has read the answers
MAX_COLLECTIONS = 1000  # of a folder
MAX_OPEN_COLLECTIONS = 32  # the others are opened when they are used
MAX_WORKERS = 8  # processes; each must have room for the largest body and answer
MAX_SLOW_JOBS = 8  # filters, classifications, duplicates and maps that wait, per collection


@dataclass(frozen=True)
class Limits:
    """What a server accepts.

    Attributes
    ----------
    head_bytes : int
        Size of the head of one request: its path and its headers.
    body_bytes : int
        Size of the body of one request.
    all_bodies_bytes : int
        Memory for the bodies of all requests that are being received or answered, and for the values in them.
    answer_bytes : int
        Size of one answer.
    all_answers_bytes : int
        Size of all large answers that are being sent.
    in_flight : int
        Number of requests that are being answered. A request beyond it waits for its turn.
    waiting : int
        Number of requests that wait for their turn. A request beyond it gets 503.
    waiting_seconds : float
        Time that a request waits for its turn. Then it gets 503.
    connections : int
        Number of open connections. A connection beyond it gets 503 and is closed.
    seconds : float
        Time to answer one request. Then its work is stopped too.
    header_seconds, body_seconds, send_seconds : float
        Time for a client to send the headers and the body of a request, and to read its answer.
    idle_seconds : float
        Time between two requests on one connection.
    wrong_key_seconds : float
        Longest time that the answer to a wrong key is held back.
    """

    head_bytes: int = 32 * 2**10
    body_bytes: int = 32 * 2**20
    all_bodies_bytes: int = 512 * 2**20
    answer_bytes: int = 32 * 2**20
    all_answers_bytes: int = 256 * 2**20
    in_flight: int = 80
    waiting: int = 1024
    waiting_seconds: float = 5.0
    connections: int = 1024
    seconds: float = 30.0
    header_seconds: float = 10.0
    body_seconds: float = 30.0
    send_seconds: float = 30.0
    idle_seconds: float = 30.0
    wrong_key_seconds: float = 10.0

    def share(self, workers: int) -> Limits:
        """Return the limits of one of so many processes that keep these limits together."""
        if workers == 1:
            return self
        totals = ("all_bodies_bytes", "all_answers_bytes", "in_flight", "waiting", "connections")
        return replace(self, **{name: max(1, getattr(self, name) // workers) for name in totals})

    @property
    def memory_bytes(self) -> int:
        """Most memory that requests and answers take, besides the program and the collections.

        An answer that is being made may take twelve times its size: as text of four bytes per character, and as JSON.
        Two of them can be under way per collection that is in use; this counts one collection.
        """
        connections = 3 * (self.head_bytes + 2**16) * self.connections
        return self.all_bodies_bytes + self.all_answers_bytes + 2 * 12 * self.answer_bytes + connections


def queries_per_request(k: int) -> int:
    """Return how many queries one search_many may have with this ``k``."""
    return max(1, min(MAX_QUERIES, MAX_TOTAL_HITS // k))
