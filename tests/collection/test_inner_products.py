"""Collections that compare vectors by inner product: against brute force, with lengths that vary widely."""

import shutil

import numpy as np
import pytest

from sthash import Collection, VectorModel, classify, known_copies, near_duplicates
from sthash.collection import CollectionError, store
from sthash.collection.builder import LEARN_AT
from support.corpus import make_documents
from support.embedders import embed

SMALL = {"n_bits": 32, "n_neighbors": 8}
COUNT, WIDTH = 2000, 24


def made_vectors(seed, count=COUNT):
    """Directions in some clusters, and lengths from about 1/20 to 20."""
    rng = np.random.default_rng(seed)
    rows = np.random.default_rng(0).normal(size=(30, WIDTH))[rng.integers(30, size=count)] + rng.normal(
        size=(count, WIDTH)
    )
    return (rows * rng.lognormal(0, 1, count)[:, None]).astype(np.float32)


@pytest.fixture(scope="module")
def vectors():
    return made_vectors(1)


@pytest.fixture(scope="module")
def queries():
    return made_vectors(2, 50)


@pytest.fixture(scope="module")
def built(tmp_path_factory, vectors):
    path = tmp_path_factory.mktemp("products") / "p.sth"
    documents = [{"label": "even" if i % 2 == 0 else "odd"} for i in range(COUNT)]
    Collection.create(path, documents, vectors=vectors, metric="ip", **SMALL).close()
    return path


@pytest.fixture
def opened(built, tmp_path):
    with Collection.open(shutil.copy(built, tmp_path / "p.sth")) as collection:
        yield collection


def best(vectors, query, k):
    products = vectors.astype(np.float64) @ query
    return [str(i) for i in np.argsort(-products, kind="stable")[:k]], np.sort(products)[::-1][:k]


def recall(vectors, queries, answers):
    pairs = zip(queries, answers, strict=True)
    found = [len({hit.key for hit in hits} & set(best(vectors, query, 10)[0])) for query, hits in pairs]
    return sum(found) / 10 / len(queries)


def test_all_candidates_are_brute_force(opened, vectors, queries):
    for query, hits in zip(queries, opened.search_many(queries, 10), strict=True):  # the ball holds all
        keys, products = best(vectors, query, 10)
        assert [hit.key for hit in hits] == keys
        assert [hit.score for hit in hits] == pytest.approx(products, rel=1e-5)
        assert hits.ranking == "ip"
    one = opened.search(queries[0], 10)
    assert [(hit.key, hit.score) for hit in one] == [
        (hit.key, hit.score) for hit in opened.search_many(queries[:1], 10)[0]
    ]


def test_a_small_ball_holds_most_of_the_largest_products(opened, vectors, queries):
    found = recall(vectors, queries, opened.search_many(queries, 10, factor=20))
    assert found > 0.9  # a tenth of all documents
    by_cosine = VectorModel.fit(vectors, **SMALL)
    assert opened.info()["metric"] == "ip"
    with Collection.create(opened.path.with_name("c.sth"), vectors=vectors, model=by_cosine) as other:
        directions = recall(vectors, queries, other.search_many(queries, 200))
    assert found > directions + 0.2


def test_the_order_is_not_that_of_cosines(opened, vectors):
    longest = int(np.argmax(np.linalg.norm(vectors, axis=1)))
    short = int(np.argmin(np.linalg.norm(vectors, axis=1)))
    assert opened.search(key=str(short), k=1)[0].key == best(vectors, vectors[short], 1)[0][0] != str(short)
    by_key = opened.search(key=str(longest), k=5)
    assert [hit.key for hit in by_key] == [key for key in best(vectors, vectors[longest], 6)[0] if key != str(longest)]


def test_filters_codes_and_radius(opened, vectors, queries):
    hits = opened.search(queries[0], 5, where={"label": "odd"})
    assert [hit.key for hit in hits] == [str(2 * int(key) + 1) for key in best(vectors[1::2], queries[0], 5)[0]]
    by_codes = opened.search(queries[0], 5, rerank=False)
    assert by_codes.ranking == "codes"
    for hit in by_codes:
        assert hit.score == pytest.approx(float(vectors[int(hit.key)] @ queries[0]), rel=1e-4)
    near = opened.search(queries[0], 5, radius=12)
    assert all(hit.distance <= 12 for hit in near)
    assert [hit.score for hit in near] == sorted((hit.score for hit in near), reverse=True)


