"""One suite that every hasher passes, whatever it learns."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.utils.estimator_checks import parametrize_with_checks

import sthash
from sthash import baselines, codes
from sthash.hashing import ClassGraph, GaussianSVM, LinearEmbedding, NystromExtension, SelfTaughtHashing


@dataclass(frozen=True)
class Case:
    """A hasher, and what its method promises.

    ``exact``: the corpus gets its codes as unseen documents do. ``ordered``: a shorter code is a prefix. ``alike``: it
    can learn from documents that are all the same. ``any_rank``: it gives more bits than the corpus has dimensions.
    ``signs``: it takes negative weights.
    """

    make: Callable[..., object]
    exact: bool = True
    ordered: bool = True
    alike: bool = False
    any_rank: bool = False
    signs: bool = True


def tiny_rbm(n_bits=8, **settings):
    small = {"hidden_units": (12,), "pretrain_epochs": 3, "finetune_epochs": 3, "batch_size": 20, "threshold": "median"}
    return baselines.StackedRBMHashing(n_bits, **(small | settings))


def sth(n_bits=8, **stages):
    return SelfTaughtHashing(n_bits, n_neighbors=5, **stages)


CASES = {
    "STH": Case(sth, exact=False, any_rank=True),
    "STH-topics": Case(lambda n_bits=8: sth(n_bits, recipe="topics"), exact=False, ordered=False, any_rank=True),
    "STH-neighbors": Case(lambda n_bits=8: sth(n_bits, recipe="neighbors"), exact=False, ordered=False, any_rank=True),
    "STH-classes": Case(lambda n_bits=8: sth(n_bits, graph=ClassGraph(5)), exact=False, any_rank=True),
    "STH-gaussian": Case(lambda n_bits=8: sth(n_bits, hash_function=GaussianSVM()), exact=False, any_rank=True),
    "STH-nystrom": Case(lambda n_bits=8: sth(n_bits, hash_function=NystromExtension(5)), exact=False, any_rank=True),
    "STH-linear": Case(lambda n_bits=8: sth(n_bits, hash_function=LinearEmbedding()), exact=False, any_rank=True),
    "LSH": Case(baselines.RandomHyperplaneHashing, alike=True, any_rank=True),
    "LSH-stripes": Case(
        lambda n_bits=8: baselines.RandomHyperplaneHashing(n_bits, width=2.0), alike=True, any_rank=True
    ),
    "LSI": Case(baselines.BinarizedLSI),
    "LCH": Case(baselines.LaplacianCoHashing, signs=False),
    "SpH": Case(baselines.SpectralHashing, ordered=False, any_rank=True),
    "RBM": Case(tiny_rbm, ordered=False, alike=True, any_rank=True, signs=False),
    "SSC": Case(lambda n_bits=8: baselines.BoostedSSC(n_bits, n_neighbors=5), any_rank=True),
    "FgH": Case(lambda n_bits=8: baselines.ForgivingHashing(n_bits, n_neighbors=5), any_rank=True),
    "ITQ": Case(baselines.IterativeQuantization, ordered=False),
    "AGH-1": Case(lambda n_bits=8: baselines.AnchorGraphHashing(n_bits, layers=1, n_anchors=40), any_rank=True),
    "AGH-2": Case(lambda n_bits=8: baselines.AnchorGraphHashing(n_bits, n_anchors=40), any_rank=True),
}


def corpus(n=120, m=40, seed=0):
    """Word counts of documents on four topics, and the topics."""
    rng = np.random.default_rng(seed)
    topics = np.arange(n) % 4
    rates = rng.gamma(0.3, size=(4, m))
    return sp.csr_array(rng.poisson(rates[topics]), dtype=np.float32), topics


X, Y = corpus()
Q = corpus(seed=1)[0][:30]


def bits_of(packed, n_bits):
    return codes.unpack(packed, n_bits)


@pytest.fixture(params=CASES, scope="module")
def case(request):
    return CASES[request.param]


@pytest.fixture(scope="module")
def fitted(case):
    return case.make(n_bits=10).fit(X, Y)


def test_codes_are_packed_bits_of_the_margins(fitted):
    assert fitted.codes_.shape == (120, 2)
    assert fitted.codes_.dtype == np.uint8
    margins, packed = fitted.decision_function(Q), fitted.transform(Q)
    assert margins.shape == (30, 10)
    assert np.isfinite(margins).all()
    assert np.array_equal(packed, codes.pack(margins > 0))
    assert not (packed[:, 1] >> 2).any()
    assert not (fitted.codes_[:, 1] >> 2).any()


def test_bits_vary_over_the_corpus(fitted):
    share = bits_of(fitted.codes_, 10).mean(axis=0)
    assert ((share > 0) & (share < 1)).all()


def test_sparse_and_dense_input_give_the_same_codes(case, fitted):
    dense = case.make(n_bits=10).fit(X.toarray(), Y)
    assert np.mean(bits_of(dense.codes_, 10) != bits_of(fitted.codes_, 10)) < 0.01
    assert np.mean(bits_of(dense.transform(Q.toarray()), 10) != bits_of(fitted.transform(Q), 10)) < 0.01
    assert np.array_equal(fitted.transform(Q.toarray()), fitted.transform(Q))


def test_a_document_gets_its_code_whatever_stands_beside_it(fitted):
    together = fitted.transform(Q)
    alone = np.vstack([fitted.transform(Q[[row]]) for row in range(Q.shape[0])])
    assert np.array_equal(together, alone)


def test_fitting_again_and_cloning_give_the_same_codes(case, fitted):
    again = clone(fitted)
    assert not hasattr(again, "codes_")
    assert np.array_equal(again.fit(X, Y).codes_, fitted.codes_)
    assert np.array_equal(again.fit(X, Y).transform(Q), fitted.transform(Q))


def with_nan():
    broken = X[:, :7].toarray()
    broken[3, 4] = np.nan
    return broken


BAD_CORPORA = {
    "not a number": with_nan(),
    "blank": np.zeros((30, 5)),
    "none": np.zeros((0, 5)),
    "one dimension": np.zeros(5),
    "text": np.array([["word"] * 5] * 30),
}


@pytest.mark.parametrize("bad", BAD_CORPORA)
@pytest.mark.parametrize("before", ["new", "fitted"])
def test_a_failing_fit_changes_nothing(case, fitted, before, bad):
    hasher = case.make(n_bits=10) if before == "new" else copy.copy(fitted)
    held = dict(hasher.__dict__)
    rows = BAD_CORPORA[bad]
    with pytest.raises((ValueError, TypeError)):
        hasher.fit(rows, Y[: len(rows)])
    assert_same_state(hasher, held)


def test_a_fit_that_fails_at_its_end_changes_nothing(fitted, monkeypatch):
    hasher = copy.copy(fitted)
    held = dict(hasher.__dict__)
    monkeypatch.setattr(codes, "pack", lambda bits: (_ for _ in ()).throw(MemoryError))
    with pytest.raises(MemoryError):
        hasher.fit(X[:60, :20], Y[:60])
    assert_same_state(hasher, held)


def assert_same_state(hasher, held):
    assert hasher.__dict__.keys() == held.keys()
    assert all(hasher.__dict__[name] is value for name, value in held.items())


def test_names_of_columns_go_with_the_fit_that_had_them(case):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    names = [f"t{column}" for column in range(40)]
    hasher = case.make(n_bits=8).fit(pandas.DataFrame(X.toarray(), columns=names), Y)
    assert hasher.feature_names_in_.tolist() == names
    assert not hasattr(hasher.fit(X, Y), "feature_names_in_")


def test_an_interrupted_fit_leaves_the_earlier_one_whole(fitted, monkeypatch):
    hasher = copy.deepcopy(fitted)

    def interrupt(bits):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(codes, "pack", interrupt)
        with pytest.raises(KeyboardInterrupt):
            hasher.fit(X[:60], Y[:60])
    assert np.array_equal(hasher.codes_, fitted.codes_)
    assert np.array_equal(hasher.decision_function(Q), fitted.decision_function(Q))


def digests():
    """Fingerprints of everybody's codes, for comparison across processes."""
    prints = {}
    for name, case in CASES.items():
        hasher = case.make(n_bits=10).fit(X, Y)
        prints[name] = hashlib.sha256(hasher.codes_.tobytes() + hasher.transform(Q).tobytes()).hexdigest()
    return prints


