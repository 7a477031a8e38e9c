"""Documents and hits as JSON values: the fields of the answers in `answer_schemas`."""

from __future__ import annotations

from typing import Any

from sthash.collection import Hit, Hits
from sthash.sources import Document


def document_json(document: Document) -> dict[str, Any]:
    """Return the fields of `DocumentSchema`."""
    return {"key": document.key, "text": document.text, "label": document.label, "metadata": document.metadata}


def details_json(hits: Hits) -> dict[str, Any]:
    """Return the fields of `AnswerDetails`."""
    return {
        "ignored": list(hits.ignored),
        "unknown": list(hits.unknown),
        "suggestions": {word: list(known) for word, known in hits.suggestions.items()},
        "corrected": hits.corrected,
        "strategy": hits.strategy,
        "ranking": hits.ranking,
        "reading": hits.reading,
        "error": hits.error,
        "total": hits.total,
        "facets": hits.facet_lists(),
    }


def hits_json(hits: Hits) -> dict[str, Any]:
    """Return the fields of `SearchAnswer`, without a view."""
    return {"hits": [hit_json(hit) for hit in hits]} | details_json(hits)


def hit_json(hit: Hit) -> dict[str, Any]:
    """Return the fields of `HitSchema`."""
    return {
        "key": hit.key,
        "text": hit.text,
        "label": hit.label,
        "metadata": hit.metadata,
        "distance": hit.distance,
        "score": hit.score,
        "terms": list(hit.terms),
        "snippet": None if hit.snippet is None else hit.snippet._asdict(),
        "copies": list(hit.copies),
    }
