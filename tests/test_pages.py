"""The documentation tells the truth: the code of every page runs, in order, and prints what the page shows."""

import re
from dataclasses import replace

import pytest

from support.components import installed, require
from support.pages import NO_PROGRAM, PAGES, blocks, name_of, runner

# Blocks that cannot run here, by something that they contain. Nothing else is left out.
NOT_RUN = {
    "docs/tutorials/duplicates.md": {"my_model:encode": "a model of the reader's own"},
    "docs/coming-from.md": {"from txtai import": "PyTorch"},
    "docs/reproducing.md": {"sth reproduce": "the paper's corpora may not be distributed"},
    "docs/scores.md": {"ng20.tfidf.mat": "the corpora of the literature may not be distributed"},
    "docs/scaling.md": {
        "http://milvus:19530": "a Milvus server",
        ".fit(table)": "a table on a cluster; see the tutorial",
    },
}
if not installed("chromadb"):
    NOT_RUN["docs/coming-from.md"]["import chromadb"] = "what only the benchmarks need is not among the tests' packages"
    NOT_RUN["docs/coming-from.md"]["news.search(vectors[0], k=3"] = "it compares with Chroma"
# What pages need beside our own dependencies.
NEEDS = {
    "docs/coming-from.md": ("benchmark peers",),
    "docs/integrations.md": ("LangChain and its tests", "LlamaIndex", "Haystack", "Hugging Face datasets", "MCP"),
}
# Pages whose blocks another test runs, because they need more than this one has.
OTHERS = {
    "README.md": "tests/test_readme.py",
    "docs/databases.md": "tests/docs/test_databases.py",
    "docs/embedders/model2vec.md": "tests/docs/test_embedders.py",
    "docs/embedders/openai.md": "tests/docs/test_embedders.py",
    "docs/embedders/sentence-transformers.md": "tests/docs/test_embedders.py",
    "examples/README.md": "tests/cli/test_examples.py",
}
WITH_CODE = [page for page in PAGES if name_of(page) not in OTHERS and blocks(page.read_text(encoding="utf-8"))]


def left_out(name, block):
    return any(part in block.body for part in NOT_RUN.get(name, ()))


@pytest.mark.parametrize("page", WITH_CODE, ids=name_of)
def test_the_code_of_the_page_runs(page, tmp_path, capsys, request):
    name, found = name_of(page), blocks(page.read_text(encoding="utf-8"))
    require(*NEEDS.get(name, ()))
    assert {block.language for block in found} <= {"python", "sh", *NO_PROGRAM}
    code = [block for block in found if block.language in ("python", "sh") and not left_out(name, block)]
    if any("spark" in block.body for block in code):
        request.getfixturevalue("spark")
    with runner(name, tmp_path, capsys) as running:
        for block in code:
            running.run(block)


def test_the_code_of_the_readme_can_be_run_again(tmp_path, capsys):
    (page,) = (page for page in PAGES if name_of(page) == "README.md")
    code = [block for block in blocks(page.read_text(encoding="utf-8")) if block.language in ("python", "sh")]
    with runner("README.md", tmp_path, capsys) as running:
        for block in code * 2:
            running.run(replace(block, output=None))


def test_what_is_not_run_is_there():
    for name, parts in NOT_RUN.items():
        (page,) = (page for page in PAGES if name_of(page) == name)
        for part in parts:
            assert any(part in block.body for block in blocks(page.read_text(encoding="utf-8"))), (name, part)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_code_is_fenced_and_has_a_language(page):
    text = page.read_text(encoding="utf-8")
    assert all(block.language for block in blocks(text))
    outside = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    assert not re.search(r"\n\n {4}(?![-*\d ])\S", outside), "an indented block: put it between fences"
