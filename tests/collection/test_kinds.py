"""What every kind of collection can do: texts, vectors with and without codes, by products, in less precision."""

import numpy as np
import pytest

from sthash import Document, classify, near_duplicates
from sthash.collection.file.records import KINDS as RECORD_KINDS
from sthash.collection.file.segments import Segments
from sthash.collection.indexes.postings import KIND as POSTINGS
from support.corpus import TOPICS, make_documents
from support.embedders import embed
from support.factories import copied
from support.kinds import COUNTS, KINDS, create_kind, open_kind

CASES = [(kind, size) for kind in KINDS for size in COUNTS]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Each kind of collection, built once."""
    folder, made = tmp_path_factory.mktemp("kinds"), {}

    def file_of(kind, size):
        if (kind, size) not in made:
            path = made[kind, size] = folder / f"{kind} {size}.sth"
            create_kind(kind, path, COUNTS[size]).close()
        return made[kind, size]

    return file_of


@pytest.fixture(params=CASES, ids=" ".join)
def collection(request, files, tmp_path):
    kind, size = request.param
    with open_kind(kind, copied(files(kind, size), tmp_path)) as opened:
        opened.kind, opened.count = kind, COUNTS[size]
        yield opened


def keys(hits):
    return [hit.key for hit in hits]


def metric(collection):
    return collection.info().get("metric", "cosine")


def test_it_holds_what_it_was_given(collection):
    documents = make_documents(collection.count)
    assert list(collection) == [*documents, Document("blank", "")]
    assert collection.check().documents == len(collection) == collection.count + 1
    with collection.snapshot() as now:
        assert (now.cells is None) == (collection.kind == "texts")
        if now.cells is not None:
            assert now.cells.learned == (collection.count >= 1000)
            assert now.cells.n_cells == collection.info()["cells"]


@pytest.mark.parametrize("ranking", ["auto", "graph", "bm25", "content"])
def test_filters(collection, ranking):
    ranking = metric(collection) if ranking == "content" else ranking
    text = "kitten whisker ship"
    for where, accepts in (
        ({"parity": 1}, lambda d: d.metadata["parity"] == 1),
        ({"label": "ships", "number": {"<": 60}}, lambda d: d.label == "ships" and d.metadata["number"] < 60),
        ({"key": ["d3", "d5"]}, lambda d: d.key in ("d3", "d5")),
        ({"key": "nobody"}, lambda d: False),
    ):
        allowed = {document.key for document in make_documents(collection.count) if accepts(document)}
        hits = collection.search(text, 10, where=where, ranking=ranking)
        assert set(keys(hits)) <= allowed
        if ranking not in ("graph", "bm25") and collection.kind != "texts":
            assert len(hits) == min(10, len(allowed))
        many = collection.search_many([text, "oven"], 10, where=where, ranking=ranking)
        assert many[0] == hits
    inside = collection.search(text, collection.count, where={"parity": 1}, ranking=ranking)
    outside = collection.search(text, collection.count, where={"parity": {"!=": 1}}, ranking=ranking)
    assert inside
    assert not set(keys(inside)) & set(keys(outside))
    own = collection.search(key="d7", k=5, where={"label": "cats"})
    assert {hit.label for hit in own} == {"cats"}
    assert len(own) == 5


def test_explanations(collection):
    for ranking in ("auto", metric(collection)):
        hits = collection.search("the kitten qwertz whisker", 10, explain=True, ranking=ranking)
        assert (hits.ignored, hits.unknown) == (("the",), ("qwertz",))
        for hit in hits:
            assert set(hit.terms) == {"kitten", "whisker"} & set(hit.text.split())
            assert (hit.distance is None) == (collection.n_bits == 0)
        assert any(hit.terms for hit in hits)
        assert keys(hits) == keys(collection.search("the kitten qwertz whisker", 10, ranking=ranking))


def test_corrections(collection):
    for ranking in ("auto", "bm25", metric(collection)):
        hits = collection.search("kiten", 5, correct=True, ranking=ranking)
        assert (hits.corrected, hits.unknown) == ({"kiten": "kitten"}, ("kiten",))
        assert keys(hits) == keys(collection.search("kitten", 5, ranking=ranking))
        assert collection.search("kiten", 5, explain=True, ranking=ranking).suggestions == {"kiten": ("kitten",)}
    several = collection.search_many(["kiten", "ship", "telescop orbit", "qqqqqq"], 5, correct=True)
    assert [hits.corrected for hits in several] == [{"kiten": "kitten"}, {}, {}, {}]
    assert [keys(hits) for hits in several[:2]] == [keys(collection.search(word, 5)) for word in ("kitten", "ship")]


def test_phrases_and_signs(collection):
    documents = {document.key: document.text.split() for document in make_documents(collection.count)}
    pair = documents["d1"][:2]
    holding = {key for key, words in documents.items() if any(words[i : i + 2] == pair for i in range(len(words)))}
    hits = collection.search(f'"{" ".join(pair)}"', 10)
    assert set(keys(hits)) <= holding
    assert len(hits) == min(10, len(holding))
    assert all("ship" in hit.text.split() for hit in collection.search("+ship captain", 20))
    assert all("ship" not in hit.text.split() for hit in collection.search("captain -ship", 20))


def test_like_a_document(collection):
    hits = collection.search(key="d8", k=10)
    assert "d8" not in keys(hits)
    assert len(hits) == 10
    own = collection.get("d8")
    same = collection.search(own.text, 11, ranking=metric(collection))
    if metric(collection) == "cosine" and collection.kind in ("texts", "vectors", "vectors with codes"):
        assert keys(hits) == [key for key in keys(same) if key != "d8"][:10]
    if metric(collection) == "cosine":
        assert collection.search(key="blank") == []


def test_changes_after_segments_were_written(collection):
    def segments():
        kinds = (POSTINGS, *RECORD_KINDS)
        with collection.snapshot():
            return [segment for kind in kinds for segment in Segments(collection._store, kind).all()]

    expected = {document.key: document.text for document in collection}
    new = make_documents(5000 if collection.kind == "texts" else 1100, seed=7, first=10_000)
    collection.add(new)
    expected |= {document.key: document.text for document in new}
    before = segments()
    assert before
    replaced = [Document(document.key, f"{document.text} zeppelin") for document in new[5:200]]
    collection.upsert(replaced)
    expected |= {document.key: document.text for document in replaced}
    gone = [f"d{number}" for number in range(1, 40)] + [new[0].key, new[-1].key]
    collection.delete(gone)
    for key in gone:
        del expected[key]
    collection.add([Document("last", "zeppelin hangar")])
    expected["last"] = "zeppelin hangar"
    assert {document.key: document.text for document in collection} == expected
    assert collection.check().documents == len(expected)
    having = {key for key, text in expected.items() if "zeppelin" in text}
    assert set(keys(collection.search("zeppelin", 2000, ranking="bm25"))) == having
    assert keys(collection.search("zeppelin hangar", 1)) == ["last"]
    found = collection.search("kitten whisker", 500, ranking=metric(collection))
    assert set(keys(found)) <= set(expected)
    assert set(before) & set(segments())  # those that lost few documents were not written again
    with open_kind(collection.kind, collection.path) as again:
        assert again.search_many(["kitten whisker", "zeppelin"], 20) == collection.search_many(
            ["kitten whisker", "zeppelin"], 20
        )


def test_relearn(collection):
    collection.add(make_documents(100, seed=3, first=20_000))
    collection.delete(["d1", "d2"])
    words = collection.search("kitten whisker", 10, ranking="graph")
    n_bits = collection.n_bits
    collection.relearn()
    assert collection.n_bits == n_bits
    assert collection.check().documents == collection.count + 99
    assert [
        (hit.key, pytest.approx(hit.score)) for hit in collection.search("kitten whisker", 10, ranking="graph")
    ] == [(hit.key, hit.score) for hit in words]
    collection.relearn(n_bits=12, n_neighbors=6)
    assert collection.n_bits == 12
    assert collection.check().documents == collection.count + 99
    near = collection.search("kitten whisker", 10, radius=12)
    assert {hit.label for hit in near} >= {"cats"}
    assert all(0 <= hit.distance <= 12 for hit in near)
    with open_kind(collection.kind, collection.path) as again:
        assert again.search("kitten whisker", 10, radius=12) == near


def test_everything_can_go_and_come_back(collection):
    documents = list(collection)
    collection.delete([document.key for document in documents])
    assert collection.check().documents == len(collection) == 0
    for ranking in ("auto", "bm25", metric(collection)):
        assert collection.search("kitten", ranking=ranking) == []
    collection.relearn()
    collection.add(documents)
    assert list(collection) == documents
    assert collection.check().documents == len(documents)
    assert {hit.label for hit in collection.search("kitten whisker purr claw", 5)} == {"cats"}


def test_copies_and_applications(collection, tmp_path):
    collection.add([Document("twin", collection.get("d5").text, "cats")])
    assert any({"d5", "twin"} <= set(group) for group in near_duplicates(collection, 0.999).groups)
    for label, words in TOPICS.items():
        assert classify(collection, " ".join(words), k=9).label == label
    collection.copy_to(tmp_path / "copy.sth")
    collection.compact()
    with open_kind(collection.kind, tmp_path / "copy.sth") as copy:
        assert copy.search("ship", 10) == collection.search("ship", 10)
        assert copy.check() == collection.check()


def test_few_labels(collection):
    """A vote looks further until enough documents have labels, and ends where there are not."""
    unlabeled = [Document(document.key, document.text) for document in make_documents(collection.count)]
    collection.upsert([unlabeled[0], *unlabeled[2:]])
    vote = classify(collection, "kitten whisker purr", k=3)
    assert (vote.label, vote.voters) == ("cats", 1)


def test_a_failed_change_changes_nothing(collection):
    before = collection.search_many(["kitten whisker", "ship"], 10)

    def breaking():
        yield from make_documents(3000, first=30_000)
        raise RuntimeError("the source broke")

    with pytest.raises(RuntimeError, match="the source broke"):
        collection.add(breaking())
    with pytest.raises(KeyError):
        collection.delete(["d1", "nobody"])
    assert len(collection) == collection.count + 1
    assert collection.search_many(["kitten whisker", "ship"], 10) == before
    assert collection.check().documents == collection.count + 1
    collection.add([Document("after", "zeppelin")])
    assert keys(collection.search("zeppelin", 1)) == ["after"]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "texts"])
def test_cells_find_what_a_comparison_with_all_finds(kind, files, tmp_path):
    with open_kind(kind, copied(files(kind, "many"), tmp_path)) as opened:
        queries = embed([f"{one} {other}" for one in ("kitten", "ship", "moon") for other in ("claw", "mast", "oven")])
        with opened.snapshot() as now:
            best, _ = now.cells.search(queries, 10, exact=True)
            every = now.documents.names(now.ids.tolist())
            own = now.cells.vectors(now.ids[:-1:5]).values
            exact, found = (now.cells.search(own, 10, exact=exact)[0] for exact in (True, False))
        # What is promised holds on average, for queries that are like the vectors; others find less.
        assert sum(len(set(one) & set(other)) for one, other in zip(exact, found, strict=True)) >= 9.3 * len(own)
        same = 0
        for query, ids in zip(queries, best, strict=True):
            same += len(set(keys(opened.search(query, 10, recall=0.99))) & {every[number][0] for number in ids})
        assert same >= 9.5 * len(queries)
        scores = [hit.score for hit in opened.search(queries[0], 10)]
        vectors = {hit.key: embed([hit.text])[0] for hit in opened.search(queries[0], 10)}
        expected = np.array([vector @ queries[0] for vector in vectors.values()])
        if kind != "products":
            lengths = [np.linalg.norm(vector) * np.linalg.norm(queries[0]) for vector in vectors.values()]
            expected = expected / lengths
        assert scores == pytest.approx(expected, rel=1e-5 if "precision" not in kind and kind != "bytes" else 0.02)


def test_changes_pass_the_check(collection):
    documents = make_documents(collection.count + 900)[collection.count :]
    collection.add([{"key": f"new {place}", "text": own.text} for place, own in enumerate(documents)])
    assert collection.check().documents == collection.count + 901
    collection.relearn()
    assert collection.check().documents == collection.count + 901


def test_explanations_of_a_search_by_key(collection):
    hits = collection.search(key="d3", k=5, explain=True)
    assert any(hit.terms for hit in hits)
    assert all((hit.distance is not None) == (collection.n_bits > 0) for hit in hits)


def test_a_key_is_a_str(collection):
    for call in (collection.get, lambda key: collection.search(key=key), lambda key: collection.delete([key])):
        with pytest.raises(TypeError, match="key=1 must be a str, got int"):
            call(1)
    assert 1 not in collection


def test_one_str_is_not_several_queries(collection):
    for call in (collection.search_many, collection.encode):
        with pytest.raises(TypeError, match="is one query"):
            call("kitten")
