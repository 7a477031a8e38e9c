"""The documentation site builds without a warning, has every public name, and works in a browser without a network."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import check_site
import site_pages
import sthash
from support.components import require
from support.page import SIZES

ROOT = Path(__file__).parents[1]
WIDE_PAGES = ("index", "method", "benchmarks", "reference/measures")


def build(folder):
    command = [sys.executable, "-m", "sphinx", "-qW", "--keep-going", "-c", "docs", "-d", folder / "trees"]
    made = subprocess.run([*command, ROOT, folder / "site"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    return folder / "site"


def public_names():
    for path in sorted((ROOT / "docs" / "reference").glob("*.md")):
        for mark in site_pages.MARK.finditer(path.read_text(encoding="utf-8")):
            if mark[1] == "names":
                module = importlib.import_module(mark[2])
                yield from ((path.stem, f"{mark[2]}.{name}") for name in site_pages.public_names(module))


def is_documented(site, page, name):
    top = f"sthash.{name.rpartition('.')[2]}"
    return any(
        f'id="{known}"' in (site / f"docs/reference/{place}.html").read_text(encoding="utf-8")
        for place, known in ((page, name), ("sthash", top))
    )


def look(browser, site, scheme, size):
    """Search and read; nothing may be asked of other sites, and nothing be wider than the screen."""
    context = browser.new_context(viewport=SIZES[size], color_scheme=scheme, offline=True)
    page = context.new_page()
    page.set_default_timeout(30_000)
    asked = set()
    page.on("request", lambda request: asked.add(request.url.partition(":")[0]))
    page.goto((site / "search.html").as_uri() + "?q=near+duplicates")
    page.locator("#search-results li a", has_text="Find near-duplicates").first.wait_for()
    for name in WIDE_PAGES:
        page.goto((site / "docs" / f"{name}.html").as_uri())
        root = page.locator("html")
        assert root.evaluate("root => root.scrollWidth <= root.clientWidth"), name
        red = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0]")
        assert (int(red) < 128) == (scheme == "dark")
    assert asked <= {"file", "data"}
    context.close()


def test_the_site(tmp_path, request):
    """All in one, because the site is built once."""
    require("Sphinx")
    site = build(tmp_path)
    assert list(check_site.complaints(site)) == []
    assert [name for page, name in public_names() if not is_documented(site, page, name)] == []
    browser = request.getfixturevalue("browser")
    look(browser, site, "light", "wide")
    look(browser, site, "dark", "narrow")


def test_every_package_is_in_the_reference():
    pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "reference").glob("*.md"))
    packages = {path.parent.name for path in Path(sthash.__file__).parent.glob("*/__init__.py")}
    inside = {"cli", "integrations"}  # their pages have the commands, and the names of each module
    assert {name for name in packages - inside if f"<!-- site: names sthash.{name} -->" not in pages} == set()


@pytest.mark.parametrize(
    ("link", "complaint"),
    [
        ('<a href="b.html#here">', None),
        ('<a href="https://example.org/x">', None),
        ('<a href="#gone">', "no such anchor"),
        ('<a href="b.html#gone">', "no such anchor"),
        ('<a href="c.html">', "no such file"),
        ('<a href="../outside.html">', "no such file"),
        ('<script src="https://example.org/x.js">', "from another site"),
    ],
)
def test_broken_links_are_found(tmp_path, link, complaint):
    site = tmp_path / "site"
    site.mkdir()
    (tmp_path / "outside.html").touch()
    (site / "a.html").write_text(link)
    (site / "b.html").write_text('<p id="here">')
    found = list(check_site.complaints(site))
    assert [complaint in text for text in found] == [True] if complaint else found == []


def test_links_to_folders_lead_to_their_readme():
    text = "[a](examples) [b](src/core) [c](README.md) ![d](docs/images)"
    assert site_pages.without_folders(text, ROOT) == "[a](examples/README.md) b [c](README.md) ![d](docs/images)"
