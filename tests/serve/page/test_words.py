"""The words of the query, and how hits are ranked: from what is typed to what the page says."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from sthash import Collection
from support.page import QUERY, answered, ask, keys


def test_words_of_the_query(sized):
    page = sized
    ask(page, "the comand lnie of <b>qqxzqq</b> prograam option file string text value")
    words = page.locator("#words")
    expect(words.locator(".ignored")).to_have_text("Too common to count: the, of")
    expect(words.locator(".unknown")).to_have_text("In no document: qqxzqq")
    expect(words.locator(".suggested").first).to_contain_text("In no document: comand. Did you mean command")
    assert "command" in words.locator(".suggestion").all_inner_texts()
    assert "line" in words.locator(".suggestion").all_inner_texts()
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    answered(page, lambda: words.get_by_role("button", name="line", exact=True).click())
    assert page.input_value("#query") == "the comand line of <b>qqxzqq</b> prograam option file string text value"
    meant = words.locator(".meant").inner_text()
    assert meant == "the command line of <b>qqxzqq</b> program option file string text value"
    answered(page, lambda: words.locator(".meant").click())
    assert page.input_value("#query") == meant
    expect(words.locator(".suggestion")).to_have_count(0)
    expect(words.locator(".unknown")).to_have_text("In no document: qqxzqq")
    answered(page, lambda: page.fill("#query", "command line"))
    expect(words).to_be_hidden()


def test_a_typing_error_alone(page):
    page.goto("/#how=yes")
    page.fill("#query", "comand")
    expect(page.locator("#words .corrected")).to_contain_text("command")
    assert keys(page)
    expect(page.locator("#state")).to_be_hidden()


def test_nothing_but_common_words(page):
    page.goto("/#how=yes")
    found = ask(page, "of the and")
    assert (found["ignored"], len(keys(page))) == ([], 10)
    expect(page.locator("#words")).to_be_hidden()


def test_signs_and_quotes(page, folder):
    found = ask(page, '"command line" -option')
    with Collection.open(folder / "library.sth") as collection:
        assert keys(page) == [hit.key for hit in collection.search('"command line" -option')]
    assert all(re.search(r"command\w*\W+lin", hit["text"], re.IGNORECASE) for hit in found["hits"])
    open_quote = ask(page, '"command line" "of a')
    assert (open_quote["reading"], bool(open_quote["hits"])) == ("plain", True)
    expect(page.locator("#words .reading")).to_have_count(0)
    assert ask(page, "+email +zebra")["reading"] == "relaxed"
    expect(page.locator("#words .reading")).to_contain_text("No document meets the operators")


def test_rankings(sized, folder):
    page = sized
    first = ask(page, QUERY)
    assert (first["ranking"], first["strategy"]) == ("graph", "postings")
    expect(page.locator("#found")).to_contain_text("ranked by BM25 and the neighbors of a hit")
    expect(page.locator("#found")).to_contain_text("in the posting lists")
    expect(page.locator(".score-name").first).to_have_text("score")
    assert page.locator(".meter span").first.evaluate("meter => meter.style.width") == "100%"
    for ranking, said in (("bm25", "by BM25"), ("cosine", "by cosine"), ("graph", "by BM25 and the neighbors")):
        found = answered(page, lambda ranking=ranking: page.select_option("#ranking", ranking))
        assert found["ranking"] == ranking
        expect(page.locator("#found")).to_contain_text(said)
        with Collection.open(folder / "library.sth") as collection:
            assert keys(page) == [hit.key for hit in collection.search(QUERY, ranking=ranking)]
        assert f"rank={ranking}" in page.url
    link, shown = page.url, keys(page)
    page.goto("about:blank")
    answered(page, lambda: page.goto(link))
    assert keys(page) == shown
    expect(page.locator("#ranking")).to_have_value("graph")
    # Codes decide within a radius, and for a document.
    found = answered(page, lambda: page.locator("#radius").fill("20"))
    assert (found["ranking"], found["strategy"]) == ("cosine", "codes")
    expect(page.locator("#ranking")).to_be_disabled()
    answered(page, lambda: page.locator("#auto").click())
    expect(page.locator("#ranking")).to_be_enabled()
    answered(page, lambda: page.locator(".hit .more").first.click())
    expect(page.locator("#ranking")).to_be_disabled()
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
