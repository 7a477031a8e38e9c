"""The page on narrow screens, in both themes, and without a mouse."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from support.page import QUERY, answered, ask, keys


def test_the_keyboard_does_it_all(page):
    page.goto("/#how=yes")
    page.keyboard.press("/")
    expect(page.locator("#query")).to_be_focused()
    answered(page, lambda: page.keyboard.insert_text(QUERY))
    page.keyboard.press("Escape")
    page.locator("#skip").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#results")).to_be_focused()
    assert page.input_value("#query") == QUERY
    for key, row in (("j", 0), ("j", 1), ("j", 2), ("k", 1)):
        page.keyboard.press(key)
        expect(page.locator(".hit article").nth(row)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#document-key")).to_have_text(keys(page)[1])
    page.keyboard.press("Escape")
    expect(page.locator("#document-dialog")).to_be_hidden()
    expect(page.locator("#rerank")).to_have_attribute("aria-checked", "true")
    answered(page, lambda: page.keyboard.press("x"))
    expect(page.locator("#rerank")).to_have_attribute("aria-checked", "false")
    radius = int(page.input_value("#radius"))
    answered(page, lambda: page.keyboard.press("["))
    assert int(page.input_value("#radius")) == radius - 1
    page.keyboard.press("?")
    expect(page.locator("#help-dialog")).to_be_visible()
    page.keyboard.press("Escape")
    page.locator(".hit article").first.focus()
    other = keys(page)[0]
    answered(page, lambda: page.keyboard.press("m"))
    assert page.locator("#like bdi").inner_text() == other


@pytest.mark.parametrize("width", [320, 390])
def test_narrow_screens_do_not_scroll_sideways(page, width):
    page.set_viewport_size({"width": width, "height": 720})
    wide = "document.documentElement.scrollWidth"
    page.goto("/#how=yes")
    expect(page.locator(".start").first).to_be_visible()
    assert page.evaluate(wide) <= width
    ask(page, "zebra")
    assert page.evaluate(wide) <= width
    page.locator("#map-card summary").click()
    expect(page.locator("#map")).to_be_visible()
    answered(page, lambda: page.click("#rerank"))
    assert page.evaluate(wide) <= width
    for opener, dialog in ((".hit .key", "#document-dialog"), ("#add", "#add-dialog"), ("#help", "#help-dialog")):
        page.locator(opener).first.click()
        box = page.locator(dialog).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        page.keyboard.press("Escape")


# The contrast of each visible text with the colors behind it, as the guidelines (WCAG 2) compute it.
CONTRASTS = """() => {
  const pen = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
  const rgb = (...layers) => {
    pen.clearRect(0, 0, 1, 1);
    for (const layer of layers) { pen.fillStyle = layer; pen.fillRect(0, 0, 1, 1); }
    return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (color) => color.map((part) => part / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    .reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !element.checkVisibility()) continue;
    if (element.closest("template, .unseen, .skip, option")) continue;
    const layers = [];
    for (let at = element; at; at = at.parentElement) layers.unshift(getComputedStyle(at).backgroundColor);
    const [back, front] = [rgb(...layers), rgb(...layers, getComputedStyle(element).color)].map(light);
    const ratio = (Math.max(back, front) + 0.05) / (Math.min(back, front) + 0.05);
    found.push([ratio, element.className || element.tagName, texts.currentNode.data.slice(0, 30)]);
  }
  return found;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_both_themes(page, scheme):
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    ask(page, QUERY)
    page.wait_for_timeout(1000)
    answered(page, lambda: page.click("#rerank"))
    found = page.evaluate(CONTRASTS)
    assert len(found) > 100
    assert [row for row in found if row[0] < 4.5] == []
    page.click("#help")
    assert [row for row in page.evaluate(CONTRASTS) if row[0] < 4.5] == []


def test_the_theme_can_be_chosen(page):
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    page.goto("/#how=yes")
    paper = "getComputedStyle(document.documentElement).backgroundColor"
    light = page.evaluate(paper)
    page.click("#theme")
    assert page.evaluate(paper) == light
    page.click("#theme")
    assert page.evaluate(paper) != light
    page.reload()
    assert page.evaluate(paper) != light
    page.click("#theme")
    assert page.evaluate(paper) == light