def test_the_length_of_a_query_scales_scores_only(opened, queries):
    one, ten = opened.search(queries[0], 5), opened.search(10 * queries[0], 5)
    assert [hit.key for hit in one] == [hit.key for hit in ten]
    assert [hit.score for hit in ten] == pytest.approx([10 * hit.score for hit in one], rel=1e-5)
    np.testing.assert_array_equal(opened.encode(queries[:3]), opened.encode(10 * queries[:3]))


def test_a_vector_that_is_longer_than_all_is_found_exactly(opened, vectors, queries):
    longer = 1000 * queries[0]
    opened.add([{"key": "longer"}, {"key": "zero"}], vectors=[longer, np.zeros(WIDTH)])
    hit = opened.search(queries[0], 1)[0]
    assert (hit.key, hit.score) == ("longer", pytest.approx(float(longer @ queries[0]), rel=1e-5))
    assert opened.search(queries[0], 1, factor=50)[0].key == "longer"
    assert opened.check().documents == COUNT + 2
    before = opened.search_many(queries, 10)
    opened.relearn(n_bits=16)
    assert opened.info()["metric"] == "ip"
    assert opened.info()["n_bits"] == 16
    assert [[hit.key for hit in hits] for hits in opened.search_many(queries, 10)] == [
        [hit.key for hit in hits] for hits in before
    ]
    assert opened.check().documents == COUNT + 2


def test_vectors_of_zeros_have_products(opened, queries):
    opened.add([{"key": "zero"}], vectors=[np.zeros(WIDTH)])
    hits = opened.search(-queries[0], COUNT + 1)
    assert len(hits) == COUNT + 1
    scores = {hit.key: hit.score for hit in hits}
    assert scores["zero"] == 0
    assert [hit.score for hit in hits] == sorted(scores.values(), reverse=True)
    assert min(scores.values()) < 0
    assert [hit.score for hit in opened.search(np.zeros(WIDTH), 5)] == [0] * 5  # as VectorIndex answers
    assert len(opened.search(key="zero", k=3)) == 3
    assert classify(opened, np.zeros(WIDTH)).known is False


def test_changes_and_copies_keep_the_metric(opened, queries, tmp_path):
    expected = [(hit.key, hit.score) for hit in opened.search(queries[3], 5)]
    opened.copy_to(tmp_path / "copy.sth")
    with Collection.open(tmp_path / "copy.sth") as copy:
        assert copy.info()["metric"] == "ip"
        assert [(hit.key, hit.score) for hit in copy.search(queries[3], 5)] == expected
        copy.delete(expected[0][0])
        assert [(hit.key, hit.score) for hit in copy.search(queries[3], 4)] == expected[1:]
        copy.compact()
        assert copy._store.format == 4
        assert copy.check().documents == COUNT - 1


def test_an_sthash_that_does_not_know_the_metric_refuses_the_file(opened, monkeypatch, tmp_path, vectors):
    assert opened._store.format == 4
    with Collection.create(tmp_path / "cosine.sth", vectors=vectors[:100], **SMALL) as other:
        assert (other._store.format, other.info()["metric"]) == (3, "cosine")
    monkeypatch.setattr(store, "NEWEST_FORMAT", 3)  # as it was
    with pytest.raises(CollectionError, match=r"format 4, newer than the format 3 .* Upgrade sthash"):
        Collection.open(opened.path)
    Collection.open(tmp_path / "cosine.sth").close()


def test_near_duplicates_are_by_cosine(tmp_path, vectors):
    rows = np.concatenate([vectors[:60], 7 * vectors[5:6], 0.01 * vectors[6:7], vectors[7:8], np.zeros((2, WIDTH))])
    with Collection.create(tmp_path / "d.sth", vectors=rows, metric="ip", **SMALL) as made:
        found = near_duplicates(made, 0.999)
        assert sorted(map(sorted, found.groups)) == [["5", "60"], ["6", "61"], ["62", "7"]]
        assert all(score <= 1 for *_, score in found.pairs)
        with pytest.raises(ValueError, match=r"ranking='cosine' is for .*metric='cosine'"):
            known_copies(made, rows[:1])


