import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from sthash import Collection, Document, KNNHashClassifier, SelfTaughtHashing, TextVectorizer, classify, near_duplicates
from sthash.applications.duplicates import joined, sketch
from sthash.collection import PackedVectors
from sthash.reproduction.datasets import load_reuters21578_counts, tfidf_counts
from support.corpus import make_documents

WORDS = [f"word{letter}{other}" for letter in "abcdefghij" for other in "klmnopqrst"]


def random_texts(count, length, seed):
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, length)) for _ in range(count)]


@pytest.fixture(scope="module")
def with_duplicates(tmp_path_factory):
    """A third of the documents say nearly what another one says; two are blank."""
    texts = random_texts(200, 30, 0)
    rng = np.random.default_rng(1)
    copies = [text + " " + " ".join(rng.choice(WORDS, rng.integers(0, 3))) for text in texts[:100]]
    documents = [Document(f"k{i}", text, "ab"[i % 2]) for i, text in enumerate([*texts, *copies, texts[0], "", ""])]
    path = tmp_path_factory.mktemp("duplicates") / "c.sth"
    with Collection.create(path, documents, n_bits=16, n_neighbors=5) as collection:
        yield collection


@pytest.mark.parametrize("min_cosine", [0.5, 0.9, 0.99])
def test_near_duplicates_equal_their_twin(with_duplicates, min_cosine):
    """With a radius of all bits, the groups are the components of the exact cosine graph."""
    documents = list(with_duplicates)
    with with_duplicates.snapshot() as now:
        encoded = now.encode([document.text for document in documents])
    rows = np.zeros((len(documents), int(encoded.indices.max()) + 1))
    for place, row in enumerate(rows):
        part = slice(encoded.indptr[place], encoded.indptr[place + 1])
        row[encoded.indices[part]] = encoded.values[part]
    close = rows @ rows.T >= min_cosine - 1e-6
    group_of = {i: {i} for i in range(len(rows))}
    for a, b in zip(*np.nonzero(np.triu(close, 1)), strict=True):
        merged = group_of[a] | group_of[b]
        for member in merged:
            group_of[member] = merged
    expected = {tuple(sorted(group)) for group in group_of.values() if len(group) > 1}
    found = near_duplicates(with_duplicates, min_cosine, radius=16).groups
    assert {tuple(int(key[1:]) for key in group) for group in found} == expected
    near = near_duplicates(with_duplicates, min_cosine, radius=2).groups
    assert all(any(set(group) <= set(whole) for whole in found) for group in near)
    # Without a radius a pair that just reaches the cosine may be missed, but none that does not reach it is joined.
    sketched = near_duplicates(with_duplicates, min_cosine).groups
    assert all(any(set(group) <= set(whole) for whole in found) for group in sketched)
    assert sum(map(len, sketched)) >= 0.97 * sum(map(len, found))


@pytest.mark.parametrize("min_cosine", [0.6, 0.9, 1.0])
def test_near_duplicates_of_texts_are_those_of_a_collection(with_duplicates, min_cosine):
    texts = [document.text for document in with_duplicates]
    expected = [[int(key[1:]) for key in group] for group in near_duplicates(with_duplicates, min_cosine).groups]
    assert near_duplicates(texts, min_cosine) == expected
    assert near_duplicates(["", "word", ""]) == []
    with pytest.raises(ValueError, match="min_cosine=2"):
        near_duplicates(texts, 2)


@pytest.mark.parametrize("min_cosine", [0.3, 0.5, 0.8, 0.9, 0.99])
def test_sketches_find_what_they_promise(min_cosine):
    """Pairs with just this cosine lie within the radius, 99 in 100; unrelated ones hardly ever."""
    rng = np.random.default_rng(0)
    left, other = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in rng.normal(size=(2, 4000, 300)))
    other -= (left * other).sum(axis=1, keepdims=True) * left
    other /= np.linalg.norm(other, axis=1, keepdims=True)
    right = min_cosine * left + np.sqrt(1 - min_cosine**2) * other
    rows = np.concatenate([left, right]).astype(np.float32)
    bounds = np.arange(8001) * 300
    vectors = PackedVectors(rows.ravel().view(np.int32), bounds[:-1], bounds[1:], dense=True, n_columns=300)
    codes, radius = sketch(vectors, min_cosine)
    distances = np.bitwise_count(codes[:4000] ^ codes[4000:]).sum(axis=1, dtype=int)
    assert (distances <= radius).mean() > 0.98
    chance = np.bitwise_count(codes[:3999] ^ codes[4001:]).sum(axis=1, dtype=int)
    assert (chance <= radius).mean() < 0.01


