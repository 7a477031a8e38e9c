"""The page as people use it: a real server, and Chromium."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import numpy as np
from playwright.sync_api import expect

from sthash import Collection, Document
from support.browser import serving
from support.page import HOSTILE, QUERY, answered, ask, keys, numbers, slide


def test_hits_as_one_types(page, folder):
    page.goto("/#how=yes")
    page.locator("#query").press_sequentially(QUERY, delay=8)
    expect(page.locator("#code code")).to_be_visible()
    with Collection.open(folder / "library.sth") as collection:
        hits = collection.search(QUERY, 10, explain=True)
        codes = collection.encode([hit.text for hit in hits])
        own = collection.encode([QUERY])[0]
    expect(page.locator(".hit .key bdi")).to_have_text([hit.key for hit in hits])
    assert numbers(page, ".cosine dd:first-of-type") == [round(hit.score, 3) for hit in hits]
    assert numbers(page, ".distance dd") == [hit.distance for hit in hits]
    assert page.locator("#code code").inner_text() == own.tobytes().hex()
    for row, (hit, code) in enumerate(zip(hits, codes, strict=True)):
        item = page.locator(".hit").nth(row)
        assert tuple(item.locator(".terms li").all_inner_texts()) == hit.terms
        assert item.locator(".label").inner_text() == hit.label
        # Each bit is one move of a path.
        drawn = {
            path.get_attribute("class"): path.get_attribute("d").count("M")
            for path in item.locator(".strip path").all()
        }
        assert drawn.get("differ-on", 0) + drawn.get("differ-off", 0) == hit.distance
        assert drawn.get("on", 0) + drawn.get("differ-on", 0) == int(np.bitwise_count(code).sum())
        assert sum(drawn.values()) == 64
        places = np.flatnonzero(np.unpackbits(code ^ own, bitorder="little"))
        said = item.locator(".strip").get_attribute("aria-label")
        assert said == f"{hit.distance} of 64 bits differ: {', '.join(map(str, places))}"
    marked = {word.lower() for word in page.locator(".snippet mark").all_inner_texts()}
    assert {"parse", "command", "line"} <= marked
    assert f"10 of {hits.total} hits" in page.locator("#status").inner_text()


def test_how_hits_are_found_is_told_when_asked_for(sized, folder):
    page = sized
    page.goto("/")
    found = answered(page, lambda: page.fill("#query", QUERY))
    assert "counts" not in found
    for part in ("#code", "#histogram", "#map-card", "#ranking", ".hit .strip-holder", ".hit .terms", ".hit .figures"):
        expect(page.locator(part).first).to_be_hidden()
    with Collection.open(folder / "library.sth") as collection:
        hits = collection.search(QUERY, 10, snippet=320)
    for row, hit in enumerate(hits):
        snippet = page.locator(".hit .snippet").nth(row)
        shown = [hit.snippet.text[start:end] for start, end in hit.snippet.spans]
        assert snippet.locator("mark").all_inner_texts() == shown
    answered(page, lambda: page.click("#how > summary"))
    expect(page).to_have_url(re.compile("how=yes"))
    for part in ("#code", "#histogram", "#map-card", "#ranking", ".hit .strip", ".hit .terms", ".hit .figures"):
        expect(page.locator(part).first).to_be_visible()
    expect(page.locator("#found")).to_have_text(
        "Found in the posting lists, ranked by BM25 and the neighbors of a hit."
    )
    page.click("#how > summary")
    expect(page.locator("#histogram")).to_be_hidden()
    expect(page).not_to_have_url(re.compile("how=yes"))
    answered(page, lambda: page.keyboard.press("x"))  # a setting of the ball shows it
    expect(page.locator("#histogram")).to_be_visible()


def test_pages_of_hits(sized, folder):
    page = sized
    page.goto("/")
    found = answered(page, lambda: page.fill("#query", "parse the command line"))
    expect(page.locator("#previous")).to_be_disabled()
    answered(page, lambda: page.click("#next"))
    expect(page.locator("#summary")).to_contain_text(f"11 to 20 of {found['total']} hits")
    assert page.locator(".hit article").first.get_attribute("aria-label").startswith("11: ")
    assert "offset=10" in page.url
    shown = keys(page)
    page.goto("about:blank")
    answered(page, lambda: page.go_back())
    assert keys(page) == shown
    answered(page, lambda: page.click("#previous"))
    assert keys(page) == [hit["key"] for hit in found["hits"]]
    page.goto("/#q=compress&offset=9990")  # beyond the last page
    expect(page.locator("#summary")).to_contain_text("hits")
    expect(page.locator(".hit .key bdi").first).to_contain_text("compress")
    ask(page, "zebra")
    expect(page.locator("#pager")).to_be_hidden()


def test_titles(page, folder):
    with Collection.open(folder / "library.sth") as collection:
        collection.add([{"key": "of/yaks", "text": "A \U0001f600 yakyak eats.", "title": "On <b>yaks</b>"}])
    page.goto("/")
    page.fill("#query", "yakyak")
    expect(page.locator(".hit .key bdi")).to_have_text(["On <b>yaks</b>"])
    expect(page.locator(".hit .document-key")).to_have_text("of/yaks")
    expect(page.locator(".hit .snippet mark")).to_have_text(["yakyak"])
    with Collection.open(folder / "library.sth") as collection:
        collection.delete("of/yaks")


def test_an_answer_that_comes_too_late_is_thrown_away(page):
    ask(page, "compress")
    held = []
    page.route(
        "**/search*", lambda route: held.append(route) if "email" in route.request.post_data else route.continue_()
    )
    with page.expect_request(lambda request: "email" in (request.post_data or "")):
        page.fill("#query", "send an email message")
    found = answered(page, lambda: page.fill("#query", QUERY))
    page.unroute_all()
    page.wait_for_timeout(200)
    assert keys(page) == [hit["key"] for hit in found["hits"]]


def test_the_radius_decides_what_is_looked_at(page):
    found = ask(page, QUERY)
    assert page.locator("#auto").get_attribute("aria-pressed") == "true"
    assert f"auto · {found['radius_used']} bits" in page.locator("#radius-shown").inner_text()
    near = sorted(numbers(page, ".distance dd"))[4]
    before = keys(page)
    smaller = slide(page, int(near))
    assert max(numbers(page, ".distance dd")) <= near
    assert page.locator("#auto").get_attribute("aria-pressed") == "false"
    within = sum(smaller["counts"][: int(near) + 1])
    assert f"The ball holds {within} of" in page.locator("#ball-says").inner_text()
    assert page.locator("#histogram .inside").count() == sum(count > 0 for count in smaller["counts"][: int(near) + 1])
    gone = set(before) - set(keys(page))
    assert f"{len(gone)} gone" in page.locator("#changes").inner_text()
    assert set(page.locator("#gone bdi").all_inner_texts()) == gone
    assert f"radius={int(near)}" in page.url
    answered(page, lambda: page.click("#auto"))
    assert keys(page) == before


def test_a_ball_that_is_empty_says_how_far_to_widen_it(page):
    found = ask(page, QUERY)
    nearest = next(distance for distance, count in enumerate(found["counts"]) if count)
    assert nearest > 0
    slide(page, 0)
    expect(page.locator("#state")).to_contain_text("No document within 0 bits")
    answered(page, lambda: page.get_by_role("button", name=f"Widen the ball to {nearest} bit").click())
    assert set(numbers(page, ".distance dd")) == {nearest}


def test_re_ranking_shows_what_moves(page, folder):
    ask(page, QUERY)
    slide(page, 24)
    page.wait_for_timeout(1000)  # what comes sooner belongs to the same gesture
    before = keys(page)
    answered(page, lambda: page.click("#rerank"))
    after = keys(page)
    with Collection.open(folder / "library.sth") as collection:
        assert after == [hit.key for hit in collection.search(QUERY, 10, radius=24, rerank=False)]
    assert after != before
    for row, key in enumerate(after):
        badge = page.locator(".hit").nth(row).locator(".move")
        move = before.index(key) - row if key in before else "new"
        said = {"new": "new"}.get(move) or (f"▲ {move}" if move > 0 else f"▼ {-move}") if move else ""
        assert badge.inner_text() == said if said else badge.is_hidden()
    page.wait_for_timeout(1000)
    answered(page, lambda: page.click("#rerank"))
    assert keys(page) == before
    cosines = numbers(page, ".cosine dd:first-of-type")
    assert cosines == sorted(cosines, reverse=True)


def test_one_may_type_before_it_is_known_what_is_served(page):
    held = []
    page.route("**/collections*", lambda route: held.append(route))
    page.goto("/#how=yes")
    page.fill("#query", f"{QUERY} {'and so on ' * 500}")  # too long for the address to keep
    page.wait_for_timeout(400)
    assert page.locator(".hit").count() == 0
    answered(page, lambda: held[0].continue_())
    assert "cmd.Cmd.parseline" in keys(page)
    assert page.input_value("#query").startswith(QUERY)


def test_what_a_link_asks_for_outlives_early_typing(page):
    held = []
    page.route("**/collections*", lambda route: held.append(route))
    page.goto("/#q=compress&k=5&how=yes")
    page.fill("#query", QUERY)
    page.wait_for_function("location.hash.includes('parse')")
    found = answered(page, lambda: held[0].continue_())
    assert len(found["hits"]) == 5
    assert "radius_used" in found  # and all else that tells how the hits were found
    assert "k=5" in page.url
    assert "how=yes" in page.url


def test_words_that_nobody_knows(page):
    page.goto("/#how=yes")
    page.fill("#query", "qqxzqq")
    expect(page.locator("#state")).to_contain_text("No known words")
    assert keys(page) == []


def test_a_random_document_and_more_like_it(page, folder):
    page.goto("/#how=yes")
    found = answered(page, lambda: page.click("#random"))
    while not found["hits"] or '"' in page.input_value("#query"):  # quotes would mean phrases
        found = answered(page, lambda: page.click("#random"))
    key = page.locator("#like bdi").inner_text()
    assert key
    assert key not in keys(page)
    assert page.input_value("#query") != ""
    other = keys(page)[0]
    answered(page, lambda: page.locator(".hit .more").first.click())
    assert page.locator("#like bdi").inner_text() == other
    expect(page.locator("#query")).not_to_have_value("")
    answered(page, page.go_back)
    assert page.locator("#like bdi").inner_text() == key
    text = page.input_value("#query")
    answered(page, lambda: page.click("#unlike"))
    assert page.input_value("#query") == text
    # By its text it finds itself, or copies of it.
    shown = page.locator(".hit .key bdi").all_inner_texts()
    with Collection.open(folder / "library.sth") as collection:
        assert key in shown or text in [collection.get(found).text for found in shown]


def test_a_welcome_with_documents_to_start_from(page):
    page.goto("/#how=yes")
    first = page.locator(".start strong").first
    expect(first).to_be_visible()
    key = first.inner_text()
    answered(page, first.click)
    assert page.locator("#like bdi").inner_text() == key
    page.click("#clear")
    expect(page.locator(".state.welcome")).to_be_visible()
    assert page.locator(".hit").count() == 0


def test_add_a_document_find_it_and_delete_it(page, folder, trouble):
    text = "The walrus oils the gearbox of a logging handler\nand compresses its email."
    ask(page, "walrus")
    documents = int(re.sub(r"\D", "", page.locator("#facts").inner_text().split("document")[0]))
    page.click("#add")
    page.fill("#add-dialog [name=text]", text)
    page.fill("#add-dialog [name=key]", "of/walruses?")
    page.fill("#add-dialog [name=label]", "sea")
    answered(page, lambda: page.click("#add-dialog [type=submit]"))
    expect(page.locator("#add-dialog")).to_be_hidden()
    assert keys(page)[0] == "of/walruses?"
    assert numbers(page, ".distance dd")[0] == 0
    assert f"{documents + 1:,} documents" in page.locator("#facts").inner_text()
    with Collection.open(folder / "library.sth") as collection:
        assert collection.get("of/walruses?") == Document("of/walruses?", text, "sea")
    # Once more with the same key: told, and nothing of what was written is lost.
    page.click("#add")
    page.fill("#add-dialog [name=key]", "of/walruses?")
    page.click("#add-dialog [type=submit]")
    expect(page.locator("#add-dialog .problem")).to_contain_text("of/walruses?")
    assert page.input_value("#add-dialog [name=text]") == text
    assert "409" in trouble.said.pop()
    page.keyboard.press("Escape")
    page.locator(".hit .key").first.click()
    page.click("#document-dialog .delete")
    answered(page, lambda: page.get_by_role("button", name="Delete for good?").click())
    assert "of/walruses?" not in keys(page)
    with Collection.open(folder / "library.sth") as collection:
        assert "of/walruses?" not in collection


def test_script_in_documents_is_text(page):
    ask(page, "zebra")
    assert set(keys(page)[:2]) == {document.key for document in HOSTILE}
    row = page.locator(".hit", has_text="A zebra")
    assert "<script>hacked=1</script>" in row.locator(".snippet").inner_text()
    assert row.locator(".label").inner_text() == "<i>label</i>"
    row.locator(".key").click()
    dialog = page.locator("#document-dialog")
    assert '<b onclick="hacked=1">bold</b>' in dialog.locator(".text").inner_text()
    assert "<s onmouseover=hacked=1>value</s>" in dialog.locator(".metadata").inner_text()
    page.keyboard.press("Escape")
    answered(page, row.locator(".more").click)
    made = page.locator("#hits, #document-dialog, #like").locator(
        "script, img, i, b, u, s, [onclick], [onload], [onerror]"
    )
    assert made.count() == 0
    assert page.evaluate("typeof hacked") == "undefined"


def test_the_policy_forbids_inline_script_and_other_sites(page, trouble):
    page.goto("/#how=yes")
    page.evaluate("document.body.append(Object.assign(document.createElement('script'), {textContent: 'hacked=1'}))")
    assert page.evaluate("typeof hacked") == "undefined"
    assert page.evaluate("fetch('http://localhost:1/').then(() => 'sent', () => 'refused')") == "refused"
    assert len(trouble.said) >= 2
    assert all("Content Security Policy" in said for said in trouble.said)
    trouble.said.clear()


def test_the_server_goes_and_comes_back(page, folder, trouble):
    with serving(folder / "library.sth") as (address, server):
        page.goto(f"{address}/#how=yes")
        answered(page, lambda: page.fill("#query", QUERY))
        before = keys(page)
        server.kill()
        server.wait()
        page.click("#rerank")
        expect(page.locator("#state.bad")).to_contain_text("The server does not answer")
        assert keys(page) == before  # what was found stays to be read
        page.click("#rerank")
        expect(page.locator("#state.bad")).to_be_visible()
    with serving(folder / "library.sth", urlsplit(address).port):
        expect(page.locator("#state")).to_be_hidden(timeout=30_000)  # the page tries again after some seconds
        expect(page.locator(".hit .key bdi")).to_have_text(before)
    assert all("ERR_CONNECTION_REFUSED" in said for said in trouble.said)
    trouble.said.clear()


def test_a_busy_server_is_asked_again(page):
    ask(page, "compress")
    busy = {"error": {"code": "overloaded", "message": "too many requests", "remedy": "wait"}}
    page.evaluate(
        """busy => { const real = fetch; window.fetch = async (...given) => {
             window.fetch = real; return Response.json(busy, {status: 503, headers: {"Retry-After": "1"}}); } }""",
        busy,
    )
    page.fill("#query", QUERY)
    expect(page.locator("#summary")).to_contain_text("The server is busy")
    expect(page.locator("#summary")).to_contain_text("10 of ")
    assert "cmd.Cmd.parseline" in keys(page)


def test_keys_are_asked_for(page, folder, trouble):
    secrets = {"STHASH_READ_KEY": "a-key-to-read", "STHASH_WRITE_KEY": "a-key-to-write"}
    dialog = page.locator("#key-dialog")

    def give(key: str) -> None:
        dialog.locator("[name=key]").fill(key)
        dialog.locator("[type=submit]").click()

    with serving(folder / "library.sth", **secrets) as (address, _):
        page.goto(address)
        expect(dialog).to_contain_text("needs a read key")
        dialog.get_by_role("button", name="Cancel").click()
        expect(page.locator("#state.bad")).to_contain_text("key is needed")
        page.get_by_role("button", name="Try again").click()
        give("not-the-key")
        expect(dialog).to_contain_text("That key was not right")
        give("a-key-to-read")
        expect(page.locator(".start").first).to_be_visible()
        answered(page, lambda: page.fill("#query", QUERY))
        page.click("#add")
        page.fill("#add-dialog [name=text]", "a kept secret")
        page.fill("#add-dialog [name=key]", "secret")
        page.click("#add-dialog [type=submit]")
        expect(dialog).to_contain_text("write key")
        give("a-key-to-write")
        expect(page.locator("#add-dialog")).to_be_hidden()
        expect(page.locator(".toast")).to_contain_text("Added")
        page.reload()  # the keys last as long as the tab
        expect(page.locator(".hit, .state.none").first).to_be_visible()
        expect(dialog).to_be_hidden()
    with Collection.open(folder / "library.sth") as collection:
        collection.delete("secret")
    assert all("401" in said or "403" in said for said in trouble.said)
    trouble.said.clear()


def test_a_file_is_the_query(page, tmp_path):
    file = tmp_path / "query.txt"
    file.write_text("Compress and decompress a file with gzip, caf\u00e9.", encoding="latin-1")
    page.goto("/#how=yes")
    answered(page, lambda: page.set_input_files("#file", file))
    assert page.input_value("#query") == file.read_text(encoding="latin-1")
    drop = """text => { const carried = new DataTransfer();
      carried.items.add(new File([text], "dropped.txt", {type: "text/plain"}));
      for (const type of ["dragover", "drop"])
        document.body.dispatchEvent(new DragEvent(type, {dataTransfer: carried, bubbles: true, cancelable: true})); }"""
    answered(page, lambda: page.evaluate(drop, QUERY))
    assert page.input_value("#query") == QUERY
    page.evaluate(drop, "PK\0\0binary")
    expect(page.locator(".toast.bad")).to_contain_text("does not look like text")
    assert page.input_value("#query") == QUERY


def test_a_link_shows_the_same(page):
    ask(page, QUERY)
    slide(page, 20)
    answered(page, lambda: page.click("#rerank"))
    answered(page, lambda: page.select_option("#count", "5"))
    link, shown = page.url, keys(page)
    page.goto("about:blank")
    answered(page, lambda: page.goto(link))
    assert keys(page) == shown
    assert len(shown) == 5
    assert page.input_value("#query") == QUERY
    assert page.input_value("#radius") == "20"
    expect(page.locator("#rerank")).to_have_attribute("aria-checked", "false")


def test_documents_on_the_map(page):
    ask(page, QUERY)
    tip, canvas = page.locator("#map-tip"), page.locator("#map").bounding_box()
    for step in range(60):
        page.mouse.move(canvas["x"] + canvas["width"] * (0.2 + step / 100), canvas["y"] + canvas["height"] * 0.45)
        if tip.is_visible():
            break
    key = tip.locator("bdi").first.inner_text()
    page.mouse.down()
    page.mouse.up()
    expect(page.locator("#document-key")).to_have_text(key)
    page.keyboard.press("Escape")
    assert len(page.locator("#legend li").all()) == 7
    # Drawing waits for the next frame, and a point under the mouse is drawn in another way.
    picture = "document.querySelector('#map').toDataURL()"
    page.mouse.move(5, 5)
    expect(tip).to_be_hidden()
    before = page.evaluate(f"new Promise(done => requestAnimationFrame(() => setTimeout(() => done({picture}), 50)))")
    page.click("#zoom-in")
    page.wait_for_function(f"before => {picture} !== before", arg=before)
    page.click("#zoom-fit")
    page.mouse.move(5, 5)
    page.wait_for_function(f"before => {picture} === before", arg=before)


def test_a_collection_of_vectors(page):
    page.goto("/#how=yes")
    page.select_option("#collection", "vectors")
    expect(page.locator("#facts")).to_have_text("200 documents")
    expect(page.locator("#query")).to_have_js_property("readOnly", True)
    expect(page.locator("#add")).to_be_hidden()
    answered(page, lambda: page.click("#random"))
    assert "in=vectors" in page.url
    assert page.locator(".hit .strip").first.get_attribute("aria-label").split(" bits")[0].endswith("of 16")


def test_a_collection_of_embeddings_is_searched_by_text(page):
    page.goto("/#how=yes")
    page.select_option("#collection", "meanings")
    expect(page.locator("#query")).to_have_js_property("readOnly", False)
    answered(page, lambda: page.fill("#query", "cat whisker"))
    assert page.locator(".hit").count() > 0


def test_a_collection_without_codes(page):
    page.goto("/#how=yes")
    page.select_option("#collection", "uncoded")
    expect(page.locator("#facts")).to_have_text("60 documents")
    found = answered(page, lambda: page.fill("#query", "cat whisker"))
    assert found["ranking"] == "hybrid"
    assert len(found["hits"]) == 10
    for part in ("#ball-title", "#ball-says", "#radius", "#auto", "#rerank", "#map-card", "#code", ".hit .distance"):
        expect(page.locator(part).first).to_be_hidden()
    assert page.locator(".hit .strip").count() == 0
    answered(page, lambda: page.select_option("#count", "5"))
    assert len(keys(page)) == 5
    page.locator("#results").focus()
    for key in ("x", "]", "["):
        page.keyboard.press(key)
    assert "rerank" not in page.url
    assert "radius" not in page.url
    answered(page, lambda: page.click("#random"))
    answered(page, lambda: page.goto("/#in=uncoded&q=cat&radius=3&rerank=no"))
    answered(page, lambda: page.select_option("#collection", "meanings") and page.fill("#query", "ship sail"))
    expect(page.locator("#radius")).to_be_visible()
    expect(page.locator(".hit .distance").first).to_be_visible()
