"""SelfTaughtHashing: the stages composed, swapped, and fed what users feed."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import RandomForestClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC, LinearSVC

import sthash
from sthash import SelfTaughtHashing, TextVectorizer, codes
from sthash.baselines import BinarizedLSI
from sthash.hashing import ClassifierPerBit, GaussianSVM, NystromExtension, knn_graph, laplacian_eigenmap, median_bits


def clusters(n=300, m=20, centers=6, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(centers, size=n)
    return (rng.normal(size=(centers, m))[labels] + rng.normal(scale=0.4, size=(n, m))).astype(np.float32), labels


@pytest.fixture(scope="module")
def X():
    return clusters()[0]


def test_codes_are_the_stages_composed(X):
    hasher = SelfTaughtHashing(16, 10).fit(X)
    embedding = laplacian_eigenmap(knn_graph(X, 10), 16)
    assert (hasher.embedding_ == embedding).all()
    assert (hasher.codes_ == codes.pack(median_bits(embedding))).all()
    assert (hasher.fit_transform(X) == hasher.codes_).all()


def test_unseen_documents_get_the_signs_of_their_margins(X):
    hasher = SelfTaughtHashing(13, 10).fit(X[:200])
    margins = hasher.decision_function(X[200:])
    assert margins.shape == (100, 13)
    assert (hasher.transform(X[200:]) == codes.pack(margins > 0)).all()


def test_near_documents_get_near_codes():
    X, labels = clusters(600)
    hasher = SelfTaughtHashing(32).fit(X[:400])
    seen, unseen = codes.unpack(hasher.codes_, 32), codes.unpack(hasher.transform(X[400:]), 32)
    distances = (seen[None] != unseen[:, None]).sum(axis=2)
    same = labels[400:, None] == labels[None, :400]
    assert distances[same].mean() + 3 < distances[~same].mean()


def test_a_shorter_code_is_a_prefix(X):
    long, short = SelfTaughtHashing(24, 10).fit(X), SelfTaughtHashing(8, 10).fit(X)
    assert (long.codes_[:, :1] == short.codes_).all()


def test_sparse_and_dense_alike(X):
    dense, sparse = SelfTaughtHashing(16, 10).fit(X), SelfTaughtHashing(16, 10).fit(sp.csr_matrix(X))
    assert (dense.codes_ == sparse.codes_).mean() > 0.99
    assert (dense.transform(sp.csr_array(X)) == dense.transform(X)).mean() > 0.99


def test_same_codes_across_processes_and_threads(run_python):
    source = """
