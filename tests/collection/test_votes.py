"""Votes that are weighed by leave-one-out."""

import numpy as np
import pytest

from sthash import Collection, Document, classify
from sthash.collection import Neighborhoods, Vote, Weighing, choose, label_shares, spread_evenly
from support.factories import create_collection

WORDS = [[f"{topic}{chr(97 + n)}" for n in range(20)] for topic in ("sea", "sky", "rock")]


def texts_of_topics(n, seed=0, length=12):
    """Texts of words that mostly belong to their topic, and their topics."""
    rng = np.random.default_rng(seed)
    topics = rng.integers(0, 3, n).tolist()
    chosen = [[topic if rng.random() < 0.6 else int(rng.integers(3)) for _ in range(length)] for topic in topics]
    return [" ".join(WORDS[one][rng.integers(20)] for one in own) for own in chosen], [str(topic) for topic in topics]


@pytest.fixture(scope="module")
def labeled(tmp_path_factory):
    """Labeled texts, and others between them."""
    texts, topics = texts_of_topics(300)
    documents = [
        Document(f"d{place}", text, topic if place % 3 else None)
        for place, (text, topic) in enumerate(zip(texts, topics, strict=True))
    ]
    with create_collection(tmp_path_factory.mktemp("votes") / "c.sth", documents) as collection:
        yield collection


def neighborhoods(slots, similarities, products):
    return Neighborhoods(np.array([slots]), np.array([similarities]), np.array([products], dtype=np.float32))


def test_copies_share_their_vote():
    """Three copies of one document against two that are alike to the query, but not to each other."""
    products = np.eye(5)
    products[:3, :3] = 1
    near = neighborhoods([0, 0, 0, 1, 1], [0.6] * 5, products)
    plain, weighed = (label_shares(near, Weighing(5, 1, ridge, 8.0))[0] for ridge in (np.inf, 0.1))
    assert plain[0] > plain[1]
    assert weighed[1] > weighed[0]
    assert weighed.sum() == pytest.approx(1)


def test_where_nothing_is_alike_all_count_alike():
    shares = label_shares(neighborhoods([0, 1, 0, -1], [0.0, -0.5, -1.0, 0.0], np.zeros((4, 4))), Weighing(4, 2, 1.0))
    assert shares[0, 0] > shares[0, 1] > 0
    assert shares[0, 2:].tolist() == [0, 0]


def test_choose_prefers_what_labels_right():
    """Nearest neighbors are right and the others are wrong: only high powers or few neighbors see it."""
    n, width = 40, 60
    slots = np.ones((n, width), dtype=np.int64)
    slots[:, 0] = 0
    similarities = np.full((n, width), 0.5)
    similarities[:, 0] = 1.0
    products = np.broadcast_to(np.eye(width, dtype=np.float32), (n, width, width))
    chosen = choose(Neighborhoods(slots, similarities, products), np.zeros(n, dtype=np.int64))
    assert chosen.power == 8
    assert label_shares(Neighborhoods(slots, similarities, products), chosen)[0].argmax() == 0
    assert choose(Neighborhoods(slots[:0], similarities[:0], products[:0]), np.zeros(0, dtype=np.int64)) == Weighing()


def test_labels_of_held_out_texts(labeled):
    texts, topics = texts_of_topics(150, 1)
    answers = [classify(labeled, text) for text in texts]
    accuracy = np.mean([answer.label == topic for answer, topic in zip(answers, topics, strict=True)])
    plain = [classify(labeled, text, 5, voting="majority").label for text in texts]
    assert accuracy >= np.mean([label == topic for label, topic in zip(plain, topics, strict=True)])
    assert accuracy > 0.9
    assert all(sum(answer.shares.values()) == pytest.approx(1) for answer in answers)
    assert all(list(answer.shares.values()) == sorted(answer.shares.values(), reverse=True) for answer in answers)
    assert np.mean([max(answer.shares.values()) for answer in answers]) == pytest.approx(accuracy, abs=0.1)


def test_plain_votes_equal_their_twin(labeled):
    """The k labeled documents of the largest cosines vote."""
    documents = [document for document in labeled if document.label is not None]
    for text in texts_of_topics(5, 2)[0]:
        found = {hit.key: hit.score for hit in labeled.search(text, 300, ranking="cosine")}
        order = sorted((document for document in documents if document.key in found), key=lambda d: -found[d.key])[:9]
        prediction = classify(labeled, text, 9, voting="distance")
        weights = {}
        for document in order:
            weights[document.label] = weights.get(document.label, 0) + 1 / (2 - found[document.key])
        assert prediction.voters == 9
        for label, share in prediction.shares.items():
            assert share == pytest.approx(weights[label] / sum(weights.values()), abs=1e-4)


def test_the_same_answers_with_any_number_of_threads(labeled, tmp_path):
    text = texts_of_topics(1, 3)[0][0]
    first = classify(labeled, text)
    with type(labeled).open(labeled.path, threads=2) as again:
        assert classify(again, text) == first


def test_few_labels(tmp_path):
    with create_collection(tmp_path / "c.sth", [Document("a", "sea wave", "sea"), Document("b", "cloud")]) as one:
        assert classify(one, "a wave").shares == {"sea": 1.0}
        assert classify(one, "cloud").label is None
        one.delete("a")
        with pytest.raises(ValueError, match="Add documents with labels"):
            classify(one, "cloud")


def test_votes_follow_changes(labeled, tmp_path):
    labeled.copy_to(tmp_path / "c.sth")
    with type(labeled).open(tmp_path / "c.sth") as changing:
        text = "entirely new words"
        assert not classify(changing, text).known
        changing.add([Document("new", text, "new")])
        assert classify(changing, text).label == "new"


def test_vectors_vote(tmp_path):
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(3, 16))
    topics = rng.integers(0, 3, 400)
    rows = (centers[topics] + rng.normal(size=(400, 16))).astype(np.float32)
    documents = [Document(str(place), f"text {place}", str(topic)) for place, topic in enumerate(topics)]
    with Collection.create(tmp_path / "v.sth", documents[:300], vectors=rows[:300]) as collection:
        answers = [classify(collection, row).label for row in rows[300:]]
        assert np.mean(np.array(answers) == topics[300:].astype(str)) > 0.9
        with pytest.raises(ValueError, match="codes"):
            classify(collection, rows[300], codes=True)


def test_spread_evenly():
    for n in (0, 1, 2, 10, 997, 1000):
        order = spread_evenly(n)
        assert sorted(order.tolist()) == list(range(n))
    gaps = np.diff(np.sort(spread_evenly(100_000)[:100]))
    assert gaps.max() < 3 * gaps.min()


@pytest.mark.parametrize("bad", [{"k": 0}, {"voting": "loud"}, {"radius": -1}, {"codes": 1}])
def test_votes_refuse_bad_options(bad):
    with pytest.raises((ValueError, TypeError), match=r"must be|is not known"):
        Vote(**bad)
