"""Collections of millions of short texts, beside tantivy: what scaling.py measures at each size.

Texts and collections are kept in ``STHASH_SCALING`` (default: ``sthash-scaling`` among the temporary files): a run that
was cut short goes on where it was. Every build and every fresh start is a process of its own.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

import data
from harness import OURS, Run, compare, figure
from sthash import Collection, Learning
from sthash.files import replacing
from timing import Isolated, Timing, in_own_process, peak_memory, resident_memory, timed

PEER = "tantivy"
TOP, WORDS, QUERIES = 10, 4, 300
CHANGES = 20
LEARNED_ON = 20_000
# As much memory as tantivy's writer may take before it writes a segment; the default is 128 MB.
PEER_BYTES = 512_000_000


@dataclass(frozen=True)
class Stages:
    """What a build took, stage by stage, and how large the file is."""

    seconds: dict[str, float]
    bytes: int


def folder() -> Path:
    """Where texts and collections are kept."""
    path = Path(os.environ.get("STHASH_SCALING") or Path(tempfile.gettempdir(), "sthash-scaling"))
    path.mkdir(parents=True, exist_ok=True)
    return path


def written_texts(quick: bool, count: int) -> Path:
    """Write short texts, one per line, unless they are there."""
    path = folder() / f"{'quick-' if quick else ''}{count}.txt"
    if not path.exists():
        with replacing(path) as temporary, temporary.open("w", encoding="utf-8") as file:
            file.writelines(f"{text}\n" for text in data.short_texts(quick, count))
    return path


def lines(path: Path) -> Iterator[str]:
    """Read texts back, one per line; no line ends with anything but a newline."""
    with path.open(encoding="utf-8", newline="\n") as file:
        for line in file:
            yield line.rstrip("\n")


def queries_of(path: Path, count: int, step: int) -> list[str]:
    """Give a few words that follow one another in some of the texts, one of so many."""
    queries = []
    for number, text in enumerate(lines(path)):
        words = re.findall(r"\w+", text.lower())
        if number % step == 0 and len(words) > WORDS:
            at = number % (len(words) - WORDS)
            queries.append(" ".join(words[at : at + WORDS]))
        if len(queries) == count:
            break
    return queries


# Builds


def built(texts: Path, path: Path, sample_size: int | None, n_bits: int) -> Stages:
    """Build a collection."""
    seconds: dict[str, float] = {}
    stage, start = "", time.perf_counter()

    def report(name: str, _done: int, _total: int | None) -> None:
        nonlocal stage, start
        now = time.perf_counter()
        if stage:
            seconds[stage] = seconds.get(stage, 0.0) + now - start
        stage, start = name, now

    learning = Learning(sample_size=sample_size, n_bits=n_bits, n_neighbors=25 if n_bits > 16 else 10)
    Collection.create(path, lines(texts), learning=learning, progress=report, overwrite=True).close()
    report("", 0, None)
    return Stages(seconds, path.stat().st_size)


def built_by_peer(texts: Path, path: Path, _sample_size: int | None, _n_bits: int) -> Stages:
    """Build an index of tantivy: words stemmed, with positions, and the texts themselves."""
    import tantivy

    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("id", stored=True, indexed=True)
    builder.add_text_field("text", stored=True, tokenizer_name="en_stem")
    writer = tantivy.Index(builder.build(), path=str(path)).writer(heap_size=PEER_BYTES)
    for number, text in enumerate(lines(texts)):
        document = tantivy.Document()
        document.add_integer("id", number)
        document.add_text("text", text)
        writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()
    return Stages({}, sum(file.stat().st_size for file in path.iterdir()))


def once(run: Run, build: Any, texts: Path, path: Path, sample_size: int | None) -> Isolated:
    """Build, unless it was done before: what it took is noted beside it."""
    noted = path.with_name(f"{path.name}.json")
    if noted.exists() and path.exists():
        known = json.loads(noted.read_text())
        return Isolated(Timing([known["s"]], [known["cpu"]], Stages(known["stages"], known["bytes"])), 0, known["peak"])
    arguments = (texts, path, sample_size, run.choose(64, 16))
    if run.quick:
        isolated = Isolated(timed(lambda: build(*arguments)), peak_memory(), peak_memory())
    else:
        isolated = in_own_process(build, *arguments)
    timing, stages = isolated.timing, isolated.timing.result
    known = {"s": timing.best, "cpu": timing.best_cpu, "peak": isolated.peak, "stages": stages.seconds}
    noted.write_text(json.dumps(known | {"bytes": stages.bytes}))
    return isolated


# Answers


def answered(path: Path, queries: list[str]) -> dict[str, Any]:
    """Open a collection in this process, and answer: seconds of opening, of the queries, and of the same again."""
    start = time.perf_counter()
    with Collection.open(path) as collection:
        collection.search(queries[0], TOP, correct=False)
        times: dict[str, Any] = {"open": time.perf_counter() - start}
        for name in ("first", "warm"):
            times[name] = timed(lambda: [collection.search(query, TOP, correct=False) for query in queries])
        times["bytes"] = resident_memory()
    return {
        name: value if isinstance(value, float | int) else (value.best, value.best_cpu) for name, value in times.items()
    }


def answered_by_peer(path: Path, queries: list[str]) -> dict[str, Any]:
    """The same by tantivy."""
    import tantivy

    start = time.perf_counter()
    index = tantivy.Index.open(str(path))
    searcher = index.searcher()

    def search(query: str) -> list[Any]:
        return [searcher.doc(place) for _, place in searcher.search(index.parse_query(query, ["text"]), TOP).hits]

    search(queries[0])
    times: dict[str, Any] = {"open": time.perf_counter() - start}
    for name in ("first", "warm"):
        timing = timed(lambda: [search(query) for query in queries])
        times[name] = (timing.best, timing.best_cpu)
    times["bytes"] = resident_memory()
    return times


def reader(connection: Connection, path: Path, queries: list[str]) -> None:
    """Answer queries by their numbers, in a process of its own: send seconds by the clock and of this thread."""
    with Collection.open(path) as collection:
        for query in queries:
            collection.search(query, TOP, correct=False)
        connection.send((0.0, 0.0))
        while (place := connection.recv()) >= 0:
            start, cpu = time.perf_counter(), time.thread_time()
            collection.search(queries[place], TOP, correct=False)
            connection.send((time.perf_counter() - start, time.thread_time() - cpu))


def changed(path: Path, queries: list[str]) -> dict[str, list[tuple[float, float]]]:
    """Add documents one at a time; give the seconds of the next search here, in another process, and of warm ones."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=reader, args=(there, path, queries))
    process.start()
    seconds: dict[str, list[tuple[float, float]]] = {"add": [], "delete": [], "same": [], "warm": [], "another": []}
    with Collection.open(path) as collection:

        def search(place: int) -> tuple[float, float]:
            start, cpu = time.perf_counter(), time.thread_time()
            collection.search(queries[place], TOP, correct=False)
            return time.perf_counter() - start, time.thread_time() - cpu

        for place in range(len(queries)):
            search(place)
        here.recv()
        for place in range(CHANGES):
            for kind in ("add", "delete"):
                start, cpu = time.perf_counter(), time.thread_time()
                if kind == "add":
                    collection.add([{"key": f"added-{place}", "text": f"something new about {queries[-1 - place]}"}])
                else:
                    collection.delete(f"added-{place}")
                seconds[kind].append((time.perf_counter() - start, time.thread_time() - cpu))
                here.send(place)
                seconds["another"].append(here.recv())
                seconds["same"].append(search(place))
                seconds["warm"].append(search(place))
        here.send(-1)
    process.join()
    return seconds


