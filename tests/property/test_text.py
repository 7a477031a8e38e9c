"""The scanner against its plain Python twin, on any Unicode text."""

import itertools
import math
import sys
import unicodedata
from collections import Counter

import pytest
import Stemmer
from hypothesis import given
from hypothesis import strategies as st

from sthash import TextVectorizer, _core
from sthash.text.analyzer import resolve_stop_words

# Blocks of Thai, Lao, Myanmar, Hangul, Khmer, Han, Hiragana and Katakana.
UNSPACED = [
    *((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1100, 0x11FF), (0x1780, 0x17FF), (0x3005, 0x3007), (0x3021, 0x303B)),
    *((0x3041, 0x30FF), (0x3131, 0x318F), (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xA960, 0xA97F)),
    *((0xA9E0, 0xA9FF), (0xAA60, 0xAA7F), (0xAC00, 0xD7FF), (0xF900, 0xFAFF), (0xFF66, 0xFFDC), (0x1AFF0, 0x1B16F)),
    (0x20000, 0x3FFFF),
]

# Not seen inside a word: the soft hyphen, and what joins letters or keeps words together.
IGNORED = "\xad\u200c\u200d\u2060\ufeff"


def is_unspaced(character):
    category = unicodedata.category(character)
    return (category[0] == "L" or category == "Nl") and any(a <= ord(character) <= b for a, b in UNSPACED)


def normalized(text):
    """NFC, and NFKC where there are wide forms or joined letters."""
    compatible = any(0xFB00 <= ord(character) <= 0xFB06 or 0xFF00 <= ord(character) <= 0xFFEF for character in text)
    return unicodedata.normalize("NFKC" if compatible else "NFC", text)


def lowered(character):
    return "σ" if character == "ς" else character.lower()[0]


def twin_words(text):
    """Words as the documentation defines them, character by character; a run of unspaced letters is a list."""
    text = "".join(character for character in normalized(text) if character not in IGNORED)
    runs = []
    inside = False
    for character in text:
        category = unicodedata.category(character)
        if is_unspaced(character):
            if not inside or isinstance(runs[-1], str):
                runs.append([])
            runs[-1].append(character)
            inside = True
        elif category[0] in "LN":
            if not inside or isinstance(runs[-1], list):
                runs.append("")
            runs[-1] += lowered(character)
            inside = True
        elif category in ("Mn", "Mc") and inside:
            if isinstance(runs[-1], str):
                runs[-1] += lowered(character)
            else:
                runs[-1][-1] += character
        else:
            inside = False
    found = []
    for run in runs:
        if isinstance(run, str):
            found.append(run)
        elif len(run) == 1:
            found += run
        else:
            found += [first + second for first, second in itertools.pairwise(run)]
    return found


def twin_terms(text, stemmer="porter", stop_words="english"):
    stem = Stemmer.Stemmer(stemmer).stemWord if stemmer else str
    drop = resolve_stop_words(stop_words)
    return [stem(word) for word in twin_words(text) if word not in drop]


def twin_tfidf(texts, **options):
    """Vocabulary and rows: dicts from term to weight."""
    counts = [Counter(twin_terms(text, **options)) for text in texts]
    df = Counter(term for count in counts for term in count)
    rows = []
    for count in counts:
        row = {term: (1 + math.log(tf)) * math.log(len(texts) / df[term]) for term, tf in count.items()}
        norm = math.sqrt(sum(weight * weight for weight in row.values()))
        rows.append({term: weight / norm for term, weight in row.items() if weight > 0})
    return sorted(df), rows


# The tables are of one Unicode version. Under a Python of another, only characters as old as both are tried.
same_version = _core.unicode_version == unicodedata.unidata_version
known = st.characters().filter(lambda c: same_version or unicodedata.ucd_3_2_0.category(c) != "Cn")
ascii_heavy = st.text(st.sampled_from("abcXYZ019 .,-_'\n\x00\x7f"), max_size=300)
mixed = st.text(
    st.one_of(st.sampled_from("aZ5 _-"), st.sampled_from("éÉßİΣςǅⅧ²½ꙮاं्ก็中한あー々〇က်ខ𐐀𝒳𠀀"), known), max_size=80
)
texts = st.lists(st.one_of(ascii_heavy, mixed, st.text(known, max_size=40)), min_size=1, max_size=6)


def scanned(batch, threads=2):
    table = _core.WordTable()
    starts, words = table.scan(batch, threads=threads)
    names = table.words_from(0)
    return [[names[w] for w in words[starts[i] : starts[i + 1]]] for i in range(len(batch))]


@given(texts)
def test_words_equal_the_twins(batch):
    assert scanned(batch) == [twin_words(text) for text in batch]


@given(texts)
def test_rows_equal_the_twins(batch):
    vocabulary, rows = twin_tfidf(batch)
    if not vocabulary:
        with pytest.raises(ValueError, match="blank"):
            TextVectorizer().fit(batch)
        return
    vectorizer = TextVectorizer()
    X = vectorizer.fit_transform(batch)
    assert vectorizer.get_feature_names_out().tolist() == vocabulary
    for i, row in enumerate(rows):
        part = slice(X.indptr[i], X.indptr[i + 1])
        ours = {vocabulary[j]: weight for j, weight in zip(X.indices[part], X.data[part], strict=True)}
        assert ours == pytest.approx(row, abs=1e-5)


def test_every_character_is_classified_as_the_twin_does():
    if _core.unicode_version != unicodedata.unidata_version:
        pytest.skip(f"tables are of Unicode {_core.unicode_version}, this Python's of {unicodedata.unidata_version}")
    # Planes 4 to 13 and from 15 on hold no characters: some of each will do.
    codes = [code for code in range(sys.maxunicode + 1) if code >> 16 in (0, 1, 2, 3, 14) or code % 64 == 0]
    batch = [f"a{chr(code)}b {chr(code)}" for code in codes]
    for first in range(0, len(batch), 100_000):
        part = batch[first : first + 100_000]
        assert scanned(part) == [twin_words(text) for text in part]


@pytest.mark.parametrize("length", [1, 7, 8, 9, 63, 64, 65, 127, 128, 129, 100_000])
@pytest.mark.parametrize("letter", ["x", "é", "ж", "𐐨"])
def test_words_of_any_length(letter, length):
    text = f".{letter * length}.{letter * (length + 1)}"
    assert scanned([text]) == [[letter * length, letter * (length + 1)]]
