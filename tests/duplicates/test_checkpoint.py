"""Runs that are compared in parts, and that go on after they were stopped."""

import json

import numpy as np
import pytest

from sthash import Document, _core
from sthash.duplicates import Checkpoint, CheckpointError, deduplicate, partitioning, streaming
from sthash.duplicates.checkpoint import NOTHING, Compared
from support.factories import WORDS, random_texts, with_copies


@pytest.fixture(scope="module")
def texts():
    """Long and short texts, with near copies of all lengths."""
    rng = np.random.default_rng(4)
    texts = with_copies(random_texts(150, 30))
    for number in range(400):
        words = rng.choice(WORDS, rng.integers(1, 14)).tolist()
        texts.append(" ".join(words))
        if number % 2:
            texts.append(" ".join([*words, *rng.choice(WORDS, rng.integers(0, 2))]))
    return texts


@pytest.fixture(autouse=True)
def small_portions(monkeypatch):
    monkeypatch.setattr(partitioning, "AT_ONCE", 64)
    monkeypatch.setattr(streaming, "AT_ONCE", 64)
    monkeypatch.setattr(streaming, "LEAST_PARTS", 7)


def outcome(found):
    return [array.tolist() for array in (found.choice.dropped, found.choice.kept, found.choice.scores)]


def run(texts, **options):
    with deduplicate((Document(None, text) for text in texts), **options) as found:
        return outcome(found)


class StoppedError(Exception):
    pass


def stopping_after(count):
    """Fail when so many parts have been compared."""
    seen = set()

    def progress(step, done, total):
        if step == "comparing":
            seen.add(done)
            if len(seen) > count:
                raise StoppedError

    return progress


@pytest.mark.parametrize("options", [{}, {"measure": "jaccard", "shingle_words": 2, "threshold": 0.6}])
def test_a_run_goes_on_where_it_was_stopped(texts, options, tmp_path):
    expected = run(texts, **options)
    assert len(expected[0]) > 100
    compared = []
    for count in (3, 6, None):
        with Checkpoint(tmp_path / "run") as checkpoint:
            if count is None:
                assert run(texts, checkpoint=checkpoint, **options) == expected
            else:
                with pytest.raises(StoppedError):
                    run(texts, checkpoint=checkpoint, progress=stopping_after(count), **options)
            compared.append(checkpoint.n_parts)  # that were there at the start
    assert compared[0] == 0 < compared[1] < compared[2]
    with Checkpoint(tmp_path / "run") as checkpoint:
        assert run(texts, checkpoint=checkpoint, **options) == expected
        assert checkpoint.n_parts == 7
        checkpoint.remove()
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("bytes_per_entry", [40, 10_000])
@pytest.mark.parametrize("protect", [None, "numbers"])
def test_parts_of_whatever_size_give_the_same(texts, bytes_per_entry, protect, monkeypatch):
    expected = run(texts, protect=protect)
    monkeypatch.setattr(streaming, "BYTES_PER_ENTRY", bytes_per_entry)
    monkeypatch.setattr(partitioning, "MOST_PARTS", 5)  # so that some are cut in pieces
    assert run(texts, protect=protect, memory="64MiB") == expected


