"""Plagiarism: find the passages of one text that come from another one.

The sources are 100 long documentation strings of Python's standard library. Into each of 30 other ones, a passage of 50
words of some source is put, in which each word is replaced, with probability .2, by a word of the text around it. All
texts are cut into overlapping windows. `sthash.near_duplicates` compares all windows; a suspicious window with a cosine
of at least 0.6 to one of a source is a find. The obvious alternative is `difflib`: a run of six words that two texts
have in common, for each pair of texts. Both limits were chosen with other random seeds.

What we found (Python 3.11): windows find .97 of the copied passages (precision .83), difflib all of them (.86), in nine
times the CPU time. Where most words are copied to the letter, as here, difflib is the better choice for few texts; its
time grows with the number of pairs, that of the windows much more slowly.

    python examples/plagiarism.py
"""

import difflib
import random
import time

import sthash
from sthash.cli.standard_library import doc_strings

SIZE, SHIFT, COPIED = 30, 10, 50  # words: of a window, from one window to the next, of a copied passage
SOURCES, SUSPICIOUS = 100, 30


def with_passage(words, source):
    """Put a passage of a source into a text, with every eighth word replaced."""
    start = random.randrange(len(source) - COPIED)
    passage = [random.choice(words) if random.random() < 0.2 else word for word in source[start : start + COPIED]]
    place = random.randrange(len(words))
    return words[:place] + passage + words[place:]


def windows(texts):
    """Cut texts into windows: number of the text, and a window of it."""
    for number, words in enumerate(texts):
        for start in range(0, max(len(words) - SIZE + SHIFT, 1), SHIFT):
            yield number, " ".join(words[start : start + SIZE])


def by_windows(suspicious, sources):
    """Pairs of texts that have similar windows."""
    owners, texts = zip(*windows(suspicious + sources), strict=True)
    for group in sthash.near_duplicates(texts, 0.6):
        members = {owners[place] for place in group}
        for left in members:
            for right in members:
                if left < len(suspicious) <= right:
                    yield left, right - len(suspicious)


def by_difflib(suspicious, sources, least=6):
    """Pairs of texts that have a run of words in common."""
    matcher = difflib.SequenceMatcher(autojunk=False)
    for left, words in enumerate(suspicious):
        matcher.set_seq2(words)
        for right, source in enumerate(sources):
            matcher.set_seq1(source)
            if matcher.find_longest_match().size >= least:
                yield left, right


random.seed(0)
texts = [entry.text for entry in doc_strings()]
copies = {place for group in sthash.near_duplicates(texts, 0.5) for place in group[1:]}
texts = [text.split() for place, text in enumerate(texts) if place not in copies]
texts = random.sample([words for words in texts if 100 <= len(words) <= 1000], SOURCES + SUSPICIOUS)
sources, suspicious = texts[:SOURCES], texts[SOURCES:]
copied = [random.randrange(SOURCES) for _ in suspicious]
suspicious = [with_passage(words, sources[source]) for words, source in zip(suspicious, copied, strict=True)]
truth = set(enumerate(copied))

results = []
for name, method in (("windows", by_windows), ("difflib", by_difflib)):
    start = time.process_time()
    found = set(method(suspicious, sources))
    seconds = time.process_time() - start
    right = len(found & truth)
    results.append(
        f"{right / len(truth):.3f} by {name} (precision {right / max(len(found), 1):.3f}, {seconds:.2f} CPU s)"
    )
print(f"copied passages found: {', '.join(results)}")
