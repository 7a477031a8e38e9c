"""A collection: documents and the indexes over them, in one file.

``__all__`` has the public names; those imported with ``as`` are for the packages above.
"""

from __future__ import annotations

from sthash.collection.build.options import VectorOptions
from sthash.collection.build.sync import Synced
from sthash.collection.by_key import ByKey as ByKey
from sthash.collection.collection import Collection
from sthash.collection.collection import Embedding as Embedding
from sthash.collection.duplicates import gathered as gathered
from sthash.collection.duplicates import named as named
from sthash.collection.duplicates import settled as settled
from sthash.collection.file.connection import CollectionBusyError, CollectionError
from sthash.collection.file.documents import AnswerTooLargeError, StoredDocument
from sthash.collection.indexes.embedder import Embedder, EmbedderError
from sthash.collection.protocol import DocumentCollection
from sthash.collection.search.answer import answer as answer
from sthash.collection.search.answer import answer_like as answer_like
from sthash.collection.search.conditions import Condition, FieldKinds, Filter, Where
from sthash.collection.search.display import facts_html, hits_frame, hits_html, matched_words, title_of
from sthash.collection.search.filters import ids_where
from sthash.collection.search.hit import Hit
from sthash.collection.search.hits import HitRanking as HitRanking
from sthash.collection.search.hits import Hits
from sthash.collection.search.hits import Reading as Reading
from sthash.collection.search.hits import Strategy as Strategy
from sthash.collection.search.labels import spread_evenly as spread_evenly
from sthash.collection.search.options import Ranking as Ranking
from sthash.collection.search.options import SearchKeywords, SearchOptions
from sthash.collection.search.query import Syntax as Syntax
from sthash.collection.search.snippets import Snippet
from sthash.collection.search.votes import VOTERS as VOTERS
from sthash.collection.search.votes import Ball as Ball
from sthash.collection.search.votes import Labeled as Labeled
from sthash.collection.search.votes import Prediction, Voting
from sthash.collection.search.votes import Vote as Vote
from sthash.collection.search.votes import count_ball as count_ball
from sthash.collection.search.votes import count_nearest as count_nearest
from sthash.collection.search.votes import no_labels as no_labels
from sthash.collection.search.votes import vote_weights as vote_weights
from sthash.collection.search.weighing import MOST as MOST
from sthash.collection.search.weighing import NEIGHBORS as NEIGHBORS
from sthash.collection.search.weighing import SAMPLE as SAMPLE
from sthash.collection.search.weighing import Neighborhoods as Neighborhoods
from sthash.collection.search.weighing import Weighing as Weighing
from sthash.collection.search.weighing import choose as choose
from sthash.collection.search.weighing import label_shares as label_shares
from sthash.collection.snapshot import Snapshot
from sthash.collection.verification import Verification

__all__ = [
    "AnswerTooLargeError",
    "Collection",
    "CollectionBusyError",
    "CollectionError",
    "Condition",
    "DocumentCollection",
    "Embedder",
    "EmbedderError",
    "FieldKinds",
    "Filter",
    "Hit",
    "Hits",
    "Prediction",
    "SearchKeywords",
    "SearchOptions",
    "Snapshot",
    "Snippet",
    "StoredDocument",
    "Synced",
    "VectorOptions",
    "Verification",
    "Voting",
    "Where",
    "facts_html",
    "hits_frame",
    "hits_html",
    "ids_where",
    "matched_words",
    "title_of",
]
