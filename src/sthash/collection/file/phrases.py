"""Texts in the file: packed by phrases that they share, each alone, so that one can be read without the others.

Phrases are learned from the texts that come (`_core.learn_phrases`), once there are enough of them, and again by a
change that makes them eight times as many. Each list of phrases is a setting that never changes; the first byte of a
packed text says which of them it needs. No UTF-8 begins with such a byte: any other text stands there as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sthash import _core
from sthash.checks import check_whole, resolve_threads
from sthash.collection.file.store import Store

SETTING = "phrases"
FIRST_MARK = 0xF8
MOST_LISTS = 0x100 - FIRST_MARK
# Bytes of texts that phrases are learned from for the first time; how many times as many there must be for the next
# time; and from how many of them they are learned.
LEAST_BYTES = 1 << 16
GROWTH = 8
SAMPLED_BYTES = 1 << 22
# A change with fewer bytes of texts is not worth reading phrases for; `Collection.compact` packs its texts.
FEW_BYTES = 1 << 14

Known = dict[int, _core.Phrases]


def name_of(place: int) -> str:
    """Return the name of the setting that has a list of phrases."""
    return f"{SETTING}.{place}"


def verify(store: Store) -> set[str]:
    """Read all phrases; return the names of the settings that have them."""
    return {SETTING, *map(name_of, all_known(store))} if store.has_setting(SETTING) else set()


def _state(store: Store) -> tuple[int, int]:
    """Return how many lists of phrases there are, and how many bytes of texts there were when the last was learned."""
    if not store.has_setting(SETTING):
        return 0, 0
    noted = store.setting(SETTING)
    try:
        return check_whole("lists", noted["lists"], 1, most=MOST_LISTS), check_whole("bytes", noted["bytes"])
    except (KeyError, TypeError, ValueError) as error:
        raise store.damaged(f"the setting {SETTING} cannot be read ({error})") from error


def _phrases(store: Store, place: int, known: Known) -> _core.Phrases:
    if place not in known:
        try:
            known[place] = _core.Phrases(store.blob(name_of(place)))
        except ValueError as error:
            raise store.damaged(f"its phrases cannot be read ({error})") from error
    return known[place]


def all_known(store: Store) -> Known:
    """Return all phrases of a file, for those who leave the state that it is in."""
    known: Known = {}
    for place in range(_state(store)[0]):
        _phrases(store, place, known)
    return known


def unpacked(store: Store, row: tuple[Any, ...], known: Known) -> tuple[Any, ...]:
    """Return a row of the table ``documents`` with its text as it came; ``known`` keeps the phrases that were read."""
    content = row[-1]
    if not content or content[0] < FIRST_MARK:
        return row
    try:
        return (*row[:-1], _phrases(store, content[0] - FIRST_MARK, known).unpack(content, start=1))
    except ValueError as error:
        raise store.damaged(f"a text cannot be read ({error})") from error


class Packer:
    """Packs the texts of one change of a file.

    Parameters
    ----------
    store : Store
    known : dict
        Phrases that were read; it takes those that are learned.
    """

    def __init__(self, store: Store, known: Known) -> None:
        self._store, self._known = store, known
        self._lists, self._learned_of = _state(store)
        self._seen = self._learned_of
        self._sample: list[bytes] = []
        self._sampled = 0
        self._step = 1

    def pack(self, texts: Sequence[bytes]) -> list[bytes]:
        """Return texts as they stand in the file."""
        if not self._sample and sum(map(len, texts)) < FEW_BYTES:
            return list(texts)
        if self._lists < MOST_LISTS:
            self._sample_from(texts)
            if self._seen >= (GROWTH * self._learned_of or LEAST_BYTES):
                self._learn()
        if not self._lists:
            return list(texts)
        place = self._lists - 1
        packed = _phrases(self._store, place, self._known).pack(
            list(texts), prefix=bytes([FIRST_MARK + place]), threads=resolve_threads(None)
        )
        return [short if len(short) < len(text) else text for short, text in zip(packed, texts, strict=True)]

    def _sample_from(self, texts: Sequence[bytes]) -> None:
        """Take one of so many texts, so that the sample is of all of them."""
        self._seen += sum(map(len, texts))
        taken = [text[:SAMPLED_BYTES] for text in texts[:: self._step]]
        self._sample += taken
        self._sampled += sum(map(len, taken))
        while self._sampled > SAMPLED_BYTES and len(self._sample) > 1:
            self._sample = self._sample[::2]
            self._sampled = sum(map(len, self._sample))
            self._step *= 2

    def _learn(self) -> None:
        content = _core.learn_phrases(self._sample)
        self._store.put("settings", name_of(self._lists), content)
        self._known.pop(self._lists, None)
        self._lists, self._learned_of = self._lists + 1, self._seen
        self._store.put_setting(SETTING, {"lists": self._lists, "bytes": self._seen})
