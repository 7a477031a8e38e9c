"""What learning costs: rough estimates of time and memory, to decide in advance how much to learn from.

The constants were measured with TF-IDF rows of short texts on a virtual machine of two cores (AVX-512). They are
estimates: another processor, or rows of another kind, may take half or twice as long.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

from sthash.checks import check_choice, check_whole, resolve_threads

# Edges per document: a symmetric graph has more than n_neighbors of them.
EDGES = 40
# Seconds of one core. Graph: per document and per entry of a row. Product of the graph with a block: per edge and
# column. Ranks and rotation: per document and column. SVMs: per entry of a row and bit, all rounds. Topics: per entry
# and per document, all rounds.
GRAPH_ROW, GRAPH_ENTRY = 20e-6, 1.0e-6
PRODUCT, SQUARE, COLUMN, SVM, TOPICS_ROW, TOPICS_ENTRY = 0.9e-9, 0.01e-9, 50e-9, 14e-9, 200e-6, 6.4e-6
# Kernel values of a row with all anchors: their time and their bytes in the regression, by counting operations.
KERNEL_ROW, KERNEL_BYTES = 400e-6, 20_000
# Steps of the recipe for embeddings: all of them, and per bit.
CONTRAST, CONTRAST_BIT = 9.0, 0.06
# Products of the graph, and of pairs of columns, that the solvers take.
NEIGHBORS_PRODUCTS, PAPER_PRODUCTS, NEIGHBORS_SQUARES, PAPER_SQUARES = 4, 32, 7, 19
GUARDS, COMPONENTS_PER_BIT, MOST_COMPONENTS, TOPIC_COLUMNS = 16, 3, 512, 48

Recipes = Literal["paper", "topics", "neighbors", "embeddings", "kernel_topics", "auto"]


class LearningCost(NamedTuple):
    """An estimate: seconds by the clock, and bytes at the peak, beyond the rows themselves."""

    seconds: float
    bytes: int


def learning_cost(
    n_rows: int, nnz: int, n_bits: int, recipe: Recipes = "neighbors", *, threads: int | None = None
) -> LearningCost:
    """Estimate what `SelfTaughtHashing.fit` costs.

    Parameters
    ----------
    n_rows : int
        Number of documents.
    nnz : int
        Number of their entries that are not zero.
    n_bits : int
    recipe : {"paper", "topics", "neighbors", "embeddings", "kernel_topics", "auto"}, default="neighbors"
        ``auto`` is estimated as its most expensive choice, ``embeddings``.
    threads : int or None, default=None
        None takes one per available core.

    Examples
    --------
    >>> from sthash.hashing.cost import learning_cost
    >>> small, large = (learning_cost(n, 30 * n, 64, threads=2) for n in (50_000, 500_000))
    >>> 9 < large.seconds / small.seconds < 12
    True
    """
    check_whole("n_rows", n_rows, 0)
    check_whole("nnz", nnz, 0)
    check_whole("n_bits", n_bits)
    check_choice("recipe", recipe, get_args(Recipes))
    edges = EDGES * n_rows
    if recipe in ("embeddings", "auto"):
        seconds = GRAPH_ROW * n_rows + GRAPH_ENTRY * nnz + CONTRAST + CONTRAST_BIT * n_bits
        return LearningCost(seconds / resolve_threads(threads), 12 * edges + 16 * nnz + 12 * n_rows * n_bits)
    columns = {
        "paper": n_bits + GUARDS,
        "topics": TOPIC_COLUMNS + GUARDS,
        "kernel_topics": TOPIC_COLUMNS + GUARDS,
        "neighbors": min(COMPONENTS_PER_BIT * n_bits, max(MOST_COMPONENTS, n_bits)) + GUARDS,
    }[recipe]
    products, squares = (
        (NEIGHBORS_PRODUCTS, NEIGHBORS_SQUARES) if recipe == "neighbors" else (PAPER_PRODUCTS, PAPER_SQUARES)
    )
    seconds = GRAPH_ROW * n_rows + GRAPH_ENTRY * nnz
    if recipe in ("topics", "kernel_topics"):
        seconds += TOPICS_ROW * n_rows + TOPICS_ENTRY * nnz
    else:
        seconds += PRODUCT * products * edges * columns + SQUARE * squares * n_rows * columns**2
        seconds += COLUMN * n_rows * columns + SVM * nnz * n_bits
    graph = 12 * edges
    embedding = 4 * edges + 8 * n_rows * columns
    functions = 8 * nnz + 48 * TOPIC_COLUMNS * n_rows if recipe == "topics" else 14 * n_rows * n_bits
    if recipe == "kernel_topics":
        seconds += KERNEL_ROW * n_rows
        functions = KERNEL_BYTES * n_rows
    return LearningCost(seconds / resolve_threads(threads), graph + max(embedding, functions))
