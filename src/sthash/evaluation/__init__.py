"""How good codes are: measures, relevance, significance, tuning.

`score` measures packed codes at every code length and radius under a definition
of relevance, `Neighbours` or `Topics`; `tune` chooses settings on held-out documents.
"""

from sthash.evaluation.ball import LENGTHS, RADII, BallScore, RankingScore, Scores, score
from sthash.evaluation.relevance import Neighbours, Relevance, Topics, nearest_neighbours
from sthash.evaluation.significance import SignTest, micro_sign_test, sign_test
from sthash.evaluation.tallies import Tally, tally
from sthash.evaluation.tuning import Trial, Tuning, tune

__all__ = [
    "LENGTHS",
    "RADII",
    "BallScore",
    "Neighbours",
    "RankingScore",
    "Relevance",
    "Scores",
    "SignTest",
    "Tally",
    "Topics",
    "Trial",
    "Tuning",
    "micro_sign_test",
    "nearest_neighbours",
    "score",
    "sign_test",
    "tally",
    "tune",
]
