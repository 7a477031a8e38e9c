"""Passages that several texts have, compared with a slow definition."""

import random
import re

import pytest

from sthash import _core
from sthash.duplicates import Repeat, repeated_passages, without_passages

BREAK = re.compile(r"""[.!?]+["')\]]*\s+|\s*\n\s*""")


def segments_of(text):
    """Sentences and lines: where each starts and ends."""
    cuts = [0]
    for found in BREAK.finditer(text):
        line = text.rfind("\n", *found.span())
        cut = line + 1 if line >= 0 else found.end()
        if text[cut:].strip() and text[:cut].strip():
            cuts.append(cut)
    return list(zip(cuts, [*cuts[1:], len(text)], strict=True))


def slow_passages(texts, size):
    first, found = {}, []
    for number, text in enumerate(texts):
        words = [(match.group().lower(), match.start()) for match in re.finditer(r"[^\W_]+", text)]
        earlier = [None] * len(words)
        for at in range(len(words) - size + 1):
            window = tuple(word for word, _ in words[at : at + size])
            if first.setdefault(window, number) < number:
                for place in range(at, at + size):
                    earlier[place] = first[window] if earlier[place] is None else earlier[place]
        whole = []
        for start, end in segments_of(text):
            own = [earlier[place] for place, (_, at) in enumerate(words) if start <= at < end]
            whole.append((start, end, len(own), None if None in own else own[0] if own else "none"))
        kept = [place for place, row in enumerate(whole) if row[3] is None]
        gone = [place for place, row in enumerate(whole) if row[3] not in (None, "none")]
        runs = []
        for place in gone:
            if runs and not any(runs[-1][-1] < each < place for each in kept):
                runs[-1].append(place)
            else:
                runs.append([place])
        found += [
            (number, whole[run[0]][0], whole[run[-1]][1], sum(whole[at][2] for at in run), whole[run[0]][3])
            for run in runs
        ]
    return found


def fast_passages(texts, size, **options):
    with repeated_passages(texts, min_words=size, template_documents=0, **options) as found:
        return [(position, *passage[:4]) for position, _, passages in found for passage in passages]


def made_texts(count, seed):
    """Texts that take sentences from each other."""
    rng = random.Random(seed)
    words = [f"w{number}" for number in range(60)] + ["Über", "naïve", "λόγος", "ветер"]
    ends = [". ", "! ", "?\n", "\n\n  ", '." ', "...\n", ".\n---\n", "\n"]
    sentences = [" ".join(rng.choices(words, k=rng.randint(1, 12))) for _ in range(40)]
    texts = []
    for _ in range(count):
        parts = []
        for _ in range(rng.randint(0, 12)):
            own = rng.random() < 0.4
            sentence = " ".join(rng.choices(words, k=8)) if own else rng.choice(sentences)
            sentence = sentence.upper() if rng.random() < 0.1 else sentence.replace(" ", rng.choice([" ", ", ", " - "]))
            parts += [sentence, rng.choice(ends)]
        texts.append("".join(parts))
    return texts


@pytest.mark.parametrize("size", [2, 3, 8, 15])
def test_the_same_as_the_slow_definition(size):
    texts = made_texts(400, size)
    expected = slow_passages(texts, size)
    assert fast_passages(texts, size) == expected
    assert fast_passages(texts, size, threads=1) == expected
    assert len(expected) > 20


def test_in_many_passes_the_same_is_found():
    texts = made_texts(2000, 1)

    def found(entries):
        finder = _core.RepeatFinder(words=8, filter_bits=12, most_entries=entries, template_texts=0)
        finder.look(texts, threads=2)
        passes = 0
        runs = []
        while not finder.done:
            runs += finder.find(texts, threads=2).tolist()
            finder.end_pass()
            passes += 1
        return passes, _core_rows(finder, texts, runs)

    one, few = found(1 << 20), found(1 << 11)
    assert one[0] == 1
    assert few[0] > 2
    assert one[1] == few[1]


def _core_rows(finder, texts, runs):
    import numpy as np

    return finder.places(texts, np.array(sorted(runs), dtype=np.int64).reshape(-1, 4), threads=1).tolist()


def test_texts_in_scripts_without_spaces():
    shared = "天地玄黄宇宙洪荒。日月盈昃辰宿列张。"
    texts = [f"始めに。{shared}終わり。", f"別の始まり。{shared}別の終わりです。"]
    with repeated_passages(texts, min_words=10) as found:
        ((position, text, passages),) = found
    assert (position, [text[own.start : own.end] for own in passages]) == (1, [shared])
    assert without_passages(text, passages) == "別の始まり。別の終わりです。"


def test_lines_of_templates():
    header, footer = "Daily News of the City\n", "Copyright by the Daily News, all rights reserved.\nPage one"
    texts = [f"{header}Story number {n} begins.\nIt ends with {n * n} words.\n{footer}" for n in range(12)]
    with repeated_passages(texts) as found:
        cleaned = {position: without_passages(text, passages) for position, text, passages in found}
        again = {position: without_passages(text, passages) for position, text, passages in found}
    assert cleaned == again
    assert list(cleaned) == list(range(1, 12))  # one copy stays
    assert cleaned[3] == "Story number 3 begins.\nIt ends with 9 words.\nPage one"
    with repeated_passages(texts[:9]) as found:
        assert list(found) == []
    with repeated_passages(texts, template_documents=0) as found:
        assert list(found) == []


@pytest.mark.parametrize(
    "texts",
    [[], [""], ["", " ", "\n\n"], ["one"] * 5, ["\ud800 lone " * 60] * 2, ["\x00\x01\x02" * 99] * 2, ["a b"] * 3],
)
def test_odd_texts(texts):
    assert fast_passages(texts, 3) == [
        (n, 0, len(text), len(re.findall(r"\w+", text)), 0) for n, text in enumerate(texts) if n and "lone" in text
    ]


def test_copies_are_repeated_as_a_whole():
    text = " ".join(f"word{n}" for n in range(60))
    with repeated_passages([text, "other", text.upper()]) as found:
        assert [(position, passages) for position, _, passages in found] == [
            (2, [Repeat(0, len(text), 60, 0, False)]),
        ]


@pytest.mark.parametrize("options", [{"min_words": 1}, {"memory": "1MB"}, {"template_documents": -1}])
def test_bad_options(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        repeated_passages(["a"], **options)