def test_another_process_with_one_thread_gives_the_same_codes():
    program = (
        "import json, os, runpy, sys\n"
        "if hasattr(os, 'sched_setaffinity'): os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
        "print(json.dumps(runpy.run_path(sys.argv[1])['digests']()))"
    )
    alone = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "7"}
    result = subprocess.run(
        [sys.executable, "-c", program, __file__], env=os.environ | alone, capture_output=True, text=True, check=True
    )
    assert json.loads(result.stdout) == digests()


def test_the_corpus_codes_against_transform(case, fitted):
    equal = bits_of(fitted.codes_, 10) == bits_of(fitted.transform(X), 10)
    if case.exact:
        assert equal.all()
    else:  # stage 2 predicts what stage 1 has found
        assert equal.mean() > 0.75


def test_a_shorter_code_is_a_prefix(case, fitted):
    if not case.ordered:
        pytest.skip("the bits of this method are not ordered")
    shorter = case.make(n_bits=5).fit(X, Y)
    assert np.array_equal(bits_of(shorter.codes_, 5), bits_of(fitted.codes_, 10)[:, :5])
    assert np.array_equal(bits_of(shorter.transform(Q), 5), bits_of(fitted.transform(Q), 10)[:, :5])


def test_save_and_load(fitted, tmp_path):
    path = tmp_path / "model.sth"
    fitted.save(path)
    again = sthash.load(path)
    assert type(again) is type(fitted)
    assert again.n_bits == fitted.n_bits
    assert again.n_features_in_ == 40
    assert np.array_equal(again.codes_, fitted.codes_)
    assert np.array_equal(again.decision_function(Q), fitted.decision_function(Q))
    again.save(tmp_path / "again.sth")
    assert (tmp_path / "again.sth").read_bytes() == path.read_bytes()


