"""The measures, one per file. Each takes a `Tally` and gives one value per query, to be averaged."""

from sthash.evaluation.measures.average_precision import average_precision
from sthash.evaluation.measures.correct_votes import correct_votes
from sthash.evaluation.measures.f1 import f1
from sthash.evaluation.measures.precision import precision
from sthash.evaluation.measures.precision_at import precision_at
from sthash.evaluation.measures.recall import recall

__all__ = ["average_precision", "correct_votes", "f1", "precision", "precision_at", "recall"]
