"""Near-duplicates through their public function: equal to a slow twin, for every measure and every kind of source."""

import itertools

import numpy as np
import pytest

import sthash
from sthash import Document, TextOptions, TextVectorizer, near_duplicates
from sthash.duplicates import deduplicate
from support.corpus import make_documents
from support.factories import WORDS, create_collection, random_texts, with_copies


@pytest.fixture(scope="module")
def texts():
    """A third of the texts say nearly what another one says; two are blank; one is a copy."""
    return with_copies(random_texts(200, 30))


@pytest.fixture(scope="module")
def collection(texts, tmp_path_factory):
    documents = [Document(f"k{i}", text, "ab"[i % 2]) for i, text in enumerate(texts)]
    path = tmp_path_factory.mktemp("duplicates") / "c.sth"
    with create_collection(path, documents, n_bits=16, n_neighbors=5) as collection:
        yield collection


def shingles(text, size=5):
    words = text.split()
    size = min(size, len(words))
    return {tuple(words[at : at + size]) for at in range(len(words) - size + 1)} if words else set()


def similarities(texts, measure):
    """All similarities of two texts that have any, by the definition."""
    if measure == "cosine":
        rows = TextOptions().vectorizer().fit_transform(texts).toarray().astype(np.float64)
        return rows @ rows.T
    sets = list(map(shingles, texts))
    matrix = np.zeros((len(sets), len(sets)))
    for (i, a), (j, b) in itertools.product(enumerate(sets), repeat=2):
        whole = len(a | b) if measure == "jaccard" else len(a)
        matrix[i, j] = len(a & b) / whole if a and b else 0
    return matrix


def components(pairs):
    group_of = {}
    for a, b in pairs:
        merged = group_of.get(a, {a}) | group_of.get(b, {b})
        group_of.update(dict.fromkeys(merged, merged))
    return sorted({tuple(sorted(group)) for group in group_of.values()})


@pytest.mark.parametrize("measure", ["cosine", "jaccard", "containment"])
@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.8, 0.9, 1.0])
def test_pairs_equal_those_of_all_comparisons(texts, measure, threshold):
    exact = similarities(texts, measure)
    np.fill_diagonal(exact, 0)
    close = exact >= threshold - 1e-6
    found = near_duplicates(texts, threshold, measure=measure)
    assert found.complete
    for left, right, score in found.pairs:
        assert score == pytest.approx(exact[left, right], abs=1e-5)
    # A copy is only paired with the first text that has its words.
    same = {text.strip(): number for number, text in reversed(list(enumerate(texts))) if text.strip()}
    copies = {(same[text.strip()], number) for number, text in enumerate(texts) if text.strip()}
    copies = {(first, copy) for first, copy in copies if first != copy}
    for _, copy in copies:
        close[copy] = close[:, copy] = False
    true = set(zip(*(side.tolist() for side in np.nonzero(close)), strict=True))
    true = true if measure == "containment" else {(a, b) for a, b in true if a < b}
    assert {pair[:2] for pair in found.pairs} == true | copies
    assert [tuple(group) for group in found.groups] == components(true | copies)


@pytest.mark.parametrize("measure", ["cosine", "jaccard", "containment"])
def test_a_higher_threshold_needs_no_new_search(texts, measure):
    found = near_duplicates(texts, 0.5, measure=measure)
    for threshold in (0.5, 0.8, 0.95, 1.0):
        again = near_duplicates(texts, threshold, measure=measure)
        assert found.at(threshold).pairs == again.pairs
        assert found.at(threshold).groups == again.groups
    for wrong in (0.4, 1.1, float("nan")):
        with pytest.raises(ValueError, match=r"must be from 0\.5, which was searched with, to 1\. Search again"):
            found.at(wrong)


@pytest.mark.parametrize("measure", ["cosine", "jaccard"])
@pytest.mark.parametrize("threshold", [0.5, 0.9])
def test_complete_groups_hold_similar_pairs_only(texts, measure, threshold):
    exact = similarities(texts, measure)
    found = near_duplicates(texts, threshold, measure=measure, grouping="complete")
    assert found.groups == near_duplicates(texts, threshold, measure=measure).grouped("complete").groups
    members = [member for group in found.groups for member in group]
    assert len(members) == len(set(members))
    for group in found.groups:
        assert len(group) > 1
        for a, b in itertools.combinations(group, 2):
            assert exact[a, b] >= threshold - 1e-6
    # A chain a - b - c, whose ends differ, is one connected group but no complete one.
    chain = ["a b c d e f g h", "a b c d e f g h i j", "c d e f g h i j"]
    assert near_duplicates(chain, 0.6, measure="jaccard").groups == [[0, 1, 2]]
    assert near_duplicates(chain, 0.6, measure="jaccard", grouping="complete").groups == [[0, 1]]


