import pytest

from sthash.duplicates import compare_texts, shared_passages

LEFT = "As Hamlet says: To be, or not to be -- that is the question; whether 'tis nobler in the mind to suffer."


def test_passages_have_their_places():
    right = "A pupil wrote: to be or not to be, that is THE question. And: nobler in the mind to suffer than to act."
    passages = shared_passages(LEFT, right)
    assert [passage.text for passage in passages] == [
        "To be, or not to be -- that is the question",
        "nobler in the mind to suffer",
    ]
    for passage in passages:
        assert LEFT[slice(*passage.left)] == passage.text
        assert right[slice(*passage.right)].lower().split()[0] == passage.text.lower().split()[0].strip(",")
    assert [passage.words for passage in passages] == [10, 6]
    assert shared_passages(LEFT, right, min_words=11) == []


def test_passages_of_the_same_text_are_one():
    (passage,) = shared_passages(LEFT, LEFT)
    assert passage.left == passage.right == (0, len(LEFT) - 1)


@pytest.mark.parametrize(
    ("left", "right", "shared"),
    [
        ("東京都に住んでいる人は多いです", "彼は東京都に住んでいる人です", "東京都に住んでいる人"),
        ("ÄRGER über große Häuser am See", "der Ärger über große häuser am see!", "ÄRGER über große Häuser am See"),
        ("banana ana nas and some more fruit", "banana ana nas and some", "banana ana nas and some"),
    ],
)
def test_passages_in_other_scripts(left, right, shared):
    (passage,) = shared_passages(left, right, min_words=4)
    assert passage.text == shared == left[slice(*passage.left)]
    assert right[slice(*passage.right)].lower() == shared.lower()


def test_repeated_words_make_no_quadratic_work():
    passages = shared_passages("very " * 5000 + "good", "very " * 3000)
    assert [passage.words for passage in passages] == [3000, 2000]


@pytest.mark.parametrize(("left", "right"), [("", ""), ("", "a b c d e f"), ("a b c", "a b c")])
def test_too_little_to_share(left, right):
    assert shared_passages(left, right) == []


def test_what_differs():
    explanation = compare_texts("a black cat sat", "a white cat sat down")
    assert explanation.changes == [
        ("equal", "a "),
        ("delete", "black"),
        ("insert", "white"),
        ("equal", " cat sat"),
        ("insert", " down"),
    ]
    for left, right in ((LEFT, LEFT[5:40]), ("", LEFT), ("same", "same")):
        changes = compare_texts(left, right).changes
        assert "".join(part for kind, part in changes if kind != "insert") == left
        assert "".join(part for kind, part in changes if kind != "delete") == right
