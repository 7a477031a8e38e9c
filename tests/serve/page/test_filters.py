"""Filters, colors that keep their meaning, and the page that describes the API."""

from __future__ import annotations

import json

from playwright.sync_api import expect

from sthash import Collection
from support.page import QUERY, SIZES, answered, ask, keys


def only(page, condition):
    def act():
        page.fill("#filter", condition)
        page.press("#filter", "Enter")

    return answered(page, act)


def test_filters(sized, folder):
    page = sized
    before = ask(page, QUERY)
    only(page, "module=cmd")
    with Collection.open(folder / "library.sth") as collection:
        hits = collection.search(QUERY, 10, where={"module": "cmd"})
        either = collection.search(QUERY, 10, where={"module": ["cmd", "optparse"], "methods": True})
    assert keys(page) == [hit.key for hit in hits]
    only(page, "module = optparse")
    only(page, "methods")
    assert keys(page) == [hit.key for hit in either]
    expect(page.locator("#filters bdi")).to_have_text(["module=cmd", "module = optparse", "methods"])
    link = page.url
    page.goto("about:blank")
    answered(page, lambda: page.goto(link))
    assert keys(page) == [hit.key for hit in either]
    for _ in range(3):
        answered(page, lambda: page.locator("#filters button").first.click())
    assert keys(page) == [hit["key"] for hit in before["hits"]]
    assert "where" not in page.url
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]


def test_filters_that_no_document_meets(page):
    ask(page, QUERY)
    page.fill("#filter", "module=nothing")
    page.press("#filter", "Enter")
    expect(page.locator("#state")).to_contain_text("No document with these filters")
    answered(page, lambda: page.get_by_role("button", name="Search without filters").click())
    assert len(keys(page)) == 10
    page.fill("#filter", "this is nothing")
    page.press("#filter", "Enter")
    expect(page.locator("#filter-problem")).to_contain_text("is not a valid condition")
    expect(page.locator("#filters li")).to_have_count(0)
    page.fill("#filter", "")
    expect(page.locator("#filter-problem")).to_be_hidden()


def test_a_value_of_a_document_is_a_filter(page):
    ask(page, QUERY)
    page.locator(".hit .key").first.click()
    value = page.locator("#document-dialog .metadata .only").first.inner_text()
    answered(page, lambda: page.locator("#document-dialog .metadata .only").first.click())
    expect(page.locator("#filters bdi")).to_have_text([f"module={value}"])
    assert set(page.locator(".hit .label").all_inner_texts()) == {value}


def test_sorted_counted_and_collapsed(sized, folder):
    page = sized
    twins = [
        {"key": f"twin{n}", "text": "One gnugnu and its twin.", "tags": ["far", f"t{n}"], "size": n, "at": {"x": "<b>"}}
        for n in range(3)
    ]
    with Collection.open(folder / "library.sth") as collection:
        collection.add([*twins, {"key": "other", "text": "Another gnugnu stands in a field.", "size": 7}])
    page.goto("/")
    answered(page, lambda: page.fill("#query", "gnugnu"))
    answered(page, lambda: page.select_option("#sort", "-size"))
    assert keys(page) == ["other", "twin2", "twin1", "twin0"]
    assert "sort=-size" in page.url
    answered(page, lambda: page.click("#collapse"))
    assert keys(page) == ["other", "twin2"]
    expect(page.locator(".hit .copies").nth(1)).to_have_text("and 2 near-duplicates")
    answered(page, lambda: page.click("#narrow > summary"))
    rows = page.locator("#facet-lists li")
    expect(rows.filter(has_text="tags").locator(".facet").first).to_contain_text("far")
    expect(rows.filter(has_text="at.x").locator(".facet bdi")).to_have_text("<b>")
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    answered(page, lambda: rows.filter(has_text="tags").locator(".facet", has_text="t1").click())
    expect(page.locator("#filters bdi")).to_have_text(["tags contains t1"])
    assert keys(page) == ["twin1"]
    link = page.url
    page.goto("about:blank")
    answered(page, lambda: page.goto(link))
    assert keys(page) == ["twin1"]
    expect(page.locator("#sort")).to_have_value("-size")
    expect(page.locator("#collapse")).to_have_attribute("aria-checked", "true")
    expect(page.locator("#facet-lists .facet").first).to_be_visible()
    with Collection.open(folder / "library.sth") as collection:
        collection.delete(["other", "twin0", "twin1", "twin2"])