def medians(pairs: list[tuple[float, float]]) -> tuple[float, float]:
    """Milliseconds by the clock and of processor time."""
    wall, cpu = (1000 * float(np.median(values)) for values in zip(*pairs, strict=True))
    return wall, cpu


# The part


def measure(run: Run, count: int, sample_size: int | None = LEARNED_ON, *, with_peer: bool = True) -> None:
    """Measure a collection of so many short texts."""
    count = run.choose(count, 500)
    texts = written_texts(run.quick, count)
    name = f"{'quick-' if run.quick else ''}{count}-{sample_size or 'all'}"
    path, peer_path = folder() / f"{name}.sth", folder() / f"{name}.tantivy"
    ours = once(run, built, texts, path, run.choose(sample_size, 200))
    theirs = once(run, built_by_peer, texts, peer_path, None) if with_peer else None
    setting = {"documents": count, "learned on": sample_size or "as many as the limits allow"}
    stages = ours.timing.result
    with Collection.open(path) as collection:
        facts, parts = collection.info(), collection.part_sizes()
    details = {"GiB peak": ours.peak / 1024, "CPU s": ours.timing.best_cpu, "learned on": facts["learned_on"]}
    timings = {OURS: ours.timing} | ({PEER: theirs.timing} if theirs else {})
    if theirs:
        details |= {"their CPU s": theirs.timing.best_cpu, "their GiB peak": theirs.peak / 1024}
    details["stages"] = {stage: round(seconds, 1) for stage, seconds in stages.seconds.items()}
    run.add(compare("build", "build", timings, setting=setting, details=details))
    without = stages.bytes - parts.get("codes", 0) - parts.get("hash functions", 0)
    their_bytes = {"peer": PEER, "theirs": theirs.timing.result.bytes / count} if theirs else {}
    per_document = {part: size / count for part, size in parts.items()}
    what = "file without codes and hash functions"
    run.add(figure("file", what, without / count, "bytes per document", details=per_document, **their_bytes))

    queries = queries_of(texts, run.choose(QUERIES, CHANGES), run.choose(997, 20))
    own = apart(run, answered, path, queries)
    other = apart(run, answered_by_peer, peer_path, queries) if with_peer else None
    for kind, what in (("first", f"first {len(queries)} typed queries of a process"), ("warm", "the same again")):
        wall, cpu = own[kind]
        details = {"CPU ms": 1000 * cpu / len(queries)}
        peer = {"peer": PEER, "theirs": 1000 * other[kind][0] / len(queries)} if other else {}
        run.add(figure(kind, what, 1000 * wall / len(queries), "ms per query", details=details, **peer))
    run.add(figure("open", "open and first query", 1000 * own["open"], "ms", details={"MiB": own["bytes"] / 2**20}))

    copy = path.with_suffix(".changed")
    shutil.copyfile(path, copy)
    try:
        seconds = changed(copy, queries)
    finally:
        copy.unlink()
    named = {
        "add": "add of one document",
        "delete": "delete of one document",
        "same": "first search after it, same process",
        "another": "first search after it, another process",
        "warm": "a warm search",
    }
    for kind, what in named.items():
        wall, cpu = medians(seconds[kind])
        run.add(figure(f"change-{kind}", f"{what}, median", wall, "ms", details={"CPU ms": cpu}))
    for left in folder().glob("quick-*") if run.quick else ():
        shutil.rmtree(left) if left.is_dir() else left.unlink()


def apart(run: Run, function: Any, *arguments: Any) -> Any:
    """Call a function in a process of its own; in a quick run in this one."""
    return function(*arguments) if run.quick else in_own_process(function, *arguments).timing.result
