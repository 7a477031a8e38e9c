"""Every word can be found, as it was written: stop words, names, forms of a word, and forms of Unicode."""

from __future__ import annotations

import unicodedata

import pytest

from sthash import Collection, _core
from sthash.collection.indexes.forms import count_forms, forms_of
from sthash.collection.search import by_words
from sthash.text.analyzer import WordAnalyzer
from sthash.text.languages import language_stop_words
from sthash.text.scanning import scan_words

# 50 names of Python's standard library.
IDENTIFIERS = [
    "is_dir",
    "is_file",
    "O_CLOEXEC",
    "os.path.join",
    "os.path.exists",
    "run_until_complete",
    "sys.exit",
    "__init__",
    "__getattr__",
    "__slots__",
    "RLock",
    "BytesIO",
    "StringIO",
    "TextIOWrapper",
    "DEFAULT_BUFFER_SIZE",
    "SOCK_STREAM",
    "AF_INET",
    "os.environ",
    "sys.argv",
    "re.compile",
    "collections.abc",
    "functools.wraps",
    "lru_cache",
    "namedtuple",
    "OrderedDict",
    "defaultdict",
    "HTTPConnection",
    "urlopen",
    "ZipFile",
    "TarFile",
    "is_absolute",
    "with_suffix",
    "relative_to",
    "NamedTemporaryFile",
    "mkstemp",
    "get_terminal_size",
    "copyfileobj",
    "rmtree",
    "SequenceMatcher",
    "get_close_matches",
    "ArgumentParser",
    "add_argument",
    "KeyboardInterrupt",
    "sys.stdout.write",
    "self.assertEqual",
    "time.monotonic",
    "is_set",
    "not_found",
    "to_bytes",
    "from_bytes",
]
NAMES = [
    "debian/rules",
    "CVE-2021-44228",
    "3.0.2-1",
    "C++",
    "user@example.org",
    "https://example.org/a/b?c=d",
    "std::vector",
]
STOP_WORDS = sorted(language_stop_words("english"))


def decomposed(text):
    return unicodedata.normalize("NFD", text)


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    """Each name once whole, and its parts in two documents that have them more often."""
    documents = []
    for name in IDENTIFIERS + NAMES:
        scanned = scan_words([name])
        parts = [scanned.words[number] for number in scanned.numbers]
        apart = " and then ".join(parts) if len(parts) > 1 else "nothing of it"
        documents += [f"Here one calls {name}, as the manual says.", f"{apart}, {apart}", f"{apart} {apart} {apart}"]
    with Collection.create(tmp_path_factory.mktemp("forms") / "named.sth", documents) as collection:
        yield collection


@pytest.mark.parametrize("name", IDENTIFIERS + NAMES)
def test_a_name_is_found_whole_first(named, name):
    hits = named.search(name, 3)
    assert name in hits[0].text
    assert hits.reading == "plain"
    assert name in named.search(f"what is {name}?", 3)[0].text


def test_a_compound_alone_is_a_name(tmp_path):
    texts = ["known well, well known, known well", "a well-known thing", "well known, well known, well known"]
    with Collection.create(tmp_path / "a.sth", texts) as some:
        assert some.search("well-known")[0].key == "1"


def test_a_name_is_found_by_its_parts(named):
    for query, name in (
        ("join path", "os.path.join"),
        ("run until complete", "run_until_complete"),
        ("44228", "CVE-2021-44228"),
    ):
        assert any(name in hit.text for hit in named.search(query))


def test_words_inside_a_word_are_found(tmp_path):
    with Collection.create(tmp_path / "a.sth", ["def RunUntilComplete", "a loop", "HTTPServer starts"]) as some:
        for query in ("RunUntilComplete", "rununtilcomplete", "until complete"):
            assert some.search(query)[0].key == "0"
        assert some.search("server")[0].key == "2"


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    texts = [f"word{place} {word} text" for place, word in enumerate(STOP_WORDS)]
    with Collection.create(tmp_path_factory.mktemp("stop") / "words.sth", texts) as collection:
        yield collection


def test_every_stop_word_is_found_where_it_stands(stopped):
    assert len(STOP_WORDS) >= 179
    for word, hits in zip(STOP_WORDS, stopped.search_many(STOP_WORDS, 3), strict=True):
        assert f" {word} " in hits[0].text, word
        assert hits.ignored == ()


