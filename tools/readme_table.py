"""Write the tables of measurements in README.md and docs/benchmarks.md from the results in benchmarks/results.

``python tools/readme_table.py`` writes them between the marks of the pages; with ``--check`` it only compares, and
fails if a page has other figures. `LINES` says which rows the site shows, and in which words; headlines are in the
README too.
"""

from __future__ import annotations

import argparse
import json
import re
import string
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pages import table, with_block

ROOT = Path(__file__).parents[1]
README, SITE = ROOT / "README.md", ROOT / "docs" / "benchmarks.md"
RESULTS = ROOT / "benchmarks" / "results"
BEGIN, END = "<!-- benchmarks:begin -->", "<!-- benchmarks:end -->"


@dataclass(frozen=True)
class Line:
    """One line of the table.

    Attributes
    ----------
    result : str
        Name of the file of results, without ``.json``.
    what, peer, ratio : str
        Templates. ``{total.ours:.1f}`` is the figure of the row with the id ``total``; the format ``short`` gives two
        digits.
    headline : bool
        Whether the README shows it.
    """

    result: str
    what: str
    peer: str = ""
    ratio: str = ""
    headline: bool = False


LINES = (
    Line(
        "fit",
        "raw text to a {total.setting[bits]}-bit model, {total.setting[documents]:,} documents of 20Newsgroups: "
        "{total.ours:.1f} s, {memory.ours:.0f} MiB",
        "TfidfVectorizer, NearestNeighbors, `eigsh`, {total.setting[bits]} × LinearSVC: {total.theirs:.1f} s",
        "**{total.ratio:short}**; {equal-tolerance.ratio:short} with the SVMs at equal tolerance",
    ),
    Line(
        "graph",
        "the graph alone, two threads: {threads-2.ours:.2f} s",
        "sparse_dot_topn: {threads-2.theirs:.2f} s",
        "**{threads-2.ratio:short}**",
    ),
    Line(
        "encoding",
        "unseen raw text to 64-bit codes: {warm.ours:short} documents per second; {fresh.ours:short} when no word was "
        "met before",
        "the same assembly, fitted: {warm.theirs:short}",
        "**{warm.ratio:short}**; {fresh.ratio:short}",
    ),
    Line(
        "hamming-nearest",
        "10 nearest codes of 1,000 queries, 1 M × 64 bits, one thread",
        "FAISS `IndexBinaryFlat`",
        "**{random-64-k10-threads-1.ratio:short}** random, {clustered-64-k10-threads-1.ratio:short} clustered codes",
        headline=True,
    ),
    Line(
        "hamming-radius",
        "all codes within radius 3 of 1,000 queries, 10 M × 64 bits, one thread",
        "FAISS's best exact binary index",
        "**{random-10000000-batch-threads-1.ratio:short}** random, "
        "{clustered-10000000-batch-threads-1.ratio:short} clustered codes",
    ),
    Line(
        "hamming-removal",
        "removing 1,000 of 1 M ids",
        "FAISS `IndexBinaryIDMap2`",
        "**{remove.ratio:short}**",
    ),
    Line(
        "relevance-judged",
        "nDCG@10 of typed queries, Cranfield {cranfield nDCG.ours:.3f} and NPL {npl nDCG.ours:.3f}; recall@100 "
        "{cranfield recall.ours:.3f} and {npl recall.ours:.3f}",
        "bm25s: {cranfield nDCG.theirs:.3f} and {npl nDCG.theirs:.3f}; {cranfield recall.theirs:.3f} and "
        "{npl recall.theirs:.3f}",
        "**{cranfield nDCG.ratio:.2f}**, **{npl nDCG.ratio:.2f}**; {cranfield recall.ratio:.2f}, "
        "{npl recall.ratio:.2f}",
        headline=True,
    ),
    Line(
        "text_search-single",
        "typed queries of 1 to 5 words, one by one, {auto.setting[documents]:,} texts, one thread: {auto.ours:.0f} µs; "
        "by plain BM25 {bm25.ours:.0f} µs",
        "bm25s (numba), without documents: {auto.theirs:.0f} µs",
        "{auto.ratio:short}; {bm25.ratio:short}",
        headline=True,
    ),
    Line(
        "text_search-batch",
        "the same in one batch: {auto.ours:.0f} µs per query; by plain BM25 {bm25.ours:.0f} µs",
        "bm25s: {auto.theirs:.0f} µs",
        "{auto.ratio:short}; **{bm25.ratio:short}**",
    ),
    Line(
        "learn-fit",
        "learning from all 244,163 texts, 64 bits (128): {neighbors-64.ours:.0f} s ({neighbors-128.ours:.0f}), "
        "{neighbors-64.details[peak GiB]:.1f} GiB ({neighbors-128.details[peak GiB]:.1f}); of the true top 10, "
        "{neighbors-64.details[share of the top 10]:.2f} ({neighbors-128.details[share of the top 10]:.2f}) are among "
        "the 100 nearest codes",
    ),
    Line(
        "learn-growth",
        "learning from a million passages, 64 bits: {passages-1000000.ours:.0f} s, "
        "{passages-1000000.details[peak GiB]:.1f} GiB; the time grows with the power {exponent.ours:.2f} of their "
        "number",
    ),
    Line(
        "learn_graph-sparse",
        "the approximate graph of {sparse-100k-pynndescent.setting[rows]:,} texts (TF-IDF), 25 neighbors, two threads: "
        "{sparse-100k-pynndescent.ours:.1f} s, recall {sparse-100k-pynndescent.details[recall]:.2f}; of "
        "{sparse-244k-exact.setting[rows]:,} texts {sparse-244k-exact.ours:.1f} s, recall "
        "{sparse-244k-exact.details[recall]:.2f}",
        "pynndescent: {sparse-100k-pynndescent.theirs:.0f} s, recall "
        "{sparse-100k-pynndescent.details[their recall]:.2f}; our exact graph: {sparse-244k-exact.theirs:.0f} s",
        "**{sparse-100k-pynndescent.ratio:short}**; {sparse-244k-exact.ratio:short}",
    ),
    Line(
        "learn_graph-dense",
        "the same of {dense-hnswlib.setting[rows]:,} × 256 embeddings: {dense-hnswlib.ours:.1f} s, recall "
        "{dense-hnswlib.details[recall]:.2f}",
        "hnswlib's build: {dense-hnswlib.theirs:.0f} s, recall {dense-hnswlib.details[their recall]:.2f}; pynndescent: "
        "{dense-pynndescent.theirs:.0f} s, recall {dense-pynndescent.details[their recall]:.2f}",
        "**{dense-hnswlib.ratio:short}**; **{dense-pynndescent.ratio:short}**",
    ),
    Line(
        "collection-build",
        "a collection of {all.setting[documents]:,} texts, built from compressed files: {all.ours:.0f} s, "
        "{all.details[GiB peak]:.1f} GiB",
    ),
    Line(
        "collection-start",
        "`sth search` in {search.setting[documents]:,} texts, from a cold start: {search.ours:.2f} s",
    ),
    Line(
        "collection-search",
        "`search_many`, re-ranked, recall@10 of {best.details[recall]:.2f} (`n_bits={best.setting[bits]}`, "
        "`scatter={best.setting[scatter]:g}`, balls of {best.details[ball]}; [curve](images/recall.svg)): "
        "{best.ours:short} queries per second",
        "scikit-learn's brute-force cosine: {best.theirs:short}",
        "**{best.ratio:short}**",
    ),
    Line(
        "embeddings-speed",
        "`VectorIndex`, {static244k-batch-sthash-hnswlib.setting[vectors]:,} × 256 embeddings, one thread, recall@10 "
        "of {static244k-batch-sthash-hnswlib.setting[recall]}: {static244k-batch-sthash-hnswlib.ours:short} queries "
        "per second in a batch, {static244k-single-sthash-hnswlib.ours:short} one by one; built in "
        "{static244k-build-sthash-hnswlib.ours:.0f} s; {static244k-memory-sthash-hnswlib.ours:.0f} bytes per vector "
        "besides the vectors",
        "hnswlib: {static244k-batch-sthash-hnswlib.theirs:short}; {static244k-single-sthash-hnswlib.theirs:short}; "
        "{static244k-build-sthash-hnswlib.theirs:.0f} s; {static244k-memory-sthash-hnswlib.theirs:.0f} bytes",
        "**{static244k-batch-sthash-hnswlib.ratio:short}**; **{static244k-single-sthash-hnswlib.ratio:short}**; "
        "{static244k-build-sthash-hnswlib.ratio:short}; {static244k-memory-sthash-hnswlib.ratio:short}",
        headline=True,
    ),
    Line(
        "embeddings-collection",
        "a collection of {static embeddings-single.setting[vectors]:,} embeddings with their texts, one query at a "
        "time: {static embeddings-single.ours:.2f} ms at recall "
        "{static embeddings-single.details[recall, sthash]:.2f}; built in {static embeddings-build.ours:.0f} s",
        "Chroma: {static embeddings-single.theirs:.2f} ms at {static embeddings-single.details[recall, Chroma]:.2f}; "
        "{static embeddings-build.theirs:.0f} s",
        "**{static embeddings-single.ratio:short}**; {static embeddings-build.ratio:short}",
        headline=True,
    ),
    Line(
        "embeddings-recall",
        "`EmbeddingQuantizer`, 16 bytes per vector: the share of the true top 10 among the first 10 is "
        "{20news-16-FAISS RQ-10.ours:.2f} (20Newsgroups, MiniLM), {debian-16-FAISS RQ-10.ours:.2f} (Debian, MiniLM), "
        "{static244k-16-FAISS RQ-10.ours:.2f} (244,163 static embeddings)",
        "FAISS's residual quantizer (RQ), the best peer: {20news-16-FAISS RQ-10.theirs:.2f}, "
        "{debian-16-FAISS RQ-10.theirs:.2f}, {static244k-16-FAISS RQ-10.theirs:.2f}; OPQ: "
        "{20news-16-FAISS OPQ-10.theirs:.2f}, {debian-16-FAISS OPQ-10.theirs:.2f}, "
        "{static244k-16-FAISS OPQ-10.theirs:.2f}",
        "**{20news-16-FAISS RQ-10.ratio:.2f}**, **{debian-16-FAISS RQ-10.ratio:.2f}**, "
        "**{static244k-16-FAISS RQ-10.ratio:.2f}**",
    ),
    Line(
        "duplicates-speed",
        "near-duplicates of {cosine-rensa.setting[documents]:,} texts, from raw text to all pairs with cosine ≥ "
        "{cosine-rensa.setting[threshold]}: {cosine-rensa.ours:.1f} s, precision "
        "{cosine-rensa.details[precision]:.2f} and recall {cosine-rensa.details[recall]:.2f}; Jaccard of 5-word "
        "shingles ≥ {jaccard-rensa.setting[threshold]}: "
        "{jaccard-rensa.ours:.1f} s",
        "Rensa, unchecked candidates: {cosine-rensa.theirs:.1f} s "
        "({cosine-rensa.details[Rensa precision]:.2f} and {cosine-rensa.details[Rensa recall]:.2f}); "
        "{jaccard-rensa.theirs:.1f} s; datasketch {jaccard-datasketch.theirs:.0f} s",
        "**{cosine-rensa.ratio:short}**; **{jaccard-rensa.ratio:short}**, {jaccard-datasketch.ratio:short}",
        headline=True,
    ),
    Line(
        "duplicates-scale",
        "`sth dedup` of ten million short texts, by Jaccard, from file to file: {scale-10000000.ours:.0f} s, "
        "{scale-10000000.details[peak GiB]:.1f} GiB; of one million {scale-1000000.ours:.0f} s",
    ),
    Line(
        "service",
        "`sth serve`, {build.setting[documents]:,} documents, 64 connections: {connections-64-search.ours:.0f} answers "
        "per second, 256: {connections-256-search.ours:.0f}; two processes: "
        "{2-workers-connections-64-search.ours:.0f}, {2-workers-connections-256-search.ours:.0f}; "
        "at 80 % of the highest rate p99 {most.details[p99 ms]:.0f} ms, "
        "two processes {2-workers-most.details[p99 ms]:.0f} ms",
        "`search` in-process: {connections-64-search.theirs:.0f}; `search_many`: "
        "{connections-64-search_many.theirs:.0f}",
        "{connections-64-search.ratio:short}; {connections-64-search_many.ratio:short}",
    ),
)

