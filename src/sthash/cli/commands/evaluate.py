"""``sth evaluate``: how good the hits of judged queries are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sthash.cli import options
from sthash.cli.embedders import EmbedderOptions

if TYPE_CHECKING:
    from sthash.evaluation import Comparison, Qrels, Run, RunScore

WHOLE_RANKING = 1000  # hits per query for measures without a cutoff
EXPLANATION = "mean of {queries:,} queries, with the 95 % confidence interval"


def evaluate(
    collection: options.Path,
    beir: Annotated[
        str | None,
        typer.Argument(
            metavar="[FOLDER]",
            help="A BEIR folder, with corpus.jsonl, queries.jsonl and qrels/. If the collection does not exist, it is "
            "built from the corpus.",
            show_default=False,
        ),
    ] = None,
    queries: Annotated[
        str | None,
        typer.Option(help="File of queries: JSON lines (_id, text), id and text with a tab, or TREC topics."),
    ] = None,
    qrels: Annotated[str | None, typer.Option(help="File of relevance judgments, as in TREC or BEIR.")] = None,
    part: Annotated[str, typer.Option(help="Which judgments of a BEIR folder to use: train, dev or test.")] = "test",
    measure: Annotated[
        list[str] | None,
        typer.Option(
            help="nDCG, recall, MRR, MAP or precision, with a cutoff such as nDCG@10. Can be repeated.  "
            "[default: nDCG@10, recall@100, MRR@10, MAP@100]"
        ),
    ] = None,
    ranking: Annotated[str, typer.Option(help="Ranking method, as in sth search.")] = "auto",
    against: Annotated[
        str | None, typer.Option(metavar="RUN", help="Compare with another run, in the format of TREC.")
    ] = None,
    run: Annotated[str | None, typer.Option(metavar="FILE", help="Write the hits for trec_eval to this file.")] = None,
    json: options.Json = False,
    *,
    embedder: EmbedderOptions,
) -> None:
    """Measure search quality with judged queries.

    sth evaluate x.sth --queries queries.jsonl --qrels test.tsv measures a collection; sth evaluate new.sth scifact/
    builds one from a BEIR folder first. With --against, a paired randomization test compares the collection with the
    run of another system.
    """
    from sthash.cli.output import progress_bar
    from sthash.collection import Collection
    from sthash.evaluation import (
        Measure,
        compare_runs,
        evaluate_run,
        rank_queries,
        read_beir,
        read_qrels,
        read_queries,
        read_run,
        select_judged,
        unknown_documents,
        write_run,
    )
    from sthash.evaluation.retrieval import MEASURES

    measures = [Measure.of(name) for name in measure or MEASURES]
    names = [str(one) for one in measures]
    depth = max(one.cutoff or WHOLE_RANKING for one in measures)
    if beir is not None and (queries or qrels):
        raise ValueError("a BEIR folder has its own queries and judgments. Give the folder, or --queries and --qrels.")
    if beir is not None:
        texts, judged = read_beir(beir, part)
    elif queries is not None and qrels is not None:
        texts, judged = read_queries(queries), read_qrels(qrels)
    else:
        raise ValueError("queries and judgments are missing. Give a BEIR folder, or --queries and --qrels.")
    asked, grades, missing = select_judged(texts, judged)
    other = None if against is None else read_run(against)
    if missing:
        typer.echo(f"left out: {missing:,} judged queries that are not among the queries", err=True)
    if beir is not None and not Path(collection).exists():
        _build(collection, beir, embedder.keywords())
    with Collection.open(collection, **embedder.keywords()) as opened, progress_bar() as progress:
        unknown = unknown_documents(opened, grades)
        if unknown:
            example = f"{unknown[0]!r}, ".replace("\n", " ")[:100]
            typer.echo(
                f"not in the collection: {len(unknown):,} judged documents ({example}…); they count as not found",
                err=True,
            )
        found = rank_queries(opened, asked, depth, progress=progress, ranking=ranking)  # type: ignore[arg-type]
    if run is not None:
        write_run(run, found)
    scores = evaluate_run(found, grades, names)
    _show(scores, _compared(found, other, grades, names, compare_runs), as_json=json)


def _compared(found: Run, other: Run | None, grades: Qrels, names: list[str], compare: Any) -> list[Comparison]:
    if other is None:
        return []
    if not set(other) & set(grades):
        raise ValueError("the run has none of the judged queries. Give a run of the same queries.")
    compared: list[Comparison] = compare(found, other, grades, names)
    return compared


def _build(collection: str, folder: str, keywords: dict[str, Any]) -> None:
    from sthash.cli.output import progress_bar
    from sthash.collection import Collection
    from sthash.evaluation import read_beir_corpus

    with (
        progress_bar() as progress,
        Collection.create(collection, read_beir_corpus(folder), progress=progress, **keywords) as built,
    ):
        typer.echo(f"{collection}: {len(built):,} documents", err=True)


def _show(scores: list[RunScore], comparisons: list[Comparison], *, as_json: bool) -> None:
    from sthash.cli.output import print_json, print_table

    if as_json:
        for place, score in enumerate(scores):
            row: dict[str, Any] = {"measure": score.measure, "mean": score.mean, "low": score.low, "high": score.high}
            row["queries"] = len(score.values)
            if comparisons:
                other = comparisons[place]
                row |= {"difference": other.difference, "difference_low": other.low, "difference_high": other.high}
                row |= {"p_value": other.p_value, "better": other.better, "worse": other.worse}
            print_json(row)
        return
    headings = ["measure", "mean", "interval"]
    rows: list[list[str]] = [
        [score.measure, f"{score.mean:.4f}", f"{score.low:.4f} – {score.high:.4f}"] for score in scores
    ]
    if comparisons:
        headings += ["difference", "its interval", "p", "better", "worse"]
        for row_, other in zip(rows, comparisons, strict=True):
            row_ += [f"{other.difference:+.4f}", f"{other.low:+.4f} – {other.high:+.4f}", f"{other.p_value:.4f}"]
            row_ += [f"{other.better:,}", f"{other.worse:,}"]
    print_table(headings, rows, numbers=("mean", "difference", "p", "better", "worse"), keys=headings)
    typer.echo(EXPLANATION.format(queries=len(scores[0].values)), err=True)
