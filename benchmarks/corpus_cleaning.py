"""What `duplicates.py` measures beside pairs: an index between runs, passages, leaks, meaning, and agreement."""

from __future__ import annotations

import itertools
import json
import lzma
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest.mock
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

import sthash
from harness import OURS, Run, compare, figure
from sthash import Deduplicator, Document
from sthash.duplicates import Checkpoint, SeenIndex, cosine_curve, deduplicate, overlap, repeated_passages
from sthash.duplicates.spool import Spool
from sthash.sources import read_documents
from timing import time_in_turns, timed

RUNS = 10
PROGRAM = "import sys; from sthash.cli import main; sys.argv[0] = 'sth'; main()"
DATASETS = Path(os.environ.get("STHASH_DATA", "../shared/datasets"))


def write(path: Path, texts: Iterable[str]) -> Path:
    """Write JSON lines."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in texts)
    return path


def sth(*arguments: str | Path) -> list[str]:
    """Return the command line of a command."""
    return [sys.executable, "-c", PROGRAM, *map(str, arguments)]


def steps(run: Run, size: int, texts: Iterable[str]) -> None:
    """Deduplicate in 32 parts, and add up the processor time between what is reported of the steps."""
    seconds: dict[str, float] = {}
    spilled: list[int] = []

    def report(name: str, *_: int | None) -> None:
        nonlocal at, step
        now = time.process_time()
        seconds[step] = seconds.get(step, 0) + now - at
        at, step = now, name

    keep = Spool.append

    def append(spool: Spool, items: Any) -> None:
        spilled.append(items.nbytes)
        keep(spool, items)

    with tempfile.TemporaryDirectory() as folder:
        source = write(Path(folder, "in.jsonl"), texts)
        at, step = time.process_time(), "reading"
        with (
            unittest.mock.patch.object(Spool, "append", append),
            Checkpoint(Path(folder, "run")) as checkpoint,
            deduplicate(read_documents(source), checkpoint=checkpoint, progress=report) as found,
        ):
            report("end")
            dropped = found.n_dropped
        noted = Path(folder, "run").stat().st_size
    details = {f"{name} µs": value / size * 1e6 for name, value in seconds.items()}
    details |= {"bytes on the disk": sum(spilled) / size, "bytes noted": noted / size, "dropped": dropped}
    whole = sum(seconds.values()) / size * 1e6
    run.add(figure(f"steps-{size}", f"{size:,} short texts, per text", whole, "µs CPU", details=details))


def seen_texts(path: Path) -> int:
    """Return how many texts an index has."""
    with SeenIndex(path) as seen:
        return len(seen)


def index_between_runs(run: Run, texts: list[str]) -> None:
    """Drop duplicates in one run and in ten, each of which is killed once before it is repeated."""
    rng = random.Random(0)
    runs = run.choose(RUNS, 2)
    size = -(-len(texts) // runs)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        whole = write(place / "whole.jsonl", texts)
        one = timed(
            lambda: subprocess.run(
                sth("dedup", whole, "-o", place / "one.jsonl", "--index", place / "one.idx"), check=True, stderr=-3
            )
        )
        last, kills, seconds = 1.0, 0, 0.0
        for number in range(runs):
            part = write(place / "part.jsonl", texts[number * size : (number + 1) * size])
            command = sth("dedup", part, "-o", place / f"kept{number}.jsonl", "--index", place / "ten.idx")
            before = seen_texts(place / "ten.idx")
            killed = subprocess.Popen(command, stderr=subprocess.DEVNULL)
            time.sleep(rng.random() * last)
            killed.send_signal(signal.SIGKILL)
            kills += killed.wait() == -signal.SIGKILL
            start = time.perf_counter()
            # A run that counts in the index has written its output, and is not repeated.
            if seen_texts(place / "ten.idx") == before:
                subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
                last = time.perf_counter() - start
                seconds += last
        together = b"".join((place / f"kept{number}.jsonl").read_bytes() for number in range(runs))
        details = {
            "equal": together == (place / "one.jsonl").read_bytes(),
            "kept": together.count(b"\n"),
            "kills": kills,
            "bytes per text": (place / "ten.idx").stat().st_size / len(texts),
            "one run s": one.best,
        }
    run.add(
        figure("index", f"{runs} runs with one index", seconds, "s", setting={"texts": len(texts)}, details=details)
    )


def windows_of(texts: list[str], size: int) -> tuple[list[list[str]], list[list[int]]]:
    """Return the words of texts, and which of them are in a run of words that an earlier text has: slow and plain."""
    first: dict[tuple[str, ...], int] = {}
    every, repeated = [], []
    for number, text in enumerate(texts):
        words = re.findall(r"[^\W_]+", text.lower())
        marked: set[int] = set()
        for at in range(len(words) - size + 1):
            if first.setdefault(tuple(words[at : at + size]), number) < number:
                marked.update(range(at, at + size))
        every.append(words)
        repeated.append(sorted(marked))
    return every, repeated


def passages(run: Run, texts: list[str], words: int) -> None:
    """Find repeated passages, on one thread; compare two megabytes with a slow definition."""

    def work() -> int:
        with repeated_passages(texts, min_words=words, threads=1) as found:
            return sum(len(own) for _, _, own in found)

    timing = timed(work)
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    few = list(itertools.islice(texts, 6000))
    size = 10
    # Of texts in one piece, whole words are cut: each word a line of its own.
    lines = ["\n".join(re.findall(r"[^\W_]+", text.lower())) for text in few]
    split, repeated = windows_of(lines, size)
    with repeated_passages(lines, min_words=size, template_documents=0) as found:
        ours = {position: (text, own) for position, text, own in found}
    equal = True
    for number, (own_words, marked) in enumerate(zip(split, repeated, strict=True)):
        text, own = ours.get(number, (lines[number], []))
        cut = [word for passage in own for word in text[passage.start : passage.end].split()]
        equal &= cut == [own_words[at] for at in marked]
    details = {
        "passages": timing.result,
        "equal to the slow definition": equal,
        "MB compared with it": sum(map(len, lines)) / 1e6,
        "seconds": timing.best,
    }
    run.add(
        figure("passages", "repeated passages, one thread", megabytes / timing.best_cpu, "MB/CPU s",
               setting={"MB": megabytes, "words": words}, details=details)
    )  # fmt: skip


def leaks(run: Run, texts: list[str], n_train: int, n_test: int) -> None:
    """Look for test items in training data, beside SemHash, whose answer is approximate."""
    chosen = np.random.default_rng(0).permutation(len(texts))
    train = [texts[place] for place in chosen[:n_train]]
    test = [texts[place] for place in chosen[n_train : n_train + n_test]]

    def ours() -> int:
        documents = ([Document(None, text) for text in own] for own in (train, test))
        with overlap(*documents) as found:
            return len(found)

    contestants: dict[str, Any] = {OURS: ours}
    if not run.quick:
        from semhash import SemHash

        from static_embeddings import Encoder

        encoder = Encoder()
        contestants["SemHash"] = lambda: len(
            SemHash.from_records(records=train, model=encoder).deduplicate(records=test).filtered
        )
    timings = time_in_turns(contestants, repetitions=3, budget=30, at_least=1)
    details = {"found": timings[OURS].result, "our CPU seconds": timings[OURS].best_cpu}
    setting = {"training texts": n_train, "test items": n_test}
    run.add(compare("overlap", "test items in training data", timings, setting=setting, details=details))


def meaning(run: Run) -> None:
    """Find the documents of NFCorpus that a language model has rewritten, titles left out."""
    if run.quick:
        rng = np.random.default_rng(0)
        rows = rng.normal(size=(200, 16))
        vectors = np.concatenate([rows, rows + rng.normal(size=rows.shape) / 9])
    else:
        from static_embeddings import Encoder

        with lzma.open(DATASETS / "nfcorpus.json.xz") as file:
            originals = json.load(file)["documents"]
        with lzma.open(DATASETS / "nfcorpus_rewritten.json.xz") as file:
            rewritten = json.load(file)
        both = [own[key].split("\n", 1)[-1] for own in (originals, rewritten) for key in originals]
        vectors = Encoder().encode(both)
    curve = cosine_curve(vectors)
    half = len(vectors) // 2
    least = curve.threshold or 1.0
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    pairs = np.argwhere(np.triu(unit @ unit.T >= least, 1))
    right = int((pairs[:, 1] - pairs[:, 0] == half).sum())
    details = {"precision": right / max(len(pairs), 1), "recall": right / half}
    run.add(figure("meaning", "cosine chosen for rewritten texts", least, "cosine", setting={"texts": 2 * half},
                   details=details))  # fmt: skip


def groups_on_spark(corpora: dict[str, list[str]]) -> dict[str, list[list[int]]]:
    """Groups of texts by Spark, in local mode."""
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    from pyspark.sql import SparkSession

    from sthash.spark import connected_groups, similar_texts

    settings = {"spark.driver.host": "127.0.0.1", "spark.driver.memory": "4g", "spark.ui.showConsoleProgress": "false",
                "spark.sql.shuffle.partitions": "4", "spark.log.level": "ERROR"}  # fmt: skip
    builder = SparkSession.builder.master("local[2]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    try:
        found = {}
        for name, texts in corpora.items():
            table = spark.createDataFrame(list(enumerate(texts)), "id long, text string")
            groups: dict[int, list[int]] = {}
            for row in connected_groups(similar_texts(table, id_col="id")).collect():
                groups.setdefault(row["group"], []).append(row["id"])
            found[name] = sorted(map(sorted, groups.values()))
        return found
    finally:
        spark.stop()


def agreement(run: Run, corpora: dict[str, list[str]]) -> None:
    """Compare the groups of texts, of a collection, of `dedup` of its file, of a deduplicator and of Spark."""
    of_spark = {} if run.quick else groups_on_spark(corpora)
    for name, texts in corpora.items():
        groups = sthash.near_duplicates(texts).groups
        with tempfile.TemporaryDirectory() as folder:
            documents = [Document(str(place), text) for place, text in enumerate(texts)]
            with sthash.Collection.create(Path(folder, "c.sth"), documents) as collection:
                of_collection = [[int(key) for key in group] for group in collection.near_duplicates().groups]
        with deduplicate(documents) as found:
            dropped = {
                int(own.document.key or 0): int(own.of.key or 0) for own in found.dropped() if own.of is not None
            }
        seen = Deduplicator()
        copies = sum(not verdict.is_new for verdict in seen.add(texts))
        details = {
            "collection equal": of_collection == groups,
            "dedup equal": dropped == {member: group[0] for group in groups for member in group[1:]},
            "Deduplicator equal": [[int(key) for key in group] for group in seen.groups()] == groups,
            "dropped": len(dropped),
            "copies of earlier texts, by Deduplicator": copies,
        }
        if of_spark:
            details["Spark equal"] = of_spark[name] == sorted(groups)
        run.add(figure(f"agreement-{name}", f"groups of {name}", len(groups), "groups", setting={"texts": len(texts)},
                       details=details))  # fmt: skip