CONDITIONS = {
    "label=sport": {"label": ["sport"]},
    "year=2020": {"year": ["2020", 2020]},
    "year>=2020|year < 2024": {"year": {">=": 2020, "<": 2024}},
    "language in en, de": {"language": ["en", "de"]},
    'title="in, fact"': {"title": ["in, fact"]},
    "author exists|editor not exists": {"author": {"exists": True}, "editor": {"exists": False}},
    "!draft": {"draft": {"not in": ["true", True]}},
    "a=1|a=b": {"a": ["1", 1, "b"]},
    "a!=1|a=b": {"a": {"not in": ["1", 1], "in": ["b"]}},
    "tags contains cup|tags contains 7": {"tags": {"contains": ["cup", 7]}},
    'author.name contains "7"': {"author.name": {"contains": ["7"]}},
    "__proto__=1": {"__proto__": ["1", 1]},
}


def test_conditions_mean_the_same_as_on_the_command_line(page):
    page.goto("/#how=yes")
    for written, where in CONDITIONS.items():
        parse = "async given => JSON.stringify((await import('/page/filters.js')).toWhere(given))"
        assert json.loads(page.evaluate(parse, written.split("|"))) == where, written
    for value in ("cmd", 7, "7", True, "true", " x", 'say "x"', "", "a,b"):
        parse = """async value => { const filters = await import('/page/filters.js');
                   return filters.toWhere([filters.condition('f', value)]).f.includes(value); }"""
        assert page.evaluate(parse, value), value


def test_hits_come_before_the_histogram_on_phones(page):
    tops = "id => document.getElementById(id).getBoundingClientRect().top"
    for size, first in (("wide", "histogram"), ("narrow", "hits")):
        page.set_viewport_size(SIZES[size])
        ask(page, QUERY)
        expect(page.locator(".hit").first).to_be_visible()
        order = sorted(("histogram", "hits"), key=lambda name: page.evaluate(tops, name))
        assert order[0] == first, size


def test_colors_keep_their_meaning(page):
    def colors():
        rows = page.locator(".hit .label, #legend li").evaluate_all(
            "items => items.map((item) => [item.innerText, item.style.getPropertyValue('--hue')])"
        )
        return {tuple(row) for row in rows}

    seen, legends = set(), []
    for query in (QUERY, "send an email message", "compress a file", "a queue of tasks"):
        ask(page, query)
        expect(page.locator("#legend li")).to_have_count(7)
        seen |= colors()
        legends.append(page.locator("#legend li").all_inner_texts())
    assert len({label for label, _ in seen}) == len(seen)
    assert all(legend == legends[0] for legend in legends)
    page.goto("/#how=yes")
    expect(page.locator("#legend li")).to_have_text(legends[0])


def test_the_api_is_described(sized):
    page = sized
    page.goto("/docs#search_by_address")
    routes = page.locator(".route")
    expect(routes.first).to_be_visible()
    described = page.evaluate("fetch('/openapi.json').then((answer) => answer.json())")
    assert routes.count() == sum(len(methods) for methods in described["paths"].values())
    opened = page.locator("#search_by_address")
    expect(opened.get_by_role("textbox", name="where")).to_be_visible()
    opened.get_by_role("textbox", name="text", exact=True).fill(QUERY)
    opened.get_by_role("textbox", name="collection").fill("library")
    opened.get_by_role("button", name="Send").click()
    expect(opened.locator("pre")).to_contain_text("cmd.Cmd.parseline")
    posted = page.locator("#search")
    posted.locator("summary").click()
    posted.get_by_role("textbox", name="collection").fill("library")
    posted.get_by_role("textbox", name="Body").fill(json.dumps({"text": QUERY}))
    posted.get_by_role("button", name="Send").click()
    expect(posted.locator("pre")).to_contain_text("cmd.Cmd.parseline")
    one = page.locator("#document")
    one.locator("summary").click()
    one.get_by_role("textbox", name="key", exact=True).fill("cmd.Cmd")
    one.get_by_role("textbox", name="collection").fill("library")
    one.get_by_role("button", name="Send").click()
    expect(one.locator("pre")).to_contain_text('"key": "cmd.Cmd"')
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
