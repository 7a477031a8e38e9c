"""The guide to databases tells the truth: its blocks run as they are written, and all databases agree."""

import re
from pathlib import Path

import pytest

import sthash
from sthash import codes
from support.components import require

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "databases.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """The names that the blocks of the page have defined, run from top to bottom."""
    require("Postgres with pgvector", "DuckDB")
    from support.postgres import postgres

    folder = tmp_path_factory.mktemp("databases")
    (folder / "examples").symlink_to(ROOT / "examples", target_is_directory=True)
    with pytest.MonkeyPatch.context() as patch, postgres() as address:
        patch.chdir(folder)
        patch.setenv("DATABASE_URL", address)
        defined = {}
        for number, block in enumerate(re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE), start=1):
            exec(compile(block, f"block {number} of databases.md", "exec"), defined)
        yield defined
        for name in ("postgres", "duck", "lite"):
            defined[name].close()


@pytest.fixture(scope="module")
def expected(names):
    """Keys and distances of the 20 nearest codes since 2019, by the library."""
    documents, stored, query = names["documents"], names["stored"], names["query"]
    recent = [place for place, document in enumerate(documents) if document.metadata["year"] >= 2019]
    distances = codes.distances(query.codes, stored[recent])[0].tolist()
    keys = (documents[place].key for place in recent)
    return [(key, distance) for distance, key in sorted(zip(distances, keys, strict=True))[:20]]


@pytest.mark.parametrize("name", ["in_postgres", "in_duckdb", "in_sqlite", "in_plain_sql"])
def test_every_database_has_the_order_of_the_library(name, names, expected):
    assert [(key, distance) for key, _, distance in names[name]] == expected


def test_the_index_of_postgres_is_used_and_finds_the_nearest(names):
    postgres, asked = names["postgres"], {"code": names["as_bits"](names["query"].codes)[0], "k": 20}
    postgres.execute("SET enable_seqscan = off")  # 200 rows are too few for it otherwise
    plan = "\n".join(line for (line,) in postgres.execute(f"EXPLAIN {names['BY_INDEX']}", asked))
    assert "Index Scan using news_code_idx" in plan
    found = {key for key, _ in postgres.execute(names["BY_INDEX"], asked)}
    distances = codes.distances(names["query"].codes, names["stored"])[0]
    place = {document.key: place for place, document in enumerate(names["documents"])}
    limit = sorted(distances.tolist())[19]
    assert len(found) == 20
    assert sum(distances[place[key]] <= limit for key in found) >= 16
    assert len(names["by_index"]) == 20


def test_bits_are_counted_without_pgvector_too(names):
    asked = names["as_bits"](names["query"].codes)[0]
    statement = "SELECT bit_count(code # %(code)s::bit(64)), (code <~> %(code)s::bit(64))::int FROM news"
    counted = names["postgres"].execute(statement, {"code": asked}).fetchall()
    assert len(counted) == 200
    assert all(plain == operator for plain, operator in counted)


def test_long_bit_strings_in_duckdb(names):
    assert names["distance"] == codes.distances(names["query"].codes, names["stored"][:1])[0, 0]


def test_the_client_reranks_by_the_cosines_of_the_library(names):
    hits = names["hits"]
    labels = {document.key: document.label for document in names["documents"]}
    assert [labels[key] for key, _ in hits[:3]] == ["space"] * 3
    vectorizer = sthash.TextOptions().vectorizer().fit(names["texts"])
    texts = {document.key: document.text for document in names["documents"]}
    query = vectorizer.transform(["pictures of distant planets"])
    cosines = [(vectorizer.transform([texts[key]]) @ query.T).toarray()[0, 0] for key, _ in hits]
    assert [cosine for _, cosine in hits] == pytest.approx(cosines, abs=1e-5)
    assert cosines == sorted(cosines, reverse=True)
