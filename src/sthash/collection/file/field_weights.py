"""Fields with weights: a word counts as often as the field that it stands in weighs, which is BM25F in its first form.

A text that is made of several fields, such as a title and a body, is stored as one text. The fields that weigh more
than 1 are in the metadata, too, and their words are counted so many times. Only counts change: phrases, snippets and
near-duplicates read the text as it is.

References
----------
S. Robertson, H. Zaragoza and M. Taylor, "Simple BM25 extension to multiple weighted fields", CIKM 2004.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sthash.collection.file.store import Store
from sthash.sources.fields import MOST_WEIGHT, nested_value

SETTING = "fields"


def put_weights(store: Store, weights: Mapping[str, int]) -> None:
    """Write which fields texts are made of, in their order, and how much each weighs."""
    if len(weights) > 1:
        store.put_setting(SETTING, [[name, weight] for name, weight in weights.items()])


def read_weights(store: Store) -> dict[str, int]:
    """Return the fields that texts are made of, each with its weight; empty if there is only one."""
    if not store.has_setting(SETTING):
        return {}
    stored = store.setting(SETTING)
    try:
        weights = dict(stored)
    except (TypeError, ValueError) as error:
        raise store.damaged(f"the setting {SETTING} cannot be read ({error})") from error
    for name, weight in weights.items():
        if not isinstance(name, str) or type(weight) is not int or not 1 <= weight <= MOST_WEIGHT:
            raise store.damaged(f"the setting {SETTING} cannot be read")
    return weights


def counted_text(text: str, metadata: Mapping[str, Any], weights: Mapping[str, int]) -> str:
    r"""Return a text as its words are counted: fields that weigh more than 1 stand in front of it, again and again.

    Examples
    --------
    >>> from sthash.collection.file.field_weights import counted_text
    >>> counted_text("A cat\n\nIt sleeps.", {"title": "A cat"}, {"title": 2, "body": 1})
    'A cat\n\nA cat\n\nIt sleeps.'
    """
    parts = [text]
    for name, weight in weights.items():
        if weight > 1 and isinstance(value := nested_value(metadata, name), str | int | float):
            parts += [str(value)] * (weight - 1)
    return "\n\n".join(reversed(parts))
