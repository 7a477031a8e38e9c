"""Other choices for the stages: each against a plain computation, and all of them in the report."""

import csv

import numpy as np
import pytest
import scipy.sparse as sp
import yaml

from sthash import SelfTaughtHashing
from sthash.hashing import knn_graph
from sthash.reproduction.conditions import ConditionsError, load_conditions
from sthash.reproduction.report import write_report
from sthash.reproduction.report.stage_claims import judge_stages
from sthash.reproduction.report.summary import Summary
from sthash.reproduction.report.verdicts import FAILS, HOLDS, PARTLY
from sthash.reproduction.results import Job, Results
from sthash.reproduction.runner import Outcome, carry_out, choose
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
                "claims": [{"text": "How many should be the number that is wanted", "best_at_wanted": True}],
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
    assert (
        "| How many should be the number that is wanted, on Small. | Best of 5, 10 for 5, 10 wanted neighbors" in text
    )
    # Without the name they are measured only if everything is.
    assert not choose(load_conditions(experiments), ["small"], ["sth"]).variants
    assert choose(load_conditions(experiments), ["small"]).variants


CLAIMS = {
    "A serves better than B": {"better": "A", "than": "B"},
    "A need not be tuned": {"enough": "A", "among": ["B", "k = 10"]},
    "A is slow": {"as_slow": "A"},
    "k is what is wanted": {"best_at_wanted": True},
}


def judged(experiments, results):
    """Judge the claims about stages, given precision, seconds, and mean average precision by number of wanted ones."""
    one = {"estimator": "sthash:SelfTaughtHashing"}
    sizes = {f"k = {k}": one | {"settings": {"n_neighbors": k}} for k in (5, 10)}
    claims = [{"text": text} | claim for text, claim in CLAIMS.items()]
    variants = {
        "lengths": [16],
        "wanted": [5, 10],
        "groups": [
            {"title": "Sizes", "variants": sizes, "claims": claims[3:]},
            {"title": "Others", "variants": {"A": one, "B": one}, "claims": claims[:3]},
        ],
    }
    (experiments / "variants.yaml").write_text(yaml.safe_dump(variants))
    run = choose(load_conditions(experiments), ["small"], ["sth", "variants"])
    outcome = Outcome()
    for name, (precision, near, seconds) in results.items():
        outcome.results[Job("variant", "small", 0, name)] = {
            "scores": {"topics": [{"precision_at_k": precision}]}
            | {str(k): [{"mean_average_precision": value}] for k, value in zip((5, 10), near, strict=True)},
            "seconds": {"encode": seconds, "search": 1.0},
        }
    return {claim.text.removesuffix(", on Small."): claim for claim in judge_stages(Summary(run, outcome))}


def test_claims_about_stages_are_judged_both_ways(experiments):
    results = {"A": (0.5, (0.4, 0.5), 0.6), "B": (0.4, (0.3, 0.4), 0)}
    results |= {"k = 5": (0, (0.2, 0.3), 0), "k = 10": (0.52, (0.1, 0.4), 0)}
    found = judged(experiments, results)
    assert [found[text].verdict for text in CLAIMS] == [HOLDS] * 4
    assert found["A serves better than B"].measured.endswith("topics: 0.500 / 0.400; Small, neighbors: 0.500 / 0.400")
    assert "Small, topics: +4.0%; Small, neighbors: -20.0%" in found["A need not be tuned"].measured
    assert found["k is what is wanted"].measured.endswith("Small 5, 10")
    turned = {"A": (0.4, (0.3, 0.35), 0.4), "B": (0.5, (0.4, 0.5), 0)}
    turned |= {"k = 5": (0, (0.1, 0.4), 0), "k = 10": (0.5, (0.2, 0.38), 0)}
    assert [judged(experiments, turned)[text].verdict for text in CLAIMS] == [FAILS] * 4
    part = judged(experiments, turned | {"A": (0.6, (0.3, 0.35), 0.4)})
    assert [part[text].verdict for text in list(CLAIMS)[:2]] == [PARTLY] * 2


def test_claims_about_variants_that_were_not_measured_are_not_made(experiments):
    assert set(judged(experiments, {"A": (0.5, (0.4, 0.5), 0.6), "k = 5": (0, (0.2, 0.3), 0)})) == {"A is slow"}


def test_a_claim_about_an_unknown_variant_is_refused(experiments):
    claims = [{"text": "It is so", "better": "A", "than": "nobody"}]
    group = {"title": "Others", "variants": {"A": {"estimator": "sthash:SelfTaughtHashing"}}, "claims": claims}
    (experiments / "variants.yaml").write_text(yaml.safe_dump({"lengths": [16], "wanted": [5], "groups": [group]}))
    with pytest.raises(ConditionsError, match=r"variants\.yaml: the claim 'It is so' names 'nobody'"):
        load_conditions(experiments)