def test_a_stop_word_beside_other_words_finds_nothing_alone(stopped):
    hits = stopped.search("word3 the")
    assert [hit.key for hit in hits] == ["3"]
    assert hits.ignored == ("the",)
    assert stopped.search("the " * 5000)[0].text.split()[1] == "the"


def test_stop_words_count_inside_phrases(tmp_path):
    texts = ["to be or not to be", "not to be or to be", "is it installed?", "it is not installed"]
    with Collection.create(tmp_path / "a.sth", texts) as some:
        assert some.search("to be or not to be")[0].key == "0"
        assert [hit.key for hit in some.search('"not installed"')] == ["3"]
        some.add([{"key": "new", "text": "less is more"}])
        assert [hit.key for hit in some.search("less")] == ["new"]
        some.delete("new")
        assert some.search("less") == []
        some.check()


def test_the_form_that_was_typed_ranks_first(tmp_path):
    texts = ["the integral here", "the integrator here", "the integrals here"]
    with Collection.create(tmp_path / "a.sth", texts) as some:
        for key, word in enumerate(["integral", "integrator", "integrals"]):
            hits = some.search(word)
            assert hits[0].key == str(key)
            assert len(hits) == 3


@pytest.mark.parametrize(
    ("text", "queries"),
    [
        ("café", ["café", decomposed("café"), "CAFÉ", "cafe"]),
        (decomposed("résumé"), ["résumé", "resume", decomposed("RÉSUMÉ")]),
        ("ﬁnal ｗｉｄｅ", ["final", "wide", "ｆｉｎａｌ"]),
        ("co\u00adoperate", ["cooperate", "coop\u00aderate"]),
        ("ΛΟΓΟΣ", ["λόγος", "λογος", "λογοσ"]),
        (decomposed("한국어"), ["한국어", decomposed("한국어")]),
        ("Straße", ["strasse", "STRAẞE", "straße"]),
    ],
)
def test_unicode_forms_never_hide_a_document(tmp_path, text, queries):
    with Collection.create(tmp_path / "a.sth", [text, "something else", "more of it"]) as some:
        for query in queries:
            assert [hit.key for hit in some.search(query, correct=False)] == ["0"], query


def test_an_accent_that_matches_ranks_first(tmp_path):
    with Collection.create(tmp_path / "a.sth", ["a cafe here", "a café here"]) as some:
        assert [hit.key for hit in some.search("café")] == ["1", "0"]
        assert [hit.key for hit in some.search("cafe")] == ["0", "1"]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("is_dir", ["word", "word", "name"]),
        ("well-known", ["word", "word", "compound"]),
        ("1.5", ["word", "word", "compound"]),
        ("1.5.2", ["word", "word", "word", "name", "compound", "compound"]),
        ("__init__", ["word", "name"]),
        ("don't", ["word", "word"]),
        ("--x--, ___ . ..", ["word"]),
        ("os.path.join", ["word", "word", "word", "name", "name", "name"]),
    ],
)
def test_kinds(text, kinds):
    assert [kind for kind, _ in forms_of(text)] == kinds


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Birds of prey\nThey hunt and feed on other animals.", ["birds", "of", "prey"]),
        ("\n\n/*****\nBirds of prey\nThey hunt and feed on other animals.", ["birds", "of", "prey"]),
        ("Birds of prey\r\nThey hunt and feed on other animals.", ["birds", "of", "prey"]),
        ("birds of prey . they hunt and feed on other animals .", ["birds", "of", "prey"]),
        (f"birds of prey . {'they hunt and feed on other animals, ' * 50}", ["birds", "of", "prey"]),
        ("Version 1.5 is out. It has many new things.", ["version", "1", "5", "is", "out"]),
        ("鳥です。魚ではありません、鳥です。", ["鳥で", "です"]),
        ("Vögel\nSie jagen andere Tiere.", ["vögel"]),
        ("hawk(1)\nNAME hawk - watches, and waits", ["hawk", "1"]),
        ("birds of prey hunt and feed on other animals", []),  # one sentence
        ("They hunt and feed on other animals.\nBirds", []),  # less follows than it has
        (f"{'birds ' * 50}\n{'prey ' * 100}", []),  # too long for a title
        (f"{'birds ' * 50}. {'prey ' * 100}", []),
        ("Birds of prey\n-----\n", []),
        ("-----", []),
        ("", []),
    ],
)
def test_heads(text, words):
    analyzer = WordAnalyzer(frozenset({"of", "they", "is", "it", "has"}), "english")
    stems = _core.head_columns(analyzer.terms([*words, *scan_words([f"{text} hunt"]).words])[0]).tolist()
    heads, unlike = set(stems[: len(words)]), set(stems[len(words) :]) - set(stems[: len(words)])
    counted = set(count_forms([text], analyzer).row(0)[0].tolist())
    assert heads <= counted
    assert not unlike & counted


