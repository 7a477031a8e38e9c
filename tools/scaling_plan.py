"""Compute the plan for a billion documents and write it into docs/scaling.md, between the marks. Run without arguments.

Each figure is a function of what was measured (`Measured`, by benchmarks/scaling.py and those named in README.md) and
of what is assumed (`Assumed`); tests/test_scaling_plan.py sees to it that the page has the figures of this file.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "scaling.md"
MARK = "<!-- {} of the plan: made by tools/scaling_plan.py -->"
BLOCK = 200_000  # codes beyond which the join cuts a bucket: sthash.spark.join.BLOCK


@dataclass(frozen=True)
class Measured:
    """On 2 cores of a Zen 4, and on 244,163 descriptions of vulnerabilities and Debian packages."""

    text_bytes: float = 370
    vector_bytes: float = 239
    file_bytes: float = 870  # without the model, with codes of 32 bytes
    index_bytes: float = 24.4  # with codes of 8 bytes
    index_bytes_with_tables: float = 72.7
    encoded_a_core_second: float = 65_500
    learnt_a_second: float = 8_000
    comparisons_a_core_second: float = 4.5e9
    compressed: float = 0.35  # what is left of a shuffle: benchmarks/spark.py, beside the formula


# Of the codes of these documents, by bits, or by bits and radius: how many are distinct; which share of the pairs of
# distinct codes agrees in a band, added up over the bands; and which share is within the radius.
DISTINCT = {64: 0.685, 128: 0.851, 256: 0.911}
SHARING = {
    (64, 1): 1.2e-4,
    (64, 3): 8.4e-3,
    (64, 5): 5.7e-2,
    (128, 1): 1.0e-4,
    (128, 3): 1.2e-3,
    (128, 5): 5.9e-3,
    (256, 1): 7.6e-6,
    (256, 3): 2.2e-4,
    (256, 5): 8.9e-4,
}
WITHIN = {
    (64, 1): 2.8e-6,
    (64, 3): 5.1e-5,
    (64, 5): 2.9e-4,
    (128, 1): 9.7e-7,
    (128, 3): 1.4e-5,
    (128, 5): 6.5e-5,
    (256, 1): 1.8e-7,
    (256, 3): 1.3e-6,
    (256, 5): 4.2e-6,
}
# Documents, distinct codes of 64 bits, and bytes that the self-join at radius 3 shuffled: benchmarks/spark.py.
SHUFFLED = [(61_290, 50_299, 4.4e6), (122_581, 96_278, 8.5e6), (245_163, 183_361, 16.4e6)]
PAIRS = {61_290: 135_071, 122_581: 341_888, 245_163: 848_215}  # of the same joins


@dataclass(frozen=True)
class Assumed:
    """What you should put your own figures in for."""

    documents: int = 10**9
    bits: int = 128
    radius: int = 3
    terms: int = 10**6
    learn_on: int = 20_000
    key_bytes: int = 20
    shuffled_a_core_second: float = 1e8
    core_hour: float = 0.05
    gigabyte_month: float = 0.02


def row_bytes(bits: int, fields: int) -> int:
    """Bytes of a row that Spark shuffles, before it is compressed: nulls, the fields, and the code in whole words."""
    return 8 * (1 + fields) + 8 * math.ceil(bits / 64)


def copies(distinct: float, sharing: float, bands: int) -> float:
    """How often a code is sent for one band: once, and once more for each block of its bucket beyond the first."""
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
    for bits, radius in SHARING:
        codes = DISTINCT[bits] * assumed.documents
        sharing = SHARING[bits, radius]
        shuffled = shuffle_bytes(assumed.documents, codes, bits, radius, sharing)
        compared = codes**2 / 2 * sharing
        # A comparison of longer codes takes longer, a word at a time.
        comparing = compared * math.ceil(bits / 64) / measured.comparisons_a_core_second
        moving = 2 * shuffled * measured.compressed / assumed.shuffled_a_core_second
        hours = (comparing + moving) / 3600
        pairs = codes**2 / 2 * WITHIN[bits, radius]
        yield [
            str(bits),
            str(radius),
            bytes_(shuffled),
            bytes_(shuffled * measured.compressed),
            count(compared),
            f"{hours:,.1f}",
            f"${hours * assumed.core_hour:,.2f}",
            count(pairs),
            bytes_(pairs * 20),
        ]


def plan_rows(measured: Measured, assumed: Assumed) -> Iterator[list[str]]:
    """Rows of the table of storage, time and cost."""
    n, code = assumed.documents, assumed.bits / 8
    store = n * (measured.file_bytes - 32 + code)
    there = n * (measured.text_bytes + assumed.key_bytes + 16 + code)
    index = n * (measured.index_bytes - 8 + code)
    tables = n * (measured.index_bytes_with_tables - 8 + code)
    encoding = n / measured.encoded_a_core_second / 3600
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
        "learning, on the driver",
        f"sample / {measured.learnt_a_second:,.0f}",
        f"{assumed.learn_on / measured.learnt_a_second:,.1f} s",
    ]
    yield [
        "encoding",
        f"N / {measured.encoded_a_core_second:,.0f} / 3600",
        f"{encoding:,.1f} core hours, ${encoding * assumed.core_hour:,.2f}",
    ]


def grown_pairs(documents: float) -> float:
    """Pairs of 64-bit codes within radius 3, if they go on growing by the same factor with each doubling."""
    sizes = list(PAIRS)
    factor = (PAIRS[sizes[-1]] / PAIRS[sizes[0]]) ** (1 / math.log2(sizes[-1] / sizes[0]))
    return float(PAIRS[sizes[-1]] * factor ** math.log2(documents / sizes[-1]))


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


def markdown(rows: Iterator[list[str]]) -> str:
    """Rows as a table."""
    head, *body = rows
    lines = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def filled(page: str) -> str:
    """Put the tables in between their marks."""
    measured, assumed = Measured(), Assumed()
    for name, rows in (("Table 1", plan_rows(measured, assumed)), ("Table 2", join_rows(measured, assumed))):
        start, end = MARK.format(name), MARK.format(f"End of {name}")
        before, _, rest = page.partition(start)
        _, _, after = rest.partition(end)
        page = f"{before}{start}\n{markdown(rows)}\n{end}{after}"
    return page


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
