"""Deduplication of a stream: the same groups in whatever memory, against a collection, and nothing left behind."""

import errno
import random
import resource
import tempfile

import numpy as np
import pytest

from sthash import Document, near_duplicates
from sthash.duplicates import SpillError, deduplicate, streaming
from sthash.duplicates.spool import DocumentSpool, Spool
from support.factories import create_collection, random_texts, with_copies

MEBIBYTE = 1 << 20


@pytest.fixture(scope="module")
def texts():
    return with_copies(random_texts(300, 30))


def documents_of(texts, first=0):
    return [Document(str(first + place), text) for place, text in enumerate(texts)]


@pytest.mark.parametrize("measure", ["wording", "cosine", "jaccard", "containment"])
@pytest.mark.parametrize("bytes_per_entry", [40, 4_000, 40_000])
def test_the_same_in_whatever_memory(texts, measure, bytes_per_entry, monkeypatch):
    monkeypatch.setattr(streaming, "BYTES_PER_ENTRY", bytes_per_entry)
    monkeypatch.setattr(streaming, "PAIRS_PER_DOCUMENT", 1000)
    monkeypatch.setattr(streaming, "PAIRS_IN_PARTS", 1000)
    expected = near_duplicates(texts, 0.6, measure=measure)
    with deduplicate(iter(documents_of(texts)), 0.6, measure=measure, memory=64 * MEBIBYTE) as found:
        listed = {(pair.left, pair.right): pair.score for pair, _, _ in found.closest_pairs(10_000)}
        assert listed == {(str(left), str(right)): pytest.approx(score) for left, right, score in expected.pairs}
        keep = "longest" if measure == "containment" else "first"
        kept = [document.key for document in found.kept()]
        assert kept == [document.key for document in expected.deduplicated(keep)]
        dropped = {document.key: (of.key, score) for document, of, score in found.dropped()}
        assert len(dropped) == found.n_dropped == found.n_documents - len(kept)
        group_of = {str(member): set(map(str, group)) for group in expected.groups for member in group}
        best = {}
        for left, right, score in expected.pairs:
            for end in (str(left), str(right)):
                best[end] = max(best.get(end, 0), score)
        for key, (of, score) in dropped.items():
            assert of in group_of[key]
            assert of in kept
            assert score == pytest.approx(best[key])


@pytest.mark.parametrize("measure", ["wording", "jaccard", "containment"])
@pytest.mark.parametrize("bytes_per_entry", [40, 40_000])
def test_the_score_is_that_of_the_nearest(measure, bytes_per_entry, monkeypatch):
    monkeypatch.setattr(streaming, "BYTES_PER_ENTRY", bytes_per_entry)
    rng = random.Random(7)
    words = ["".join(rng.choices("bdfgklmnprst", k=6)) for _ in range(30)]
    texts = []
    for own in [rng.choices(words, k=20) for _ in range(10)] * 20:
        changed = list(own)
        for place in rng.sample(range(20), rng.choice([0, 1, 3])):
            changed[place] = rng.choice(words)
        texts.append(" ".join(changed))
    expected = near_duplicates(texts, 0.5, measure=measure, shingle_words=1)
    assert expected.complete
    best = {}
    for left, right, score in expected.pairs:
        best[left], best[right] = max(best.get(left, 0), score), max(best.get(right, 0), score)
    # There are more pairs than are listed.
    assert len(expected.pairs) > 4 * len(texts)
    documents = documents_of(texts)
    with deduplicate(documents, 0.5, measure=measure, shingle_words=1, memory=64 * MEBIBYTE) as found:
        scores = {int(dropped.document.key): dropped.score for dropped in found.dropped()}
        review = found.review(len(texts))
    assert len(scores) > 150
    assert scores == {place: best[place] for place in scores}
    assert review.exact + review.near + review.doubtful == len(scores) == len(review.first)
    assert review.exact == sum(score == 1 for score in scores.values())
    order = [(-len(reasons), score) for (_, _, score), reasons in review.first]
    assert order == sorted(order)


