"""Collections that compare vectors by inner product: against brute force, with lengths that vary widely."""

import numpy as np
import pytest

from sthash import Collection, VectorOptions, classify, near_duplicates
from sthash.applications import known_copies
from sthash.collection import CollectionError
from sthash.collection.build.builder import LEARN_AT
from sthash.collection.file.records import KINDS
from support.corpus import make_documents
from support.embedders import embed
from support.factories import build_vector_model, copied, create_collection

SMALL = {"n_bits": 32, "n_neighbors": 8}
PRODUCTS = {"vector_options": VectorOptions(metric="ip")}
COUNT, WIDTH = 800, 24  # few enough that all vectors are compared


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
    create_collection(path, documents, vectors=vectors, **SMALL, **PRODUCTS).close()
    return path


@pytest.fixture
def opened(built, tmp_path):
    with Collection.open(copied(built, tmp_path)) as collection:
        yield collection


def best(vectors, query, k):
    products = vectors.astype(np.float64) @ query
    return [str(i) for i in np.argsort(-products, kind="stable")[:k]], np.sort(products)[::-1][:k]


def recall(vectors, queries, answers):
    pairs = zip(queries, answers, strict=True)
    found = [len({hit.key for hit in hits} & set(best(vectors, query, 10)[0])) for query, hits in pairs]
    return sum(found) / 10 / len(queries)


def test_few_vectors_are_compared_one_by_one(opened, vectors, queries):
    for query, hits in zip(queries, opened.search_many(queries, 10), strict=True):
        keys, products = best(vectors, query, 10)
        assert [hit.key for hit in hits] == keys
        assert [hit.score for hit in hits] == pytest.approx(products, rel=1e-5)
        assert hits.ranking == "ip"
    one = opened.search(queries[0], 10)
    assert [(hit.key, hit.score) for hit in one] == [
        (hit.key, hit.score) for hit in opened.search_many(queries[:1], 10)[0]
    ]


