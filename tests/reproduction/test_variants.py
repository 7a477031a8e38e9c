"""Other choices for the stages: each against a plain computation, and all of them in the report."""

import csv

import numpy as np
import pytest
import scipy.sparse as sp
import yaml

from sthash import SelfTaughtHashing
from sthash.hashing import knn_graph
from sthash.reproduction.conditions import load_conditions
from sthash.reproduction.report import write_report
from sthash.reproduction.results import Results
from sthash.reproduction.runner import carry_out, choose
from sthash.reproduction.variants import GlobalEigenmap, global_similarity, ratio_cut, ratio_cut_eigenmap


def rows(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.poisson(rng.gamma(0.5, size=(3, 40))[np.arange(n) % 3]) + rng.poisson(0.1, size=(n, 40))
    X = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9)
    return sp.csr_array(X.astype(np.float32))


def same_up_to_sign(found, wanted):
    signs = np.sign((found * wanted).sum(axis=0))
    np.testing.assert_allclose(found * signs, wanted, atol=1e-4 * np.abs(wanted).max())


def test_the_ratio_cut_is_the_spectrum_of_the_laplacian():
    W = knn_graph(rows(), 10)
    dense = W.toarray().astype(np.float64)
    values, vectors = np.linalg.eigh(np.diag(dense.sum(axis=1)) - dense)
    assert values[1] > 1e-3
    same_up_to_sign(ratio_cut_eigenmap(W, 6), vectors[:, 1:7])


def test_nodes_without_edges_take_no_part_in_the_ratio_cut():
    W = knn_graph(rows(), 10).toarray()
    alone = np.zeros((len(W) + 1, len(W) + 1))
    alone[1:, 1:] = W
    found = ratio_cut_eigenmap(alone, 4)
    assert not found[0].any()
    same_up_to_sign(found[1:], ratio_cut_eigenmap(W, 4))


@pytest.mark.parametrize("form", ["sparse", "dense"])
def test_global_similarity_is_the_eigenmap_of_all_cosines(form):
    X = rows()
    dense = X.toarray().astype(np.float64)
    W = dense @ dense.T
    np.fill_diagonal(W, 0)
    root = np.sqrt(W.sum(axis=1))
    vectors = np.linalg.eigh(W / root / root[:, None])[1][:, ::-1][:, 1:6] / root[:, None]
    found = GlobalEigenmap().from_vectors(X if form == "sparse" else X.toarray(), knn_graph(X, 10), 5)
    same_up_to_sign(found, vectors)


def test_a_global_graph_needs_positive_degrees():
    X = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    with pytest.raises(ValueError, match="positive sums of cosines"):
        SelfTaughtHashing(4, 10, embedding=GlobalEigenmap()).fit(X)


@pytest.mark.parametrize("factory", [ratio_cut, global_similarity])
def test_variants_give_codes(factory):
    hasher = factory(8).fit(rows())
    assert hasher.transform(rows(10, seed=1)).shape == (10, 1)


def test_variants_of_the_conditions_are_measured_and_reported(experiments, tmp_path):
    variants = {
        "lengths": [8, 16],
        "wanted": [5, 10],
        "groups": [
            {
                "title": "Neighbors",
                "about": "How many.",
                "sweep": True,
                "variants": {
                    f"k = {k}": {
                        "estimator": "sthash:SelfTaughtHashing",
                        "settings": {"n_neighbors": k},
                        "lengths": "prefix",
                    }
                    for k in (5, 10)
                },
            },
            {
                "title": "Cut",
                "variants": {"ratio": {"estimator": "sthash.reproduction.variants:ratio_cut", "lengths": "prefix"}},
            },
        ],
    }
    (experiments / "variants.yaml").write_text(yaml.safe_dump(variants))
    run = choose(load_conditions(experiments), ["small"], ["sth", "variants"])
    outcome = carry_out(run, Results(tmp_path / "measured"))
    assert not outcome.failures
    write_report(run, outcome, tmp_path)
    text = (tmp_path / "results.md").read_text()
    assert "## Other choices for the stages" in text
    for line in ("### Neighbors\n\nHow many.", "| Small | k = 5 |", "| Small | ratio |", "| 5 wanted | 10 wanted |"):
        assert line in text
    with (tmp_path / "numbers.csv").open() as stream:
        table = list(csv.DictReader(stream))
    assert {row["method"] for row in table if row["kind"] == "variant"} == {"k = 5", "k = 10", "ratio"}
    (one,) = [
        row
        for row in table
        if (row["kind"], row["method"], row["what"], row["bits"], row["measure"])
        == ("variant", "k = 5", "scores 10", "16", "mean_average_precision")
    ]
    shown = next(line for line in text.splitlines() if line.startswith("| Small | k = 5 |") and line.count("|") == 11)
    assert f"{float(one['value']):.3f}" in shown
    # Without the name they are measured only if everything is.
    assert not choose(load_conditions(experiments), ["small"], ["sth"]).variants
    assert choose(load_conditions(experiments), ["small"]).variants
