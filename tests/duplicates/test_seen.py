"""An index of what earlier runs have seen."""

import errno
import itertools
import json
import os

import numpy as np
import pytest

from sthash import Document
from sthash.duplicates import SeenError, SeenIndex, SpillError, deduplicate, near_duplicates
from sthash.duplicates.seen import halved
from support.factories import random_texts, with_copies


@pytest.fixture(scope="module")
def texts():
    made = [*with_copies(random_texts(300, 30)), "", "  ", "one", "One!", "two words", "猫が好きです", "猫が好き"]
    return [made[place] for place in np.random.default_rng(3).permutation(len(made))]


def run(path, texts, first=0, *, remember=True, **options):
    """Return the positions of the texts that are kept, and what was dropped with its score."""
    documents = (Document(str(place), text) for place, text in enumerate(texts, first))
    index_options = {name: options[name] for name in ("measure", "shingle_words") if name in options}
    with (
        SeenIndex(path, writable=remember, **index_options) as seen,
        deduplicate(documents, seen=seen, **options) as found,
    ):
        if remember:
            found.remember()
        assert found.n_documents == len(texts)
        dropped = {int(drop.document.key): drop.score for drop in found.dropped()}
        found.review()
        return [int(document.key) for document in found.kept()], dropped


@pytest.mark.parametrize("options", [{}, {"measure": "jaccard", "shingle_words": 3}, {"memory": 64 << 20}])
def test_runs_in_parts_drop_what_one_run_drops(texts, tmp_path, options):
    kept, dropped = run(tmp_path / "one.idx", texts, **options)
    found, gone = [], {}
    cuts = [0, 1, 150, 151, 400, len(texts)]
    for first, last in itertools.pairwise(cuts):
        own, lost = run(tmp_path / "parts.idx", texts[first:last], first, **options)
        found += own
        gone |= lost
    assert found == kept
    assert gone == pytest.approx(dropped)
    assert 0 < len(kept) < len(texts)


def test_a_document_is_dropped_if_an_earlier_one_is_similar(texts, tmp_path):
    _, dropped = run(tmp_path / "seen.idx", texts)
    found = near_duplicates(texts).found
    assert sorted(dropped) == np.unique(np.maximum(found.left, found.right)).tolist()


def test_there_are_no_texts_in_it(texts, tmp_path):
    run(tmp_path / "seen.idx", texts)
    content = (tmp_path / "seen.idx").read_bytes()
    assert not any(text.encode() in content for text in texts if len(text) > 3)


def test_what_a_killed_run_has_left_does_not_count(texts, tmp_path):
    path = tmp_path / "seen.idx"
    run(path, texts[:100])
    first = path.read_bytes()
    with SeenIndex(path) as seen:
        count = len(seen)
    run(path, texts[100:200])
    both = path.read_bytes()
    assert both.startswith(first)
    for end in sorted({*range(0, len(both), 997), len(first) - 1, len(first), len(both) - 1}):
        path.write_bytes(both[:end])
        with SeenIndex(path) as seen:
            assert len(seen) == (count if end >= len(first) else 0)
    run(path, texts[100:200])
    assert path.read_bytes() == both


def test_readers_see_what_was_there_and_a_second_writer_is_refused(texts, tmp_path):
    path = tmp_path / "seen.idx"
    run(path, texts[:50])
    with SeenIndex(path) as reader:
        before = len(reader)
        with SeenIndex(path, writable=True) as writer:
            with pytest.raises(BlockingIOError, match="another run adds to it"):
                SeenIndex(path, writable=True)
            with deduplicate([Document("x", "something new")], seen=writer) as found:
                found.remember()
        assert len(reader) == before == sum(len(portion.mark_sizes) for portion in reader.fingerprints())
    with SeenIndex(path) as reader:
        assert len(reader) == before + 1
        with pytest.raises(ValueError, match="writable=True"):
            reader.append(iter(()))


def test_an_index_that_was_never_written_is_not_there(texts, tmp_path):
    path = tmp_path / "seen.idx"
    assert run(path, texts[:9], remember=False)[0]
    with SeenIndex(path, writable=True):
        assert path.exists()
    assert not path.exists()
    with pytest.raises(FileNotFoundError, match="Make the folder first"):
        SeenIndex(tmp_path / "missing" / "seen.idx", writable=True)


def test_a_full_disk_leaves_the_index_as_it_was(texts, tmp_path, monkeypatch):
    path = tmp_path / "seen.idx"
    run(path, texts[:50])
    before = path.read_bytes()

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SpillError, match=r"seen\.idx is full"):
        run(path, texts[50:])
    assert path.read_bytes() == before


def test_other_measures_and_other_files_are_refused(texts, tmp_path):
    path = tmp_path / "seen.idx"
    run(path, texts[:50], measure="jaccard", shingle_words=3)
    for options in ({}, {"measure": "jaccard", "shingle_words": 5}):
        with pytest.raises(SeenError, match="fingerprints for measure 'jaccard' of 3 words"):
            SeenIndex(path, **options)
    with pytest.raises(ValueError, match="no fingerprints for measure='cosine'"):
        SeenIndex(path, "cosine")
    header, _, rest = path.read_bytes().partition(b"\n")
    path.write_bytes(json.dumps(json.loads(header) | {"format": 9}).encode() + b"\n" + rest)
    with pytest.raises(SeenError, match="has format 9"):
        SeenIndex(path, "jaccard", 3)
    for content in (b"some\nfile", b"x" * 5000, b'["sthash"]\n', b"\n"):
        path.write_bytes(content)
        with pytest.raises(SeenError, match="is no index of sth dedup"):
            SeenIndex(path, writable=True)
        assert path.read_bytes() == content


def test_damage_is_found(texts, tmp_path):
    path = tmp_path / "seen.idx"
    run(path, texts[:50])
    content = path.read_bytes()
    start = content.index(b"\n") + 1
    for place in (start, start + 6, start + 12, start + 20, len(content) // 2, len(content) - 30):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(SeenError, match="is damaged"), SeenIndex(path) as seen:
            list(seen.fingerprints())


def test_fingerprints_that_meet_count_once():
    sizes, items = halved(np.array([3, 1]), np.array([5, 6, 1 << 40, 7], dtype=np.uint64))
    assert sizes.tolist() == [2, 1]
    assert items.tolist() == [0, 1 << 40, 0]


def test_what_does_not_go_with_an_index(tmp_path):
    seen = SeenIndex(tmp_path / "seen.idx")
    with pytest.raises(ValueError, match="was opened for measure 'wording'"):
        deduplicate([], seen=seen, measure="jaccard")
    with pytest.raises(ValueError, match="the first document is kept"):
        deduplicate([], seen=seen, keep="longest")
    with deduplicate([]) as found, pytest.raises(ValueError, match="no index"):
        found.remember()
