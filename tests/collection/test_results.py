"""What a search does with all documents that match: it counts, sorts and collapses them."""

import copy
import pickle

import pytest

from sthash import Collection, Document
from sthash.collection.search import collapsing

ANIMALS = ("cat", "dog", "rabbit")
DOCUMENTS = [
    Document(f"{animal}{n}", f"{animal} number {n} likes {'fish' if n % 2 else 'carrots'}", animal, {"n": n})
    for n in range(8)
    for animal in ANIMALS
]


@pytest.fixture(scope="module")
def animals(tmp_path_factory):
    with Collection.create(tmp_path_factory.mktemp("results") / "animals.sth", DOCUMENTS) as created:
        yield created


@pytest.mark.parametrize(
    ("query", "options", "total"),
    [
        ("cats", {}, 8),
        ("cat dog", {}, 16),
        ("cat fish", {"ranking": "bm25", "offset": 5}, 16),
        ("cat cat", {"where": {"n": {"<": 3}}}, 3),
        ("+cat fish", {}, 8),
        ("cat -fish", {}, 4),
        ('"cat number"', {}, 8),
        ("+cat +zebra", {}, 8),
        ("label:dog", {"k": 3}, 8),
        ("label:dog fish", {}, 4),
        ("zebra", {}, 0),
        ("", {}, 0),
        ("cat", {"ranking": "cosine"}, None),
        ("cat", {"radius": 3}, None),
    ],
)
def test_the_number_of_matches(animals, query, options, total):
    assert animals.search(query, **{"k": 2} | options).total == total
    assert animals.search_many(["rabbit", query], **{"k": 2} | options)[1].total == total
    if total is not None:
        assert len(animals.search(query, **options | {"k": 99, "offset": 0})) == total


def test_a_number_that_is_read_later_leaves_out_what_was_deleted(tmp_path):
    with Collection.create(tmp_path / "animals.sth", DOCUMENTS) as animals:
        read, unread = [animals.search("cat dog", where={"n": {">": 0}}) for _ in range(2)]
        assert read.total == 14
        animals.delete([f"cat{n}" for n in range(8)])
        animals.add([{"key": "new", "text": "a cat and a dog", "n": 5}])
        assert animals.search("cat dog", where={"n": {">": 0}}).total == 8
    assert copy.deepcopy(read).total == pickle.loads(pickle.dumps(read)).total == read.total == 14
    assert copy.deepcopy(unread).total == pickle.loads(pickle.dumps(unread)).total == unread.total == 7


def test_a_page_beyond_the_last_one_is_read_as_the_others(animals):
    hits = animals.search("+cat fish", offset=50)
    assert (hits, hits.reading, hits.total) == ([], "strict", 8)


def test_a_key_has_no_number_of_matches(animals):
    assert animals.search(key="cat1").total is None


TALES = [
    Document("a", "a tale of one sea", "x", {"year": 2001, "tags": ["old", "sea"], "by": {"name": "Ann"}}),
    Document("b", "a tale of two seas", "y", {"year": 1999, "tags": ["sea"], "by": {"name": "Bob"}}),
    Document("c", "a tale of no sea", None, {"year": "1999", "tags": []}),
    Document("d", "a tale of a mountain", "x", {"tags": "old", "by": None}),
    Document("e", "a tale of a river", "x", {"year": 2001.5, "tags": ["new", "river"], "by": {"name": "Ann"}}),
    Document("f", "some other story", "z", {"year": 1, "rare": {"x": {}}}),
]


@pytest.fixture(scope="module")
def tales(tmp_path_factory):
    with Collection.create(tmp_path_factory.mktemp("results") / "tales.sth", TALES) as created:
        yield created


@pytest.mark.parametrize(
    ("sort", "keys"),
    [
        ("year", "baecd"),  # numbers, strings, and then documents without the field
        ("-year", "ceabd"),
        ("label", "adebc"),
        ("-key", "edcba"),
        ("by.name", "aebcd"),
        ("tags", "eadbc"),  # of a list, the least value
        ("-tags", "abedc"),
    ],
)
def test_matches_are_sorted_by_a_field(tales, sort, keys):
    hits = tales.search("tale", sort=sort)
    assert "".join(hit.key for hit in hits) == keys
    assert (hits.total, hits.ranking) == (5, "bm25")
    scores = {hit.key: hit.score for hit in tales.search("tale", ranking="bm25")}
    assert {hit.key: hit.score for hit in hits} == scores
    pages = [tales.search("tale", k=2, offset=offset, sort=sort) for offset in (0, 2, 4)]
    assert "".join(hit.key for page in pages for hit in page) == keys
    assert "".join(hit.key for hit in tales.search_many(["story", "tale"], k=3, sort=sort)[1]) == keys[:3]
    assert "".join(hit.key for hit in tales.search("+tale -river", sort=sort)) == keys.replace("e", "")


