"""Kernels given arrays that do not fit together: ValueError, never a read or a write out of bounds."""

import numpy as np
import pytest
import scipy.sparse as sp

from sthash import KNNHashClassifier, SelfTaughtHashing, _core
from sthash.hashing import LinearSVMBank, knn_graph, laplacian_eigenmap
from sthash.vectors.checks import check_vectors

LANES = _core.lanes_in_group


def floats(*shape):
    return np.zeros(shape, dtype=np.float32)


def rows(starts=(0, 2), ends=(2, 3), columns=(0, 1, 2), values=(1, 1, 1), *, n_columns=3):
    own = None if columns is None else np.array(columns, np.int32)
    return _core.RowsView(ints(*starts), ints(*ends), own, np.array(values, np.float32), n_columns=n_columns)


def dense(values=(1, 1, 1, 1), ends=(2, 4), n_columns=2):
    return rows((0, 2), ends, None, values, n_columns=n_columns)


@pytest.mark.parametrize(
    "parts",
    [
        {"starts": (0,)},
        {"starts": (0, -1)},
        {"starts": (0, -(2**63))},
        {"starts": (0, 3), "ends": (2, 2)},
        {"starts": (2**62, 2)},
        {"ends": (2, 4)},
        {"ends": (2, 2**62)},
        {"ends": (-2, 3)},
        {"ends": (2, -(2**63))},
        {"columns": (0, 1)},
        {"values": (1, 1)},
        {"columns": (0, -1, 2)},
        {"columns": (0, -(2**31), 2)},
        {"columns": (0, 1, 3)},
        {"columns": (0, 1, 10**9)},
        {"columns": (0, 1, 10**9), "n_columns": 2**31},
        {"n_columns": 2},
        {"n_columns": 2**62},
        {"n_columns": 2**70},
        {"columns": None},
        {"columns": None, "n_columns": 1},
        {"columns": None, "starts": (0, 3), "ends": (3, 6)},
    ],
    ids=str,
)
def test_rows_that_lead_out_of_bounds_are_refused(parts):
    with pytest.raises(ValueError, match=r"\. (Pass|Leave|Make) "):
        rows(**parts)


def test_valid_rows_are_taken():
    rows()
    rows((), (), (), ())
    rows(columns=(0, 1, 2, -9), values=(1, 1, 1, 9))  # what no row has does not matter
    rows((2, 0, 0), (3, 3, 0))  # in any order, also some entries twice, or none
    dense()
    rows((0, 0), (0, 0), None, (), n_columns=0)


def words(*shape):
    return np.zeros(shape, dtype=np.uint64)


def ints(*values):
    return np.array(values, dtype=np.int64)


def neighbors(given=None, **changed):
    arguments = {"penalty": floats(2), "k": 1, "common_share": 0.5, "threads": 1}
    return _core.sparse_neighbors(given or rows(), **arguments | changed)


def dense_neighbors(**changed):
    arguments = {
        "rows": floats(3, 2),
        "products": floats(2, 3),
        "first": 1,
        "penalty": floats(3),
        "norms": floats(3),
        "largest_norm": 0.0,
        "k": 1,
        "threads": 1,
    } | changed
    return _core.dense_neighbors(arguments.pop("rows"), arguments.pop("products"), **arguments)


def svm(**changed):
    arguments = {
        "rows": rows(),
        "bits": np.zeros((2, LANES), np.uint8),
        "inverse_curvature": floats(2),
        "diagonal": floats(2),
        "upper": floats(2),
        "bias": 1.0,
        "tolerance": 0.1,
        "max_rounds": 3,
        "seed": 0,
        "threads": 1,
    } | changed
    return _core.fit_svm_bank(arguments.pop("rows"), arguments.pop("bits"), **arguments)


def balls(**changed):
    arguments = {
        "codes": words(1, 1),
        "vectors": rows((0,), (2,), n_columns=2),
        "query_codes": words(2, 1),
        "query_rows": rows(columns=(0, 1, 1), n_columns=2),
        "margins": None,
        "k": 1,
        "radius": None,
        "wanted": 1,
        "threads": 1,
    } | changed
    arrays = [arguments.pop(name) for name in ("codes", "vectors", "query_codes", "query_rows")]
    return _core.search_balls(*arrays, **arguments)


def ball(**changed):
    arguments = {"codes": words(1, 1), "query": words(1, 1), "margins": None, "radius": None, "wanted": 1} | changed
    return _core.gather_ball(arguments.pop("codes"), arguments.pop("query"), **arguments)


