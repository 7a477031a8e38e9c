"""Typed search from end to end: `Collection.search` and `search_many`, against bm25s with its fastest backend.

The corpus has 244,163 texts, the queries 1 to 5 words of texts that are not among them. Ours take words and give
documents; bm25s takes terms that it has made before, and gives numbers and scores. All use one thread. Parts:
``single`` asks one by one, ``batch`` all at once, ``documents`` asks with whole texts. ``tantivy`` asks one by one,
against tantivy, which parses the words, and reads the keys and texts that it has stored. ``fresh`` asks 1,000 queries
in a new process, and then asks them again. ``words`` asks for 500 random words of the package descriptions, and
compares the first 10 hits with the scores of all documents, computed slowly.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal

import bm25s
import numpy as np
import Stemmer

import data
from harness import OURS, Run, compare, figure, main
from library import Bm25
from sthash import Collection, TextVectorizer
from sthash.text import CorpusCounter
from timing import Timing, in_own_process, time_in_turns, timed

K = 10
MOST_WORDS = 5
RANKINGS: tuple[Literal["auto", "bm25"], ...] = ("auto", "bm25")
WORDS = 500


@cache
def typed(quick: bool) -> list[str]:
    """Take 1 to 5 distinct words from each text that is a query."""
    rng, queries = np.random.default_rng(0), []
    words = bm25s.tokenize(data.descriptions(quick).queries, stopwords="en", return_ids=False, show_progress=False)
    for place, text in enumerate(words):
        distinct = list(dict.fromkeys(text))
        queries.append(" ".join(rng.choice(distinct, min(place % MOST_WORDS + 1, len(distinct)), replace=False)))
    return queries


def terms(texts: list[str], **options: Any) -> Any:
    """Let bm25s make terms of texts."""
    stemmer = Stemmer.Stemmer("english")
    return bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False, **options)


@cache
def their_index(quick: bool) -> Any:
    """Make the peer's index. A quick run does not wait for numba's compiler."""
    engine = bm25s.BM25(backend="numpy" if quick else "numba")
    engine.index(terms(data.descriptions(quick).texts), show_progress=False)
    return engine


def their_search(quick: bool, queries: list[list[str]]) -> Any:
    """Ask the peer."""
    return their_index(quick).retrieve(queries, k=K, n_threads=1, show_progress=False)


@cache
def folder() -> tempfile.TemporaryDirectory[str]:
    """Make a folder for this run."""
    return tempfile.TemporaryDirectory()


@cache
def corpus_file(quick: bool) -> str:
    """Build the collection of the corpus, once for all parts."""
    path = Path(folder().name, "corpus.sth")
    Collection.create(path, data.descriptions(quick).documents).close()
    return str(path)


@contextmanager
def built(documents: Any) -> Iterator[Collection]:
    """Build a collection, and open it with one thread."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "c.sth")
        Collection.create(path, documents).close()
        with Collection.open(path, threads=1) as collection:
            yield collection


def measure(run: Run, texts: list[str], *, together: bool, what: str, least_ratio: float | None) -> None:
    """Compare all rankings with the peer, in turns."""
    asked = terms(texts, return_ids=False)
    peer = f"bm25s ({their_index(run.quick).backend})"
    theirs = partial(their_search, run.quick)
    with Collection.open(corpus_file(run.quick), threads=1) as collection:
        works: dict[str, Callable[[], Any]] = {}
        for ranking in RANKINGS:
            search: Callable[..., Any] = partial(collection.search_many, k=K, ranking=ranking)
            one: Callable[..., Any] = partial(collection.search, k=K, ranking=ranking)
            works[ranking] = partial(search, texts) if together else partial(each, one, texts)
        works[peer] = partial(theirs, asked) if together else partial(each, theirs, [[query] for query in asked])
        for work in works.values():
            work()  # reads what it needs, and compiles it
        timings = time_in_turns(works, repetitions=run.choose(5, 1))
        setting = {"documents": len(collection), "queries": len(texts), "k": K, "threads": 1}
    for ranking in RANKINGS:
        both = {OURS: timings[ranking].per(len(texts)), peer: timings[peer].per(len(texts))}
        row = compare(ranking, what, both, "µs", setting=setting | {"ranking": ranking}, least_ratio=least_ratio)
        run.add(row)


def each(search: Callable[[Any], Any], queries: list[Any]) -> None:
    """Ask queries one by one."""
    for query in queries:
        search(query)


def single(run: Run) -> None:
    """Ask typed queries one by one."""
    measure(run, typed(run.quick), together=False, what="queries one by one", least_ratio=1.5)


def batch(run: Run) -> None:
    """Ask all typed queries at once."""
    measure(run, typed(run.quick), together=True, what="queries in one batch", least_ratio=3.0)