def test_codes_hold_most_of_the_largest_products(opened, vectors, queries):
    found = recall(vectors, queries, opened.search_many(queries, COUNT // 10, rerank=False))
    assert found > 0.8
    by_cosine = build_vector_model(vectors, **SMALL)
    assert opened.info()["metric"] == "ip"
    with Collection.create(opened.path.with_name("c.sth"), vectors=vectors, model=by_cosine) as other:
        directions = recall(vectors, queries, other.search_many(queries, COUNT // 10, rerank=False))
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
    assert "longer" in {hit.key for hit in opened.search(queries[0], 50, rerank=False)}
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
        assert copy.check().documents == COUNT - 1


def test_near_duplicates_are_by_cosine(tmp_path, vectors):
    rows = np.concatenate([vectors[:60], 7 * vectors[5:6], 0.01 * vectors[6:7], vectors[7:8], np.zeros((2, WIDTH))])
    with create_collection(tmp_path / "d.sth", vectors=rows, **SMALL, **PRODUCTS) as made:
        found = near_duplicates(made, 0.999)
        assert sorted(map(sorted, found.groups)) == [["5", "60"], ["6", "61"], ["62", "7"]]
        assert all(score <= 1 for *_, score in found.pairs)
        with pytest.raises(ValueError, match=r"ranking='cosine' is for .*metric='cosine'"):
            known_copies(made, rows[:1])


def test_classification_by_the_largest_products(tmp_path, queries, vectors):
    labels = ["up" if row @ queries[0] > 0 else "down" for row in vectors[:300]]
    documents = [{"label": label} for label in labels]
    with create_collection(tmp_path / "l.sth", documents, vectors=vectors[:300], **SMALL, **PRODUCTS) as made:
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

    with create_collection(tmp_path / "e.sth", documents, embedder=counting, **SMALL, **PRODUCTS) as made:
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
        **PRODUCTS,
    ) as made:
        assert all(hit.score < 0 for hit in made.search("unheard", 3, ranking="ip"))
        assert len(made.search("unheard", 3, ranking="hybrid")) == 3


def test_texts_embedders_and_hybrid_search(tmp_path):
    documents = [*make_documents(160), {"key": "blank", "text": ""}]
    path = tmp_path / "h.sth"
    create_collection(path, documents, embedder=embed, **SMALL, **PRODUCTS).close()
    rows = embed([document.text for document in documents[:160]])
    with Collection.open(path, embedder=embed) as made:
        query = embed(["cat whisker"])[0]
        hits = made.search("cat whisker", 5, ranking="ip")
        assert [hit.score for hit in hits] == pytest.approx(np.sort(rows @ query)[::-1][:5], rel=1e-5)
        assert hits.ranking == "ip"
        both = made.search("cat whisker", 5)
        assert both.ranking == "hybrid"
        scores = {}
        for ranking, weight in (("graph", 0.6), ("ip", 0.4)):
            for rank, hit in enumerate(made.search("cat whisker", 100, ranking=ranking), 1):
                scores[hit.key] = scores.get(hit.key, 0) + weight / (5 + rank)
        assert [hit.score for hit in both] == pytest.approx(sorted(scores.values(), reverse=True)[:5])
        with pytest.raises(ValueError, match=r"ranking='cosine' .* this one has metric='ip'. Pass ranking='ip'"):
            made.search("cat", ranking="cosine")
        with pytest.raises(ValueError, match="ranking='cosine'"):
            made.search(key="blank", ranking="cosine")
        assert made.search("cat", 3, ranking="bm25").ranking == "bm25"
    with create_collection(tmp_path / "t.sth", documents, **SMALL) as texts, pytest.raises(ValueError, match="'ip'"):
        texts.search("cat", ranking="ip")


def test_hash_functions_learned_later(tmp_path, queries):
    rows = made_vectors(1, LEARN_AT + 1)
    with create_collection(tmp_path / "l.sth", vectors=rows[:20], **SMALL, **PRODUCTS) as made:
        assert (made.info()["learned"], made.info()["metric"]) == (False, "ip")
        assert made.search(queries[0], 1)[0].key == best(rows[:20], queries[0], 1)[0][0]
        made.add(None, vectors=rows[20:])
        assert (made.info()["learned"], made.info()["metric"]) == (True, "ip")
        assert made.check().documents == LEARN_AT + 1
        assert recall(rows, queries, made.search_many(queries)) > 0.95


@pytest.mark.parametrize(
    "rows", [np.ones((150, 8)), np.eye(3)[[0] * 150], np.zeros((150, 4)), np.arange(1, 151)[:, None]]
)
def test_duplicates_only_constant_columns_and_zeros(rows, tmp_path):
    with create_collection(tmp_path / "c.sth", vectors=rows, **SMALL, **PRODUCTS) as made:
        hits = made.search(rows[-1], 5)
        assert [hit.score for hit in hits] == pytest.approx(np.sort(rows @ rows[-1])[::-1][:5])
        assert made.check().documents == 150
        assert len(made.search(rows[-1], 5, rerank=False)) == 5


def test_many_vectors_are_found_in_cells(tmp_path):
    rows, queries = made_vectors(1, 3000), made_vectors(2, 1000)  # the share of 50 queries varies by .01
    rows = np.concatenate([rows, 1e4 * rows[:1]])  # one that is longer than all
    with Collection.create(tmp_path / "o.sth", vectors=rows, **PRODUCTS) as made:
        assert made.info()["cells"] > 1
        assert recall(rows, queries, made.search_many(queries, 10)) > 0.95
        for query, hits in zip(queries[:5], made.search_many(queries[:5], 10), strict=True):
            assert [hit.score for hit in hits] == pytest.approx([rows[int(hit.key)] @ query for hit in hits], rel=1e-5)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"documents": ["a", "b"], **PRODUCTS}, TypeError, r"vector_options is for vectors.*--vectors.*--embedder"),
        ({"vectors": [[1.0, np.nan]], **PRODUCTS}, ValueError, "vector 0 must be finite, got NaN"),
        (
            {"vectors": [[1e30, 0.0]], **PRODUCTS},
            ValueError,
            r"vector 0 must have a length of at most 1e\+18.*Scale all",
        ),
        ({"vectors": [[1.0, 0.0], [0.0, 0.0]]}, ValueError, "vector 1 must not be zero"),
    ],
)
def test_what_is_refused(arguments, error, message, tmp_path):
    with pytest.raises(error, match=message):
        Collection.create(tmp_path / "x.sth", **arguments)
    assert not (tmp_path / "x.sth").exists()