def test_classification_by_the_largest_products(tmp_path, queries, vectors):
    labels = ["up" if row @ queries[0] > 0 else "down" for row in vectors[:300]]
    documents = [{"label": label} for label in labels]
    with Collection.create(tmp_path / "l.sth", documents, vectors=vectors[:300], metric="ip", **SMALL) as made:
        voted = classify(made, queries[0], 9)
        assert (voted.label, voted.voters, voted.shares["up"]) == ("up", 9, 1.0)
        assert classify(made, -queries[0], 9).shares["down"] == 1.0
        assert classify(made, queries[0], radius=8).voters >= 0


def test_a_text_is_embedded_once_for_all_rounds(tmp_path):
    documents = [{"key": str(n), "text": f"cat {n}"} for n in range(300)]
    documents[7]["label"] = documents[250]["label"] = "labeled"
    asked = []

    def counting(texts):
        asked.append(texts)
        return embed(texts)

    with Collection.create(tmp_path / "e.sth", documents, embedder=counting, metric="ip", **SMALL) as made:
        asked.clear()
        assert classify(made, "cat whisker", 2).voters == 2
    assert asked == [["cat whisker"]]


def test_hybrid_search_has_negative_products_too(tmp_path):
    documents = [{"key": str(n), "text": f"{word} {n}"} for n, word in enumerate(["cat", "dog"] * 30)]
    with Collection.create(
        tmp_path / "n.sth",
        documents,
        embedder=lambda texts: np.array(
            [(-1 if text == "unheard" else 1) * np.array([1.0, len(text)]) for text in texts]
        ),
        text_search=True,
        metric="ip",
        **SMALL,
    ) as made:
        assert all(hit.score < 0 for hit in made.search("unheard", 3, ranking="ip"))
        assert len(made.search("unheard", 3, ranking="hybrid")) == 3


def test_texts_embedders_and_hybrid_search(tmp_path):
    documents = [*make_documents(160), {"key": "blank", "text": ""}]
    path = tmp_path / "h.sth"
    Collection.create(path, documents, embedder=embed, text_search=True, metric="ip", **SMALL).close()
    rows = embed([document.text for document in documents[:160]])
    with Collection.open(path, embedder=embed) as made:
        query = embed(["cat whisker"])[0]
        hits = made.search("cat whisker", 5, ranking="ip")
        assert [hit.score for hit in hits] == pytest.approx(np.sort(rows @ query)[::-1][:5], rel=1e-5)
        assert hits.ranking == "ip"
        both = made.search("cat whisker", 5)
        assert both.ranking == "hybrid"
        scores = {}
        for ranking, weight in (("graph", 0.7), ("ip", 0.3)):
            for rank, hit in enumerate(made.search("cat whisker", 100, ranking=ranking), 1):
                scores[hit.key] = scores.get(hit.key, 0) + weight / (5 + rank)
        assert [hit.score for hit in both] == pytest.approx(sorted(scores.values(), reverse=True)[:5])
        with pytest.raises(ValueError, match=r"ranking='cosine' .* this one has metric='ip'. Pass ranking='ip'"):
            made.search("cat", ranking="cosine")
        with pytest.raises(ValueError, match="ranking='cosine'"):
            made.search(key="blank", ranking="cosine")
        assert made.search("cat", 3, ranking="bm25").ranking == "bm25"
    with Collection.create(tmp_path / "t.sth", documents, **SMALL) as texts, pytest.raises(ValueError, match="'ip'"):
        texts.search("cat", ranking="ip")


def test_hash_functions_learned_later(tmp_path, vectors, queries):
    with Collection.create(tmp_path / "l.sth", vectors=vectors[:20], metric="ip", **SMALL) as made:
        assert (made.info()["learned"], made.info()["metric"]) == (False, "ip")
        assert made.search(queries[0], 1)[0].key == best(vectors[:20], queries[0], 1)[0][0]
        assert made._store.format == 4
        made.add(None, vectors=vectors[20 : LEARN_AT + 1])
        assert (made.info()["learned"], made.info()["metric"]) == (True, "ip")
        assert made.check().documents == LEARN_AT + 1
        assert recall(vectors[: LEARN_AT + 1], queries, made.search_many(queries)) == 1


