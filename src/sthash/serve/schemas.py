"""Requests and answers, as the OpenAPI document describes them."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.json_schema import SkipJsonSchema

from sthash.collection.collection import FACTOR
from sthash.serve import settings

Text = Annotated[str, Field(max_length=settings.MOST_CHARACTERS)]
Key = Annotated[str, Field(max_length=settings.MOST_KEY)]
Number = Annotated[float, Field(allow_inf_nan=False, ge=-3.4e38, le=3.4e38)]
Vector = Annotated[list[Number], Field(min_length=1, max_length=settings.MOST_COLUMNS)]
Count = Annotated[int, Field(ge=1, le=settings.MOST_HITS)]
Radius = Annotated[int, Field(ge=0, le=settings.MOST_BITS)]
Factor = Annotated[int, Field(ge=1, le=100_000)]
Word = Annotated[str, Field(max_length=1000)]
Whole = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
Value = Word | bool | Whole | Annotated[float, Field(allow_inf_nan=False)] | None
MOST_LEVELS = 64
Where = Annotated[dict[Word, Value | Annotated[list[Value], Field(max_length=64)]], Field(max_length=16)]


def _described(one_of: tuple[str, ...], *examples: dict[str, Any]) -> ConfigDict:
    """Examples for the OpenAPI document, and of which fields there must be exactly one."""
    extra: dict[str, Any] = {"examples": list(examples)}
    if one_of:
        extra["oneOf"] = [{"required": [name]} for name in one_of]
    return ConfigDict(json_schema_extra=extra)


class Request(BaseModel):
    """What all requests share: nothing is converted, nothing is passed over."""

    model_config = ConfigDict(extra="forbid", strict=True)


class HowToSearch(Request):
    """How to search; `sthash.Collection.search` describes it."""

    k: Count = 10
    radius: Radius | None = None
    where: Where | None = None
    rerank: bool = True
    factor: Factor = FACTOR


class SearchRequest(HowToSearch):
    """A text, the key of a document, or a vector; exactly one of them."""

    model_config = _described(
        ("text", "key", "vector"),
        {"text": "a queue for threads", "k": 5},
        {"key": "queue.Queue", "k": 5, "where": {"year": [2025, 2026]}},
    )
    text: Text | SkipJsonSchema[None] = None
    key: Key | SkipJsonSchema[None] = None
    vector: Vector | SkipJsonSchema[None] = None
    explain: bool = Field(True, description="Whether to give the terms that made a hit match.")
    view: bool = Field(False, description="Whether to give codes, counts at each distance, and places on the map.")

    @model_validator(mode="after")
    def _one_query(self) -> Self:
        if sum(part is not None for part in (self.text, self.key, self.vector)) != 1:
            raise ValueError("give exactly one of text, key and vector")
        return self


class Queries(Request):
    """Texts, or vectors in a collection of vectors."""

    texts: Annotated[list[Text], Field(max_length=settings.MOST_DOCUMENTS)] | SkipJsonSchema[None] = None
    vectors: Annotated[list[Vector], Field(max_length=settings.MOST_DOCUMENTS)] | SkipJsonSchema[None] = None

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if (self.texts is None) == (self.vectors is None):
            raise ValueError("give either texts or vectors")
        return self

    @property
    def all(self) -> list[Any]:
        """Whichever there are."""
        return self.vectors if self.texts is None else self.texts  # type: ignore[return-value]


class SearchManyRequest(HowToSearch, Queries):
    """Many searches at once."""

    model_config = _described(("texts", "vectors"), {"texts": ["a queue for threads", "compress data"], "k": 3})
    explain: bool = False

    @model_validator(mode="after")
    def _not_too_many(self) -> Self:
        if len(self.all) > settings.MOST_QUERIES:
            raise ValueError(f"give at most {settings.MOST_QUERIES} queries at once")
        if len(self.all) * self.k > settings.MOST_HITS_OF_ALL:
            raise ValueError(f"queries times k must be at most {settings.MOST_HITS_OF_ALL}: give fewer, or a smaller k")
        return self


class EncodeRequest(Queries):
    """What to encode."""

    model_config = _described(("texts", "vectors"), {"texts": ["a queue for threads"]})


class ClassifyRequest(Request):
    """What to classify; `sthash.Collection.classify` describes it."""

    model_config = _described(("text", "vector"), {"text": "the sine of an angle", "voting": "distance"})
    text: Text | SkipJsonSchema[None] = None
    vector: Vector | SkipJsonSchema[None] = None
    k: Count = 25
    radius: Radius | None = None
    voting: Literal["majority", "distance"] = "majority"

    @model_validator(mode="after")
    def _one_query(self) -> Self:
        if (self.text is None) == (self.vector is None):
            raise ValueError("give either text or vector")
        return self


class NewDocument(Request):
    """A document; without a key it gets one."""

    key: Key | None = None
    text: Text = ""
    label: Key | None = None
    metadata: dict[str, Any] = {}

    @model_validator(mode="after")
    def _not_too_deep(self) -> Self:
        if _deeper_than(MOST_LEVELS, self.metadata):
            raise ValueError(f"metadata may have at most {MOST_LEVELS} levels")
        return self


def _deeper_than(levels: int, value: Any) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(levels == 0 or _deeper_than(levels - 1, part) for part in inner)


class DocumentsRequest(Request):
    """Documents to add, all or none of them; ``upsert`` lets them take the place of those with the same keys."""

    model_config = _described(
        (), {"documents": [{"key": "a", "text": "A queue for threads.", "label": "queue", "metadata": {"year": 2026}}]}
    )
    documents: Annotated[list[NewDocument], Field(max_length=settings.MOST_DOCUMENTS)]
    mode: Literal["add", "upsert"] = "add"
    vectors: Annotated[list[Vector], Field(max_length=settings.MOST_DOCUMENTS)] | None = None


class DeleteRequest(Request):
    """Keys of documents to delete, all or, if one is missing, none of them."""

    model_config = _described((), {"keys": ["a", "b"], "missing_ok": True})
    keys: Annotated[list[Key], Field(max_length=settings.MOST_DOCUMENTS)]
    missing_ok: bool = False


# Answers. They are not checked again on their way out; the tests hold them against this.


class Document(BaseModel):
    """A document of a collection."""

    key: str
    text: str
    label: str | None
    metadata: dict[str, Any]


class Hit(Document):
    """A document that was found: bits between the codes, cosine of the vectors, terms that matched."""

    distance: int
    score: float
    terms: list[str]
    code: str = Field("", description="Its code, as hexadecimal bytes; bit p is bit p % 8 of byte p // 8.")


class SearchAnswer(BaseModel):
    """Hits, the best first; the rest where a view was asked for."""

    model_config = _described(
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
            "took_ms": 2.1,
        },
    )
    hits: list[Hit]
    took_ms: float
    code: str = Field("", description="The query's code.")
    n_bits: int = 0
    counts: list[int] = Field([], description="Documents at each Hamming distance, from 0 to n_bits.")
    place: list[float] | None = Field(None, description="The query's place on the map.")
    places: dict[str, list[float] | None] = Field({}, description="The hits' places on the map.")
    radius_used: int = Field(0, description="Bits around the query that were looked at.")


class SearchManyAnswer(BaseModel):
    """For each query its hits."""

    answers: list[list[Hit]]
    took_ms: float


class EncodeAnswer(BaseModel):
    """Codes as hexadecimal bytes."""

    codes: list[str]
    n_bits: int


class ClassifyAnswer(BaseModel):
    """The label with most votes, and the share of the votes that each label got."""

    label: str | None
    shares: dict[str, float]
    voters: int


class DuplicatesAnswer(BaseModel):
    """Keys of documents that say nearly the same, two or more a group."""

    groups: list[list[str]]


class CountAnswer(BaseModel):
    """How many documents were added or deleted."""

    count: int


class PageAnswer(BaseModel):
    """Documents in the order in which they came; ``next`` is where the following ones begin, if there are any."""

    documents: list[Document]
    next: int | None


class MapAnswer(BaseModel):
    """Where a sample of the documents lies, by two directions of the numbers from which the bits are made."""

    axes: list[str] = Field(description="What the two directions are called.")
    points: list[list[float]]
    labels: list[str | None]
    keys: list[str]


class CollectionSummary(BaseModel):
    """A collection; ``error`` says why it cannot be used, if so."""

    name: str
    documents: int | None
    n_bits: int | None
    kind: str | None
    error: str | None


class CollectionsAnswer(BaseModel):
    """What is served."""

    collections: list[CollectionSummary]
    default: str | None
    writable: bool
    needs_read_key: bool


class StatsAnswer(BaseModel):
    """What a collection's file holds, and with what it was learnt."""

    model_config = ConfigDict(extra="allow")
    name: str
    documents: int
    bytes: int
    kind: str
    n_bits: int


class HealthAnswer(BaseModel):
    """That the server is there."""

    status: Literal["ok"]
    version: str


class ErrorBody(BaseModel):
    """What went wrong: a code that keeps its meaning, and for people a message and a remedy."""

    code: str
    message: str
    remedy: str


class ErrorAnswer(BaseModel):
    """An error."""

    error: ErrorBody
