"""Long documents are found by what stands in one of their passages, as if somebody had cut them."""

import contextlib
import sqlite3

import numpy as np
import pytest

from sthash import Collection, TextOptions
from sthash.checksums import row_checksum
from sthash.collection import CollectionError
from sthash.collection.file.segments import Segments
from sthash.collection.indexes import passages
from sthash.collection.indexes.passages import SIZE, passages_of
from sthash.collection.search import by_words
from support.embedders import embed

SYLLABLES = [
    f"{first}{second}{third}" for first in "bdfgk" for second in ("ar", "el", "in", "os") for third in "lmnptx"
]


def prose(rng, size):
    """Sentences of frequent and rare words, in upper and lower case."""
    frequent = rng.zipf(1.3, size=size) % len(SYLLABLES)
    rare = rng.choice(len(SYLLABLES), size=(size, 2))
    words = [
        SYLLABLES[one] + SYLLABLES[two] if number % 3 == 0 else SYLLABLES[often]
        for number, (often, (one, two)) in enumerate(zip(frequent, rare, strict=True))
    ]
    return ". ".join(" ".join(words[i : i + 12]).capitalize() for i in range(0, size, 12))


def corpus(seed=0, short=60, long=6, size=3000):
    rng = np.random.default_rng(seed)
    texts = {f"short{n}": prose(rng, 60) for n in range(short)} | {f"long{n}": prose(rng, size) for n in range(long)}
    return [
        {"key": key, "text": texts[key], "long": key.startswith("long")}
        for key in rng.permutation(list(texts)).tolist()
    ]


