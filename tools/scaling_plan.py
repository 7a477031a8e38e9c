"""Compute the plan for a billion documents, and write it between the marks of docs/scaling.md.

Run it without arguments. Each figure is a function of what was measured (`Measured`, by benchmarks/scaling.py and
benchmarks/encoding.py) and of what is assumed (`Assumed`). The table of a million documents and the speed of learning
come from the results of benchmarks/scaling.py, part ``million``, if they are there; the tables of short texts and of
codes from its other parts; the stages on Spark from those of benchmarks/spark.py, part ``rows``; the steps of
deduplication from benchmarks/duplicates.py, part ``steps``.
tests/test_scaling_plan.py checks that the page has the figures of this file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from pages import table, with_block

PAGE = Path(__file__).parents[1] / "docs" / "scaling.md"
RESULTS = PAGE.parents[1] / "benchmarks" / "results" / "scaling-million.json"
STAGES_ON_SPARK = RESULTS.with_name("spark-rows.json")
TEXTS = ("texts-2m", "texts-5m", "texts-5m-all", "texts-10m", "texts-20m")
STEPS = RESULTS.with_name("duplicates-steps.json")
LEARNED_PER_SECOND = 8_000.0  # until a million documents have been measured
STAGES = ("graph", "embedding", "bits", "hash functions")
MARK = "<!-- {} of the plan: made by tools/scaling_plan.py -->"
BLOCK = 200_000  # codes beyond which the join cuts a bucket: sthash.spark.join.BLOCK


@cache
def million() -> list[dict[str, Any]]:
    """Rows of the builds of a million documents, by the number that was learned from; empty if not measured."""
    if not RESULTS.exists():
        return []
    result = json.loads(RESULTS.read_text(encoding="utf-8"))
    if result["quick"]:
        raise ValueError(f"{RESULTS} is of a quick run, which means nothing. Run: python benchmarks/scaling.py million")
    rows = {row["id"]: row for row in result["rows"]}
    builds = [row for name, row in rows.items() if name.startswith("build-")]
    for build in builds:
        for kind in ("share", "typed", "passages"):
            build[kind] = rows[build["id"].replace("build", kind)]["ours"]
    return sorted(builds, key=lambda build: int(build["setting"]["learned on"]))


def learned_per_second() -> float:
    """Documents that were learned from per second, in the largest build."""
    if not million():
        return LEARNED_PER_SECOND
    largest = million()[-1]
    return float(largest["setting"]["learned on"] / largest["details"]["learning s"])


def million_rows() -> Iterator[list[str]]:
    """Rows of the table of a million documents."""
    yield [
        "learned from",
        "share of the true top 10 in the 100 nearest codes",
        "build",
        f"of it learning ({', '.join(STAGES)})",
        "memory",
        "typed query",
        "passage as a query, in batch",
    ]
    for build in million():
        on, documents, details = build["setting"]["learned on"], build["setting"]["documents"], build["details"]
        stages = ", ".join(f"{details['stages'].get(stage, 0):.0f}" for stage in STAGES)
        yield [
            f"all {on:,}" if on == documents else f"{on:,}",
            f"{build['share']:.3f}",
            f"{build['ours']:.0f} s",
            f"{details['learning s']:.0f} s ({stages})",
            f"{details['GiB peak']:.1f} GiB",
            f"{build['typed']:.2f} ms",
            f"{build['passages']:.2f} ms",
        ]


@cache
def stages_on_spark() -> dict[str, dict[str, Any]]:
    """Stages over many rows on Spark, as they were measured, by name; empty if not."""
    if not STAGES_ON_SPARK.exists():
        return {}
    result = json.loads(STAGES_ON_SPARK.read_text(encoding="utf-8"))
    if result["quick"]:
        raise ValueError(f"{STAGES_ON_SPARK} is of a quick run, which means nothing. Run: benchmarks/spark.py rows")
    return {row["id"]: row for row in result["rows"]}


def stage_rows() -> Iterator[list[str]]:
    """Rows of the table of stages on Spark."""
    yield ["stage", "rows", "time", "passes over its input", "shuffled", "driver, at most"]
    for row in stages_on_spark().values():
        details = row["details"]
        yield [
            row["what"],
            f"{row['setting']['rows']:,}",
            f"{row['ours']:,.0f} s",
            f"{details['passes']:.1f}",
            bytes_(details["MB shuffled"] * 1e6),
            f"{details['MiB driver'] / 1024:.1f} GiB",
        ]


def rows_of(part: str) -> dict[str, dict[str, Any]]:
    """Rows of a part of benchmarks/scaling.py by their names; empty if it was not measured."""
    path = RESULTS.with_name(f"scaling-{part}.json")
    if not path.exists():
        return {}
    result = json.loads(path.read_text(encoding="utf-8"))
    if result["quick"]:
        raise ValueError(f"{path} is of a quick run, which means nothing. Run: python benchmarks/scaling.py {part}")
    return {row["id"]: row for row in result["rows"]}


def text_rows() -> list[list[str]]:
    """Columns of the table of short texts, one per part that was measured, after the names of the rows."""
    columns = [[""], ["build, by the clock"], ["build, processor time"], ["memory of the build, at its peak"]]
    columns += [["file, per text"], ["without codes and hash functions"], ["a process opens it and answers once"]]
    columns += [
        ["resident after 600 queries"],
        ["typed query, first 300 of a process"],
        ["typed query, the same again"],
    ]
    columns += [["`add` of one text"], ["next search, same process: processor time"]]
    columns += [["next search, another process: processor time"], ["a warm search: processor time"]]

    def peers(row: dict[str, Any], shown: Callable[[float], str]) -> str:
        return shown(row["ours"]) + (f" (tantivy {shown(row['theirs'])})" if row["theirs"] else "")

    measured = False
    for part in TEXTS:
        rows = rows_of(part)
        if not rows:
            continue
        measured = True
        build, setting = rows["build"]["details"], rows["build"]["setting"]
        their_cpu = f" (tantivy {build['their CPU s']:,.0f} s)" if "their CPU s" in build else ""
        values = [
            f"{setting['documents']:,}, learned on {build['learned on']:,}",
            peers(rows["build"], lambda value: f"{value:,.0f} s"),
            f"{build['CPU s']:,.0f} s{their_cpu}",
            f"{build['GiB peak']:.1f} GiB",
            f"{sum(rows['file']['details'].values()):.0f} bytes",
            peers(rows["file"], lambda value: f"{value:.0f} bytes"),
            f"{rows['open']['ours']:,.0f} ms",
            f"{rows['open']['details']['MiB']:,.0f} MiB",
            peers(rows["first"], lambda value: f"{value:.1f} ms"),
            peers(rows["warm"], lambda value: f"{value:.1f} ms"),
            f"{rows['change-add']['ours']:.0f} ms",
            f"{rows['change-same']['details']['CPU ms']:.1f} ms",
            f"{rows['change-another']['details']['CPU ms']:.1f} ms",
            f"{rows['change-warm']['details']['CPU ms']:.1f} ms",
        ]
        for column, value in zip(columns, values, strict=True):
            column.append(value)
    return columns if measured else []


def code_rows() -> list[list[str]]:
    """Rows of the table of an index of many codes."""
    rows = rows_of("codes-100m")
    shown = [["what", "figure", "processor time"]] if rows else []
    for row in rows.values():
        cpu = row["details"].get("CPU s"), row["details"].get("CPU ms")
        spent = f"{cpu[0]:.1f} s" if cpu[0] is not None else f"{cpu[1]:.2f} ms" if cpu[1] is not None else ""
        shown.append([row["what"], f"{row['ours']:,.3g} {row['unit']}", spent])
    return shown


@cache
def dedup_steps() -> list[dict[str, Any]]:
    """Deduplications of short texts, in parts, as they were measured; empty if not."""
    if not STEPS.exists():
        return []
    result = json.loads(STEPS.read_text(encoding="utf-8"))
    if result["quick"]:
        raise ValueError(f"{STEPS} is of a quick run, which means nothing. Run: benchmarks/duplicates.py steps")
    return list(result["rows"])


# Steps of `sth dedup`: how they are reported, and what they are.
DEDUP_STEPS = {
    "reading": "reading, and fingerprints",
    "distributing": "distributing to parts",
    "comparing": "comparing, part by part, and choosing what is kept",
}
DOCUMENT_BYTES = 100  # of memory: sthash.duplicates.streaming.BYTES_PER_DOCUMENT
LINE_BYTES = 94  # of a text in JSON Lines


def dedup_rows(documents: int = 10**8, cores: int = 2) -> Iterator[list[str]]:
    """Rows of the table of a deduplication."""
    yield [
        "per text",
        *(row["what"].removesuffix(", per text") for row in dedup_steps()),
        f"N = {documents:,}",
    ]
    last = dedup_steps()[-1]["details"]
    for step, what in DEDUP_STEPS.items():
        name = f"{step} µs"
        hours = last[name] * documents / 1e6 / 3600
        measured = [f"{row['details'][name]:.1f} µs" for row in dedup_steps()]
        yield [what, *measured, f"N · {last[name]:.1f} µs = {hours:.1f} core hours"]
    disk = last["bytes on the disk"] + 2 * LINE_BYTES
    measured = [f"{row['details']['bytes on the disk'] + 2 * LINE_BYTES:,.0f} B" for row in dedup_steps()]
    yield ["temporary files, twice the text among them", *measured, f"N · {disk:,.0f} = {bytes_(disk * documents)}"]
    noted = last["bytes noted"]
    measured = [f"{row['details']['bytes noted']:.0f} B" for row in dedup_steps()]
    yield ["noted for `--resume`", *measured, f"N · {noted:.0f} = {bytes_(noted * documents)}"]
    memory = bytes_(DOCUMENT_BYTES * documents)
    yield ["memory, beside a part", *["100 B"] * len(dedup_steps()), f"N · {DOCUMENT_BYTES} = {memory}"]
    # Reading runs on one core.
    alone, shared = last["reading µs"], last["distributing µs"] + last["comparing µs"]
    hours = (alone + shared / cores) * documents / 1e6 / 3600
    yield ["by the clock, on two cores", *[""] * len(dedup_steps()), f"{hours:.1f} hours"]


@dataclass(frozen=True)
class Measured:
    """On 2 cores of a Zen 4, and on 244,163 descriptions of vulnerabilities and Debian packages."""

    text_bytes: float = 370
    vector_bytes: float = 239
    file_bytes: float = 870  # without the model, with codes of 32 bytes
    index_bytes: float = 24.4  # with codes of 8 bytes
    index_bytes_with_tables: float = 72.7
    encoded_per_core_second: float = 65_500
    learned_per_second: float = field(default_factory=learned_per_second)
    comparisons_per_core_second: float = 4.5e9
    compressed: float = 0.35  # what is left of a shuffle: benchmarks/spark.py, beside the formula
    passes_to_learn: int = 3  # over the texts: one counts their terms, two draw the sample
    counted_per_core_second: float = 65_500  # assumed to be as many as are encoded: both analyze the text


@dataclass(frozen=True)
class Pairs:
    """Pairs of the distinct codes of these documents, as shares of all their pairs."""

    sharing: float  # that agree in a band, added up over the bands
    close: float  # that are within the radius


# Share of the codes that are distinct, by bits; and their pairs, by bits and radius.
DISTINCT = {64: 0.685, 128: 0.851, 256: 0.911}
PAIR_SHARES = {
    (64, 1): Pairs(1.2e-4, 2.8e-6),
    (64, 3): Pairs(8.4e-3, 5.1e-5),
    (64, 5): Pairs(5.7e-2, 2.9e-4),
    (128, 1): Pairs(1.0e-4, 9.7e-7),
    (128, 3): Pairs(1.2e-3, 1.4e-5),
    (128, 5): Pairs(5.9e-3, 6.5e-5),
    (256, 1): Pairs(7.6e-6, 1.8e-7),
    (256, 3): Pairs(2.2e-4, 1.3e-6),
    (256, 5): Pairs(8.9e-4, 4.2e-6),
}
# Documents, distinct codes of 64 bits, and bytes that the self-join at radius 3 shuffled: benchmarks/spark.py.
SHUFFLED = [(61_290, 50_299, 4.4e6), (122_581, 96_278, 8.5e6), (245_163, 183_361, 16.4e6)]
PAIRS_FOUND = {61_290: 135_071, 122_581: 341_888, 245_163: 848_215}  # by the same joins


@dataclass(frozen=True)
class Assumed:
    """What you replace by figures of your own."""

    documents: int = 10**9
    bits: int = 128
    radius: int = 3
    terms: int = 10**6
    sample_size: int = 250_000  # sthash.spark.params.SAMPLE_SIZE
    key_bytes: int = 20
    shuffled_per_core_second: float = 1e8
    core_hour: float = 0.05
    gigabyte_month: float = 0.02


def row_bytes(bits: int, fields: int) -> int:
    """Bytes of a row that Spark shuffles, before it is compressed: nulls, the fields, and the code in whole words."""
    return 8 * (1 + fields) + 8 * math.ceil(bits / 64)


def copies(distinct: float, sharing: float, bands: int) -> float:
    """How often a code is sent per band: once, and once more for each block of its bucket beyond the first."""
    return 1 + distinct * sharing / bands / BLOCK


def shuffle_bytes(documents: float, distinct: float, bits: int, radius: int, sharing: float) -> float:
    """Bytes that the self-join shuffles: all codes, to make them distinct; then each in radius + 1 bands."""
    bands = radius + 1
    sent = distinct * bands * copies(distinct, sharing, bands)
    return documents * row_bytes(bits, 1) + sent * row_bytes(bits, 5)


def join_rows(measured: Measured, assumed: Assumed) -> Iterator[list[str]]:
    """Rows of the table of joins."""
    yield [
        "bits",
        "radius",
        "shuffled",
        "compressed",
        "comparisons",
        "core hours",
        "cost",
        "pairs of codes",
        "as two ids and a distance",
    ]
    for (bits, radius), shares in PAIR_SHARES.items():
        codes = DISTINCT[bits] * assumed.documents
        all_pairs = codes**2 / 2
        shuffled = shuffle_bytes(assumed.documents, codes, bits, radius, shares.sharing)
        compared, found = all_pairs * shares.sharing, all_pairs * shares.close
        # A comparison of longer codes takes longer: it goes word by word.
        comparing = compared * math.ceil(bits / 64) / measured.comparisons_per_core_second
        moving = 2 * shuffled * measured.compressed / assumed.shuffled_per_core_second
        hours = (comparing + moving) / 3600
        yield [
            str(bits),
            str(radius),
            bytes_(shuffled),
            bytes_(shuffled * measured.compressed),
            count(compared),
            f"{hours:,.1f}",
            f"${hours * assumed.core_hour:,.2f}",
            count(found),
            bytes_(found * 20),
        ]


def plan_rows(measured: Measured, assumed: Assumed) -> Iterator[list[str]]:
    """Rows of the table of storage, time and cost."""
    n, code = assumed.documents, assumed.bits / 8
    store = n * (measured.file_bytes - 32 + code)
    there = n * (measured.text_bytes + assumed.key_bytes + 16 + code)
    index = n * (measured.index_bytes - 8 + code)
    tables = n * (measured.index_bytes_with_tables - 8 + code)
    encoding = n / measured.encoded_per_core_second / 3600
    counting = n / measured.counted_per_core_second / 3600
    reading = measured.passes_to_learn * n * measured.text_bytes
    reading_hours = reading / assumed.shuffled_per_core_second / 3600
    month = assumed.gigabyte_month / 1e9
    yield ["what", "formula", "figure"]
    yield ["codes alone", "N · b / 8", bytes_(n * code)]
    yield ["texts", f"N · {measured.text_bytes:g}", bytes_(n * measured.text_bytes)]
    yield ["`.sth` files: texts, vectors, codes, keys", f"N · ({measured.file_bytes - 32:g} + b / 8)", bytes_(store)]
    yield ["of these the vectors, for re-ranking", f"N · {measured.vector_bytes:g}", bytes_(n * measured.vector_bytes)]
    yield ["the files for a month", "bytes · price", f"${store * month:,.0f}"]
    yield ["`HammingIndex`, scanning", f"N · ({measured.index_bytes - 8:.1f} + b / 8)", bytes_(index)]
    yield ["`HammingIndex`, with tables", f"N · ({measured.index_bytes_with_tables - 8:.1f} + b / 8)", bytes_(tables)]
    yield ["Milvus: rows without metadata", f"N · ({measured.text_bytes:g} + key + 16 + b / 8)", bytes_(there)]
    yield ["model, as broadcast to each worker", "terms · b · 4", bytes_(assumed.terms * assumed.bits * 4)]
    yield [
        "learning: counting the terms of all documents, as fast as encoding",
        f"N / {measured.counted_per_core_second:,.0f} / 3600",
        f"{counting:,.1f} core hours, ${counting * assumed.core_hour:,.2f}",
    ]
    yield [
        f"learning: reading all texts {measured.passes_to_learn} times",
        f"{measured.passes_to_learn} · N · {measured.text_bytes:g} / 100 MB / 3600",
        f"{bytes_(reading)}, {reading_hours:,.1f} core hours, ${reading_hours * assumed.core_hour:,.2f}",
    ]
    yield [
        "learning, on the driver",
        f"sample / {measured.learned_per_second:,.0f}",
        f"{assumed.sample_size / measured.learned_per_second:,.1f} s",
    ]
    yield [
        "encoding",
        f"N / {measured.encoded_per_core_second:,.0f} / 3600",
        f"{encoding:,.1f} core hours, ${encoding * assumed.core_hour:,.2f}",
    ]


def grown_pairs(documents: float) -> float:
    """Pairs of 64-bit codes within radius 3, if they grow by the same factor with each further doubling."""
    (fewest, few_pairs), *_, (most, most_pairs) = PAIRS_FOUND.items()
    factor = (most_pairs / few_pairs) ** (1 / math.log2(most / fewest))
    return float(most_pairs * factor ** math.log2(documents / most))


def bytes_(number: float) -> str:
    """Bytes, to two digits."""
    for unit, size in (("PB", 1e15), ("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if number >= size:
            return f"{float(f'{number / size:.2g}'):g} {unit}"
    return f"{number:,.0f} B"


def count(number: float) -> str:
    """A large number, to two digits."""
    digits, power = f"{number:.1e}".split("e")
    return f"{digits} · 10^{int(power)}"


def filled(page: str) -> str:
    """Put the tables between their marks."""
    measured, assumed = Measured(), Assumed()
    content = table(million_rows()) if million() else "*Not measured yet.*"
    page = with_block(page, MARK.format("Table 0"), MARK.format("End of Table 0"), content)
    content = table(stage_rows()) if stages_on_spark() else "*Not measured yet.*"
    page = with_block(page, MARK.format("Table 3"), MARK.format("End of Table 3"), content)
    for name, content_rows in (("Table 4", text_rows()), ("Table 5", code_rows())):
        content = table(iter(content_rows)) if content_rows else "*Not measured yet.*"
        page = with_block(page, MARK.format(name), MARK.format(f"End of {name}"), content)
    content = table(dedup_rows()) if dedup_steps() else "*Not measured yet.*"
    page = with_block(page, MARK.format("Table 6"), MARK.format("End of Table 6"), content)
    for name, rows in (("Table 1", plan_rows(measured, assumed)), ("Table 2", join_rows(measured, assumed))):
        page = with_block(page, MARK.format(name), MARK.format(f"End of {name}"), table(rows))
    return page


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
