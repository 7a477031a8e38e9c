"""Answers, as the OpenAPI document describes them.

The server does not validate its own answers; the tests compare them with these schemas.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from sthash.serve.schemas import described


class DocumentSchema(BaseModel):
    """A document of a collection."""

    key: str
    text: str
    label: str | None
    metadata: dict[str, Any]


class HitSchema(DocumentSchema):
    """A document that was found, with its Hamming distance, its score, and the terms that matched."""

    distance: int
    score: float
    terms: list[str]
    code: str = Field("", description="Its code as hexadecimal bytes; bit p is bit p % 8 of byte p // 8.")


class AnswerDetails(BaseModel):
    """What became of a query."""

    ignored: list[str] = Field([], description="Words of the query that are stop words.")
    unknown: list[str] = Field([], description="Words of the query that no document has.")
    suggestions: dict[str, list[str]] = Field(
        {}, description="Known words that are spelled almost like an unknown one; with explain or correct."
    )
    corrected: dict[str, str] = Field({}, description="What was searched for in place of unknown words; with correct.")
    strategy: str = Field("codes", description="How the hits were found: by postings, by codes, or by both.")
    ranking: str = Field("cosine", description="How the hits were ranked: graph, bm25, cosine, ip, codes or hybrid.")


class SearchAnswer(AnswerDetails):
    """Hits, the best first. The fields after ``took_ms`` are for requests with ``view``."""

    model_config = described(
        (),
        {
            "hits": [
                {
                    "key": "queue.Queue",
                    "text": "Create a queue object with a given maximum size.",
                    "label": "queue",
                    "metadata": {},
                    "distance": 10,
                    "score": 0.57,
                    "terms": ["queue"],
                }
            ],
            "ignored": ["a"],
            "unknown": ["thraeds"],
            "suggestions": {"thraeds": ["threads"]},
            "corrected": {},
            "strategy": "postings",
            "ranking": "graph",
            "took_ms": 2.1,
        },
    )
    hits: list[HitSchema]
    took_ms: float
    code: str = Field("", description="The code of the query.")
    n_bits: int = 0
    counts: list[int] = Field([], description="Number of documents per Hamming distance, from 0 to n_bits.")
    place: list[float] | None = Field(None, description="The place of the query on the map.")
    places: dict[str, list[float] | None] = Field({}, description="The places of the hits on the map.")
    radius_used: int = Field(0, description="Radius of the ball that was searched, in bits.")


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
    """The label with most votes, and the share of the votes per label. If no word is known, nobody votes."""

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
    keys: list[str] = Field(description="All keys that are in pairs, in the order of the documents.")
    pairs: list[PairSchema]
    copies: int = Field(description="So many pairs, the last ones, join a document with the first of the same words.")
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

    axes: list[str] = Field(description="Names of the two directions.")
    points: list[list[float]]
    labels: list[str | None]
    keys: list[str]


class CollectionSummary(BaseModel):
    """A collection. If it cannot be used, ``error`` says why."""

    name: str
    documents: int | None
    n_bits: int | None
    kind: str | None
    takes_texts: bool | None = Field(description="Whether a query may be a text.")
    error: str | None


class CollectionsAnswer(BaseModel):
    """The collections of a server, and what it allows."""

    collections: list[CollectionSummary]
    default: str | None
    writable: bool
    needs_read_key: bool


class StatsAnswer(BaseModel):
    """What the file of a collection holds, and how its model was learned."""

    model_config = ConfigDict(extra="allow")
    name: str
    documents: int
    bytes: int
    kind: str
    n_bits: int
    learned_on: int = Field(description="Number of documents that the hash functions were learned from; 0 for none.")
    unseen_documents: float = Field(description="Share of the documents that they were not learned from.")
    unseen_terms: float = Field(description="Share of the words of all documents that they do not know.")
    advice: str = Field(description="Whether it is worth to learn anew, and how.")


class HealthAnswer(BaseModel):
    """The server works."""

    status: Literal["ok"]
    version: str


class ErrorBody(BaseModel):
    """A stable code for programs, and for people a message and a remedy."""

    code: str
    message: str
    remedy: str


class ErrorAnswer(BaseModel):
    """An error."""

    error: ErrorBody
