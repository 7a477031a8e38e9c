"""One model for every way to a code: what it encodes is what its parts encode, wherever it was loaded from."""

import hashlib
import json

import numpy as np
import pytest
import scipy.sparse as sp

import sthash
from sthash import Collection, CollectionError, Learning, SelfTaughtHashing, TextModel, TextVectorizer, VectorModel
from sthash.checksums import row_checksum
from sthash.model.scatter import Scatter
from sthash.model_file import ModelFileError
from sthash.vectors.rows import Rows
from support.corpus import make_documents
from support.factories import create_collection
from support.golden import make_texts

TEXTS = [" ".join(text.split()[:12]) for text in make_texts(80)]
ODD = ["", "nothing known here", TEXTS[0] + " unknownword"]


@pytest.fixture(scope="module")
def parts():
    vectorizer = TextVectorizer()
    hasher = SelfTaughtHashing(12, 6, recipe="neighbors").fit(vectorizer.fit_transform(TEXTS))
    return vectorizer, hasher


@pytest.mark.parametrize("recipe", ["paper", "topics", "neighbors"])
@pytest.mark.parametrize("weighting", ["tfidf", "bm25", "tf"])
def test_a_text_model_is_its_vectorizer_and_its_hasher(recipe, weighting):
    vectorizer = TextVectorizer(weighting=weighting)
    hasher = SelfTaughtHashing(12, 6, recipe=recipe).fit(vectorizer.fit_transform(TEXTS))
    rows = TextModel.of(vectorizer, hasher).encode([*TEXTS, *ODD])
    X = vectorizer.transform([*TEXTS, *ODD])
    np.testing.assert_array_equal(rows.margins, hasher.decision_function(X))
    np.testing.assert_array_equal(rows.codes, hasher.transform(X))
    dense = np.zeros(X.shape, dtype=np.float32)
    for position in range(len(rows)):
        columns, values = rows.rows.row(position)
        dense[position, columns] = values
    np.testing.assert_array_equal(dense, X.toarray())


def test_the_order_of_the_terms_changes_no_code(parts):
    plain, frequent = (TextModel.of(*parts, frequent_first=first) for first in (False, True))
    np.testing.assert_allclose(plain.encode(TEXTS).margins, frequent.encode(TEXTS).margins, atol=1e-5)
    frequency = [term.frequency for term in frequent.terms]
    assert frequency == sorted(frequency, reverse=True)


def test_a_model_learns_what_its_parts_learn(parts):
    model = TextModel.build(TEXTS, learning=Learning(n_bits=12, n_neighbors=6))
    np.testing.assert_array_equal(model.encode(TEXTS).margins, TextModel.of(*parts).encode(TEXTS).margins)
    sampled = TextModel.build(TEXTS, learning=Learning(n_bits=8, n_neighbors=6, sample_size=40, random_state=3))
    assert sampled.settings["learned_on"] == 40
    assert sampled.n_columns == model.n_columns
    own = TextModel.build(
        TEXTS, text_options=TextVectorizer(stemmer=None), learning=Learning(hasher=SelfTaughtHashing(9, 5))
    )
    assert (own.n_bits, own.settings["stemmer"], own.settings["recipe"]) == (9, None, "paper")


@pytest.mark.parametrize("scatter", [0.0, 3.0])
def test_a_saved_model_is_the_same_model(parts, tmp_path, scatter):
    model = TextModel.of(*parts, scatter=scatter, random_state=5)
    model.save(tmp_path / "model")
    for again in (TextModel.load(tmp_path / "model"), sthash.load(tmp_path / "model")):
        assert again.fingerprint == model.fingerprint
        np.testing.assert_array_equal(again.encode([*TEXTS, *ODD]).margins, model.encode([*TEXTS, *ODD]).margins)
    again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    with pytest.raises(ModelFileError, match="not a VectorModel"):
        VectorModel.load(tmp_path / "model")


def test_fingerprints_tell_models_apart(parts):
    models = [TextModel.of(*parts, scatter=scatter) for scatter in (0.0, 1.0)] + [
        TextModel.build(TEXTS, learning=Learning(n_bits=11, n_neighbors=6))
    ]
    assert len({model.fingerprint for model in models}) == 3
    assert TextModel.of(*parts).with_threads(1).fingerprint == models[0].fingerprint


def test_the_model_of_a_collection_leaves_it_whole(tmp_path):
    """It has the fingerprint and gives the codes that it has in the file, and can make another collection."""
    documents = make_documents(300)
    with create_collection(tmp_path / "a.sth", documents, n_bits=16, n_neighbors=10, scatter=2.0) as collection:
        with collection.snapshot() as now:
            now.codes.model.save(tmp_path / "model")
            fingerprint, codes = now.codes.model.fingerprint, now.codes.table.codes.copy()
        model = TextModel.load(tmp_path / "model")
        assert model.fingerprint == fingerprint
        np.testing.assert_array_equal(model.encode([document.text for document in documents]).codes, codes)
    with Collection.create(tmp_path / "b.sth", documents, model=model) as other, other.snapshot() as now:
        np.testing.assert_array_equal(now.codes.table.codes, codes)
        assert now.codes.model.fingerprint == fingerprint
        assert other.check().documents == 300