def test_works_in_a_pipeline(case, fitted):
    pipeline = make_pipeline(Normalizer(), case.make(n_bits=10))
    packed = pipeline.fit(X, Y).transform(Q)
    assert packed.shape == (30, 2)
    assert len(pipeline.get_feature_names_out()) == 2


@pytest.mark.parametrize(
    ("n_bits", "error"),
    [(0, ValueError), (-3, ValueError), (2.5, TypeError), (True, TypeError), ("8", TypeError), (None, TypeError)],
)
def test_refuses_odd_code_lengths(case, n_bits, error):
    with pytest.raises(error, match="n_bits="):
        case.make(n_bits=n_bits).fit(X, Y)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_refuses_numbers_that_are_none(case, fitted, bad):
    broken = X.toarray()
    broken[3, 4] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        case.make().fit(broken, Y)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        fitted.transform(broken)


def test_refuses_rows_of_another_width(fitted):
    with pytest.raises(ValueError, match="same vectorizer"):
        fitted.transform(Q[:, :7])


def test_refuses_one_dimension_and_no_documents(case, fitted):
    with pytest.raises(ValueError, match="Expected 2D"):
        fitted.transform(Q.toarray()[0])
    with pytest.raises(ValueError, match="minimum of 1 is required"):
        case.make().fit(X[:0], Y[:0])


