"""From how many documents a collection learns, in which stages, and when to relearn."""

import inspect

import numpy as np
import pytest
import scipy.sparse as sp

from sthash import Collection, SelfTaughtHashing, TextVectorizer
from sthash.collection.build import builder, corpus
from sthash.collection.build.row_buffer import RowBuffer
from sthash.collection.indexes import postings as posting_table
from sthash.hashing import cost as learner
from sthash.model import learning
from sthash.progress import SEARCHABLE
from support.corpus import QUERIES, make_documents
from support.factories import create_collection, random_vectors

STAGES = ["reading", "graph", "embedding", "bits", "hash functions", "encoding", "posting lists"]


@pytest.fixture
def costly(monkeypatch):
    """Learning takes a second per document, and a megabyte; also few documents may be learned from."""
    monkeypatch.setattr(learner, "learning_cost", lambda n, *_, **__: learner.LearningCost(float(n), 1e6 * n))
    monkeypatch.setattr(learning, "FEWEST_DOCUMENTS", 20)


def same_content(left, right):
    with Collection.open(left) as one, Collection.open(right) as other, one.snapshot() as a, other.snapshot() as b:
        return (a.codes.model.fingerprint, list(one)) == (b.codes.model.fingerprint, list(other)) and bool(
            (a.codes.table.codes == b.codes.table.codes).all()
        )


def test_all_documents_are_learned_from_by_default(tmp_path):
    with create_collection(tmp_path / "c.sth", make_documents(500)) as collection:
        facts = collection.info()
        assert (facts["learned_on"], facts["unseen_documents"], facts["unseen_terms"]) == (500, 0, 0)
        assert (facts["sample_size"], facts["seconds"], facts["memory"]) == (None, 300, None)
        assert "no need" in facts["advice"]


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({}, 200),
        ({"seconds": 57.5}, 57),
        ({"memory": 83_200_000}, 83),
        ({"sample_size": 40}, 40),
        ({"sample_size": 40, "seconds": 31}, 31),
    ],
)
def test_limits_decide_how_many(tmp_path, costly, limits, expected):
    documents = make_documents(200)
    for name in ("c.sth", "again.sth"):
        create_collection(tmp_path / name, documents, **limits).close()
    assert (tmp_path / "c.sth").read_bytes() == (tmp_path / "again.sth").read_bytes()
    with Collection.open(tmp_path / "c.sth") as collection:
        facts = collection.info()
        assert facts["learned_on"] == expected
        assert facts["unseen_documents"] == pytest.approx(1 - expected / 200)
        collection.relearn()  # with the limits of the file
        assert collection.info()["learned_on"] == expected
        collection.relearn(sample_size=None, seconds=150.0, memory=10**9)
        assert collection.info()["learned_on"] == 150
        collection.relearn()
        assert collection.info()["learned_on"] == 150


def test_limits_that_are_too_small_are_refused(tmp_path, costly):
    documents = iter(make_documents(100))
    with pytest.raises(ValueError, match=r"takes about 9\.5 MiB of memory, but memory allows 1 KiB\. Raise"):
        create_collection(tmp_path / "c.sth", documents, memory=1000)
    assert len(list(documents)) == 100  # nothing was read
    with pytest.raises(ValueError, match="seconds allows 15 s"):
        create_collection(tmp_path / "c.sth", make_documents(100), seconds=15.0)
    assert not list(tmp_path.iterdir())
    with create_collection(tmp_path / "c.sth", make_documents(100)) as collection:
        codes = collection.encode(QUERIES)
        with pytest.raises(ValueError, match="memory allows"):
            collection.relearn(memory=1000)
        assert (collection.encode(QUERIES) == codes).all()


