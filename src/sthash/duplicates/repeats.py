"""Passages that stand in several documents, of which one copy is enough: found in bounded memory, whatever the input.

What is read goes to a temporary file, which is read three times: to see what may be repeated, to look that up, and to
find out where it is. See ``join/repeats.hpp``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sthash import _core
from sthash.batches import batched
from sthash.checks import check_whole, resolve_threads
from sthash.checksums import decode_text, encode_text
from sthash.duplicates.spool import RecordSpool, Spool, TemporaryFiles
from sthash.progress import Progress, silent
from sthash.sizes import parse_size

MEMORY = 4 << 30
LEAST_MEMORY = 64 << 20
MIN_WORDS = 50
TEMPLATE_DOCUMENTS = 10
# Of all words, one in so many stands for its neighbors, and has so many slots in the filter, of two bits.
_WORDS_PER_HASH, _SLOTS_PER_HASH, _CHARACTERS_PER_WORD = 8, 8, 5
_BYTES_PER_ENTRY = 16
_RUN = 4  # numbers of a run


class Repeat(NamedTuple):
    """A repeated passage: ``text[start:end]`` of a document, in whole sentences or lines.

    Attributes
    ----------
    start, end : int
    words : int
    earlier : int
        The position of the first document that has it.
    of_template : bool
        Whether many documents begin or end with this line.
    """

    start: int
    end: int
    words: int
    earlier: int
    of_template: bool


@dataclass
class Repeats(TemporaryFiles):
    """The passages of some texts that are in earlier ones; made by `repeated_passages`.

    Iterating gives the position, the text and the passages of each text that has some. It holds temporary files; close
    it, or use it in a ``with`` block.
    """

    texts: RecordSpool = field(repr=False)
    finder: _core.RepeatFinder = field(repr=False)
    passes: list[Spool] = field(repr=False)
    threads: int
    progress: Progress = field(repr=False)
    closing: ExitStack = field(repr=False)

    @property
    def n_documents(self) -> int:
        """Texts that were read."""
        return len(self.texts)

    def __iter__(self) -> Iterator[tuple[int, str, list[Repeat]]]:
        self.finder.end_pass()
        runs = [_Runs(spool) for spool in self.passes]
        first = 0
        for batch in _read_again(self.texts):
            last = first + len(batch)
            own = np.concatenate([np.zeros((0, _RUN), np.int64), *(each.before(last) for each in runs)])
            own = own[np.lexsort((own[:, 1], own[:, 0]))]
            places = self.finder.places(batch, own, threads=self.threads)
            cuts = np.flatnonzero(np.diff(places[:, 0], prepend=-1))
            for start, end in zip(cuts.tolist(), [*cuts[1:].tolist(), len(places)], strict=False):
                position = int(places[start, 0])
                rows = places[start:end, 1:].tolist()
                found = [Repeat(begin, stop, words, of, bool(last)) for begin, stop, words, of, last in rows]
                yield position, batch[position - first], found
            first = last
            self.progress("cutting", first, len(self.texts))


class _Runs:
    """The runs of one pass, in the order of the texts."""

    def __init__(self, spool: Spool) -> None:
        self._rows: npt.NDArray[np.int64] = spool.array().view(np.int64).reshape(-1, _RUN)
        self._next = 0

    def before(self, text: int) -> npt.NDArray[np.int64]:
        """Return the next ones, up to a text."""
        first = self._next
        self._next = first + int(np.searchsorted(self._rows[first:, 0], text))
        return np.asarray(self._rows[first : self._next])


def repeated_passages(
    texts: Iterable[str],
    *,
    min_words: int = MIN_WORDS,
    template_documents: int = TEMPLATE_DOCUMENTS,
    memory: int | str = MEMORY,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Repeats:
    """Find passages of texts that are in earlier texts too, so that one copy of each remains.

    A word is repeated if it is part of a run of ``min_words`` words that an earlier text has too, in the same order.
    Case, punctuation and spacing do not matter; of scripts without spaces, each letter counts as a word. Sentences and
    lines all of whose words are repeated are passages; so a text is cut at the ends of sentences or lines only. Lines
    of four words and more are passages, too, if they are among the first or last eight lines of many texts, as the
    headers and footers of templates are.

    Parameters
    ----------
    texts : iterable of str
    min_words : int, default=50
        Length of the shortest run, at least 2.
    template_documents : int, default=10
        So many texts begin or end with the same line if it belongs to a template; 0 looks for none.
    memory : int or str
        Approximate memory to use: bytes, or a str such as "4GB"; at least 64 MiB. With less memory, texts are read more
        often.
    progress : callable, optional
        Called with the name of the step, how much is done, and of how much (None if not known).

    Examples
    --------
    >>> from sthash.duplicates import repeated_passages, without_passages
    >>> texts = ["Hear this. To be or not to be. Yes!", "He said: To be! Or not to be? To be or not to be. So."]
    >>> with repeated_passages(texts, min_words=6) as found:
    ...     for position, text, passages in found:
    ...         print(position, [text[passage.start : passage.end] for passage in passages])
    ...         print(without_passages(text, passages))
    1 ['Or not to be? To be or not to be. ']
    He said: To be! So.
    """
    check_whole("min_words", min_words, least=2)
    check_whole("template_documents", template_documents, least=0)
    most_bytes = parse_size("memory", memory)
    if most_bytes < LEAST_MEMORY:
        raise ValueError(f"memory={memory} is too little to find passages. Allow at least {LEAST_MEMORY} bytes.")
    report, workers = progress or silent, resolve_threads(threads)
    with ExitStack() as stack:
        spool = stack.enter_context(RecordSpool())
        characters = 0
        for text in texts:
            spool.append(encode_text(text))
            characters += len(text)
            if len(spool) % 1024 == 0:
                report("reading", len(spool), None)
        report("reading", len(spool), len(spool))
        slots = characters // _CHARACTERS_PER_WORD * _SLOTS_PER_HASH // _WORDS_PER_HASH
        most_slots = most_bytes // 4 * 4  # a quarter of the memory, four slots per byte
        finder = _core.RepeatFinder(
            words=min_words,
            filter_bits=math.ceil(math.log2(max(min(slots, most_slots // 2), 1 << 10))),
            most_entries=2 ** int(math.log2(most_bytes // 4 // _BYTES_PER_ENTRY)),
            template_texts=template_documents,
        )
        done = 0
        for batch in _read_again(spool):
            finder.look(batch, threads=workers)
            done += len(batch)
            report("looking", done, len(spool))
        passes: list[Spool] = []
        while not finder.done:
            runs = stack.enter_context(Spool(most_bytes // 16))
            done = 0
            for batch in _read_again(spool):
                runs.append(finder.find(batch, threads=workers).ravel().view(np.uint64))
                done += len(batch)
                report("comparing" if not passes else f"comparing, part {len(passes) + 1}", done, len(spool))
            passes.append(runs)
            finder.end_pass()
        return Repeats(spool, finder, passes, workers, report, stack.pop_all())


def without_passages(text: str, passages: Sequence[Repeat]) -> str:
    """Return a text without some passages; what stands between them is not changed."""
    parts, end = [], 0
    for passage in passages:
        parts.append(text[end : passage.start])
        end = passage.end
    return "".join([*parts, text[end:]])


def _read_again(spool: RecordSpool) -> Iterator[list[str]]:
    every: Any = np.ones(len(spool), dtype=bool)
    return batched(map(decode_text, spool.chosen(every)), length=len)
