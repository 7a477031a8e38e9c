"""Tuning measures what it says it measures, and refuses what it cannot measure."""

from xml.etree import ElementTree

import numpy as np
import pytest
from scipy import sparse

from sthash import SelfTaughtHashing
from sthash.evaluation import nearest_neighbors, tune
from sthash.evaluation.tuning import RECIPES, TOLERANCE, _sampled_documents
from sthash.evaluation.tuning_plot import draw_tuning
from sthash.progress import silent
from sthash.sources import Document
from support.components import require

SMALL = {"n_bits": [8, 24], "n_neighbors": [10], "recipe": ["paper"]}


@pytest.fixture(scope="module")
def vectors():
    rng = np.random.default_rng(0)
    topics = rng.integers(0, 12, 500)
    centers = rng.normal(size=(12, 30))
    return centers[topics] + 0.8 * rng.normal(size=(500, 30)), topics


@pytest.fixture(scope="module")
def tuning(vectors):
    return tune(vectors=vectors[0], labels=vectors[1].tolist(), n_bits=[8, 24], n_neighbors=[5, 10])


def test_every_combination_is_tried(tuning):
    tried = [(trial.recipe, trial.n_neighbors, trial.n_bits) for trial in tuning.trials]
    assert tried == [(recipe, k, bits) for recipe in RECIPES for k in (5, 10) for bits in (8, 24)]
    assert (tuning.n_corpus, tuning.n_queries, tuning.ball) == (400, 100, 100)
    assert {trial.bytes for trial in tuning.trials} == {1, 3}
    assert all(trial.microseconds > 0 and trial.fit_seconds > 0 for trial in tuning.trials)


def test_the_measures_against_plain_loops(vectors, tuning):
    X, topics = vectors[0].astype(np.float32), vectors[1]
    order = np.random.default_rng(0).permutation(500)
    asked, kept = np.sort(order[:100]), np.sort(order[100:])
    hasher = SelfTaughtHashing(24, 10).fit(X[kept])
    margins = hasher.decision_function(X[asked])
    signs = np.unpackbits(hasher.transform(X[kept]), axis=1, bitorder="little")[:, :24].astype(bool)
    true = nearest_neighbors(X[kept], X[asked], 10)
    shares, precisions = [], []
    for row in range(100):
        distances = np.where(signs != (margins[row] > 0), np.abs(margins[row]), 0).sum(axis=1)
        nearest = np.argsort(distances, kind="stable")[:100]
        shares.append(len(set(nearest) & set(true[row])) / 10)
        precisions.append(np.mean(topics[kept][nearest] == topics[asked][row]))
    trial = next(t for t in tuning.trials if (t.recipe, t.n_neighbors, t.n_bits) == ("paper", 10, 24))
    assert trial.share_in_100 == pytest.approx(np.mean(shares), abs=2e-3)
    assert trial.recall == pytest.approx(np.mean(shares), abs=2e-3)  # the ball holds 100 here
    assert trial.precision_at_100 == pytest.approx(np.mean(precisions), abs=2e-3)


@pytest.mark.parametrize("aim", ["neighbors", "topics"])
def test_the_shortest_code_of_the_good_ones_is_recommended(vectors, aim):
    tuning = tune(vectors=vectors[0], labels=vectors[1].tolist(), aim=aim, **SMALL)
    best = max(trial.quality(aim) for trial in tuning.trials)
    good = [trial for trial in tuning.trials if trial.quality(aim) >= best - TOLERANCE]
    assert tuning.recommended in good
    assert tuning.recommended.bytes == min(trial.bytes for trial in good)


def test_the_seed_settles_everything_but_the_times(vectors):
    def measured(seed):
        found = tune(vectors=vectors[0], sample_size=400, random_state=seed, **SMALL)
        return [(trial.recall, trial.share_in_100) for trial in found.trials]

    assert measured(3) == measured(3)
    assert measured(3) != measured(4)