@pytest.mark.parametrize("measure", ["cosine", "jaccard", "containment"])
def test_a_collection_gives_what_its_texts_give(collection, texts, measure):
    own = near_duplicates(texts, 0.6, measure=measure)
    stored = near_duplicates(collection, 0.6, measure=measure)
    assert [(int(left[1:]), int(right[1:])) for left, right, _ in stored.pairs] == [pair[:2] for pair in own.pairs]
    assert [score for *_, score in stored.pairs] == pytest.approx([score for *_, score in own.pairs], abs=1e-5)
    assert [[int(key[1:]) for key in group] for group in stored.groups] == own.groups


def test_texts_a_stream_and_a_collection_have_the_same_words(tmp_path):
    texts = [f"{what} of {where}" for what in ("the fire system", "a system", "an old interest") for where in WORDS[:9]]
    documents = [Document(str(number), text) for number, text in enumerate(texts)]
    own = near_duplicates(texts, 0.5, measure="cosine")
    assert 0.5 < own.pairs[-1].score < 1
    with create_collection(tmp_path / "c.sth", documents) as collection:
        stored = collection.near_duplicates(0.5, measure="cosine")
    assert [(int(left), int(right)) for left, right, _ in stored.pairs] == [pair[:2] for pair in own.pairs]
    assert [pair.score for pair in stored.pairs] == pytest.approx([pair.score for pair in own.pairs], abs=1e-5)
    with deduplicate(documents, 0.5, measure="cosine") as found:
        pairs = sorted((int(pair.left), int(pair.right), pair.score) for pair, _, _ in found.closest_pairs(10**6))
    assert [pair[:2] for pair in pairs] == sorted(pair[:2] for pair in own.pairs)
    assert [pair[2] for pair in pairs] == pytest.approx([pair.score for pair in sorted(own.pairs)], abs=1e-5)


def test_text_options(texts):
    assert near_duplicates(texts, text_options=TextOptions()).pairs == near_duplicates(texts, measure="cosine").pairs
    usual = TextOptions().vectorizer()
    assert near_duplicates(texts, text_options=usual).groups == near_duplicates(texts, measure="cosine").groups
    assert near_duplicates(["the fire", "the system"], text_options=TextVectorizer(stop_words=None)).groups == []
    with pytest.raises(TypeError, match=r"text_options is a str\. Pass TextOptions or a TextVectorizer"):
        near_duplicates(texts, text_options="english")


def test_a_radius_of_all_bits_leaves_out_nothing(collection):
    whole = near_duplicates(collection, 0.8).groups
    assert near_duplicates(collection, 0.8, radius=16).groups == whole
    near = near_duplicates(collection, 0.8, radius=2).groups
    assert all(any(set(group) <= set(other) for other in whole) for group in near)


def test_vectors(texts):
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(300, 40))
    vectors[200:] = vectors[:100] + 0.05 * rng.normal(size=(100, 40))
    vectors[5] = 0
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    close = np.triu(unit @ unit.T, 1) >= 0.98
    true = set(zip(*(side.tolist() for side in np.nonzero(close)), strict=True))
    found = near_duplicates(vectors=vectors, threshold=0.98)
    ours = {pair[:2] for pair in found.pairs}
    assert ours <= true
    assert len(ours) >= 0.97 * len(true) > 50
    beside = near_duplicates(texts[:300], 0.98, vectors=vectors.astype(np.float16))
    assert beside.documents.get(7).text == texts[7]
    with pytest.raises(ValueError, match="there are 2 texts and 300 vectors"):
        near_duplicates(texts[:2], vectors=vectors)
    with pytest.raises(TypeError, match="Pass it as vectors="):
        near_duplicates(vectors)
    with pytest.raises(TypeError, match="vectors are compared by cosine"):
        near_duplicates(vectors=vectors, measure="jaccard")


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_change_nothing(texts, threads):
    for measure in ("cosine", "jaccard", "containment"):
        assert (
            near_duplicates(texts, 0.5, measure=measure, threads=threads).pairs
            == near_duplicates(texts, 0.5, measure=measure).pairs
        )


def test_what_is_kept(collection):
    found = near_duplicates(collection, 0.8)
    group = next(group for group in found.groups if "k0" in group)
    assert group == ["k0", "k200", "k300"]
    place = found.groups.index(group)
    assert found.kept()[place] == ("k0", "first of 3")
    assert found.kept("newest")[place] == ("k300", "newest of 3")
    longest = max(group, key=lambda key: len(collection.get(key).text))
    key, reason = found.kept("longest")[place]
    assert key == longest
    assert reason.startswith("longest of 3: ")
    key, reason = found.kept(lambda document: -int(document.key[1:]))[place]
    assert (key, reason) == ("k0", "largest value of 3: 0")
    for keep in ("first", "longest", "newest", lambda document: document.text):
        kept = list(found.deduplicated(keep))
        assert len(kept) == len(collection) - sum(len(group) - 1 for group in found.groups)
        assert {"k301", "k302"} <= {document.key for document in kept}
    with pytest.raises(ValueError, match="keep='last' is not known"):
        found.dropped("last")


