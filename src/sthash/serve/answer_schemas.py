"""Answers, as the OpenAPI document describes them.

The server does not validate its own answers; the tests compare them with these schemas.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from sthash.collection import HitRanking, Reading, Strategy
from sthash.serve.schemas import described
from sthash.vectors.metric import Metric


class DocumentSchema(BaseModel):
    """A document of a collection."""

    key: str
    text: str
    label: str | None
    metadata: dict[str, Any]


class SnippetSchema(BaseModel):
    """A passage of a text, and which words of it the query has too."""

    text: str
    spans: list[tuple[int, int]] = Field(description="Start and end of each of these words, in characters.")
    start: int = Field(description="Where the passage begins in the text of the document.")


class HitSchema(DocumentSchema):
    """A document that was found, with its score, its Hamming distance, and the terms that matched."""

    score: float
    distance: int | None = Field(
        description="Number of bits in which its code differs from the query's code; null unless codes had a part in "
        "the search, or explain or view was set."
    )
    terms: list[str]
    snippet: SnippetSchema | None = Field(description="The passage with most words of the query; with snippet.")
    copies: list[str] = Field(description="Keys of near-duplicates that it stands for; with collapse.")
    code: str | None = Field(
        None, description="With view: its code as hexadecimal bytes; bit p is bit p % 8 of byte p // 8."
    )


class FacetSchema(BaseModel):
    """A value of a field, and in how many documents it is."""

    value: str | bool | int | float
    count: int


class AnswerDetails(BaseModel):
    """What became of a query."""

    ignored: list[str] = Field([], description="Words of the query that are stop words.")
    unknown: list[str] = Field([], description="Words of the query that no document has.")
    suggestions: dict[str, list[str]] = Field(
        {}, description="Known words that are spelled almost like an unknown one; with explain, or if it was corrected."
    )
    corrected: dict[str, str] = Field({}, description="What was searched for in place of unknown words.")
    strategy: Strategy = Field(
        "codes",
        description="Where the hits were looked for: in posting lists, in a ball of codes, in cells of vectors, or in "
        "posting lists and cells.",
    )
    ranking: HitRanking = Field("cosine", description="What the hits were ranked by; ip is the inner product.")
    reading: Reading = Field(
        "plain",
        description="How the query was read: as words, with its operators, or (relaxed) as words because no document "
        "meets its operators.",
    )
    error: str = Field("", description="What is wrong with a query that syntax=strict could not read.")
    total: int | None = Field(
        None, description="Number of documents that match; null where vectors or codes were compared."
    )
    facets: dict[str, list[FacetSchema]] = Field(
        {}, description="Per field of facets, its values in the documents that match, the most common first."
    )


class SearchAnswer(AnswerDetails):
    """Hits, the best first.

    The fields after ``took_ms`` are for requests with ``view``. They are null where the query has no code: in a
    collection of vectors that was built without codes, and for a text that the server cannot embed.
    """

    model_config = described(
        (),
        {
            "hits": [
                {
                    "key": "queue.Queue",
                    "text": "Create a queue object with a given maximum size.",
                    "label": "queue",
                    "metadata": {},
                    "score": 0.57,
                    "distance": 10,
                    "terms": ["queue"],
                    "snippet": None,
                    "copies": [],
                }
            ],
            "ignored": ["a"],
            "unknown": ["thraeds"],
            "suggestions": {"thraeds": ["threads"]},
            "corrected": {},
            "strategy": "postings",
            "ranking": "graph",
            "total": 12,
            "took_ms": 2.1,
        },
    )
    hits: list[HitSchema]
    took_ms: float
    code: str | None = Field(None, description="The code of the query.")
    n_bits: int | None = None
    counts: list[int] | None = Field(None, description="Number of documents per Hamming distance, from 0 to n_bits.")
    place: list[float] | None = Field(None, description="The place of the query on the map.")
    places: dict[str, list[float] | None] | None = Field(None, description="The places of the hits on the map.")
    radius_used: int | None = Field(None, description="Radius of the ball that was searched, in bits.")


class SearchManyAnswer(BaseModel):
    """One list of hits per query, and the details of each."""

    answers: list[list[HitSchema]]
    details: list[AnswerDetails]
    took_ms: float


class EncodeAnswer(BaseModel):
    """Codes as hexadecimal bytes."""

    codes: list[str]
    n_bits: int


class ClassifyAnswer(BaseModel):
    """The label with the largest share, and the share of each label. If no word is known, nobody votes."""

    label: str | None
    shares: dict[str, float]
    voters: int
    known: bool = Field(True, description="Whether some document has a word of the text.")
    ignored: list[str] = Field([], description="Words of the text that are stop words.")
    unknown: list[str] = Field([], description="Words of the text that no document has.")


class PairSchema(BaseModel):
    """Two documents and their similarity; of containment, the left one is contained in the right one."""

    left: str
    right: str
    score: float


class DuplicatesAnswer(BaseModel):
    """Near-duplicates: groups of two or more keys, and pairs with their similarities."""

    groups: list[list[str]]
    measure: str = Field(description="What was compared.")
    threshold: float = Field(description="Similarity that two documents have at least.")
    keys: list[str] = Field(description="All keys that are in pairs, in the order of the documents.")
    pairs: list[PairSchema]
    copies: int = Field(description="Number of pairs, at the end of the list, that link a document to its first copy.")
    complete: bool = Field(description="Whether all pairs are listed; groups are right in any case.")


class VerdictSchema(BaseModel):
    """Whether a query is new, or of which document it is a copy; its key is its position."""

    key: str
    is_new: bool
    copy_of: str | None
    score: float


class KnownCopiesAnswer(BaseModel):
    """One verdict per query."""

    verdicts: list[VerdictSchema]


class CountAnswer(BaseModel):
    """How many documents were added or deleted."""

    count: int


class PageAnswer(BaseModel):
    """Documents in the order in which they were added; ``next`` is the ``after`` of the next page, if there is one."""

    documents: list[DocumentSchema]
    next: int | None


class MapAnswer(BaseModel):
    """The places of a sample of the documents, along two directions of the margins of the bits."""

    axes: list[str] | None = Field(
        description="Names of the two directions; null if the collection has no codes, and so no map."
    )
    points: list[list[float]]
    labels: list[str | None]
    keys: list[str]


class CollectionSummary(BaseModel):
    """A collection. If it cannot be used, ``error`` says why."""

    name: str
    documents: int | None
    n_bits: int | None = Field(description="Number of bits of a code; 0 if the documents have none.")
    kind: Literal["text", "vectors"] | None
    words: int | None = Field(description="Number of different words; if there is none, no text finds anything.")
    takes_texts: bool | None = Field(
        description="Whether documents may be added as texts: not to vectors, unless the server has their embedder."
    )
    error: str | None


class CollectionsAnswer(BaseModel):
    """The collections of a server, and what it allows."""

    collections: list[CollectionSummary]
    default: str | None
    writable: bool
    needs_read_key: bool


class StatsAnswer(BaseModel):
    """What `Collection.info` says: what the file holds, and how its hash functions were learned.

    Without hash functions, the fields about them are missing.
    """

    model_config = ConfigDict(extra="allow")
    name: str
    documents: int
    bytes: int
    kind: str
    words: int = Field(description="Number of different words.")
    n_bits: int = Field(description="Number of bits of a code; 0 if the documents have none.")
    metric: Metric | None = Field(None, description="What vectors are compared by.")
    learned_on: int | None = Field(
        None, description="Number of documents that the hash functions were learned from; 0 for none."
    )
    unseen_documents: float | None = Field(None, description="Share of the documents that they were not learned from.")
    unseen_terms: float | None = Field(None, description="Share of the words of all documents that they do not know.")
    advice: str | None = Field(None, description="Whether to relearn, and how.")


class PartsAnswer(BaseModel):
    """What the bytes of a file are for, the most first."""

    name: str
    parts: dict[str, int] = Field(description="Bytes by what they are for; `tables` is what SQLite adds.")


class HealthAnswer(BaseModel):
    """The server is alive."""

    status: Literal["ok"]
    version: str


class ReadyAnswer(BaseModel):
    """Every collection opens and answers."""

    status: Literal["ready"]
    collections: int


class ErrorBody(BaseModel):
    """A stable code for programs, and for people a message and a remedy."""

    code: str
    message: str
    remedy: str


class ErrorAnswer(BaseModel):
    """An error."""

    error: ErrorBody
