"""Scores of the field: corpora of every form, every method at every length, tables and JSON."""

import json

import numpy as np
import pytest
import scipy.io
from scipy import sparse

from sthash import TextVectorizer, codes
from sthash.evaluation import SharedLabels, Topics
from sthash.reproduction import DatasetError
from sthash.reproduction.conditions import ConditionsError
from sthash.reproduction.datasets import tfidf_counts
from sthash.reproduction.field import (
    FieldScore,
    as_json,
    as_table,
    choose_methods,
    field_scores,
    load_corpus,
)

LABELS = np.arange(240) % 3


@pytest.fixture(scope="module")
def mat(tmp_path_factory):
    """Term counts of 240 documents on three topics, as the files of VDSH have them, with one column per label."""
    rng = np.random.default_rng(0)
    chosen = np.concatenate(
        [40 * LABELS[:, None] + rng.integers(0, 40, (240, 12)), rng.integers(120, 180, (240, 8))], 1
    )
    counts = sparse.csr_array((np.ones(chosen.size), (np.repeat(np.arange(240), 20), chosen.ravel())), (240, 180))
    parts = {"train": slice(0, 160), "cv": slice(160, 200), "test": slice(200, 240)}
    content = {name: counts[part] for name, part in parts.items()}
    content |= {f"gnd_{name}": np.eye(3)[LABELS[part]] for name, part in parts.items()}
    path = tmp_path_factory.mktemp("field") / "three.mat"
    scipy.io.savemat(path, content)
    return path


def test_a_matlab_file(mat):
    loaded = load_corpus(str(mat))
    raw = scipy.io.loadmat(mat)
    train, test = tfidf_counts(raw["train"], raw["test"])
    assert abs(loaded.train - train).max() < 1e-6  # whole numbers are counts
    assert abs(loaded.test - test).max() < 1e-6
    assert isinstance(loaded.relevance, SharedLabels)
    assert loaded.relevance.mask(0, 40).tolist() == (LABELS[200:, None] == LABELS[:160]).tolist()
    assert load_corpus(str(mat), queries="cv").test.shape[0] == 40


def test_weights_are_taken_as_they_are(mat, tmp_path):
    raw = scipy.io.loadmat(mat)
    given = load_corpus(str(mat), weights="given")
    assert np.allclose(given.train.power(2).sum(axis=1), 1)
    lengths = np.sqrt(raw["train"].power(2).sum(axis=1))
    assert abs(given.train - sparse.csr_array(raw["train"] / lengths)).max() < 1e-6
    scipy.io.savemat(
        tmp_path / "half.mat",
        {name: raw[name] * 0.5 for name in ("train", "test")} | {name: raw[name] for name in ("gnd_train", "gnd_test")},
    )
    assert abs(load_corpus(str(tmp_path / "half.mat")).train - given.train).max() < 1e-6


def test_a_folder_with_one_folder_per_label(tmp_path):
    for number in range(20):
        folder = tmp_path / "texts" / ("rain" if number % 2 else "sun")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}.txt").write_text(f"{folder.name} number{number} weather")
    loaded = load_corpus(str(tmp_path / "texts"))
    assert (loaded.train.shape[0], loaded.test.shape[0]) == (12, 8)
    assert isinstance(loaded.relevance, Topics)
    with pytest.raises(DatasetError, match="has no part cv"):
        load_corpus(str(tmp_path / "texts"), queries="cv")


def test_precision_is_that_of_a_plain_ranking(mat):
    loaded = load_corpus(str(mat))
    (found,) = field_scores(loaded, choose_methods(["lsh"]), [16], k=10)
    from sthash.baselines import RandomHyperplaneHashing

    hasher = RandomHyperplaneHashing(16).fit(loaded.train)
    distances = codes.distances(hasher.transform(loaded.test), hasher.codes_)
    rng, precisions = np.random.default_rng(0), []
    for _ in range(300):  # ties in random order
        order = np.lexsort((rng.random(distances.shape), distances), axis=1)[:, :10]
        precisions.append((LABELS[200:, None] == LABELS[:160][order]).mean())
    assert found.precision == pytest.approx(np.mean(precisions), abs=0.005)