def test_a_title_ranks_first(tmp_path):
    titles = [
        "Hawks\nThey watch, wait and strike. Some eat snakes.",
        "Snakes\nThey watch, wait and strike. Some eat hawks.",
        "Mice\nThey watch, wait and flee. Some fear hawks, some fear snakes.",
    ]
    with Collection.create(tmp_path / "a.sth", titles) as some:
        for query, first in (("hawks", "0"), ("snakes", "1"), ("mice", "2")):
            assert some.search(query, ranking="bm25")[0].key == first
        assert some.search("hawks").total == 3
        assert some.search("hawk", ranking="bm25")[0].key == "0"  # by stems
        some.add([{"key": "3", "text": "who\nshows users, their terminals, and when they came"}])
        some.add([{"key": "4", "text": "those who came and those that came not, and what they saw"}])
        assert some.search("who", ranking="bm25")[0].key == "3"
        some.upsert([{"key": "0", "text": titles[1]}, {"key": "1", "text": titles[0]}])
        assert some.search("hawks", ranking="bm25")[0].key == "1"
        some.check()


def test_passages_have_the_title_of_their_document(tmp_path):
    rest = " ".join(f"filler{place}" for place in range(2000))
    texts = [f"{title}\n{rest} the wanted place {rest}" for title in ("Mice", "Hawks", "Snakes")]
    with Collection.create(tmp_path / "a.sth", texts) as some:
        for title, key in (("mice", "0"), ("hawks", "1"), ("snakes", "2")):
            hits = some.search(f"wanted place {title}", ranking="bm25")
            assert hits[0].key == key
        some.check()


def test_the_page_of_a_pasted_command_comes_first(tmp_path, monkeypatch):
    pages = {
        "sed": "sed(1)\nfilters and transforms text, in place or not, by scripts that replace what files have",
        "files": "files(5)\ntext files, and what sed makes of text; with sed, scripts change them",
        "xargs": "xargs(1)\nbuilds and runs command lines from what it reads; sed is one that it may run on files",
    }
    pages |= {f"p{place}": f"p{place}(1)\nprints what it is given, and nothing more" for place in range(20)}
    with Collection.create(tmp_path / "a.sth", [{"key": key, "text": text} for key, text in pages.items()]) as some:
        hits = some.search("sed -i 's/text/words/' data")
        assert (hits[0].key, hits.ranking) == ("sed", "bm25")
        assert some.search("cat text | xargs sed", ranking="graph").ranking == "graph"
        assert some.search("text and files").ranking == "graph"
        # In a batch, each is ranked in its way.
        both = some.search_many(["sed -i 's/text/words/' data", "text and files"])
        assert [found.ranking for found in both] == ["bm25", "graph"]
        assert [(hit.key, hit.score) for hit in both[0]] == [(hit.key, hit.score) for hit in hits]
        nothing, found = some.search_many(["qqqq -x zzzz", "yyyy xxxx"], correct=False), some.search("grep -x zzzz")
        assert [list(hits) for hits in (*nothing, found)] == [[], [], []]
        monkeypatch.setattr(by_words, "HEAD_OF_PROGRAM", 0.0)
        assert some.search("sed -i 's/text/words/' data")[0].key == "files"


@pytest.mark.parametrize(
    "query",
    [
        '"' * 10_000,
        "(" * 10_000,
        "(" * 5000 + "less" + ")" * 5000,
        "*",
        "*:*",
        "a*",
        "unknown:word",
        "AND OR NOT",
        "-",
        "\0",
    ],
    ids=lambda query: query[:8],
)
def test_hostile_queries_get_an_answer(stopped, query):
    one, other = stopped.search_many([query, "less"], 5, snippet=50)
    assert one.error == ""
    assert any(" less " in hit.text for hit in other)
    for syntax in ("plain", "strict"):
        answers = stopped.search_many([query, "less"], 5, syntax=syntax)
        assert any(" less " in hit.text for hit in answers[1])