@pytest.mark.parametrize("kept_bytes", [1 << 29, 0], ids=["counts that are kept", "texts that are read again"])
def test_rows_to_learn_from_are_those_of_the_vectorizer(tmp_path, monkeypatch, kept_bytes):
    monkeypatch.setattr(corpus, "KEPT_BYTES", kept_bytes)
    learned_from = []
    monkeypatch.setattr(corpus.RowBuffer, "matrix", _noted(corpus.RowBuffer.matrix, learned_from))
    documents = make_documents(300)
    create_collection(tmp_path / "c.sth", documents, sample_size=120).close()
    expected = TextVectorizer(stop_words="function words").fit_transform(document.text for document in documents)
    chosen = np.sort(np.random.default_rng(0).choice(300, 120, replace=False))
    (rows,) = learned_from
    assert (rows.dtype, rows.indices.dtype, rows.indptr.dtype) == (np.float32, np.int32, np.int32)
    assert (rows != expected[chosen]).nnz == 0


@pytest.mark.parametrize("memory", ["1MB", "64MB"])
def test_counts_are_kept_within_the_memory_that_is_allowed(tmp_path, monkeypatch, memory):
    kept, write = [], corpus.TextCorpus.write

    def noting(texts, *arguments):
        kept.append(texts._kept is not None)
        write(texts, *arguments)

    monkeypatch.setattr(corpus.TextCorpus, "write", noting)
    documents = make_documents(6000)
    with create_collection(tmp_path / "c.sth", documents, memory=memory, sample_size=100) as collection:
        hits = collection.search(QUERIES[0], 5)
        collection.relearn()
        assert kept == [memory == "64MB"] * 2
        assert [hit.key for hit in collection.search(QUERIES[0], 5)] == [hit.key for hit in hits]


def test_a_small_limit_stops_no_later_documents(tmp_path):
    """Each of the first documents has words of its own; learning from a thousand of them would need more memory."""
    with create_collection(tmp_path / "c.sth", [], memory=20 << 20, n_bits=64) as collection:
        collection.add(" ".join(f"w{number}x{word}" for word in range(300)) for number in range(999))
        collection.add(["one more"])
        assert len(collection) == 1000
        assert collection.search("w7x1", 1)[0].text.startswith("w7x0 ")
        assert [hit.text for hit in collection.search("more")] == ["one more"]


def _noted(method, results):
    def noting(self):
        results.append(method(self))
        return results[-1]

    return noting


def test_a_row_buffer_is_a_stack():
    rng = np.random.default_rng(0)
    parts = [sp.random_array((n, 30), density=0.2, rng=rng, dtype=np.float32).tocsr() for n in (3, 1, 8)]
    for expected in (0, 10, 1000):
        buffer = RowBuffer(12, 30, expected=expected)
        for part in parts:
            buffer.add(part)
        assert (buffer.matrix() != sp.vstack(parts)).nnz == 0
    assert RowBuffer(0, 30, expected=0).matrix().shape == (0, 30)


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("sample_size", [None, 60])
def test_relearning_starts_from_the_present_model(tmp_path, monkeypatch, dense, sample_size):
    starts = []
    fit = SelfTaughtHashing.fit
    monkeypatch.setattr(
        SelfTaughtHashing, "fit", lambda self, X, y=None, **more: (starts.append(more.get("start")), fit(self, X, y))[1]
    )
    documents = make_documents(150)
    vectors = random_vectors(150, 12) if dense else None
    with create_collection(
        tmp_path / "c.sth", documents[:100], vectors=vectors[:100] if dense else None, sample_size=sample_size
    ) as collection:
        collection.add(documents[100:], vectors=vectors[100:] if dense else None)
        collection.delete("d3")
        with collection.snapshot() as now:
            margins = now.codes.margins(now.ids)
            queries = np.delete(vectors, 3, 0) if dense else [document.text for document in collection]
            np.testing.assert_allclose(margins, now.encode(list(queries)).margins, rtol=1e-5, atol=1e-6)
        collection.relearn()
        collection.check()
    chosen = np.arange(149) if sample_size is None else np.sort(np.random.default_rng(0).choice(149, 60, replace=False))
    first, second = starts
    assert first is None
    np.testing.assert_allclose(second, margins[chosen], rtol=1e-5, atol=1e-6)


def test_what_has_no_hash_functions_starts_from_nothing(tmp_path, monkeypatch):
    starts = []
    fit = SelfTaughtHashing.fit
    monkeypatch.setattr(
        SelfTaughtHashing, "fit", lambda self, X, y=None, **more: (starts.append(more.get("start")), fit(self, X, y))[1]
    )
    with create_collection(tmp_path / "c.sth", make_documents(5)) as collection:
        collection.add(make_documents(100, first=5))
        collection.relearn()
        assert collection.info()["learned"]
    assert starts[-1] is None