import hashlib, numpy as np, sthash
X = np.random.default_rng(0).normal(size=(900, 30))
hasher = sthash.SelfTaughtHashing(40, 10, threads={threads}).fit(X)
print(hashlib.sha256(hasher.codes_.tobytes() + hasher.transform(X[::-1]).tobytes()).hexdigest())
"""
    seen = {
        run_python(source.format(threads=threads), OPENBLAS_NUM_THREADS=blas) for threads, blas in ((1, "1"), (4, "2"))
    }
    assert len(seen) == 1


def test_blank_and_lonely_documents():
    X, _ = clusters(120)
    X = np.hstack([np.abs(X), np.zeros((120, 1), np.float32)])
    X[5] = 0  # blank
    X[9] = 0
    X[9, -1] = 1  # no term in common with any other
    hasher = SelfTaughtHashing(16, 10).fit(sp.csr_array(X))
    assert (hasher.codes_[5] == 0).all()
    assert (hasher.embedding_[[5, 9]] == 0).all()
    assert (hasher.codes_[[5, 9]] == hasher.transform(X[[5, 9]])).all()
    assert (hasher.transform(np.zeros((1, 21))) == 0).all()


def test_in_a_pipeline_from_text():
    texts = [
        f"{animal} number {i} says {sound}"
        for i in range(30)
        for animal, sound in (("dog", "bark loud"), ("cat", "meow softly"), ("cow", "moo slowly"))
    ]
    pipeline = make_pipeline(TextVectorizer(), SelfTaughtHashing(8, 10))
    stored = pipeline.fit_transform(texts)
    assert stored.shape == (90, 1)
    assert pipeline.transform(["a barking dog", "blank?"]).shape == (2, 1)


def test_arguments_of_fit_in_pipelines(X):
    start, weights = np.ones((300, 2)), np.arange(300) % 3
    given = {"selftaughthashing__start": start, "selftaughthashing__sample_weight": weights}
    hasher = SelfTaughtHashing(8, 10)
    expected = SelfTaughtHashing(8, 10).fit(X, start=start, sample_weight=weights).codes_
    pipeline = make_pipeline(FunctionTransformer(), hasher)
    assert (pipeline.fit_transform(X, **given) == expected).all()
    assert (pipeline.fit(X, **given)[-1].codes_ == expected).all()
    with config_context(enable_metadata_routing=True):
        routed = make_pipeline(FunctionTransformer(), clone(hasher).set_fit_request(sample_weight=True, start=True))
        assert (routed.fit_transform(X, start=start, sample_weight=weights) == expected).all()


@pytest.mark.parametrize("hash_function", [None, GaussianSVM(), LinearSVC(dual=True)])
def test_documents_of_weight_zero_decide_nothing(X, hash_function):
    graph, weights = knn_graph(X, 10), (np.arange(300) % 4 > 0).astype(float)
    hasher = SelfTaughtHashing(6, graph=lambda rows: graph, hash_function=hash_function)
    codes_of = hasher.fit(X, sample_weight=weights).codes_
    assert (codes.unpack(codes_of, 6) == median_bits(hasher.embedding_, weights)).all()
    moved = X.copy()
    moved[weights == 0] *= 3
    again = hasher.fit(moved, sample_weight=weights)
    assert (again.codes_ == codes_of).all()
    assert (again.transform(X) == hasher.fit(X, sample_weight=weights).transform(X)).all()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"recipe": "topics"}, "recipe='topics' takes no sample_weight"),
        ({"recipe": "auto"}, "recipe='auto' takes no sample_weight"),
        ({"hash_function": NystromExtension(10)}, r"hash_function \(NystromExtension\) takes no sample_weight"),
        ({"hash_function": KNeighborsClassifier()}, "KNeighborsClassifier takes no sample_weight"),
        ({"binarizer": lambda values: values > 0}, "binarizer .* takes no sample_weight"),
    ],
)
def test_stages_without_weights_refuse_them(X, settings, words):
    with pytest.raises(ValueError, match=words):
        SelfTaughtHashing(6, 10, **settings).fit(X, sample_weight=np.ones(300))


@pytest.mark.parametrize("recipe", ["paper", "topics", "neighbors", "embeddings", "kernel_topics"])
def test_a_tag_says_whether_the_corpus_is_coded_as_by_transform(X, recipe):
    hasher = SelfTaughtHashing(24, 10, recipe=recipe)
    equal = (hasher.fit_transform(X) == hasher.transform(X)).all()
    assert equal == (hasher.__sklearn_tags__().transformer_tags.corpus_codes == "predicted")
    assert BinarizedLSI().__sklearn_tags__().transformer_tags.corpus_codes == "predicted"


# Each stage replaced by an object of the user's.


def test_any_graph(X):
    _, labels = clusters()
    same = sp.csr_array((labels[:, None] == labels[None]) & ~np.eye(300, dtype=bool), dtype=np.float64)
    hasher = SelfTaughtHashing(5, graph=lambda rows: same).fit(X)
    # Five bits from a graph of six components: each component has one code.
    assert len({(label, code.tobytes()) for label, code in zip(labels, hasher.codes_, strict=True)}) == 6


def test_any_embedding(X):
    svd = TruncatedSVD(8, random_state=0)
    hasher = SelfTaughtHashing(8, 10, embedding=lambda W, n_bits: svd.fit_transform(W)).fit(X)
    assert (hasher.embedding_ == svd.fit_transform(knn_graph(X, 10))).all()


def test_any_binarizer(X):
    hasher = SelfTaughtHashing(8, 10, binarizer=lambda embedding: embedding > 0).fit(X)
    assert (hasher.codes_ == codes.pack(hasher.embedding_ > 0)).all()


@pytest.mark.parametrize(
    "classifier",
    [
        LinearSVC(),
        SVC(kernel="rbf"),
        RandomForestClassifier(5, random_state=0),
        make_pipeline(Nystroem(n_components=20), LinearSVC()),
    ],
)
def test_any_classifier_as_hash_function(X, classifier):
    hasher = SelfTaughtHashing(6, 10, hash_function=classifier).fit(X)
    assert isinstance(hasher.hash_function_, ClassifierPerBit)
    agreement = (codes.unpack(hasher.transform(X), 6) == codes.unpack(hasher.codes_, 6)).mean()
    assert agreement > 0.85
    assert not hasattr(classifier, "classes_")  # the user's own object is left alone


def test_any_object_that_learns_all_bits_at_once(X):
    class RidgeFunction(Ridge):
        def decision_function(self, rows):
            return self.predict(rows) - 0.5

    hasher = SelfTaughtHashing(6, 10, hash_function=RidgeFunction()).fit(X)
    assert isinstance(hasher.hash_function_, RidgeFunction)
    assert hasher.transform(X).shape == (300, 1)


def test_a_stage_of_the_wrong_shape_is_named(X):
    with pytest.raises(ValueError, match=r"embedding returned shape \(300, 3\), expected \(300, 8\)"):
        SelfTaughtHashing(8, 10, embedding=lambda W, n_bits: np.zeros((300, 3))).fit(X)
    with pytest.raises(ValueError, match="binarizer returned shape"):
        SelfTaughtHashing(8, 10, binarizer=lambda embedding: embedding[:, :2] > 0).fit(X)
    with pytest.raises(ValueError, match="embedding returned NaN"):
        SelfTaughtHashing(8, 10, embedding=lambda W, n_bits: np.full((300, 8), np.nan)).fit(X)


def test_clone_and_params(X):
    hasher = SelfTaughtHashing(8, 10, C=0.5, random_state=3)
    assert clone(hasher).get_params() == hasher.get_params()
    assert hasher.fit(X) is hasher
    assert set(hasher.stage_seconds_) == {"graph", "embedding", "binarizer", "hash_function"}
    assert hasher.get_feature_names_out().tolist() == ["selftaughthashing0"]


@pytest.mark.parametrize("n_bits", [3, 8, 21])
def test_save_and_load(X, n_bits, tmp_path):
    hasher = SelfTaughtHashing(n_bits, 10, random_state=7).fit(X)
    hasher.save(tmp_path / "model")
    again = sthash.load(tmp_path / "model")
    assert (again.codes_ == hasher.codes_).all()
    assert (again.embedding_ == hasher.embedding_).all()
    assert (again.decision_function(X) == hasher.decision_function(X)).all()
    assert again.get_params() == hasher.get_params()
    again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_a_model_that_no_file_can_hold(X, tmp_path):
    hasher = SelfTaughtHashing(4, 10, hash_function=SVC()).fit(X)
    with pytest.raises(TypeError, match="hash_function=None"):
        hasher.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("rows", "settings", "words"),
    [
        (np.ones((0, 4)), {}, "0 sample"),
        (np.zeros((100, 4)), {}, "all 100 documents are blank"),
        (sp.csr_array((100, 4), dtype=np.float32), {}, "all 100 documents are blank"),
        (np.random.default_rng(0).normal(size=(50, 4)), {"n_bits": 49}, "n_bits=49 needs at least 51 documents"),
        (np.random.default_rng(0).normal(size=(50, 4)), {"n_bits": 0}, "n_bits=0"),
        (np.random.default_rng(0).normal(size=(50, 4)), {"n_bits": 4.0}, "n_bits=4.0"),
        (np.random.default_rng(0).normal(size=(20, 4)), {"n_bits": 4}, "n_neighbors=25 must be less than"),
        (np.full((50, 4), np.nan), {}, "NaN"),
        (np.full((50, 4), np.inf), {}, "infinity"),
        (np.array([["a", "b"]] * 50), {}, "X must be real numbers, got text"),
        (np.eye(50), {"n_bits": 4}, "documents with neighbors, got 0 of 50"),
    ],
)
def test_bad_input(rows, settings, words):
    with pytest.raises((TypeError, ValueError), match=words):
        SelfTaughtHashing(**settings).fit(rows)


def test_rows_of_another_width(X):
    hasher = SelfTaughtHashing(4, 10).fit(X)
    with pytest.raises(ValueError, match=r"X has 7 features.*20 features.*same vectorizer"):
        hasher.transform(sp.csr_array(np.ones((2, 7))))
    with pytest.raises(ValueError, match="not fitted"):
        SelfTaughtHashing().transform(X)


@pytest.mark.parametrize("recipe", ["paper", "topics", "neighbors"])
@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda W: W[:50, :50], r"graph returned shape \(50, 50\), expected"),
        (lambda W: W * np.nan, "W holds NaN"),
        (lambda W: -W, "W holds negative weights"),
        (lambda W: sp.csr_array(sp.triu(W)), "W is not symmetric"),
        (lambda _: None, "graph returned shape None"),
    ],
    ids=["small", "nan", "negative", "one-sided", "nothing"],
)
@pytest.mark.parametrize("n", [60, 2200])
def test_a_graph_of_ones_own_is_checked(recipe, spoil, words, n):
    X = np.random.default_rng(0).normal(size=(n, 6))
    with pytest.raises(ValueError, match=words):
        SelfTaughtHashing(4, recipe=recipe, graph=lambda X: spoil(knn_graph(X, 5))).fit(X)
