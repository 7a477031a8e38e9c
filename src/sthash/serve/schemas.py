"""Requests, as the OpenAPI document describes them."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, Json, model_validator
from pydantic.json_schema import SkipJsonSchema

from sthash.collection import Ranking, SearchOptions, Syntax, Vote, Voting
from sthash.duplicates.measures import Measure
from sthash.duplicates.options import DuplicateOptions, Protect
from sthash.serve import limits
from sthash.serve.errors import as_api_error

Text = Annotated[str, Field(max_length=limits.MAX_TEXT_CHARACTERS)]
Key = Annotated[str, Field(max_length=limits.MAX_KEY_CHARACTERS)]
Number = Annotated[float, Field(allow_inf_nan=False, ge=-3.4e38, le=3.4e38)]
Vector = Annotated[list[Number], Field(min_length=1, max_length=limits.MAX_VECTOR_COLUMNS)]
Count = Annotated[int, Field(ge=1, le=limits.MAX_HITS, description="Number of documents to find.")]
Radius = Annotated[int, Field(ge=0, le=limits.MAX_RADIUS, description="Radius of the ball, in bits.")]
Factor = Annotated[
    int, Field(ge=1, le=limits.MAX_FACTOR, description="Documents in the ball per hit, without a radius.")
]
Word = Annotated[str, Field(max_length=limits.MAX_WORD_CHARACTERS)]
Whole = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
Value = Word | bool | Whole | Annotated[float, Field(allow_inf_nan=False)] | None
Values = Annotated[list[Value], Field(max_length=limits.MAX_WHERE_VALUES)]
Operator = Literal["=", "!=", "<", "<=", ">", ">=", "in", "not in", "contains", "exists"]
Comparison = Annotated[dict[Operator, Value | Values], Field(min_length=1)]
Where = Annotated[dict[Word, Value | Values | Comparison], Field(max_length=limits.MAX_WHERE_FIELDS)]


def described(one_of: tuple[str, ...], *examples: dict[str, Any]) -> ConfigDict:
    """Return a configuration with examples, and the names of fields of which exactly one must be given."""
    extra: dict[str, Any] = {"examples": list(examples)}
    if one_of:
        extra["oneOf"] = [{"required": [name]} for name in one_of]
    return ConfigDict(json_schema_extra=extra)


class RequestSchema(BaseModel):
    """The base of all requests: no value is converted, and no unknown field is ignored."""

    model_config = ConfigDict(extra="forbid", strict=True)


class SearchOptionsSchema(RequestSchema):
    """How to search: `sthash.collection.SearchOptions` within the limits of a service."""

    k: Count = SearchOptions.k
    radius: Radius | None = SearchOptions.radius
    rerank: bool = Field(
        SearchOptions.rerank, description="Whether to rank the documents in the ball by vectors; if not, by codes."
    )
    where: Where | None = Field(None, description="Conditions that the documents must meet.")
    factor: Factor = SearchOptions.factor
    explain: bool = Field(
        SearchOptions.explain, description="Whether to give the terms that made a hit match, and suggestions."
    )
    ranking: Ranking = Field(
        SearchOptions.ranking,
        description="What hits are ranked by; auto is graph (BM25 and the neighborhood) for a text, else cosine, or ip "
        "(the inner product), whichever metric the collection has.",
    )
    correct: bool | None = Field(
        SearchOptions.correct,
        description="Whether to search for the closest known word in place of an unknown one; null does it if nothing "
        "was found, or if half of the words are unknown.",
    )
    syntax: Syntax = Field(
        SearchOptions.syntax,
        description="How to read a text: as words, in the query language, or as it looks.",
    )
    offset: int = Field(
        SearchOptions.offset, ge=0, le=limits.MAX_OFFSET, description="Number of hits to leave out, the best ones."
    )
    snippet: int = Field(
        SearchOptions.snippet,
        ge=0,
        le=limits.MAX_SNIPPET_CHARACTERS,
        description="Number of characters of the snippet of each hit; 0 for none.",
    )
    sort: Word | None = Field(
        SearchOptions.sort,
        description="Field to sort all documents that match by; with a minus, such as -year, in descending order.",
    )
    facets: Annotated[list[Word], Field(max_length=limits.MAX_FACETS)] = Field(
        [], description="Fields whose values are counted over all documents that match."
    )
    collapse: bool = Field(SearchOptions.collapse, description="Whether to give one hit per group of near-duplicates.")
    recall: float = Field(
        SearchOptions.recall,
        gt=0,
        le=1,
        description="The share of the true nearest vectors to find; for collections of vectors.",
    )
    exact: bool = Field(
        SearchOptions.exact, description="Whether to compare with all vectors; for collections of vectors."
    )

    @cached_property
    def options(self) -> SearchOptions:
        """The options of this request; `ApiError` if they do not fit together."""
        try:
            return SearchOptions(**{name: getattr(self, name) for name in SearchOptionsSchema.model_fields})
        except (TypeError, ValueError) as error:
            raise as_api_error(error, "", "") or error from error


class SearchRequest(SearchOptionsSchema):
    """A search by a text, by the key of a document, or by a vector: exactly one of them."""

    model_config = described(
        ("text", "key", "vector"),
        {"text": "a queue for threads", "k": 5},
        {"key": "queue.Queue", "k": 5, "where": {"year": {">=": 2025}, "label": ["queue", "heapq"]}},
    )
    text: Text | SkipJsonSchema[None] = None
    key: Key | SkipJsonSchema[None] = None
    vector: Vector | SkipJsonSchema[None] = None
    view: bool = Field(False, description="Whether to give codes, counts per distance, and places on the map.")

    @property
    def query(self) -> Any:
        """The text or the vector; None for a search by key."""
        return self.vector if self.text is None else self.text

    @model_validator(mode="after")
    def _one_query(self) -> Self:
        if sum(part is not None for part in (self.text, self.key, self.vector)) != 1:
            raise ValueError("give exactly one of text, key and vector")
        return self


class SearchParameters(SearchRequest):
    """A search as parameters of an address: the fields of `SearchRequest`, of which lists and objects are JSON."""

    # All values of an address are strings, and ``collection`` is a parameter, too.
    model_config = ConfigDict(extra="ignore", strict=False)
    where: Json[Where | None] = Field(None, description='As JSON, for example `{"year": 2026}`.')
    vector: Json[Vector | None] = Field(None, description="Instead of a text: numbers, as JSON.")


class QueriesSchema(RequestSchema):
    """Texts, or vectors for a collection of vectors."""

    texts: Annotated[list[Text], Field(max_length=limits.MAX_DOCUMENTS)] | SkipJsonSchema[None] = None
    vectors: Annotated[list[Vector], Field(max_length=limits.MAX_DOCUMENTS)] | SkipJsonSchema[None] = None

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if (self.texts is None) == (self.vectors is None):
            raise ValueError("give either texts or vectors")
        return self

    @property
    def queries(self) -> list[Any]:
        """The texts, or the vectors."""
        return self.vectors if self.texts is None else self.texts  # type: ignore[return-value]


class SearchManyRequest(SearchOptionsSchema, QueriesSchema):
    """Many searches with the same options."""

    model_config = described(("texts", "vectors"), {"texts": ["a queue for threads", "compress data"], "k": 3})

    @model_validator(mode="after")
    def _not_too_many(self) -> Self:
        if len(self.queries) > limits.MAX_QUERIES:
            raise ValueError(f"give at most {limits.MAX_QUERIES} queries at once")
        if len(self.queries) * self.k > limits.MAX_TOTAL_HITS:
            raise ValueError(f"queries times k must be at most {limits.MAX_TOTAL_HITS}: give fewer, or a smaller k")
        return self


class EncodeRequest(QueriesSchema):
    """Texts or vectors to encode."""

    model_config = described(("texts", "vectors"), {"texts": ["a queue for threads"]})


class KnownCopiesRequest(QueriesSchema):
    """Texts or vectors of which the collection may have near-duplicates."""

    model_config = described(("texts", "vectors"), {"texts": ["a queue for threads"], "threshold": 0.9})

    texts: Annotated[list[Text], Field(max_length=limits.MAX_QUERIES)] | SkipJsonSchema[None] = None
    vectors: Annotated[list[Vector], Field(max_length=limits.MAX_QUERIES)] | SkipJsonSchema[None] = None
    threshold: float | None = Field(None, ge=limits.MIN_DUPLICATES_THRESHOLD, le=1, allow_inf_nan=False)


class DuplicatesParameters(BaseModel):
    """How to find near-duplicates: `sthash.duplicates.DuplicateOptions` within the limits of a service."""

    threshold: float | None = Field(
        None,
        ge=limits.MIN_DUPLICATES_THRESHOLD,
        le=1,
        allow_inf_nan=False,
        description="Least similarity; by default 0.75 for wording, 0.9 for cosine, 0.8 for the others.",
    )
    measure: Measure | None = Field(
        None, description="What is compared: wording (default for texts), cosine of vectors, or sets of shingles."
    )
    protect: Protect | None = Field(None, description="Keep texts apart that differ in a number.")
    shingle_words: int = Field(
        DuplicateOptions.shingle_words, ge=1, le=limits.MAX_SHINGLE_WORDS, description="Number of words of a shingle."
    )
    radius: int | None = Field(
        None,
        ge=0,
        le=limits.MAX_DUPLICATES_RADIUS,
        description="Compare only documents whose codes differ in at most this many bits.",
    )

    @cached_property
    def options(self) -> DuplicateOptions:
        """The options of this request; `ApiError` if they do not fit together."""
        try:
            return DuplicateOptions(**self.model_dump())
        except (TypeError, ValueError) as error:
            raise as_api_error(error, "", "") or error from error


class ClassifyRequest(RequestSchema):
    """A text or a vector to classify; see `sthash.classify`."""

    model_config = described(("text", "vector"), {"text": "the sine of an angle", "voting": "distance"})
    text: Text | SkipJsonSchema[None] = None
    vector: Vector | SkipJsonSchema[None] = None
    k: Count | None = Vote.k
    radius: Radius | None = Vote.radius
    voting: Voting = Vote.voting
    codes: bool = Vote.codes

    @property
    def query(self) -> Any:
        """The text or the vector."""
        return self.vector if self.text is None else self.text

    @model_validator(mode="after")
    def _one_query(self) -> Self:
        if (self.text is None) == (self.vector is None):
            raise ValueError("give either text or vector")
        return self


class NewDocument(RequestSchema):
    """A document to add. The server makes a key for a document without one."""

    key: Key | None = None
    text: Text = ""
    label: Key | None = None
    metadata: dict[str, Any] = {}

    @model_validator(mode="after")
    def _not_too_deep(self) -> Self:
        if _is_deeper(self.metadata, limits.MAX_METADATA_LEVELS):
            raise ValueError(f"metadata may have at most {limits.MAX_METADATA_LEVELS} levels")
        return self


def _is_deeper(value: Any, levels: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(levels == 0 or _is_deeper(part, levels - 1) for part in inner)


class DocumentsRequest(RequestSchema):
    """Documents to add, all or none. With ``upsert``, a document replaces the one with the same key."""

    model_config = described(
        (), {"documents": [{"key": "a", "text": "A queue for threads.", "label": "queue", "metadata": {"year": 2026}}]}
    )
    documents: Annotated[list[NewDocument], Field(max_length=limits.MAX_DOCUMENTS)]
    mode: Literal["add", "upsert"] = "add"
    vectors: Annotated[list[Vector], Field(max_length=limits.MAX_DOCUMENTS)] | None = None


class DeleteRequest(RequestSchema):
    """Keys of documents to delete. If one is missing, none is deleted."""

    model_config = described((), {"keys": ["a", "b"], "missing_ok": True})
    keys: Annotated[list[Key], Field(max_length=limits.MAX_DOCUMENTS)]
    missing_ok: bool = False
