"""Texts of several fields with weights: BM25F, in Python and at the command line."""

import json

import pytest
from typer.testing import CliRunner

from sthash import Collection
from sthash.cli import app
from sthash.sources.fields import text_fields

# The same words in the same number of words, in different fields.
PETS = [
    {"key": "title", "title": "fish", "body": "a cat sleeps all day"},
    {"key": "body", "title": "day", "body": "a cat sleeps all fish"},
]


def keys(hits):
    return [hit.key for hit in hits]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (["title", "body"], ["title", "body"]),
        ("title,body", ["title", "body"]),
        ({"title": 5, "body": 1}, ["title", "body"]),
        ("title^1,body^4", ["body", "title"]),
        (["body", "title"], ["body", "title"]),
    ],
)
def test_a_field_that_weighs_more_ranks_first(text, found):
    with Collection.create(PETS, text=text) as collection:
        assert keys(collection.search("fish", ranking="bm25")) == found
        collection.check()


def test_equal_weights_are_one_text():
    joined = [{"key": pet["key"], "text": f"{pet['title']}\n\n{pet['body']}"} for pet in PETS]
    with Collection.create(PETS, text={"title": 1, "body": 1}) as fields, Collection.create(joined) as one:
        wanted = [(hit.key, hit.text, hit.score) for hit in one.search("fish cat")]
        assert [(hit.key, hit.text, hit.score) for hit in fields.search("fish cat")] == wanted


def test_documents_keep_their_title_and_the_text_once():
    with Collection.create(PETS, text=["title", "body"]) as collection:
        found = collection.get("title")
    assert (found.text, found.metadata) == ("fish\n\na cat sleeps all day", {"title": "fish"})


def test_weights_hold_for_what_is_added_relearned_and_exported(tmp_path):
    with Collection.create(tmp_path / "a.sth", PETS[:1], text={"title": 3, "body": 1}) as grown:
        grown.add(PETS[1:])  # the collection knows its fields
        grown.upsert([{"key": "plain", "text": "one text"}])
        grown.relearn()
        grown.check()
        scores = [(hit.key, hit.score) for hit in grown.search("fish", ranking="bm25")]
        assert grown.info()["fields"] == {"title": 3, "body": 1}
        exported = list(grown.export())
    with Collection.create(exported, text={"title": 3, "body": 1}) as fresh:
        assert [(hit.key, hit.score) for hit in fresh.search("fish", ranking="bm25")] == scores


def test_fields_within_fields():
    records = [{"key": key, "head": {"title": key}, "body": "dog cat"} for key in ("dog", "cat")]
    with Collection.create(records, text={"head.title": 9, "body": 1}) as collection:
        assert keys(collection.search("cat", ranking="bm25")) == ["cat", "dog"]


def test_an_empty_field_is_left_out_and_a_missing_one_is_an_error():
    with Collection.create([{"title": None, "body": "x"}], text=["title", "body"]) as collection:
        assert collection.get("0").text == "x"
    with pytest.raises(ValueError, match=r"has no field 'title'. Set text \(--text\)"):
        Collection.create([{"body": "x"}], text=["title", "body"])


@pytest.mark.parametrize("text", [["a", "a"], {"a": 0}, {"a": 101}, {"a": 1.5}, {"a": True}, "a^x,b", [], [""], [1]])
def test_fields_that_make_no_sense(text):
    with pytest.raises((TypeError, ValueError), match=r"field|weight"):
        text_fields(text)


def test_the_command_line(tmp_path):
    source, file = tmp_path / "pets.jsonl", str(tmp_path / "pets.sth")
    source.write_text("".join(json.dumps(pet) + "\n" for pet in PETS))

    def sth(*arguments):
        result = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.stdout

    sth("build", file, str(source), "--text", "title", "--text", "body^4")
    assert [json.loads(line)["key"] for line in sth("search", file, "fish", "--json").splitlines()] == ["body", "title"]
    source.write_text(json.dumps({"key": "new", "title": "zebra", "body": "fish"}) + "\n")
    sth("add", file, str(source))
    with Collection.open(file) as collection:
        assert collection.get("new").text == "zebra\n\nfish"