# Stages


def test_stages_are_reported_in_order_and_to_their_end(tmp_path, monkeypatch):
    monkeypatch.setattr(posting_table, "MOST_PENDING", 50)
    seen: dict[str, list[tuple[int, int | None]]] = {}

    def report(stage, done, total):
        seen.setdefault(stage, []).append((done, total))

    with create_collection(tmp_path / "c.sth", make_documents(120), progress=report) as collection:
        assert list(seen) == STAGES
        assert seen.pop("reading") == [(120, None)]
        _check_ends(seen)
        seen.clear()
        collection.relearn(progress=report)
        assert list(seen) == STAGES
        _check_ends(seen)
        seen.clear()
        collection.add(make_documents(60, first=120), progress=report)
        assert list(seen) == ["reading", "posting lists"]


def _check_ends(seen):
    for stage, reports in seen.items():
        done, totals = [done for done, _ in reports], {total for _, total in reports}
        assert done[0] == 0, stage
        assert done == sorted(done), stage
        assert reports[-1][0] == (reports[-1][1] or reports[-1][0]), (stage, totals)


class Interrupting:
    """Progress that is interrupted by Ctrl-C in one stage."""

    def __init__(self, stage):
        self.stage = stage

    def __call__(self, stage, done, total):
        if stage == self.stage:
            raise KeyboardInterrupt


@pytest.mark.parametrize("stage", STAGES)
def test_an_interrupt_in_any_stage_leaves_everything_as_it_was(tmp_path, path, monkeypatch, stage):
    monkeypatch.setattr(posting_table, "MOST_PENDING", 50)
    report = Interrupting(stage)
    before = tmp_path / "before.sth"
    before.write_bytes(path.read_bytes())
    with pytest.raises(KeyboardInterrupt):
        create_collection(tmp_path / "new.sth", make_documents(120), progress=report)
    with pytest.raises(KeyboardInterrupt):
        create_collection(path, make_documents(120), progress=report, overwrite=True)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["before.sth", "some.sth"]
    assert same_content(path, before)
    with Collection.open(path) as collection:
        with pytest.raises(KeyboardInterrupt):
            collection.relearn(progress=report, n_bits=10)
        collection.check()
    assert same_content(path, before)


@pytest.mark.parametrize("stage", ["reading", "posting lists"])
def test_an_interrupted_add_adds_nothing(tmp_path, path, monkeypatch, stage):
    monkeypatch.setattr(posting_table, "MOST_PENDING", 50)
    before = tmp_path / "before.sth"
    before.write_bytes(path.read_bytes())
    with Collection.open(path) as collection:
        with pytest.raises(KeyboardInterrupt):
            collection.add(make_documents(400, first=300), progress=Interrupting(stage))
        collection.check()
        assert collection.search("kitten claw", 1)
    assert same_content(path, before)


# When to relearn


def test_what_the_hash_functions_have_not_seen(tmp_path):
    with create_collection(tmp_path / "c.sth", make_documents(100)) as collection:
        collection.add(["zeppelin hangar"] * 5)
        facts = collection.info()
        words = sum(len(set(document.text.split())) for document in collection)
        assert facts["unseen_documents"] == pytest.approx(5 / 105, abs=1e-4)
        assert facts["unseen_terms"] == pytest.approx(10 / words, abs=1e-4)
        assert "no need" in facts["advice"]
        collection.add(make_documents(50, first=100))
        assert collection.info()["unseen_documents"] == pytest.approx(55 / 155, abs=1e-4)
        advice = collection.info()["advice"]
        assert advice.startswith("35% of the documents and 1% of the words came after learning")
        assert advice.endswith("improves recall: sth relearn COLLECTION")
        collection.delete([f"d{number}" for number in range(50)])
        assert collection.info()["unseen_documents"] == pytest.approx(55 / 105, abs=1e-4)
        collection.relearn()
        assert collection.info()["unseen_documents"] == collection.info()["unseen_terms"] == 0
        collection.add([f"unheard{number} of{number}" for number in range(20)])
        assert "came after learning" in collection.info()["advice"]  # few documents, but many words