def test_what_is_not_whole_is_compared_again(texts, tmp_path):
    expected = run(texts)
    path = tmp_path / "run"
    with Checkpoint(path) as checkpoint:
        run(texts, checkpoint=checkpoint)
    content = path.read_bytes()
    for cut in [0, 5, 40, len(content) // 3, len(content) // 2, len(content) - 1]:
        path.write_bytes(content[:cut])
        with Checkpoint(path) as checkpoint:
            assert run(texts, checkpoint=checkpoint) == expected
            assert checkpoint.n_parts < 7
    damaged = bytearray(content)
    damaged[len(content) // 2] ^= 1
    path.write_bytes(damaged)
    with Checkpoint(path) as checkpoint:
        assert run(texts, checkpoint=checkpoint) == expected
        assert checkpoint.n_parts < 7


@pytest.mark.parametrize(
    ("change", "options"),
    [
        (lambda texts: texts[:-1], {}),
        (lambda texts: [*texts[:-1], "another text"], {}),
        (list, {"threshold": 0.8}),
        (list, {"protect": "numbers"}),
        (list, {"memory": "100MiB"}),
    ],
)
def test_another_run_is_refused(texts, tmp_path, change, options):
    with Checkpoint(tmp_path / "run") as checkpoint:
        run(texts, checkpoint=checkpoint)
    before = (tmp_path / "run").read_bytes()
    with Checkpoint(tmp_path / "run") as checkpoint, pytest.raises(CheckpointError, match="is of another run"):
        run(change(texts), checkpoint=checkpoint, **options)
    assert (tmp_path / "run").read_bytes() == before


@pytest.mark.parametrize("content", [b"notes\n", b"notes", b"[]\n", b"{}\n", b'{"sthash": "seen"}\n', b"\x00" * 5000])
def test_other_files_are_refused(texts, tmp_path, content):
    (tmp_path / "run").write_bytes(content)
    with Checkpoint(tmp_path / "run") as checkpoint, pytest.raises(CheckpointError, match="is not a checkpoint"):
        run(texts, checkpoint=checkpoint)
    assert (tmp_path / "run").read_bytes() == content


def test_one_run_at_a_time_and_only_what_has_parts(texts, tmp_path):
    with Checkpoint(tmp_path / "run") as checkpoint:
        with pytest.raises(BlockingIOError, match="another run continues it"):
            Checkpoint(tmp_path / "run")
        with pytest.raises(ValueError, match="is not compared in parts"):
            run(texts, checkpoint=checkpoint, measure="containment")
    assert not (tmp_path / "run").exists()


def test_a_huge_count_is_not_read(tmp_path):
    with Checkpoint(tmp_path / "run") as checkpoint:
        checkpoint.start({})
        checkpoint.append(NOTHING)
    with (tmp_path / "run").open("ab") as file:
        file.write(b"\xff" * 20)
    with Checkpoint(tmp_path / "run") as checkpoint:
        checkpoint.start({})
        assert checkpoint.n_parts == 1
        checkpoint.append(Compared(*([np.ones(1)] * 5)))
        assert [len(compared.left) for compared in checkpoint.parts()] == [0, 1]
        assert json.loads((tmp_path / "run").read_bytes().split(b"\n")[0])["sthash"] == "dedup"


# The kernel


def similar(left, right, common, threshold):
    shared = len(left & right)
    return (shared + common) >= threshold * (len(left | right) + common) and shared > 0


@pytest.mark.parametrize("n_counters", [1, 64, 1 << 16])
@pytest.mark.parametrize("threshold", [0.3, 0.75, 1.0])
def test_similar_sets_meet_in_a_part(n_counters, threshold):
    rng = np.random.default_rng(1)
    sets = []
    for _ in range(150):
        own = rng.choice(60, rng.integers(1, 20), replace=False)
        sets += [own, np.union1d(own[rng.random(len(own)) < 0.9], rng.choice(60, rng.integers(0, 3)))]
    sets = [np.unique(own).astype(np.uint64) for own in sets]
    indptr, items = np.cumsum([0, *map(len, sets)]), np.concatenate(sets)
    partition = _core.Partition(threshold=threshold, n_counters=n_counters, per_text=1, key=7)
    partition.count(indptr, items, second_round=False)
    texts, parts, _ = partition.place(indptr, items, n_parts=5, threads=2)
    found = [set(parts[texts == text].tolist()) for text in range(len(sets))]
    plain = [set(own.tolist()) for own in sets]
    pairs = [(a, b) for a in range(len(sets)) for b in range(a) if similar(plain[a], plain[b], 0, threshold)]
    assert len(pairs) > 10
    assert all(found[a] & found[b] for a, b in pairs)
    assert sum(map(len, found)) < 5 * len(sets)  # some are left out of some
    again = _core.Partition(threshold=threshold, n_counters=n_counters, per_text=1, key=7)
    again.count(indptr, items, second_round=False)
    assert [own.tolist() for own in again.place(indptr, items, n_parts=5, threads=1)] == [
        own.tolist() for own in (texts, parts, _)
    ]


def test_the_kernels_refuse_what_does_not_fit():
    bounds, items = np.array([0, 1, 2, 3]), np.arange(3, dtype=np.uint64)
    partition = _core.Partition(threshold=0.5, n_counters=8, per_text=2, key=1)
    with pytest.raises(ValueError, match="Each text needs all its sets"):
        partition.count(bounds, items, second_round=False)
    with pytest.raises(ValueError, match="n_parts must be"):
        partition.place(bounds[:3], items[:2], n_parts=0, threads=1)
    for wrong in ({"threshold": 0}, {"n_counters": 0}, {"per_text": 3}):
        with pytest.raises(ValueError, match=r"must be|has one set"):
            _core.Partition(**{"threshold": 0.5, "n_counters": 8, "per_text": 1, "key": 1} | wrong)
    assert _core.gathered(bounds, items, np.array([2, 0])).tolist() == [2, 0]
    for row in (-1, 3):
        with pytest.raises(ValueError, match="A row is not there"):
            _core.gathered(bounds, items, np.array([row]))
