import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from sthash import (
    Collection,
    Document,
    KNNHashClassifier,
    SelfTaughtHashing,
    TextVectorizer,
    classify,
    near_duplicates,
)
from sthash.reproduction.datasets import load_reuters21578_counts, tfidf_counts
from support.corpus import make_documents
from support.factories import create_collection, random_texts, with_copies


@pytest.fixture(scope="module")
def with_duplicates(tmp_path_factory):
    """A third of the documents say nearly what another one says; two are blank."""
    texts = with_copies(random_texts(200, 30))
    documents = [Document(f"k{i}", text, "ab"[i % 2]) for i, text in enumerate(texts)]
    path = tmp_path_factory.mktemp("duplicates") / "c.sth"
    with create_collection(path, documents, n_bits=16, n_neighbors=5) as collection:
        yield collection


def test_votes_equal_their_twin(with_duplicates):
    documents = list(with_duplicates)
    for text in random_texts(10, 20, 5):
        codes = with_duplicates.encode([text, *(document.text for document in documents)])
        distances = np.bitwise_count(codes[1:] ^ codes[0]).sum(axis=1, dtype=np.int64)
        for radius in (2, 5):
            inside = np.flatnonzero(distances <= radius)
            prediction = classify(with_duplicates, text, radius=radius)
            votes = {label: sum(documents[i].label == label for i in inside) for label in "ab"}
            assert prediction.voters == len(inside)
            assert prediction.label == (None if not len(inside) else max("ab", key=votes.__getitem__))
        ball = np.flatnonzero(distances <= np.sort(distances)[9])
        weights = {label: sum(1 / (1 + distances[i]) for i in ball if documents[i].label == label) for label in "ab"}
        prediction = classify(with_duplicates, text, 10, voting="distance", codes=True)
        for label, share in prediction.shares.items():
            assert share == pytest.approx(weights[label] / sum(weights.values()))


def test_classify_needs_labels(tmp_path):
    with create_collection(tmp_path / "c.sth", random_texts(50, 9)) as collection:
        with pytest.raises(ValueError, match="label"):
            classify(collection, "worda")
        assert classify(collection, collection.get("1").text, radius=0).label is None
        collection.add([Document("labelled", "wordak wordal", "x")])
        assert classify(collection, "wordbk", 1).label == "x"


@pytest.mark.filterwarnings("ignore:.*bits did not reach tol")
@parametrize_with_checks(
    [
        KNNHashClassifier(SelfTaughtHashing(n_bits=4, n_neighbors=5)),
        KNNHashClassifier(SelfTaughtHashing(n_bits=4, n_neighbors=5), radius=0),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_reuters_topic_accuracy(needs):
    """The authors' best topic accuracy is 0.923; the vote of exact neighbors comes close to a linear classifier."""
    needs("reuters21578_counts.mat")
    data = load_reuters21578_counts()
    train, test = tfidf_counts(data.train, data.test)
    by_codes = KNNHashClassifier(radius=3).fit(train, data.train_labels)
    assert by_codes.score(test, data.test_labels) >= 0.913
    assert by_codes.predict_proba(test).sum(axis=1) == pytest.approx(1)
    classifier = KNNHashClassifier().fit(train, data.train_labels)
    shares = classifier.predict_proba(test)
    right = classifier.classes_[shares.argmax(axis=1)] == data.test_labels
    assert right.mean() >= 0.955
    assert shares.sum(axis=1) == pytest.approx(1)
    assert shares.max(axis=1).mean() == pytest.approx(right.mean(), abs=0.03)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames(library, tmp_path):
    module = pytest.importorskip(library, reason=f"{library} is not installed")
    documents = make_documents(60)
    texts = [document.text for document in documents]
    labels = [*(document.label for document in documents), "x"]
    frame = module.DataFrame({"body": [*texts, texts[3]], "year": range(61), "topic": labels})
    wanted = near_duplicates([*texts, texts[3]]).groups
    assert near_duplicates(frame, text="body").groups == near_duplicates(frame["body"]).groups == wanted != []
    with pytest.raises(ValueError, match=r"no column 'text'\. Set text to one of its columns: 'body', 'year', 'topic'"):
        near_duplicates(frame)
    rows = TextVectorizer().fit_transform(frame, text="body")
    vectorizer = TextVectorizer().fit(frame["body"])
    assert (rows != vectorizer.transform(frame, text="body")).nnz == 0
    with create_collection(tmp_path / "c.sth", frame, text="body", label="topic") as built:
        assert built.get("3") == Document("3", texts[3], documents[3].label, {"year": 3})
        assert built.add(frame[:2], text="body") == built.upsert(frame["body"][:2]) == 2
        with pytest.raises(ValueError, match="has no field 'text'"):
            built.add(frame)
        with pytest.raises(ValueError, match=r"no field 'title'\. .*: 'body', 'year', 'topic'"):
            built.add(frame, text="title")
        assert len(built) == 65
    with pytest.raises(TypeError, match="no parameter 'textt'"):
        Collection.create(tmp_path / "d.sth", frame, textt="body")