@pytest.mark.parametrize(
    "rows", [np.ones((150, 8)), np.eye(3)[[0] * 150], np.zeros((150, 4)), np.arange(1, 151)[:, None]]
)
def test_duplicates_only_constant_columns_and_zeros(rows, tmp_path):
    with Collection.create(tmp_path / "c.sth", vectors=rows, metric="ip", **SMALL) as made:
        hits = made.search(rows[-1], 5)
        assert [hit.score for hit in hits] == pytest.approx(np.sort(rows @ rows[-1])[::-1][:5])
        assert made.check().documents == 150
        assert len(made.search(rows[-1], 5, factor=1)) == 5


def test_a_single_outlier_leaves_room_for_the_others(tmp_path, vectors, queries):
    rows = np.concatenate([vectors, 1e4 * vectors[:1]])
    with Collection.create(tmp_path / "o.sth", vectors=rows, metric="ip", **SMALL) as made:
        assert recall(rows, queries, made.search_many(queries, 10, factor=20)) > 0.85


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"documents": ["a", "b"], "metric": "ip"}, TypeError, r"metric='ip' is for vectors.*--vectors, --embedder"),
        ({"vectors": np.eye(3), "metric": "l2"}, ValueError, "metric='l2' is not known. Use one of: cosine, ip"),
        ({"vectors": [[1.0, np.nan]], "metric": "ip"}, ValueError, "NaN"),
        (
            {"vectors": [[1e30, 0.0]], "metric": "ip"},
            ValueError,
            r"vector 0 has a vector longer than 1e\+18.*Scale all",
        ),
        ({"vectors": [[1.0, 0.0], [0.0, 0.0]]}, ValueError, "vector 1 has a vector of zeros"),
    ],
)
def test_what_is_refused(arguments, error, message, tmp_path):
    with pytest.raises(error, match=message):
        Collection.create(tmp_path / "x.sth", **arguments)
    assert not (tmp_path / "x.sth").exists()


def test_a_model_has_its_own_metric(tmp_path, vectors, queries):
    model = VectorModel.fit(vectors[:500], metric="ip", **SMALL)
    with Collection.create(tmp_path / "m.sth", vectors=vectors[:500], model=model) as made:
        assert (made.info()["metric"], made._store.format) == ("ip", 4)
        assert made.search(queries[0], 1)[0].key == best(vectors[:500], queries[0], 1)[0][0]
        assert made.check().documents == 500
    with pytest.raises(ValueError, match="the model has metric='cosine', but got 'ip'"):
        Collection.create(
            tmp_path / "n.sth", vectors=vectors, metric="ip", model=VectorModel.fit(vectors[:100], n_bits=8)
        )


def test_forged_settings_are_refused(opened):
    settings = opened._store.setting
    with opened._store.reading():
        model = settings("model")
    for change in ({"metric": "l2"}, {"length": -1}, {"length": "x"}, {"length": None}, {"metric": "cosine"}):
        with opened._store.writing():
            opened._store.put_model(model | change)
        with Collection.open(opened.path) as again, pytest.raises(CollectionError, match="cannot be read"):
            again.info()


def test_a_code_that_is_not_that_of_its_vector(opened, vectors):
    with opened._store.writing():
        opened._store.put("vectors", 7, (-3 * vectors[7]).tobytes())
    with pytest.raises(CollectionError, match="a code is not that of its vector"):
        opened.check()


def test_scores_behind_a_blank_text(tmp_path):
    rows = np.vstack([np.eye(4), -np.eye(4)])
    texts = [f"t{i}" for i in range(8)] + [""]

    def embedder(some):
        return [rows[int(text[1:])] if text else np.zeros(4) for text in some]

    with Collection.create(tmp_path / "b.sth", texts, embedder=embedder, **SMALL) as made:
        scores = {hit.key: hit.score for hit in made.search(np.array([2.0, 1.0, 0.5, 0.25]), 9)}
    query = np.array([2.0, 1.0, 0.5, 0.25]) / np.linalg.norm([2.0, 1.0, 0.5, 0.25])
    assert scores == {str(i): pytest.approx(float(row @ query), abs=1e-6) for i, row in enumerate(rows)}
