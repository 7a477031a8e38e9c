"""How good codes and rankings are: measures, relevance, significance, tuning.

`score` measures packed codes at every code length and radius. A definition of relevance, `Neighbors`, `Topics`
or `SharedLabels`, defines which documents are correct answers. `tune` chooses settings on held-out documents.
`evaluate_run` measures the rankings of typed queries by relevance judgments, and `compare_runs` tests two of them.
"""

from sthash.evaluation.ball import LENGTHS, RADII, BallScore, RankingScore, Scores, score
from sthash.evaluation.judged_files import (
    read_beir,
    read_beir_corpus,
    read_qrels,
    read_queries,
    read_run,
    select_judged,
    write_run,
)
from sthash.evaluation.relevance import Neighbors, Relevance, SharedLabels, Topics, nearest_neighbors
from sthash.evaluation.retrieval import Comparison, Measure, Qrels, Run, RunScore, compare_runs, evaluate_run
from sthash.evaluation.runs import rank_queries, unknown_documents
from sthash.evaluation.significance import PairedTest, SignTest, micro_sign_test, paired_test, sign_test
from sthash.evaluation.tallies import Tally, tally
from sthash.evaluation.tuning import Trial, Tuning, tune

__all__ = [
    "LENGTHS",
    "RADII",
    "BallScore",
    "Comparison",
    "Measure",
    "Neighbors",
    "PairedTest",
    "Qrels",
    "RankingScore",
    "Relevance",
    "Run",
    "RunScore",
    "Scores",
    "SharedLabels",
    "SignTest",
    "Tally",
    "Topics",
    "Trial",
    "Tuning",
    "compare_runs",
    "evaluate_run",
    "micro_sign_test",
    "nearest_neighbors",
    "paired_test",
    "rank_queries",
    "read_beir",
    "read_beir_corpus",
    "read_qrels",
    "read_queries",
    "read_run",
    "score",
    "select_judged",
    "sign_test",
    "tally",
    "tune",
    "unknown_documents",
    "write_run",
]