# Seconds per document, 64 bits: the paper names its own.
PAPER_LINES = (
    Line("fit", "training, from raw text: {per-document.ours:.5f}", "{per-document.theirs}"),
    Line("encoding", "prediction, from raw text: {per-document.ours:.6f}", "{per-document.theirs} (from vectors)"),
)


class Words(string.Formatter):
    """Templates with one more format: ``short`` gives a number with two digits."""

    def format_field(self, value: Any, format_spec: str) -> str:
        """Format one figure."""
        return short(value) if format_spec == "short" else str(super().format_field(value, format_spec))


def short(number: float) -> str:
    """Give a number with two digits.

    Examples
    --------
    >>> short(592.7), short(3.78), short(131_234)
    ('590', '3.8', '130,000')
    """
    return f"{float(f'{number:.2g}'):,.10g}"


def command(name: str) -> str:
    """Say how to measure a result.

    Examples
    --------
    >>> command("hamming-nearest"), command("fit")
    ('python benchmarks/hamming.py nearest', 'python benchmarks/fit.py')
    """
    script, _, part = name.partition("-")
    return f"python benchmarks/{script}.py {part}".rstrip()


def load(folder: Path, names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Read the results that are there. What was not measured is not shown; a message says how to measure it."""
    results = {}
    for name in names:
        path = folder / f"{name}.json"
        if path.exists():
            results[name] = json.loads(path.read_text(encoding="utf-8"))
        else:
            sys.stderr.write(f"{path} is missing. Run: {command(name)}\n")
    return results


def filled(line: Line, result: Mapping[str, Any]) -> Line:
    """Put the figures of a result into the templates of a line."""
    rows = {row["id"]: SimpleNamespace(**row) for row in result["rows"]}
    templates = (line.what, line.peer, line.ratio)
    fields = (field for template in templates for _, field, _, _ in string.Formatter().parse(template) if field)
    ids = dict.fromkeys(re.split(r"[.\[]", field, maxsplit=1)[0] for field in fields)
    if missing := [name for name in ids if name not in rows]:
        raise ValueError(f"{line.result}.json has no row {', '.join(missing)}. Run: {command(line.result)}")
    return Line(line.result, *(Words().vformat(template, (), rows) for template in templates), line.headline)


def machines(results: Iterable[Mapping[str, Any]]) -> str:
    """Say on what machine, when, and how busy it was."""
    results = list(results)
    places = sorted(
        {f"{m['cores']} cores of an {m['cpu']} ({m['simd']})" for m in (result["machine"] for result in results)}
    )
    dates = sorted({result["date"] for result in results})
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    said = (
        f"Measured on {' and '.join(places)}, {when}. Each figure and its peer's come from the same run of the "
        "named script. Ratios depend on the machine."
    )
    busiest = max(results, key=lambda result: float(result["load_average"]["before"] / result["machine"]["cores"]))
    load_average, cores = busiest["load_average"]["before"], busiest["machine"]["cores"]
    if load_average > cores:
        said += (
            f" **The machine was busy** (load average up to {load_average:.0f} on {cores} cores): figures are rough."
        )
    return textwrap.fill(said, 120)


def block(folder: Path = RESULTS, *, headlines: bool = False) -> str:
    """Make the whole block of a page: of the README if only headlines are wanted."""
    lines = [line for line in LINES if line.headline or not headlines]
    paper_lines = () if headlines else PAPER_LINES
    results = load(folder, dict.fromkeys(line.result for line in (*lines, *paper_lines)))
    if not results:
        raise FileNotFoundError(f"{folder} has no results that the pages show. Run: make bench")
    if quick := [name for name, result in results.items() if result["quick"]]:
        raise ValueError(f"Results of quick runs mean nothing: {', '.join(quick)}. Run these without --quick.")
    shown = [filled(line, results[line.result]) for line in lines if line.result in results]
    paper = [filled(line, results[line.result]) for line in paper_lines if line.result in results]
    rows = [(line.what, line.peer, line.ratio, f"`{results[line.result]['script']}`") for line in shown]
    parts = [machines(results.values()), table([("what", "against", "ratio", "script"), *rows])]
    if paper:
        head = ("seconds per document, 64 bits", "the paper (Matlab, Pentium 4)")
        parts.append(table([head, *((line.what, line.peer) for line in paper)]))
    return "\n\n".join(parts)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the tables, or check them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only compare; fail if a page has other figures")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument("--readme", type=Path, default=README, help="page with the headlines")
    parser.add_argument("--site", type=Path, default=SITE, help="page with all lines")
    chosen = parser.parse_args(arguments)
    wrong = 0
    for path, headlines in ((chosen.readme, True), (chosen.site, False)):
        page = path.read_text(encoding="utf-8")
        made = with_block(page, BEGIN, END, block(chosen.results, headlines=headlines))
        if not chosen.check:
            path.write_text(made, encoding="utf-8")
        elif made != page:
            sys.stderr.write(f"{path} has other figures than {chosen.results}. Run: python tools/readme_table.py\n")
            wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main())
