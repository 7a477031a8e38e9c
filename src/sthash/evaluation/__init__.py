"""How good codes are: measures, relevance, significance, tuning.

`score` measures packed codes at every code length and radius. A definition of relevance, `Neighbors`, `Topics`
or `SharedLabels`, defines which documents are correct answers. `tune` chooses settings on held-out documents.
"""

from sthash.evaluation.ball import LENGTHS, RADII, BallScore, RankingScore, Scores, score
from sthash.evaluation.relevance import Neighbors, Relevance, SharedLabels, Topics, nearest_neighbors
from sthash.evaluation.significance import SignTest, micro_sign_test, sign_test
from sthash.evaluation.tallies import Tally, tally
from sthash.evaluation.tuning import Trial, Tuning, tune

__all__ = [
    "LENGTHS",
    "RADII",
    "BallScore",
    "Neighbors",
    "RankingScore",
    "Relevance",
    "Scores",
    "SharedLabels",
    "SignTest",
    "Tally",
    "Topics",
    "Trial",
    "Tuning",
    "micro_sign_test",
    "nearest_neighbors",
    "score",
    "sign_test",
    "tally",
    "tune",
]