def test_the_model_of_a_collection_can_be_kept(tmp_path):
    """It outlives its snapshot, also when documents come; other hash functions in the file are not taken for it."""
    documents = make_documents(300)
    texts = [document.text for document in documents]
    with create_collection(tmp_path / "a.sth", documents, n_bits=16, n_neighbors=10) as collection:
        with collection.snapshot() as now:
            model, codes = now.codes.model, now.codes.table.codes.copy()
        some = next(iter(model.terms))
        collection.add(make_documents(40, first=300))
        collection.compact()
        assert next(iter(model.terms)) == some
        np.testing.assert_array_equal(model.encode(texts).codes, codes)
        fingerprint = model.fingerprint
        model.save(tmp_path / "model")
        assert TextModel.load(tmp_path / "model").fingerprint == fingerprint
        collection.relearn()
        for use in (lambda: model.encode(["a comet"]), lambda: model.save(tmp_path / "no"), lambda: list(model.terms)):
            with pytest.raises(CollectionError, match="no longer has the hash functions of this model"):
                use()
            with collection.snapshot(), pytest.raises(CollectionError, match="Take the model from a new snapshot"):
                use()
        with collection.snapshot() as now:
            assert now.codes.model.encode(texts).codes.shape == codes.shape
    with pytest.raises(CollectionError, match="closed"):
        model.encode(["a comet"])


def test_a_fingerprint_is_that_of_settings_and_terms(parts):
    """Milvus keeps it beside the documents."""
    model = TextModel.of(*parts)
    digest = hashlib.sha256(json.dumps(model.settings, sort_keys=True).encode())
    for term in model.terms:
        digest.update(b"%d " % row_checksum(tuple(term)))
    assert model.fingerprint == digest.hexdigest()


@pytest.mark.parametrize("scatter", [0.0, 2.0])
def test_a_vector_model_is_its_hasher(tmp_path, scatter):
    vectors = np.random.default_rng(0).normal(size=(120, 10)).astype(np.float32)
    units = vectors / np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    hasher = SelfTaughtHashing(8, 6).fit(units.astype(np.float32))
    model = VectorModel.of(hasher, scatter=scatter)
    rows = model.encode(vectors)
    if not scatter:
        np.testing.assert_array_equal(rows.codes, hasher.transform(units.astype(np.float32)))
    np.testing.assert_array_equal(model.margins(rows.rows), rows.margins)
    held = rows.rows.values * (np.arange(10) < 7)
    sparse = Rows.of(sp.csr_array(held))
    np.testing.assert_array_equal(model.margins(sparse), model.margins(Rows.of(held)))
    model.save(tmp_path / "model")
    again = VectorModel.load(tmp_path / "model")
    assert again.fingerprint == model.fingerprint
    np.testing.assert_array_equal(again.encode(vectors).margins, rows.margins)
    assert (
        VectorModel.build(
            vectors, learning=Learning(n_bits=8, n_neighbors=6, recipe="paper", sample_size=100)
        ).settings["learned_on"]
        == 100
    )


def test_what_a_model_refuses(parts, tmp_path):
    from sklearn.svm import SVC

    vectorizer, hasher = parts
    X = vectorizer.transform(TEXTS)
    with pytest.raises(TypeError, match="hash_function=None"):
        TextModel.of(vectorizer, SelfTaughtHashing(4, 6, hash_function=SVC()).fit(X))
    with pytest.raises(TypeError, match="analyzer='word'"):
        TextModel.of(TextVectorizer(analyzer=str.split).fit(TEXTS), hasher)
    with pytest.raises(ValueError, match="fitted together"):
        TextModel.of(TextVectorizer().fit(TEXTS[:10]), hasher)
    with pytest.raises(ValueError, match="scatter=-1"):
        TextModel.of(vectorizer, hasher, scatter=-1)
    model = TextModel.of(vectorizer, hasher)
    with pytest.raises(TypeError, match="Put it into a list"):
        model.encode("a text")
    with pytest.raises(TypeError, match="text 1 is a int"):
        model.encode(["a text", 5])
    assert model.encode([]).codes.shape == (0, 2)
    with pytest.raises(TypeError, match="TextModel or a VectorModel"):
        Collection.create(tmp_path / "c.sth", TEXTS, model=hasher)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "forged", [{"seed": 2**70}, {"seed": -1}, {"seed": "0"}, {"weight": "1"}, {"weight": float("nan")}]
)
def test_forged_random_weights_are_refused(forged):
    with pytest.raises(ValueError, match=r"random hyperplanes is .*\. (Use|Learn) "):
        Scatter(**{"weight": 1.0, "seed": 0} | forged)
    assert Scatter.relative_to(np.zeros((0, 8), np.float32), 0.5, 3) == Scatter(0.0, 3)