def test_nearest_documents_are_sorted_among_themselves(tales):
    for options in ({"key": "a"}, {"query": "tale of the sea", "ranking": "cosine"}):
        nearest = tales.search(**options, k=3)
        years = [hit.metadata["year"] for hit in tales.search(**options, k=3, sort="-year") if "year" in hit.metadata]
        assert years == sorted(years, key=lambda year: (isinstance(year, str), year), reverse=True)
        assert {hit.key for hit in tales.search(**options, k=3, sort="year")} == {hit.key for hit in nearest}


def test_values_are_counted_over_all_matches(tales):
    hits = tales.search("tale", k=1, facets=["label", "tags", "by.name", "year"])
    assert hits.facets == {
        "label": {"x": 3, "y": 1},
        "tags": {"old": 2, "sea": 2, "new": 1, "river": 1},
        "by.name": {"Ann": 2, "Bob": 1},
        "year": {1999: 1, 2001: 1, 2001.5: 1, "1999": 1},
    }
    assert list(hits.facets["label"]) == ["x", "y"]
    assert tales.search("tale", where={"label": "x"}, facets="label").facets == {"label": {"x": 3}}
    assert tales.search("+tale -sea", facets=("label",)).facets == {"label": {"x": 2}}
    assert tales.search("zebra", facets=("label",)).facets == {"label": {}}
    assert tales.search(key="a", k=2, facets=("key",)).facets["key"].keys() == {
        hit.key for hit in tales.search(key="a", k=2)
    }
    assert tales.search("tale").facets == {}


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"sort": "yaer"},
            ValueError,
            r"sort has the field 'yaer', which no document has\. The documents have: 'key', 'label'",
        ),
        ({"facets": ["year", "no"]}, ValueError, "facets has the field 'no', which no document has"),
        ({"sort": "-rare"}, TypeError, "sort has the field 'rare', which holds objects"),
        ({"sort": "-"}, ValueError, "sort has '-', which is no field"),
        ({"facets": [7]}, ValueError, "facets has 7, which is no field"),
    ],
)
def test_fields_that_there_are_not(tales, options, error, message):
    with pytest.raises(error, match=message):
        tales.search("tale", **options)


def test_more_fields_than_are_kept(tmp_path):
    names = [f"f{n}" for n in range(40)]
    with Collection.create(tmp_path / "wide.sth", [{"text": "one tale", **dict.fromkeys(names, 1)}]) as wide:
        for asked in (names, names[:3], names[10:30], names):
            assert wide.search("tale", facets=asked).facets == {name: {1: 1} for name in asked}


def test_a_collection_without_documents(tmp_path):
    with Collection.create(tmp_path / "none.sth", []) as none:
        assert none.search("tale", sort="year", facets=["label"], collapse=True) == []


def test_fields_follow_changes(tmp_path):
    with Collection.create(tmp_path / "tales.sth", TALES) as tales:
        assert tales.search("tale", sort="year")[0].key == "b"
        tales.upsert([Document("z", "a tale", "new", {"year": 0})])
        hits = tales.search("tale", sort="year", facets=["label"])
        assert (hits[0].key, hits.facets["label"]["new"]) == ("z", 1)


COPIES = [
    *(Document(f"p{n}", f"The probe has entered its orbit around Mars{'!' * n}") for n in range(40)),
    Document("q", "Another probe looks at Venus."),
    *(Document(f"r{n}", "The old probe fell into the sea near the coast.", None, {"n": n}) for n in range(3)),
    Document("s", "Bread and butter."),
]


@pytest.fixture(scope="module")
def copies(tmp_path_factory):
    with Collection.create(tmp_path_factory.mktemp("results") / "copies.sth", COPIES) as created:
        yield created


@pytest.mark.parametrize("options", [{}, {"ranking": "bm25"}, {"ranking": "cosine"}, {"sort": "-n"}, {"sort": "key"}])
def test_one_hit_per_group_of_near_duplicates(copies, options, monkeypatch):
    groups = {key: group for group in copies.near_duplicates().groups for key in group}
    hits = copies.search("probe", k=3, collapse=True, **options)
    assert sorted(hit.key[0] for hit in hits) == ["p", "q", "r"]
    whole = [hit.key for hit in copies.search("probe", k=99, **options)]
    for hit in hits:
        assert {hit.key, *hit.copies} == set(groups.get(hit.key, [hit.key]))
        assert hit.key == min((hit.key, *hit.copies), key=whole.index)
    assert hits.total == (None if options.get("ranking") == "cosine" else 44)
    if options.get("ranking") != "cosine":
        pages = [copies.search("probe", k=1, offset=n, collapse=True, **options)[0].key for n in range(3)]
        assert pages == [hit.key for hit in hits]
    monkeypatch.setattr(collapsing, "FIRST_CANDIDATES", 2)
    assert {hit.key[0] for hit in copies.search("probe", k=3, collapse=True, **options)} == {"p", "q", "r"}
    assert all(hit.copies == () for hit in copies.search("probe", **options))


def test_the_near_duplicates_of_a_document_are_one_hit(copies):
    hits = copies.search(key="q", k=5, collapse=True)
    assert sorted(hit.key[0] for hit in hits if hit.copies) == ["p", "r"]