def tantivy(run: Run) -> None:
    """Ask typed queries one by one; tantivy reads its documents, too."""
    texts = typed(run.quick)
    with Collection.open(corpus_file(run.quick), threads=1) as collection:
        theirs = tantivy_search(run.quick)
        works: dict[str, Callable[[], Any]] = {
            ranking: partial(each, partial(collection.search, k=K, ranking=ranking), texts) for ranking in RANKINGS
        }
        works["tantivy"] = partial(each, theirs, texts)
        for work in works.values():
            work()
        timings = time_in_turns(works, repetitions=run.choose(5, 1))
        setting = {"documents": len(collection), "queries": len(texts), "k": K, "threads": 1}
    for ranking, least_ratio in zip(RANKINGS, (1.5, None), strict=True):
        both = {OURS: timings[ranking].per(len(texts)), "tantivy": timings["tantivy"].per(len(texts))}
        what = "queries one by one, documents read"
        run.add(compare(ranking, what, both, "µs", setting=setting | {"ranking": ranking}, least_ratio=least_ratio))


def tantivy_search(quick: bool) -> Callable[[str], Any]:
    """Make the other peer's index, in one segment, and return its search."""
    import tantivy as engine

    schema = engine.SchemaBuilder().add_text_field("key", stored=True, tokenizer_name="raw")
    schema = schema.add_text_field("text", stored=True, tokenizer_name="en_stem")
    path = Path(folder().name, "tantivy")
    path.mkdir()
    index = engine.Index(schema.build(), path=str(path))
    writer = index.writer(heap_size=1 << 30, num_threads=1)
    for document in data.descriptions(quick).documents:
        writer.add_document(engine.Document(**document))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def search(query: str) -> Any:
        found = searcher.search(index.parse_query(query, ["text"]), K, count=False)
        return [searcher.doc(address).to_dict() for _, address in found.hits]

    return search


def fresh(run: Run) -> None:
    """Ask the first queries of a new process, and the same once more."""
    path = corpus_file(run.quick)
    runs = [in_own_process(ask_twice, path, run.quick).timing.result for _ in range(run.choose(3, 1))]
    count = len(typed(run.quick))
    first, again = (Timing([one[place] / count for one in runs], []) for place in (0, 1))
    row = compare("fresh", "first queries of a process, one by one", {OURS: first, "asked again": again}, "µs")
    run.add(replace(row, least_ratio=0.5, setting={"queries": count, "k": K, "threads": 1}))


def ask_twice(path: str, quick: bool) -> tuple[float, float]:
    """Ask all queries in this process, for the first time and again."""
    texts = typed(quick)
    with Collection.open(path, threads=1) as collection:
        search = partial(each, partial(collection.search, k=K), texts)
        return timed(search).best, min(timed(search).best for _ in range(3))


def documents(run: Run) -> None:
    """Ask with whole texts."""
    texts = data.descriptions(run.quick).queries
    measure(run, texts, together=True, what="whole documents in one batch", least_ratio=None)


def words(run: Run) -> None:
    """Count how many of the exact first hits of random words are found."""
    texts = data.made_up_texts() if run.quick else [text for _, text in data.records("debian_packages")]
    vectorizer = TextVectorizer(stop_words="function words")  # as collections have it
    counter = CorpusCounter(vectorizer)
    vectorizer.fit(texts)
    counts = counter.add(texts).tocsc()
    column_of = {term: column for column, term in enumerate(counter.totals.terms.tolist())}
    lengths = np.asarray(counts.sum(axis=1)).ravel()
    asked = {
        word: column_of[term] for word, term in random_words(texts, vectorizer.analyze, run.choose(WORDS, 50)).items()
    }
    right = wanted = 0
    with built([{"key": str(place), "text": text} for place, text in enumerate(texts)]) as collection:
        for word, column in asked.items():
            part = slice(*counts.indptr[column : column + 2])
            places, tf = counts.indices[part], counts.data[part]
            norms = Bm25.k1 * (1 - Bm25.b + Bm25.b * lengths[places] / lengths.mean())
            scores = dict(zip(map(str, places.tolist()), (tf / (tf + norms)).tolist(), strict=True))
            best = sorted(scores.values(), reverse=True)[:K]
            hits = collection.search(word, K, ranking="bm25")
            wanted += len(best)
            right += sum(scores.get(hit.key, 0) >= best[-1] * (1 - 1e-5) for hit in hits)
    row = figure(
        "exact",
        "share of the exact top 10 of one-word queries",
        right / max(wanted, 1),
        "share",
        peer="scores of all documents",
        theirs=1.0,
        least_ratio=1.0,
        setting={"documents": len(texts), "words": len(asked), "k": K},
    )
    run.add(row)


def random_words(texts: list[str], analyze: Callable[[str], list[str]], count: int) -> dict[str, str]:
    """Take random words of random texts, with the one term of each; stop words have none."""
    rng, found = np.random.default_rng(0), dict[str, str]()
    for place in rng.permutation(len(texts)).tolist():
        own = re.findall("[a-z0-9]{3,}", texts[place].lower())
        word = str(rng.choice(own)) if own else ""
        if len(own_terms := analyze(word)) == 1:
            found[word] = own_terms[0]
        if len(found) == count:
            break
    return found


if __name__ == "__main__":
    parts = {
        "single": single,
        "batch": batch,
        "tantivy": tantivy,
        "fresh": fresh,
        "documents": documents,
        "words": words,
    }
    main(__file__, __doc__, parts, peers=["bm25s", "numba", "tantivy"])