def test_options_of_vectors():
    with pytest.raises(ValueError, match=r"metric='l2' is not known. Use one of: cosine, ip"):
        VectorOptions(metric="l2")
    with pytest.raises(ValueError, match="precision='bit' is not known"):
        VectorOptions(precision="bit")
    for n_bytes in (0, 7, 130):
        with pytest.raises(ValueError, match="n_bytes"):
            VectorOptions(n_bytes=n_bytes)


def test_a_model_has_its_own_metric(tmp_path, vectors, queries):
    model = build_vector_model(vectors[:500], metric="ip", **SMALL)
    with Collection.create(tmp_path / "m.sth", vectors=vectors[:500], model=model) as made:
        assert made.info()["metric"] == "ip"
        assert made.search(queries[0], 1)[0].key == best(vectors[:500], queries[0], 1)[0][0]
        assert made.check().documents == 500
    with pytest.raises(ValueError, match="the model has metric='cosine', but got 'ip'"):
        Collection.create(
            tmp_path / "n.sth",
            vectors=vectors,
            model=build_vector_model(vectors[:100]),
            vector_options=VectorOptions(metric="ip"),
        )


def test_forged_settings_are_refused(opened):
    with opened._store.reading():
        settings = {name: opened._store.setting(name) for name in ("codes", "cells")}
    for name, change in (
        ("codes", {"metric": "l2"}),
        ("codes", {"length": -1}),
        ("codes", {"length": "x"}),
        ("codes", {"length": None}),
        ("codes", {"metric": "cosine"}),
        ("cells", {"metric": "l2"}),
        ("cells", {"n_columns": -1}),
        ("cells", {"n_columns": 1 << 40}),
        ("cells", {"learned_on": "all"}),
        ("cells", {"precision": None}),
    ):
        with opened._store.writing():
            opened._store.put_setting(name, settings[name] | change)
        with Collection.open(opened.path) as again, pytest.raises(CollectionError, match="cannot be read"):
            again.info()
        with opened._store.writing():
            opened._store.put_setting(name, settings[name])


def test_a_code_that_is_not_that_of_its_vector(opened, vectors):
    with opened._store.writing():
        opened._store.put("pending", KINDS["vectors"] << 52 | 7, (-3 * vectors[7]).tobytes())
    with pytest.raises(CollectionError, match="a code is not that of its document"):
        opened.check()


def test_scores_behind_a_blank_text(tmp_path):
    rows = np.vstack([np.eye(4), -np.eye(4)])
    texts = [f"t{i}" for i in range(8)] + [""]

    def embedder(some):
        return [rows[int(text[1:])] if text else np.zeros(4) for text in some]

    with create_collection(tmp_path / "b.sth", texts, embedder=embedder, **SMALL) as made:
        scores = {hit.key: hit.score for hit in made.search(np.array([2.0, 1.0, 0.5, 0.25]), 9)}
    query = np.array([2.0, 1.0, 0.5, 0.25]) / np.linalg.norm([2.0, 1.0, 0.5, 0.25])
    assert scores == {str(i): pytest.approx(float(row @ query), abs=1e-6) for i, row in enumerate(rows)}
