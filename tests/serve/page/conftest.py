"""A server with some collections, and a browser that looks at them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from sthash import Collection, Learning
from support.browser import library_documents, serving
from support.corpus import make_documents
from support.embedders import embed
from support.factories import create_collection
from support.page import HOSTILE, SIZES

MODULES = ("argparse", "asyncio", "cmd", "collections", "csv", "email", "gzip", "json", "logging", "optparse", "pdb")


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents, some of them hostile; vectors; and embeddings with and without codes, whose embedder is served."""
    folder = tmp_path_factory.mktemp("page")
    documents = [
        replace(document, metadata={"module": document.label, "methods": document.key.count(".") > 1})
        for document in library_documents(*MODULES)
    ]
    Collection.create(folder / "library.sth", [*documents, *HOSTILE]).close()
    vectors = np.random.default_rng(0).normal(size=(200, 12)).astype(np.float32)
    named = [{"key": f"vector {row}", "text": ""} for row in range(200)]
    Collection.create(folder / "vectors.sth", named, vectors=vectors, learning=Learning(n_bits=16)).close()
    create_collection(folder / "meanings.sth", make_documents(60), embedder=embed, n_bits=16, n_neighbors=8).close()
    Collection.create(folder / "uncoded.sth", make_documents(60), embedder=embed).close()
    return folder


@pytest.fixture(scope="session")
def address(folder: Path) -> Iterator[str]:
    tests = str(Path(__file__).parents[2])
    with serving(folder, 0, "--embedder", "support.embedders:embed", PYTHONPATH=tests) as (address, _):
        yield address


@dataclass
class Trouble:
    """What the browser complained about; a test that provokes it says so by clearing it."""

    said: list[str] = field(default_factory=list)

    def listen(self, page: Page) -> None:
        page.on("console", lambda note: self.said.append(note.text) if note.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self.said.append(str(error)))


@pytest.fixture
def trouble() -> Iterator[Trouble]:
    trouble = Trouble()
    yield trouble
    assert trouble.said == []


@pytest.fixture
def page(browser: Browser, address: str, trouble: Trouble) -> Iterator[Page]:
    """A fresh page, without any request to elsewhere."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, base_url=address, reduced_motion="reduce")
    context.set_default_timeout(15_000)
    opened = context.new_page()
    trouble.listen(opened)
    requested: list[str] = []
    opened.on("request", lambda request: requested.append(urlsplit(request.url).hostname))
    yield opened
    context.close()
    assert set(requested) <= {"127.0.0.1"}


@pytest.fixture(params=SIZES)
def sized(page: Page, request: pytest.FixtureRequest) -> Page:
    """The same page on a desk and on a phone."""
    page.set_viewport_size(SIZES[request.param])
    return page