def test_refuses_to_encode_before_it_has_learned(case):
    with pytest.raises(NotFittedError):
        case.make().transform(Q)


def test_refuses_a_blank_corpus(case):
    with pytest.raises(ValueError, match="blank"):
        case.make().fit(np.zeros((30, 5)), Y[:30])


def test_negative_weights(case):
    signed = np.random.default_rng(0).normal(size=(60, 20))
    if case.signs:
        assert case.make(n_bits=8).fit(signed, Y[:60]).codes_.shape == (60, 1)
    else:
        with pytest.raises(ValueError, match="Negative values"):
            case.make(n_bits=8).fit(signed, Y[:60])


def test_one_document(case):
    one, its_topic = X[:1], Y[:1]
    if case.alike:
        assert case.make(n_bits=8).fit(one, its_topic).codes_.shape == (1, 1)
    else:
        with pytest.raises(ValueError, match="documents"):
            case.make(n_bits=8).fit(one, its_topic)


def test_identical_documents_get_the_same_code(case):
    alike = sp.csr_array(np.tile(X[[0]].toarray(), (40, 1)))
    hasher = case.make(n_bits=8)
    if case.alike or isinstance(hasher, SelfTaughtHashing):
        hasher.fit(alike, np.zeros(40))
        assert len(np.unique(hasher.transform(alike), axis=0)) == 1
    else:
        with pytest.raises(ValueError, match="documents"):
            hasher.fit(alike, np.zeros(40))
    doubled = sp.csr_array(sp.vstack([X, X[:20]]))
    hasher = case.make(n_bits=8).fit(doubled, np.concatenate([Y, Y[:20]]))
    packed = hasher.transform(doubled)
    assert np.array_equal(packed[:20], packed[-20:])


def test_a_blank_document(case):
    with_blank = X.tolil()
    with_blank[5] = 0
    hasher = case.make(n_bits=8).fit(sp.csr_array(with_blank), Y)
    assert hasher.codes_.shape == (120, 1)
    assert np.isfinite(hasher.decision_function(np.zeros((2, 40)))).all()


def test_more_bits_than_rank(case):
    rng = np.random.default_rng(0)
    flat = rng.random((60, 3)) @ rng.random((3, 12))
    if case.any_rank:
        assert case.make(n_bits=8).fit(flat, Y[:60]).transform(flat).shape == (60, 1)
    else:
        with pytest.raises(ValueError, match="n_bits=8 needs as many independent directions"):
            case.make(n_bits=8).fit(flat, Y[:60])


def unsupported(estimator):
    """Give scikit-learn's checks that cannot apply, and why."""
    if not isinstance(estimator, SelfTaughtHashing):
        return {}
    alike = "copies of a row are its neighbors in the graph, and a row of weight zero has a place in it"
    checks = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
    found = dict.fromkeys(checks, alike)
    if estimator.recipe != "paper" or isinstance(estimator.hash_function, NystromExtension | LinearEmbedding):
        given = ("pandas_series", "not_an_array", "list", "shape", "not_overwritten")
        reason = "it takes no weights, and says so"
        found |= dict.fromkeys((f"check_sample_weights_{name}" for name in given), reason)
    # (The Nyström extension and the recipe for neighbors give the codes of these blobs back as they are.)
    if estimator.recipe == "paper" and not isinstance(estimator.hash_function, NystromExtension):
        learned = "the corpus keeps its stage-1 codes, so fit_transform(X) is not fit(X).transform(X)"
        found |= dict.fromkeys(("check_transformer_general", "check_transformer_data_not_an_array"), learned)
    return found


# LCH has one direction fewer than there are features, and these checks come with two.
CHECKED = [case.make(n_bits=1 if case is CASES["LCH"] else 2) for case in CASES.values()]


# Its data are not scaled as documents are: some machines give up on them.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(CHECKED, expected_failed_checks=unsupported)
def test_scikit_learn(estimator, check):
    check(estimator)
