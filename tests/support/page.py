"""What the tests of the page have in common: what they ask for, and how they read what is shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page, expect

from sthash import Document

SIZES = {"wide": {"width": 1280, "height": 900}, "narrow": {"width": 390, "height": 760}}
QUERY = "parse the command line options of a program"
HOSTILE = [
    Document(
        "<img src=x onerror=hacked=1>",
        'A zebra <script>hacked=1</script> & <b onclick="hacked=1">bold</b> \u202egnp.exe \U0001f600 zebra',
        "<i>label</i>",
        {"<u>name</u>": "<s onmouseover=hacked=1>value</s>"},
    ),
    Document(
        "\u202ebackwards\u0000\ufeff", "Another zebra: '\"><svg/onload=hacked=1> javascript:hacked=1", '"onload="'
    ),
]


def keys(page: Page) -> list[str]:
    """Keys of the hits that are shown."""
    return page.locator(".hit").evaluate_all("items => items.map((item) => item.dataset.key)")


def numbers(page: Page, selector: str) -> list[float]:
    """The numbers with which some texts begin."""
    return [float(text.split()[0]) for text in page.locator(selector).all_inner_texts()]


def answered(page: Page, act: Callable[[], Any]) -> dict[str, Any]:
    """Do something and give the answer to the search that it leads to, once that is shown."""
    with page.expect_response(lambda response: "/search" in response.url and response.ok) as waiting:
        act()
    found = waiting.value.json()
    expect(page.locator(".hit .key bdi")).to_have_text([hit["key"] for hit in found["hits"]])
    return found


def ask(page: Page, text: str) -> dict[str, Any]:
    """Open the page, with all that tells how hits are found, and search."""
    page.goto("/#how=yes")
    return answered(page, lambda: page.fill("#query", text))


def slide(page: Page, radius: int) -> dict[str, Any]:
    """Move the slider."""
    return answered(page, lambda: page.locator("#radius").fill(str(radius)))