def terms(starts=(0, 2), numbers=(0, 1), term_of=(0, -1), n_terms=1):
    of = np.array(term_of, dtype=np.int32)
    return _core.count_terms(ints(*starts), np.array(numbers, np.int32), term_of=of, n_terms=n_terms, threads=1)


def index(n_bits=12):
    core = _core.HammingCore(n_bits, _core.Strategy.auto)
    core.add(np.zeros((3, (n_bits + 7) // 8), np.uint8), None)
    return core


def codes(*shape):
    return np.zeros(shape, dtype=np.uint8)


SEARCH = {"k": 1, "radius": None, "allowed": None, "threads": 1}
MALFORMED = {
    "penalty": lambda: neighbors(penalty=floats(1)),
    "dense rows": lambda: neighbors(dense()),
    "k": lambda: neighbors(k=0),
    "huge k": lambda: neighbors(k=2**70),
    "block": lambda: dense_neighbors(first=2),
    "block far away": lambda: dense_neighbors(first=2**64 - 1),
    "products": lambda: dense_neighbors(products=floats(2, 2)),
    "norms": lambda: dense_neighbors(norms=floats(2)),
    "dense penalty": lambda: dense_neighbors(penalty=floats(2)),
    "k of scores": lambda: _core.largest_in_rows(floats(2, 2), k=2**64, threads=1),
    "bits": lambda: svm(bits=np.zeros((1, LANES), np.uint8)),
    "curvature": lambda: svm(inverse_curvature=floats(1)),
    "diagonal": lambda: svm(diagonal=floats(3)),
    "upper bound": lambda: svm(upper=floats(1)),
    "weights": lambda: _core.project(rows(), floats(2, LANES), threads=1),
    "width of weights": lambda: _core.project(rows(), floats(3, LANES + 1), threads=1),
    "vectors": lambda: balls(codes=words(2, 1)),
    "query width": lambda: balls(query_codes=words(2, 2)),
    "no words": lambda: balls(codes=words(1, 0), query_codes=words(2, 0)),
    "query rows": lambda: balls(query_rows=rows()),
    "one query row": lambda: balls(query_codes=words(1, 1)),
    "margins": lambda: balls(margins=floats(1, 64)),
    "wide margins": lambda: balls(margins=floats(2, 65)),
    "wanted": lambda: balls(wanted=0),
    "k of balls": lambda: balls(k=0),
    "huge k of balls": lambda: balls(k=2**63),
    "two queries": lambda: ball(query=words(2, 1)),
    "width of a query": lambda: ball(query=words(1, 2)),
    "ball wanted": lambda: ball(wanted=0),
    "left": lambda: _core.pair_scores(rows((0,), (2,)), ints(1), ints(0), threads=1),
    "right": lambda: _core.pair_scores(rows((0,), (2,)), ints(0), ints(-1), threads=1),
    "places": lambda: _core.products_among(rows((0,), (2,)), ints(0, 1).reshape(1, 2), threads=1),
    "voters": lambda: _core.vote_weights(
        np.ones((1, 2, 3), np.float32), np.ones((1, 2)), power=1, ridge=1.0, threads=1
    ),
    "ridge": lambda: _core.vote_weights(np.ones((1, 1, 1), np.float32), np.ones((1, 1)), power=1, ridge=0.0, threads=1),
    "pairs": lambda: _core.pair_scores(rows((0,), (2,)), ints(0, 0), ints(0), threads=1),
    "hyperplanes": lambda: _core.scatter(rows(), words=2**60, seed=0, threads=1),
    "starts": lambda: terms(starts=(0, 3)),
    "starts backwards": lambda: terms(starts=(0, 2, 1)),
    "no starts": lambda: terms(starts=()),
    "word": lambda: terms(numbers=(0, 2)),
    "negative word": lambda: terms(numbers=(0, -1)),
    "term": lambda: terms(term_of=(0, 1)),
    "n_bits": lambda: _core.HammingCore(-5, _core.Strategy.auto),
    "huge n_bits": lambda: _core.HammingCore(2**70, _core.Strategy.auto),
    "long codes": lambda: index().add(codes(1, 64), None),
    "short codes": lambda: index().add(codes(1, 1), None),
    "stray bits": lambda: index().add(codes(1, 2) + 255, None),
    "ids": lambda: index().add(codes(2, 2), ints(7)),
    "negative ids": lambda: index().add(codes(1, 2), ints(-7)),
    "ids to update": lambda: index().update(codes(2, 2), ints(1)),
    "query codes": lambda: index().search(codes(1, 3), **SEARCH),
    "k nearest": lambda: index().search(codes(1, 2), **SEARCH | {"k": 2**64}),
    "weights of bits": lambda: index().weighted_search(codes(1, 2), floats(1, 8), **SEARCH),
    "join": lambda: _core.HammingJoin(index(), index(16), radius=3, threads=1),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_arguments_that_do_not_fit_are_refused(name):
    with pytest.raises(ValueError, match=r"^[A-Zkn].*[a-z\d]\. [A-Z].*\.$"):
        MALFORMED[name]()


def test_what_fits_is_taken():
    assert neighbors()[0].shape == (2, 1)
    assert dense_neighbors()[0].shape == (2, 1)
    assert svm()[0].shape == (3, LANES)
    assert balls()[0].tolist() == [[0], [0]]
    assert ball().tolist() == [0]
    assert terms()[1].tolist() == [0]
    assert _core.pair_scores(rows((0,), (2,)), ints(0), ints(0), threads=1).tolist() == [2]


@pytest.mark.parametrize("huge", [2**31, 2**64, 2**70])
def test_numbers_beyond_any_type_mean_the_most(huge):
    assert neighbors(threads=huge)[0].shape == (2, 1)
    assert index().search(codes(1, 2), **SEARCH | {"radius": huge, "threads": huge})[0].tolist() == [[0]]
    assert balls(radius=huge, wanted=huge)[0].tolist() == [[0], [0]]
    assert svm(max_rounds=huge)[0].shape == (3, LANES)


def broken(how):
    X = sp.random_array((60, 30), density=0.3, rng=np.random.default_rng(1), dtype=np.float32, format="csr")
    if how == "wide numbers":
        X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
        X.indices[5] = 2**33 + 3
    elif how == "wide bounds":  # their difference is positive in 32 bits
        X.indptr[3], X.indptr[4] = 2**31 - 1, -(2**31)
    elif how == "bounds":
        X.indptr[3], X.indptr[4] = X.indptr[5], X.indptr[2]
    elif how in ("beyond", "end"):
        X.indptr[3 if how == "beyond" else -1] = 10**9
    else:
        X.indices[5] = {"far": 10**9, "near": 31, "minus one": -1, "far below": -(10**9)}[how]
    return X


@pytest.mark.parametrize(
    "how", ["wide numbers", "wide bounds", "bounds", "beyond", "end", "far", "near", "minus one", "far below"]
)
@pytest.mark.parametrize(
    "use",
    [
        lambda X: knn_graph(X, 5),
        lambda X: SelfTaughtHashing(8, 5).fit(X),
        lambda X: SelfTaughtHashing(8, 5).fit(np.abs(np.random.default_rng(0).normal(size=(60, 30)))).transform(X),
        lambda X: LinearSVMBank().fit(X, np.ones((60, 8), dtype=bool)),
        lambda X: laplacian_eigenmap(X, 3),
        lambda X: KNNHashClassifier(SelfTaughtHashing(8, 5)).fit(X, np.arange(60) % 2),
    ],
    ids=["knn_graph", "fit", "transform", "svm", "eigenmap", "classifier"],
)
def test_broken_sparse_matrices_are_refused(how, use):
    with pytest.raises(ValueError, match=r"^[XW] is not a valid csr matrix.*Make it again"):
        use(broken(how))


@pytest.mark.parametrize("layout", ["coo", "csc", "bsr"])
def test_broken_matrices_of_other_layouts_are_refused(layout):
    X = sp.random_array((60, 30), density=0.3, rng=np.random.default_rng(1), dtype=np.float32, format=layout)
    (X.coords[1] if layout == "coo" else X.indices)[5] = 10**9
    with pytest.raises(ValueError, match=f"is not a valid {layout} matrix"):
        check_vectors(X)
    check_vectors(sp.random_array((60, 30), density=0.3, dtype=np.float32, format=layout))


def test_no_rows_at_all():
    """Their data may be a null pointer, which the sanitizers of make fuzz do not let pass."""
    for n_bits in (12, 64):
        held, none = index(n_bits), codes(0, (n_bits + 7) // 8)
        held.add(none, None)
        assert held.search(none, **SEARCH)[0].shape[0] == 0