@pytest.mark.parametrize("keep", ["first", "longest", "newest"])
def test_what_is_kept(texts, keep):
    with deduplicate(documents_of(texts), 0.8, keep=keep) as found:
        expected = near_duplicates(texts, 0.8).deduplicated(keep)
        assert [document.key for document in found.kept()] == [document.key for document in expected]


@pytest.mark.parametrize("measure", ["cosine", "jaccard", "containment"])
@pytest.mark.parametrize("bytes_per_entry", [40, 40_000])
def test_against_a_collection(texts, measure, bytes_per_entry, tmp_path, monkeypatch):
    monkeypatch.setattr(streaming, "BYTES_PER_ENTRY", bytes_per_entry)
    old, new = documents_of(texts[:200]), documents_of([*texts[200:], texts[250]], 200)
    with create_collection(tmp_path / "c.sth", old) as collection:
        with deduplicate(new, 0.6, measure=measure, against=collection, memory=64 * MEBIBYTE) as found:
            kept = {document.key for document in found.kept()}
            dropped = {document.key: of.key for document, of, _ in found.dropped()}
        assert len(collection) == 200
    assert kept | set(dropped) == {document.key for document in new}
    # Each of the near copies of the first texts is one of a document of the collection.
    assert {str(place) for place in range(300, 400)} <= set(dropped)
    assert all(int(of) < 200 for key, of in dropped.items() if 300 <= int(key) < 400)
    assert dropped[str(len(texts))] == "250"


def test_documents_come_back_as_they_were():
    documents = [
        Document("a", "text\nof two lines ü 猫", "label", {"year": 2020, "nested": {"list": [1, None]}}),
        Document(None, ""),
        Document("lone", "\ud800"),
    ]
    with DocumentSpool() as spool:
        spool.extend(documents[:1])
        spool.extend(documents[1:])
        assert list(spool) == documents
        assert [spool[place] for place in (2, 0, 1)] == [documents[place] for place in (2, 0, 1)]
        assert len(spool) == 3


def test_a_spool_gives_back_what_it_got():
    rng = np.random.default_rng(0)
    parts = [rng.integers(0, 2**63, size).astype(np.uint64) for size in (0, 5, 1000, 0, 17)]
    for most in (0, 100, 10**6):
        with Spool(most) as spool:
            for part in parts:
                spool.append(part)
            assert np.array_equal(spool.array(), np.concatenate(parts))
            assert len(spool) == 1022


def test_a_full_disk_is_named(texts, tmp_path):
    """With a limit on the size of files, which looks the same to a program."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.raises(SpillError, match=r"is full\. Free some space, or set TMPDIR"):
            deduplicate(documents_of(texts))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_other_errors_of_the_disk_are_not_renamed(monkeypatch):
    class Broken:
        def write(self, _):
            raise OSError(errno.EIO, "input/output error")

    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: Broken())
    with pytest.raises(OSError, match="input/output error") as caught:
        Spool(0).append(np.zeros(1, np.uint64))
    assert not isinstance(caught.value, SpillError)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"memory": 1000}, "memory=1000 is too little"),
        ({"threshold": 0}, "threshold=0 must be above 0"),
        ({"keep": "last"}, "keep='last' is not known"),
        ({"measure": "x"}, "measure='x' is not known"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        deduplicate([], **arguments)


@pytest.mark.parametrize("measure", ["cosine", "jaccard", "containment"])
def test_nothing_and_blanks(measure):
    for documents in ([], documents_of(["", " "]), documents_of(["one"])):
        with deduplicate(documents, measure=measure) as found:
            assert [document.key for document in found.kept()] == [document.key for document in documents]
            assert found.n_dropped == 0


def test_an_interrupted_reader_leaves_no_file(texts, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def interrupted():
        yield from documents_of(texts)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        deduplicate(interrupted())
    assert list(tmp_path.iterdir()) == []
