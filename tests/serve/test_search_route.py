"""Searches by an address, and what an answer says besides its hits."""

TEXT = "a kitten with fur and a paw"


def test_search_by_address(still):
    for parameters, body in (
        ({"text": TEXT}, {"text": TEXT}),
        ({"text": TEXT, "k": 3, "radius": 5, "rerank": "false", "explain": "true"},
         {"text": TEXT, "k": 3, "radius": 5, "rerank": False, "explain": True}),
        ({"key": "d1", "factor": 7, "view": "true"}, {"key": "d1", "factor": 7, "view": True}),
        ({"text": TEXT, "where": '{"parity": 1, "number": [1, 3, 5]}'},
         {"text": TEXT, "where": {"parity": 1, "number": [1, 3, 5]}}),
        ({"vector": "[1, 2]"}, {"vector": [1, 2]}),
        ({}, {}),
        ({"text": TEXT, "key": "d1"}, {"text": TEXT, "key": "d1"}),
        ({"text": TEXT, "k": 0}, {"text": TEXT, "k": 0}),
        ({"text": TEXT, "where": '{"a": {"b": {}}}'}, {"text": TEXT, "where": {"a": {"b": {}}}}),
    ):  # fmt: skip
        asked, posted = still.get("/search", params=parameters), still.post("/search", json=body)
        assert asked.status_code == posted.status_code
        if asked.is_success:
            assert asked.json() | {"took_ms": 0} == posted.json() | {"took_ms": 0}
        else:
            assert asked.json()["error"]["code"] == posted.json()["error"]["code"]
    for wrong in ("{", "[", "nothing", "", "[" * 5000):
        response = still.get("/search", params={"text": TEXT, "where": wrong})
        assert (response.status_code, response.json()["error"]["code"]) == (422, "invalid_request")


def test_answers_say_what_became_of_the_words(still):
    said = {
        "ignored": ["the"],
        "unknown": ["kiten"],
        "suggestions": {"kiten": ["kitten"]},
        "corrected": {},
        "strategy": "postings",
        "ranking": "graph",
    }
    for body in ({}, {"view": True}, {"where": {"parity": 1}}):
        answer = still.post("/search", json={"text": "the kiten", "explain": True, "correct": False} | body).json()
        assert {name: answer[name] for name in said} == said
        assert answer["hits"] == []
    plain = still.post("/search", json={"text": "the kiten", "correct": False}).json()
    assert (plain["unknown"], plain["suggestions"]) == (["kiten"], {})


def test_words_are_corrected_and_the_ranking_is_chosen(still):
    right = still.post("/search", json={"text": "the kitten"}).json()
    for answer in (
        still.post("/search", json={"text": "the kiten", "correct": True}).json(),
        still.get("/search", params={"text": "the kiten", "correct": "true"}).json(),
    ):
        assert answer["corrected"] == {"kiten": "kitten"}
        assert answer["hits"] == right["hits"] != []
    for ranking in ("graph", "bm25", "cosine"):
        answer = still.get("/search", params={"text": TEXT, "ranking": ranking}).json()
        assert answer["ranking"] == ranking
        assert answer["strategy"] == ("codes" if ranking == "cosine" else "postings")
    wrong = still.get("/search", params={"text": TEXT, "ranking": "best"})
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (422, "invalid_request")


def test_many_answers_have_their_details(still):
    found = still.post("/search_many", json={"texts": ["the kiten", TEXT, "the"], "explain": True}).json()
    assert [about["unknown"] for about in found["details"]] == [["kiten"], [], []]
    assert [about["ignored"] for about in found["details"]] == [["the"], ["a", "with", "and"], []]
    assert found["details"][0]["suggestions"] == {"kiten": ["kitten"]}
    assert [bool(hits) for hits in found["answers"]] == [True, True, False]


def test_classification_of_nothing_known(still):
    found = still.post("/classify", json={"text": "the zzzz"}).json()
    assert found == {"label": None, "shares": {}, "voters": 0, "known": False, "ignored": ["the"], "unknown": ["zzzz"]}