def test_all_methods_have_a_score_at_every_length(mat):
    loaded = load_corpus(str(mat))
    names = ["sth", "topics", "neighbors", "lsi", "itq", "lsh"]
    found = list(field_scores(loaded, choose_methods(names), [8, 16], k=20))
    assert [(one.method, one.n_bits) for one in found] == [
        (title, n)
        for title in ("STH", "STH, topics (ours)", "STH, neighbors (ours)", "binarized LSI", "PCA-ITQ", "LSH")
        for n in (8, 16)
    ]
    assert all(one.error is None for one in found)
    assert {one.method: one.precision for one in found if one.n_bits == 16}["STH, topics (ours)"] > 0.8


def test_the_paper_comes_first_then_ours_then_the_baselines():
    titles = [method.title for method in choose_methods()]
    assert titles[:3] == ["STH", "STH, topics (ours)", "STH, neighbors (ours)"]
    assert len(titles) == 13
    with pytest.raises(ConditionsError, match="'nothing' is not known"):
        choose_methods(["nothing"])


def test_a_method_that_fails_does_not_stop_the_others(mat):
    loaded = load_corpus(str(mat))
    found = list(field_scores(loaded, choose_methods(["lsi", "lsh"]), [16, 2000], k=20))
    failed = {one.method for one in found if one.error}
    assert failed == {"binarized LSI"}
    assert all(one.precision is None for one in found if one.error)
    assert "–" in as_table(found)


def test_tables_and_json(mat):
    found = [FieldScore("A", 16, 0.5), FieldScore("A", 32, 0.25), FieldScore("B", 16, 0.75), FieldScore("B", 32, None)]
    assert as_table(found).splitlines() == [
        "| method | 16 bits | 32 bits |",
        "| --- | --- | --- |",
        "| A | 0.5000 | **0.2500** |",
        "| B | **0.7500** | – |",
    ]
    latex = as_table(found, "latex").splitlines()
    assert latex[0] == r"\begin{tabular}{lrr}"
    assert r"A & 0.5000 & \textbf{0.2500} \\" in latex
    assert r"B & \textbf{0.7500} & -- \\" in latex
    content = json.loads(as_json(load_corpus(str(mat)), found, 100))
    assert content["documents"] == {"train": 160, "test": 40, "terms": 180}
    assert (content["relevant"], content["measure"]) == ("shares a label", "precision at 100")
    assert content["scores"][0]["precision"] == 0.5


def test_texts_are_weighted_as_everywhere(corpus):
    loaded = load_corpus(str(corpus))
    assert loaded.train.shape[0] + loaded.test.shape[0] == 240
    texts = [json.loads(line)["text"] for line in corpus.read_text().splitlines()]
    assert loaded.train.shape[1] <= TextVectorizer().fit_transform(texts).shape[1]


@pytest.fixture
def vectors(tmp_path):
    rng = np.random.default_rng(0)
    labels = np.arange(300) % 5
    path = tmp_path / "vectors.npz"
    np.savez(path, vectors=(60 * (rng.normal(size=(5, 24))[labels] + 0.7 * rng.normal(size=(300, 24)))), labels=labels)
    return path


def test_dense_vectors_with_labels(vectors):
    loaded = load_corpus(str(vectors), last=60)
    assert (loaded.train.shape, loaded.test.shape) == ((240, 24), (60, 24))
    np.testing.assert_allclose(np.linalg.norm(loaded.train, axis=1), 1, rtol=1e-6)
    assert load_corpus(str(vectors)).test.shape == (120, 24)
    names = [method.name for method in choose_methods(dense=True)]
    assert {"embeddings", "kernel_topics", "topics", "agh"} <= set(names)
    assert not {"lch", "rbm"} & set(names)
    assert "kernel_topics" not in [method.name for method in choose_methods()]
    found = list(field_scores(loaded, choose_methods(["topics", "kernel_topics", "itq"], dense=True), [8], k=20))
    assert all(one.precision > 0.5 for one in found)


@pytest.mark.parametrize(
    ("parts", "last", "message"),
    [
        ({"vectors": np.eye(4)}, None, "has no labels, only vectors"),
        ({"vectors": np.eye(4), "labels": np.zeros(3)}, None, "one label per row"),
        ({"vectors": np.eye(4), "labels": np.zeros(4)}, 4, "last=4 must be between 1 and 3"),
    ],
)
def test_bad_files_of_vectors_are_named(tmp_path, parts, last, message):
    np.savez(tmp_path / "bad.npz", **parts)
    with pytest.raises(DatasetError, match=message):
        load_corpus(str(tmp_path / "bad.npz"), last=last)