def test_documents_that_are_replaced_are_new(tmp_path):
    with create_collection(tmp_path / "c.sth", make_documents(100)) as collection:
        collection.upsert(make_documents(30))
        assert collection.info()["unseen_documents"] == pytest.approx(0.3)
        assert "relearn" in collection.info()["advice"]


def test_words_outside_of_the_sample_are_not_known(tmp_path):
    documents = [document.text for document in make_documents(200)] + [f"alone{n} ship" for n in range(200)]
    with create_collection(tmp_path / "c.sth", documents, sample_size=100) as collection:
        facts = collection.info()
        assert facts["unseen_documents"] == 0.75
        with collection.snapshot() as now:
            terms = list(now.codes.model.terms)
        unknown = sum(term.frequency for term in terms if not term.weights)
        assert facts["unseen_terms"] == pytest.approx(unknown / sum(term.frequency for term in terms), abs=1e-4)
        assert unknown > 100


def test_advice_names_the_options_that_are_needed(tmp_path, costly):
    documents = make_documents(200)
    with create_collection(tmp_path / "c.sth", documents, sample_size=50) as collection:
        assert collection.info()["advice"] == (
            "Learned from 50 of 200 documents; learning from all takes about 3 min and improves recall: "
            "sth relearn COLLECTION --sample-size 200"
        )
    limits = {"seconds": 60.0, "memory": 100_000_000}
    with create_collection(tmp_path / "d.sth", documents, **limits) as collection:
        assert collection.info()["advice"].endswith("sth relearn COLLECTION --seconds 240 --memory 229MiB")
    with create_collection(tmp_path / "e.sth", documents[:5]) as collection:
        assert collection.info()["advice"].startswith("Too few documents to learn from")


def test_advice_is_in_notebooks(collection):
    html = collection._repr_html_()
    assert "unseen documents" in html
    assert "no need to relearn" in html


# Corpora that are hard to learn from


@pytest.mark.parametrize("recipe", ["neighbors", "paper", "topics"])
@pytest.mark.parametrize(
    "make",
    [
        lambda texts: ["one and the same"] * 600 + texts,
        lambda texts: [f"{text} everywhere" for text in texts],
        lambda texts: [part for text in texts for part in (text, "")],
        lambda texts: [part for text in texts for part in (text, "the of and")],
    ],
    ids=["many are the same", "one term in all", "half are blank", "half are stop words"],
)
def test_strange_corpora(tmp_path, make, recipe):
    texts = make([document.text for document in make_documents(200)])
    with create_collection(tmp_path / "c.sth", texts, n_bits=16, n_neighbors=10, recipe=recipe) as collection:
        assert collection.info()["learned"]
        assert collection.check().documents == len(texts)
        assert not collection.encode([""]).any()
        label = collection.search("kitten claw", 5, ranking="cosine")
        assert all({"kitten", "claw"} & set(hit.text.split()) for hit in label)


def test_learning_can_be_left_for_later(tmp_path):
    documents = make_documents(300)
    with (
        create_collection(tmp_path / "now.sth", documents) as now,
        create_collection(tmp_path / "later.sth", documents, when="later") as later,
    ):
        facts = later.info()
        assert (facts["learned"], facts["learned_on"]) == (False, 0)
        assert "sth relearn" in facts["advice"]
        for query in QUERIES:  # words do not wait for hash functions, and whole documents are compared with all others
            assert [hit.key for hit in later.search(query)] == [hit.key for hit in now.search(query)]
            assert later.search(query, ranking="cosine")[0].score == pytest.approx(
                now.search(query, ranking="cosine")[0].score, abs=1e-6
            )
        later.add(make_documents(1000, first=300))
        assert not later.info()["learned"]  # not unless it is asked for
        later.check()
        now.add(make_documents(1000, first=300))
        later.relearn()
        now.relearn()
        assert later.info()["learned_on"] == 1300
    assert same_content(tmp_path / "now.sth", tmp_path / "later.sth")


