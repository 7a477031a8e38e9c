"""A collection's file, and a Milvus Lite that is empty before each test."""

import pytest

from sthash import Document
from support.corpus import make_documents
from support.factories import create_collection

ODD = [
    Document("blank", ""),
    Document("only stop words", "the of and"),
    Document(
        "it's \"odd\" \\ 100% {x} 'y'\n\x00\ud800 ключ 鍵 \ufdd0",
        "cat purr whisker \x00 \udfff \ufdd0 кот 猫 \U0001f431",
    ),
    Document("", "ship sail harbour", "", {"nested": {"a": [1, None, "\ud800'\""]}, "q\"'\\": 1.5}),
    Document("copy 1", "star planet orbit telescope", None, {"big": 2**63 - 1}),
    Document("copy 2", "star planet orbit telescope", "stars"),
]


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    path = tmp_path_factory.mktemp("built") / "some.sth"
    create_collection(path, [*make_documents(300), *ODD], n_bits=12, n_neighbors=10).close()
    return path


@pytest.fixture
def by_code(collection):
    """All documents of the file as hits for a query, by Hamming distance and then by id."""
    place = {document.key: place for place, document in enumerate(collection)}

    def ranked(query):
        hits = collection.search(query, len(collection), rerank=False)
        return sorted(hits, key=lambda hit: (hit.distance, place[hit.key]))

    return ranked


@pytest.fixture(scope="session")
def lite(tmp_path_factory):
    """One Milvus Lite for all tests, because it takes its time to start."""
    from sthash.milvus.milvus_server import MilvusServer

    server = MilvusServer(str(tmp_path_factory.mktemp("lite") / "milvus.db"), "", 10)
    yield server
    server.close()


@pytest.fixture
def uri(lite):
    yield lite.uri
    for name in lite.call("list_collections"):
        lite.call("drop_collection", name)


@pytest.fixture
def there(collection, uri):
    from sthash.milvus import MilvusCollection

    with MilvusCollection.push(collection, uri, "some") as pushed:
        yield pushed