def middle_of(text, words=12):
    found = text.split()
    return " ".join(found[len(found) // 2 :][:words])


def test_a_sentence_from_the_middle_finds_its_book():
    documents = corpus()
    with Collection.create(documents) as collection:
        long = [document for document in documents if document["long"]]
        for document in long:
            sentence = middle_of(document["text"])
            hit = collection.search(sentence, k=1, snippet=200)[0]
            assert hit.key == document["key"]
            assert sentence[:60] in hit.snippet.text
            assert collection.search(sentence, k=3, where={"long": False})[0].key != document["key"]
            assert collection.search(f'"{sentence}"', k=5)[0].key == document["key"]
            by_key = collection.search(sentence, k=100, sort="-key")
            assert {hit.key for hit in by_key} >= {document["key"]}
        sentences = [middle_of(document["text"]) for document in long]
        together = collection.search_many(sentences, k=5)
        assert [[hit.key for hit in hits] for hits in together] == [
            [hit.key for hit in collection.search(sentence, k=5)] for sentence in sentences
        ]


def ranked(collection, query, k=1000):
    """The best score of each document; a passage counts for the document whose key it begins with."""
    scores = {}
    for hit in collection.search(query, k=k, ranking="bm25", syntax="plain"):
        scores.setdefault(hit.key.partition("#")[0], hit.score)
    return scores


@pytest.mark.parametrize("seed", [1, 2])
def test_documents_and_passages_are_scored_alike(monkeypatch, seed):
    for shares in (by_words.SHARES, by_words.SHARES_IN_PROSE):
        monkeypatch.setitem(shares, "head", 0.0)  # passages have the head of their document
    documents = corpus(seed)
    cut = [
        {"key": f"{document['key']}#{number}", "text": text}
        for document in documents
        if document["long"]
        for number, text in enumerate(passages_of(document["text"]))
    ]
    queries = ["barl", "Barl elm inx", *[middle_of(document["text"], 6) for document in documents[::7]], "the barl of"]
    with Collection.create(documents) as collection:
        found = [ranked(collection, query) for query in queries]
        few = [ranked(collection, query, k=4) for query in queries]
    monkeypatch.setattr(passages, "MOST_WORDS", 1 << 30)
    with Collection.create([*documents, *cut]) as collection:
        for own, first, query in zip(found, few, queries, strict=True):
            expected = ranked(collection, query)
            assert own == pytest.approx(expected, rel=1e-4)
            assert list(own.values()) == sorted(own.values(), reverse=True)
            assert list(first.items()) == list(own.items())[:4]


def n_segments(collection):
    with collection.snapshot() as now:
        return len(Segments(now._store, passages.KIND).all())


@pytest.mark.parametrize("kind", ["texts", "vectors"])
def test_any_changes_give_the_answers_of_a_fresh_build(tmp_path, kind):
    documents, more = corpus(3, short=20), corpus(4, short=5)
    keywords = {"embedder": embed} if kind == "vectors" else {}
    queries = [middle_of(document["text"]) for document in (*documents, *more)[::5]]
    with Collection.create(tmp_path / "c.sth", documents, **keywords) as collection:
        other = Collection.open(tmp_path / "c.sth", **keywords)
        other.search("barl", ranking="bm25")
        for document in more:
            collection.upsert([document])
        assert n_segments(collection) <= 8
        gone = [document["key"] for document in more if document["long"]][:3]
        collection.delete(gone)
        collection.check()
        left = {document["key"]: document for document in (*documents, *more) if document["key"] not in gone}
        with Collection.create(left.values(), **keywords) as fresh:
            for query in queries:
                expected = ranked(fresh, query)
                assert ranked(collection, query) == pytest.approx(expected, rel=1e-4)
                assert ranked(other, query) == pytest.approx(expected, rel=1e-4)
        other.close()
        collection.relearn()
        collection.compact()
        collection.check()
        collection.delete([key for key, document in left.items() if document["long"]])
        collection.check()
        assert n_segments(collection) == 0
        assert collection.search("barl", ranking="bm25")


def test_replaced_in_the_same_build():
    documents = [{"key": "a", "text": prose(np.random.default_rng(n), 2000)} for n in range(3)]
    with Collection.create([*documents, {"key": "b", "text": "barl"}], replace=True) as collection:
        collection.check()
        collection.upsert([*documents[:2], documents[1]])
        collection.check()
        assert collection.search(middle_of(documents[1]["text"]), k=1)[0].key == "a"


@pytest.mark.parametrize(
    "text", ["some words " * 5000, "x" * 9000, "語" * 20_000, " " * 9000, "a b\n" * 751 + "c" * 4000]
)
def test_passages_hold_everything_that_is_short(text):
    found = passages_of(text)
    assert text.startswith(found[0])
    assert text.endswith(found[-1])
    assert all(SIZE // 2 < len(passage) < 2 * SIZE for passage in found)
    for begin in range(0, len(text) - 600, 97):
        assert any(text[begin : begin + 600] in passage for passage in found)
    with Collection.create([text, "other"], text_options=TextOptions(language="none")) as collection:
        collection.check()


def test_short_texts_have_none():
    assert passages_of("words " * 500) == []
    with Collection.create(["words " * 400, "more words"]) as collection:
        assert n_segments(collection) == 0


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM parts WHERE place = (SELECT min(place) FROM parts WHERE place >> 32 = {})",
        "UPDATE parts SET content = x'00' WHERE place = {} << 32 | (1 << 31)",
        "UPDATE parts SET content = substr(content, 2) WHERE place = {} << 32 | (1 << 31)",
        "DELETE FROM parts WHERE place >> 32 = {} AND place & 4294967295 = 4294967295",
        "DELETE FROM segments WHERE segment = {}",
    ],
)
def test_what_is_forged_is_refused(tmp_path, statement):
    path = tmp_path / "c.sth"
    with Collection.create(path, corpus()) as collection:
        collection.check()
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        ((number,),) = connection.execute("SELECT segment FROM segments WHERE kind = 'passages'").fetchall()
        assert connection.execute(statement.format(number)).rowcount
        for place, content in connection.execute("SELECT place, content FROM parts").fetchall():
            connection.execute("UPDATE parts SET sum = ? WHERE place = ?", (row_checksum((place, content)), place))
    with Collection.open(path) as collection:
        with contextlib.suppress(CollectionError):
            assert len(collection.search("barl Barl elm", k=100)) <= 66
        with pytest.raises(CollectionError):
            collection.check()


def test_texts_that_pack_well_make_no_end_of_segments(monkeypatch):
    monkeypatch.setattr(passages, "SEGMENT_CHARACTERS", 50_000)
    documents = [{"key": str(number), "text": "kitten " * 2000} for number in range(12)]
    with Collection.create(documents[:5]) as collection:
        for document in documents[5:]:
            collection.upsert([document])
        assert collection.check().documents == 12
        with collection._store.reading():
            assert 4 <= len(Segments(collection._store, passages.KIND).all()) <= 12