@pytest.mark.parametrize("kept", [1 << 29, 0], ids=["counts in memory", "counts read again"])
def test_words_can_be_searched_while_hash_functions_are_learned(tmp_path, monkeypatch, kept):
    documents = make_documents(300)
    create_collection(tmp_path / "now.sth", documents).close()
    monkeypatch.setattr(builder, "SECONDS_BEFORE", 0.0)
    monkeypatch.setattr(corpus, "KEPT_BYTES", kept)
    stages, found = [], []

    def report(stage, *_):
        stages.append(stage)
        if stage in (SEARCHABLE, "graph") and len(found) < 2:
            with Collection.open(tmp_path / "after.sth") as meanwhile:
                found.append([hit.key for hit in meanwhile.search(QUERIES[0])])
                assert not meanwhile.info()["learned"]

    with create_collection(tmp_path / "after.sth", documents, when="after", progress=report) as after:
        assert stages.index("encoding") < stages.index(SEARCHABLE) < stages.index("graph")
        assert found == 2 * [[hit.key for hit in after.search(QUERIES[0])]]
        assert after.info()["learned_on"] == 300
        after.check()
    with (
        Collection.open(tmp_path / "now.sth") as one,
        Collection.open(tmp_path / "after.sth") as other,
        one.snapshot() as a,
        other.snapshot() as b,
    ):
        assert (a.codes.table.codes == b.codes.table.codes).all()
        assert list(a.codes.model.terms) == list(b.codes.model.terms)


def test_quick_learning_is_done_before_there_is_a_file(tmp_path):
    stages = []
    create_collection(
        tmp_path / "after.sth", make_documents(300), when="after", progress=lambda stage, *_: stages.append(stage)
    ).close()
    assert SEARCHABLE not in stages


def test_learning_after_somebody_changed_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(builder, "SECONDS_BEFORE", 0.0)

    def report(stage, *_):
        if stage == SEARCHABLE:
            with Collection.open(tmp_path / "c.sth") as other:
                other.delete("d1")
                other.add(make_documents(20, first=300))

    with create_collection(tmp_path / "c.sth", make_documents(300), when="after", progress=report) as collection:
        assert (len(collection), collection.info()["learned_on"]) == (319, 319)
        collection.check()


@pytest.mark.parametrize("when", ["after", "later"])
def test_nothing_to_learn_from_now_or_later(tmp_path, monkeypatch, when):
    monkeypatch.setattr(builder, "SECONDS_BEFORE", 0.0)
    for number, documents in enumerate(([], ["one"], ["the", "of"])):
        with create_collection(tmp_path / f"{number}.sth", documents, when=when) as collection:
            assert not collection.info()["learned"]
            collection.check()


def test_codes_of_vectors_can_be_left_for_later(tmp_path):
    with create_collection(tmp_path / "v.sth", vectors=random_vectors(200, 8), when="later") as collection:
        assert not collection.info()["learned"]
        collection.relearn()
        assert not collection.info()["learned"] or collection.info()["learned_on"] == 200


def test_when_must_be_known(tmp_path):
    with pytest.raises(ValueError, match=r"when.*now.*after.*later"):
        create_collection(tmp_path / "c.sth", ["a"], when="never")


def test_a_kill_while_learning_leaves_words(tmp_path, run_python):
    killed = """
        import os, sys
        sys.path.insert(0, "tests")
        from sthash import Collection, Learning
        from sthash.collection.build import builder
        from support.corpus import make_documents
        builder.SECONDS_BEFORE = 0.0
        def report(stage, *_):
            if stage == "embedding":
                print("killed", flush=True)
                os._exit(0)
        learning = Learning(n_bits=8, n_neighbors=5, when="after")
        Collection.create(os.environ["TARGET"], make_documents(300), learning=learning, progress=report)
    """
    assert "killed" in run_python(inspect.cleandoc(killed), TARGET=str(tmp_path / "c.sth"))
    with Collection.open(tmp_path / "c.sth") as collection:
        collection.check()
        assert (len(collection), collection.info()["learned"]) == (300, False)
        assert collection.search(QUERIES[0])
        collection.relearn()
        assert collection.info()["learned_on"] == 300