def test_what_is_kept(with_duplicates):
    duplicates = near_duplicates(with_duplicates, 0.8, radius=16)
    for keep in ("first", "longest"):
        kept = list(duplicates.deduplicated(keep))
        assert len(kept) == len(with_duplicates) - sum(len(group) - 1 for group in duplicates.groups)
        assert {"k301", "k302"} <= {document.key for document in kept}
    group = next(group for group in duplicates.groups if "k0" in group)
    assert set(group) == {"k0", "k200", "k300"}
    assert not duplicates.dropped() & {group[0] for group in duplicates.groups}
    with pytest.raises(ValueError, match="keep='last'"):
        duplicates.dropped("last")
    with pytest.raises(ValueError, match="min_cosine=0"):
        near_duplicates(with_duplicates, 0, radius=3)


def test_joined():
    groups = joined(7, np.array([1, 5, 0]), np.array([2, 6, 5]))
    assert [group.tolist() for group in groups] == [[0, 5, 6], [1, 2]]


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
        prediction = classify(with_duplicates, text, 10, voting="distance")
        for label, share in prediction.shares.items():
            assert share == pytest.approx(weights[label] / sum(weights.values()))


def test_classify_needs_labels(tmp_path):
    with Collection.create(tmp_path / "c.sth", random_texts(50, 9, 0), n_bits=8, n_neighbors=5) as collection:
        with pytest.raises(ValueError, match="label"):
            classify(collection, "worda")
        assert classify(collection, collection.get("1").text, radius=0).label is None
        collection.add([Document("labelled", "wordak wordal", "x")])
        assert classify(collection, "wordbk", 1).label == "x"


@pytest.mark.filterwarnings("ignore:.*bits did not reach tol")
@parametrize_with_checks([KNNHashClassifier(SelfTaughtHashing(n_bits=4, n_neighbors=5), radius=0)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_reuters_topic_accuracy(needs):
    """The authors' best topic accuracy is 0.923."""
    needs("reuters21578_counts.mat")
    data = load_reuters21578_counts()
    train, test = tfidf_counts(data.train, data.test)
    classifier = KNNHashClassifier().fit(train, data.train_labels)
    accuracy = classifier.score(test, data.test_labels)
    assert accuracy >= 0.913
    assert classifier.predict_proba(test).sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames(library, tmp_path):
    module = pytest.importorskip(library, reason=f"{library} is not installed")
    documents = make_documents(60)
    texts = [document.text for document in documents]
    labels = [*(document.label for document in documents), "x"]
    frame = module.DataFrame({"body": [*texts, texts[3]], "year": range(61), "topic": labels})
    wanted = near_duplicates([*texts, texts[3]])
    assert near_duplicates(frame, text="body") == near_duplicates(frame["body"]) == wanted != []
    with pytest.raises(ValueError, match=r"no column 'text'\. Set text to one of its columns: 'body', 'year', 'topic'"):
        near_duplicates(frame)
    rows = TextVectorizer().fit_transform(frame, text="body")
    vectorizer = TextVectorizer().fit(frame["body"])
    assert (rows != vectorizer.transform(frame, text="body")).nnz == 0
    with Collection.create(tmp_path / "c.sth", frame, text="body", label="topic", n_bits=8, n_neighbors=5) as built:
        assert built.get("3") == Document("3", texts[3], documents[3].label, {"year": 3})
        assert built.add(frame[:2], text="body") == built.upsert(frame["body"][:2]) == 2
        with pytest.raises(ValueError, match="has no field 'text'"):
            built.add(frame)
        with pytest.raises(ValueError, match=r"no field 'title'\. .*: 'body', 'year', 'topic'"):
            built.add(frame, text="title")
        assert len(built) == 65
    with pytest.raises(TypeError, match="no parameter 'textt'"):
        Collection.create(tmp_path / "d.sth", frame, textt="body")
