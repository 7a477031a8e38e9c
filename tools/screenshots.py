"""Take the pictures of the page: ``make screenshots``."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, expect, sync_playwright

from sthash import Collection
from support.browser import library_documents, serving
from support.components import chromium

QUERY = "parse the command line options of a program"


@dataclass(frozen=True)
class Picture:
    """One picture: the part of the address after the ``#``, the screen and what is clicked."""

    name: str
    fragment: str
    width: int
    height: int
    scheme: Literal["light", "dark"]
    click: str | None = None


PICTURES = (
    Picture("serve", f"q={QUERY}", 1360, 900, "light"),
    Picture("serve-dark", f"q={QUERY}&radius=15", 1360, 900, "dark", "#rerank"),
    Picture("serve-narrow", "q=compress data with gzip", 390, 980, "light"),
)


def take(browser: Browser, address: str, picture: Picture, folder: Path) -> None:
    """Open the page as the picture says, and save it."""
    context = browser.new_context(
        viewport={"width": picture.width, "height": picture.height},
        color_scheme=picture.scheme,
        reduced_motion="reduce",
        device_scale_factor=2 if picture.width < 600 else 1,
    )
    page = context.new_page()
    page.goto(f"{address}/#{picture.fragment}")
    expect(page.locator(".hit").first).to_be_visible()
    page.wait_for_load_state("networkidle")
    if picture.click:
        with page.expect_response("**/search*"):
            page.click(picture.click)
        page.mouse.move(0, 0)
        expect(page.locator("#changes")).to_be_visible()
    page.screenshot(path=folder / f"{picture.name}.png")
    context.close()


def main(folder: Path) -> None:
    """Serve the documentation of Python's standard library and take all pictures of it."""
    found = chromium()
    if found is None:
        sys.exit("make screenshots needs Chromium. On Debian: apt-get install chromium")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        collection = Path(place, "python.sth")
        Collection.create(collection, library_documents()).close()
        with serving(collection) as (address, _), sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=found)
            take(browser, address, PICTURES[0], Path(place))  # the first search reads the file, and shows how long
            for picture in PICTURES:
                take(browser, address, picture, folder)
            browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
