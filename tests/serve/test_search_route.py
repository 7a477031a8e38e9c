"""Searches by an address, and what an answer says besides its hits."""

from sthash import Collection

TEXT = "a kitten with fur and a paw"


def test_search_by_address(still):
    for parameters, body in (
        ({"q": TEXT}, {"text": TEXT}),
        ({"q": TEXT, "k": 3, "radius": 5, "rerank": "false", "explain": "true"},
         {"text": TEXT, "k": 3, "radius": 5, "rerank": False, "explain": True}),
        ({"key": "d1", "factor": 7, "view": "true"}, {"key": "d1", "factor": 7, "view": True}),
        ({"q": TEXT, "where": '{"parity": 1, "number": [1, 3, 5]}'},
         {"text": TEXT, "where": {"parity": 1, "number": [1, 3, 5]}}),
        ({"vector": "[1, 2]"}, {"vector": [1, 2]}),
        ({}, {}),
        ({"q": TEXT, "key": "d1"}, {"text": TEXT, "key": "d1"}),
        ({"q": TEXT, "k": 0}, {"text": TEXT, "k": 0}),
        ({"q": TEXT, "where": '{"a": {"b": {}}}'}, {"text": TEXT, "where": {"a": {"b": {}}}}),
    ):  # fmt: skip
        asked, posted = still.get("/search", params=parameters), still.post("/search", json=body)
        assert asked.status_code == posted.status_code
        if asked.is_success:
            assert asked.json() | {"took_ms": 0} == posted.json() | {"took_ms": 0}
        else:
            assert asked.json()["error"]["code"] == posted.json()["error"]["code"]
    for wrong in ("{", "[", "nothing", "", "[" * 5000):
        response = still.get("/search", params={"q": TEXT, "where": wrong})
        assert (response.status_code, response.json()["error"]["code"]) == (422, "invalid_request")


def test_answers_say_what_became_of_the_words(still, monkeypatch):
    class Hits(list):
        ignored, unknown, suggestions = ("the",), ["kiten"], {"kiten": ("kitten",)}
        strategy, ranking = "postings", "bm25"

    said = {
        "ignored": ["the"],
        "unknown": ["kiten"],
        "suggestions": {"kiten": ["kitten"]},
        "strategy": "postings",
        "ranking": "bm25",
    }
    search = Collection.search
    monkeypatch.setattr(Collection, "search", lambda *given, **options: Hits(search(*given, **options)))
    for body in ({"text": "the kiten"}, {"text": "the kiten", "view": True}, {"text": "x", "where": {"parity": 1}}):
        answer = still.post("/search", json=body).json()
        assert {name: answer[name] for name in said} == said