def test_results_can_be_looked_at(texts):
    found = near_duplicates([*texts[:3], "<b> " + texts[0]], 0.8)
    assert len(found) == 1
    assert list(found) == [[0, 3]]
    assert repr(found) == "<Duplicates: 1 pairs, 1 groups, 1 documents to drop at wording >= 0.8>"
    assert "&lt;b&gt;" in found._repr_html_()
    assert str(found.explain(0, 3)).startswith("{+<b> +}")
    assert found.explain(0, 3).score == found.pairs[0].score
    assert found.explain(0, 1).score is None
    assert "<ins>&lt;b&gt; </ins>" in found.explain(0, 3)._repr_html_()
    frame = found.to_frame()
    assert frame.to_dict("records") == [{"left": 0, "right": 3, "score": found.pairs[0].score, "group": 0}]
    assert [document.text for document in found.deduplicated()] == texts[:3]
    nothing = near_duplicates(["one", "two"])
    assert (nothing.pairs, nothing.groups, len(nothing.to_frame())) == ([], [], 0)
    assert nothing._repr_html_().startswith("<p>Duplicates: 0 pairs")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"threshold": 0}, ValueError, "threshold=0 must be above 0 and at most 1"),
        ({"threshold": 1.5}, ValueError, "threshold=1.5 must be above 0"),
        ({"threshold": float("nan")}, ValueError, "threshold=nan"),
        ({"threshold": "0.9"}, ValueError, "threshold='0.9'"),
        (
            {"measure": "jacard"},
            ValueError,
            "measure='jacard' is not known. Use one of: wording, cosine, jaccard, containment",
        ),
        ({"grouping": "all"}, ValueError, "grouping='all' is not known"),
        ({"shingle_words": 0}, ValueError, "shingle_words=0"),
        ({"radius": 3}, TypeError, "Leave radius= out, or pass a Collection"),
        ({"radius": 3, "measure": "jaccard"}, TypeError, "a radius goes with measure='cosine'"),
        ({"measure": "jaccard", "text_options": TextVectorizer()}, TypeError, "Leave text_options= out"),
    ],
)
def test_bad_arguments(texts, arguments, error, message):
    with pytest.raises(error, match=message):
        near_duplicates(texts, **arguments)


def test_bad_sources(collection):
    with pytest.raises(TypeError, match="got none"):
        near_duplicates()
    with pytest.raises(TypeError, match="Leave text_options= out"):
        near_duplicates(collection, text_options=TextVectorizer())
    with pytest.raises(TypeError, match="document 1 is a int, not a str"):
        near_duplicates(["a", 1])


def test_blank_texts_and_texts_of_one_word():
    for measure in ("cosine", "jaccard", "containment"):
        assert near_duplicates(["", " ", "...", ""], measure=measure).groups == []
        assert near_duplicates([], measure=measure).groups == []
        assert near_duplicates(["cat", "dog", "Cat!", "hen"], measure=measure).groups == [[0, 2]]
        assert near_duplicates(["mango"] * 5 + ["papaya"], measure=measure).groups == [[0, 1, 2, 3, 4]]
    # The weight of a word that every text has is zero, so that cosine sees blank texts.
    assert near_duplicates(["mango"] * 5, measure="jaccard").groups == [[0, 1, 2, 3, 4]]


def test_a_threshold_that_most_pairs_reach_is_refused():
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS[:20], 30)) for _ in range(2000)]
    with pytest.raises(ValueError, match=r"threshold=0\.1 would give about [\d,]+ pairs of 2,000 documents"):
        near_duplicates(texts, 0.1)


@pytest.mark.parametrize("measure", ["cosine", "jaccard", "containment"])
def test_many_copies_make_no_quadratic_work(measure):
    texts = ["the same words in the same order every time"] * 50_000 + ["others"]
    found = near_duplicates(texts, measure=measure)
    assert found.groups == [list(range(50_000))]
    assert len(found.pairs) == 49_999


def test_templates_are_joined_though_not_every_pair_is_listed():
    words = " ".join(f"w{number}" for number in range(60))
    texts = [f"{words} {number} end" for number in range(30_000)]
    found = near_duplicates(texts, 0.8, measure="jaccard")
    assert not found.complete
    assert found.groups == [list(range(30_000))]
    assert len(found.pairs) < 300 * len(texts)


def test_data_that_a_person_made(tmp_path):
    documents = make_documents(60)
    texts = [document.text for document in documents]
    found = sthash.near_duplicates([*texts, texts[3].upper()])
    assert [3, 60] in found.groups
