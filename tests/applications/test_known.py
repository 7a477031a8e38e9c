import pytest

from sthash.applications import known_copies
from support.corpus import make_documents
from support.factories import create_collection


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    path = tmp_path_factory.mktemp("known") / "c.sth"
    with create_collection(path, make_documents(120), n_bits=16, n_neighbors=5) as collection:
        yield collection


def test_copies_are_named(collection):
    text = collection.get("d7").text
    verdicts = known_copies(collection, [text.upper(), "words that nobody has", "", text + " more"])
    assert [verdict.is_new for verdict in verdicts] == [False, True, True, False]
    assert [verdict.key for verdict in verdicts] == ["0", "1", "2", "3"]
    assert verdicts[0].score == pytest.approx(1)
    assert collection.get(verdicts[0].copy_of).text == text
    assert verdicts[1] == ("1", True, None, 0)
    assert len(collection) == 120
    other = collection.get("d8").text
    assert known_copies(collection, [f"{text} {other}"], 1.0)[0].is_new
    with pytest.raises(ValueError, match="threshold=0 must be above 0"):
        known_copies(collection, [text], 0)