def test_texts_with_some_labels_and_a_sample():
    words = ["cat", "dog", "fish", "bird", "horse", "cow"]
    rng = np.random.default_rng(1)
    texts = [" ".join(rng.choice(words[i % 3 * 2 : i % 3 * 2 + 3], 8)) + f" number{i % 40}" for i in range(400)]
    documents = [Document(None, text, None if i % 5 == 0 else str(i % 3)) for i, text in enumerate(texts)]
    steps = []
    found = tune(
        iter(documents),
        n_bits=[8],
        n_neighbors=[10],
        recipe=["paper"],
        sample_size=300,
        progress=lambda step, done, total: steps.append((step, done, total)),
    )
    assert found.n_corpus + found.n_queries == 300
    assert 0 < found.trials[0].precision_at_100 <= 1
    assert ("reading", 400, None) in steps
    assert steps[-1] == ("trying", 1, 1)
    assert tune(texts, n_bits=[8], n_neighbors=[10], recipe=["paper"]).trials[0].precision_at_100 is None


def test_a_file_and_the_number_of_threads(tmp_path):
    texts = [f"word{i % 7} word{i % 11} word{i % 13} word{i % 17}" for i in range(300)]
    (tmp_path / "docs.lines").write_text("\n".join(texts))
    settings = {"n_bits": [8], "n_neighbors": [10], "recipe": ["paper"]}
    one = tune(tmp_path / "docs.lines", threads=1, **settings).trials[0]
    two = tune(texts, threads=2, **settings).trials[0]
    assert (one.recall, one.share_in_100) == (two.recall, two.share_in_100)


def test_a_sample_of_a_stream_is_even():
    counts = np.zeros(50)
    for seed in range(400):
        texts, _ = _sampled_documents(map(str, range(50)), 10, np.random.default_rng(seed), silent)
        assert texts == sorted(texts, key=int)
        counts[[int(text) for text in texts]] += 1
    assert abs(counts - 80).max() < 40  # five standard deviations


def test_sparse_vectors(vectors):
    dense = tune(vectors=vectors[0].clip(min=0), **SMALL)
    found = tune(vectors=sparse.csr_array(vectors[0].clip(min=0)), **SMALL)
    assert [t.recall for t in found.trials] == pytest.approx([t.recall for t in dense.trials], abs=0.05)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, TypeError, "either documents or vectors"),
        ({"documents": ["a"] * 100}, ValueError, "at least 250 documents, got 100"),
        ({"documents": []}, ValueError, "at least 250 documents, got 0"),
        ({"documents": ["a"], "labels": [1]}, TypeError, "labels= goes with vectors="),
        ({"recipe": ["papper"]}, ValueError, "recipe='papper' is not known. Use one of: paper"),
        ({"recipe": "paper"}, ValueError, "recipe='paper' must be a sequence"),
        ({"n_bits": []}, ValueError, "n_bits=.* at least one value"),
        ({"n_bits": [0]}, ValueError, "n_bits=0"),
        ({"n_bits": [2000]}, ValueError, "n_bits=2000 must be at most 1024"),
        ({"n_bits": [300], "vectors": np.ones((300, 2))}, ValueError, "n_bits=300 needs at least 302 documents"),
        ({"n_neighbors": [-1]}, ValueError, "n_neighbors=-1"),
        ({"threads": 0, "documents": []}, ValueError, "threads=0 must be"),
        ({"aim": "speed"}, ValueError, "aim='speed' is not known"),
        ({"aim": "topics", "documents": ["a"] * 300}, ValueError, "needs labels"),
        ({"documents": [], "sample_size": 10}, ValueError, "sample_size=10 must be an int of at least 250"),
        ({"vectors": np.ones((300, 2)), "labels": [1]}, ValueError, "got 1 for 300 vectors"),
    ],
)
def test_what_cannot_be_tuned(arguments, error, message):
    with pytest.raises(error, match=message):
        tune(**arguments)


def test_nothing_in_common():
    with pytest.raises(ValueError, match="term"):
        tune([f"word{i}x" for i in range(300)], **SMALL)


def test_the_picture(tuning, tmp_path):
    require("Matplotlib")
    draw_tuning(tuning, tmp_path / "one.svg")
    draw_tuning(tuning, tmp_path / "other.svg")
    content = (tmp_path / "one.svg").read_text()
    assert content == (tmp_path / "other.svg").read_text()
    assert ElementTree.fromstring(content).tag.endswith("svg")
    for words in ("bytes per document", "microseconds per query", "paper, k = 10", "topics, k = 5"):
        assert words in content
    assert len(list(tmp_path.iterdir())) == 2
