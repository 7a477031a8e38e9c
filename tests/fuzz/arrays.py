"""Arrays that do not fit together, through the public functions and straight into the bindings of the C++ core."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import scipy.sparse as sp

from fuzz import mutations
from sthash import HammingIndex, SelfTaughtHashing, TextVectorizer, _core, codes
from sthash.hashing import LinearSVMBank, knn_graph, laplacian_eigenmap, ridge_map
from sthash.vectors.rows import Rows

DOCUMENTED = (ValueError, TypeError, KeyError)
# None that asks for more memory than there is and would get it elsewhere: a sanitizer ends the process then.
NUMBERS = (0, 1, -1, 2, 13, 2**63, 2**70)


def prepare(folder: Path) -> None:
    """Nothing is needed on the disk."""


def case(random: Random, folder: Path, scratch: Path) -> str:
    """Call one function with arguments of which some were changed."""
    name = random.choice(sorted(CASES))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            CASES[name](random)
        except DOCUMENTED:
            return f"{name} refused"
    return f"{name} answered"


def matrix(random: Random, n: int = 40, m: int = 12) -> sp.csr_array:
    return sp.random_array(
        (n, m), density=0.4, rng=np.random.default_rng(random.getrandbits(32)), dtype=np.float32, format="csr"
    )


def malformed(random: Random, n: int = 40, m: int = 12) -> sp.csr_array:
    """A CSR matrix whose parts were changed behind SciPy's back."""
    X = matrix(random, n, m)
    for _ in range(random.choice((1, 1, 2))):
        part = random.choice(("data", "indices", "indptr"))
        X.__dict__[part] = mutations.array(random, getattr(X, part))
    return X


def vectors(random: Random) -> np.ndarray:
    """Dense rows: odd values, types, orders and shapes."""
    X: Any = np.random.default_rng(random.getrandbits(32)).normal(size=(40, 6)).astype(np.float32)
    how = random.randrange(6)
    if how == 0:
        X = X * np.float32(10.0 ** random.randrange(-45, 38))
    elif how == 1:
        X = np.asfortranarray(X)[:: random.choice((1, 2, -1))]
    elif how == 2:
        X = X.astype(random.choice((">f4", "f2", "f8", "i4", "?", "c8", object)))
    elif how == 3:
        X = X[:, : random.choice((0, 1, 3))]
    return mutations.array(random, X) if random.random() < 0.5 else X


def rows(random: Random) -> Any:
    return malformed(random) if random.random() < 0.6 else vectors(random)


def changed(random: Random, arguments: dict[str, Any]) -> dict[str, Any]:
    """Change one or two of the arguments of a binding."""
    result = dict(arguments)
    for name in random.sample(sorted(result), random.choice((0, 1, 1, 2))):
        value = result[name]
        if isinstance(value, np.ndarray):
            result[name] = np.ascontiguousarray(mutations.array(random, value))
        elif isinstance(value, int) and name != "threads":
            result[name] = random.choice(NUMBERS)
    return result


def view(random: Random, n: int = 40, m: int = 12) -> Any:
    """Rows as the kernels read them, sparse or dense, often malformed."""
    X = matrix(random, n, m)
    given = Rows.of(X.toarray() if random.random() < 0.2 else X)
    parts = {"starts": given.starts, "ends": given.ends, "columns": given.table_columns, "values": given.table_values}
    parts = changed(random, parts | {"n_columns": m})
    arrays = [parts[name] for name in ("starts", "ends", "columns", "values")]
    return _core.RowsView(*arrays, n_columns=parts["n_columns"])


def call(random: Random, function: Callable[..., Any], *positional: Any, **arguments: Any) -> None:
    """Call a binding; arrays come first, by position, and settings by name. Some of both are changed."""
    named = changed(random, {f"{place}": value for place, value in enumerate(positional)} | arguments)
    function(*(named[f"{place}"] for place in range(len(positional))), **{name: named[name] for name in arguments})


def _project(random: Random) -> None:
    call(random, _core.project, view(random), np.ones((12, 16), np.float32), threads=2)


def _sparse_neighbors(random: Random) -> None:
    penalty = np.zeros(40, np.float32)
    call(random, _core.sparse_neighbors, view(random), penalty=penalty, k=5, common_share=0.2, threads=2)


def _dense_neighbors(random: Random) -> None:
    X = np.ones((40, 6), np.float32)
    ones = np.ones(40, np.float32)
    call(
        random,
        _core.dense_neighbors,
        *(X, X[:9] @ X.T),
        first=5,
        penalty=ones,
        norms=ones,
        largest_norm=1.0,
        k=4,
        threads=2,
    )


def _fit_svm_bank(random: Random) -> None:
    bits = np.random.default_rng(0).integers(0, 2, (40, 9)).astype(np.uint8)
    settings = {"bias": 0.0, "tolerance": 0.1, "seed": 3, "threads": 2}
    inverse = np.ones(40, np.float32)
    settings |= {"diagonal": inverse / 2, "upper": np.full(40, np.inf, np.float32)}
    call(
        random,
        lambda *a, **k: _core.fit_svm_bank(*a, **k, max_rounds=20),
        *(view(random), bits),
        **{"inverse_curvature": inverse, **settings},
    )


def _scatter(random: Random) -> None:
    call(random, _core.scatter, view(random), words=2, seed=1, threads=2)


def _largest_in_rows(random: Random) -> None:
    call(random, _core.largest_in_rows, np.ones((9, 7), np.float32), k=3, threads=2)


def _count_terms(random: Random) -> None:
    starts, words = np.array([0, 2, 2, 5]), np.array([0, 1, 2, 1, 0], np.int32)
    call(random, _core.count_terms, starts, words, term_of=np.array([0, -1, 1], np.int32), n_terms=2, threads=2)


def _search_balls(random: Random) -> None:
    rng = np.random.default_rng(0)
    documents, queries = (rng.integers(0, 2**63, (n, 1)).astype(np.uint64) for n in (40, 3))
    margins = rng.normal(size=(3, 64)).astype(np.float32) if random.random() < 0.5 else None
    call(
        random,
        _core.search_balls,
        *(documents, view(random), queries, view(random, 3)),
        margins=margins,
        k=4,
        radius=random.choice((None, 30)),
        wanted=9,
        threads=2,
    )


def _gather_ball(random: Random) -> None:
    documents = np.arange(40, dtype=np.uint64)[:, None]
    call(random, _core.gather_ball, documents, documents[:1], margins=None, radius=None, wanted=5)


def _products_among(random: Random) -> None:
    call(random, _core.products_among, view(random), np.array([[0, 5, 39], [1, 7, -1]]), threads=2)


def _vote_weights(random: Random) -> None:
    products, likeness = np.ones((2, 5, 5), dtype=np.float32), np.ones((2, 5))
    call(random, _core.vote_weights, products, likeness, power=2, ridge=0.5, threads=2)


def _pair_scores(random: Random) -> None:
    call(random, _core.pair_scores, view(random), np.array([0, 5, 39]), np.array([1, 7, 0]), threads=2)


def _scan(random: Random) -> None:
    alphabet = ["a", "Z", " ", "'", "é", "ß", "Я", "東", "𝔘", "\u0301", "\ud800", "\x00", "word", "\u200d", "İ"]
    texts = ["".join(random.choices(alphabet, k=random.choice((0, 1, 63, 64, 65, 300)))) for _ in range(5)]
    table = _core.WordTable()
    table.scan(texts, threads=2)
    table.words_from(0)
    TextVectorizer(stop_words=None, stemmer=random.choice((None, "porter"))).fit(["a word", *texts]).transform(texts)


def _list_blocks(random: Random) -> None:
    """Blocks of lists, put together from anything, and read from any bytes."""
    ends = np.cumsum([0, *random.choices((0, 1, 5, 300), k=6)])
    columns = np.sort(np.array(random.sample(range(1000), k=6), np.int32))
    lists = columns, np.frombuffer(random.randbytes(int(ends[-1])), np.uint8), ends
    firsts, blocks, bounds = _core.pack_list_blocks(*lists, most=random.choice((1, 20, 980)))
    for place, first in enumerate(firsts.tolist()):
        block = mutations.content(random, blocks[bounds[place] : bounds[place + 1]].tobytes())
        _core.list_in_block(block, first=first, column=random.choice((first, 999, 2**31, 2**70)))
        _core.unpack_list_block(block, first=random.choice((first, 2**31 - 1)))
    call(random, _core.pack_list_blocks, *lists, most=20)


def _phrases(random: Random) -> None:
    """Phrases of any bytes, forged ones too, and texts that are packed by them."""
    texts = [bytes(random.choices(b"abc\x00\xff", k=random.choice((0, 1, 16, 400)))) for _ in range(20)]
    content = _core.learn_phrases(texts)
    phrases = _core.Phrases(content)
    for packed in phrases.pack(texts, prefix=b"", threads=2):
        if random.random() < 0.5:
            phrases.unpack(mutations.content(random, packed), start=random.choice((0, 1, 2**70)))
    _core.Phrases(mutations.content(random, content)).pack(texts, prefix=b"", threads=1)


def _counts_of_rows(random: Random) -> None:
    """Term counts as bytes, and lists of postings."""
    X = matrix(random)
    X.sort_indices()
    parts = X.indptr.astype(np.int64), X.indices.astype(np.int32), np.ones(X.nnz, np.int32)
    content, offsets = _core.pack_counts(*parts, threads=2)
    if random.random() < 0.5:
        call(random, _core.unpack_counts, content, offsets, n_columns=12, threads=2)
        call(random, _core.pack_counts, *parts, threads=2)
        return
    ids = np.arange(40, dtype=np.int64)
    call(random, _core.pack_postings, *parts, ids, n_columns=12, threads=2)
    columns, lists, bounds = _core.pack_postings(*parts, ids, n_columns=12, threads=1)
    made = _core.PostingLists(*changed(random, {"0": ids, "1": np.full(40, 5, np.int32)}).values())
    if random.random() < 0.5:
        call(random, made.load, columns, lists, bounds)
    for place, column in enumerate(columns.tolist()):
        own = lists[bounds[place] : bounds[place + 1]].tobytes()
        made.put(column, [mutations.content(random, own) if random.random() < 0.5 else own])
    if random.random() < 0.5:
        call(random, made.put_counts, *parts, ids)
    _change_documents(random, made, parts)
    for column in (random.choice((*NUMBERS[:5], 2**31, 2**40)), 3):
        made.holds(column)
        made.document_frequency(column)
        made.positions(column)
    made.pack()
    query = np.array([0, 2]), np.array([0, 3], np.int32), np.ones(2, np.float32)
    call(
        random,
        made.search,
        *query,
        k=5,
        k1=1.5,
        b=0.75,
        mean_length=5.0,
        allowed=None,
        threads=2,
        ranks=np.arange(made.n_documents, dtype=np.uint32),
    )


def _change_documents(random: Random, lists: Any, parts: tuple[Any, ...]) -> None:
    if random.random() < 0.5:
        call(random, lists.add, *parts, np.arange(50, 90), np.full(40, 5, np.int32))
    if random.random() < 0.5:
        call(random, lists.remove, np.array([0, 7, 39], np.int32))
    if random.random() < 0.5:
        lists.compact()


def _rerank_hits(random: Random) -> None:
    places = np.array([[0, 5, 39, -1], [7, 1, -1, -1]])
    scores = np.array([[3, 2, 1, 0], [2, 1, 0, 0]], np.float32)
    sizes = {"seeds": 3, "neighbors": 2, "feedback_documents": 2}
    call(
        random,
        _core.rerank_hits,
        *(view(random), places, scores),
        **sizes,
        smoothing=random.choice((0.5, 0.0, -1.0, float("nan"), 1e38)),
        feedback=random.choice((0.5, 0.0, -1.0, float("inf"))),
        threads=2,
    )


def _words(random: Random) -> None:
    table = _core.WordTable()
    table.scan(["some words, and more", "", "x" * 70], threads=1)
    call(random, table.words_at, np.arange(4, dtype=np.int32))
    table.words_from(random.choice(NUMBERS))


def _index(random: Random) -> None:
    n_bits = random.choice((1, 8, 24, 64, 100))
    index = HammingIndex(n_bits, strategy=random.choice(("auto", "scan", "tables")))
    held = np.zeros((30, (n_bits + 7) // 8), np.uint8)
    index.add(held)
    some = mutations.array(random, held[:3])
    ids = random.choice(([1.5], [2**63], [-1], [1, 1], {3}, np.arange(3), [7, 8, 9], []))
    for use in (
        lambda: index.add(some, ids),
        lambda: index.search(some, random.choice((1, 50, *NUMBERS)), allowed=ids),
        lambda: index.search(some, 2, weights=mutations.array(random, np.ones((3, n_bits), np.float32))),
        lambda: index.radius_search(some, random.choice(NUMBERS)),
        lambda: index.update(some, ids),
        lambda: index.remove(ids),
        lambda: codes.distances(some, held),
    ):
        try:
            use()
        except DOCUMENTED:
            continue


CASES: dict[str, Callable[[Random], Any]] = {
    "knn_graph": lambda random: knn_graph(rows(random), random.choice((3, 3, *NUMBERS))),
    "knn_graph, Euclidean": lambda random: knn_graph(rows(random), 3, metric="euclidean"),
    "fit": lambda random: SelfTaughtHashing(4, 5).fit(rows(random)),
    "transform": lambda random: SelfTaughtHashing(4, 5).fit(matrix(random)).transform(malformed(random)),
    "svm": lambda random: LinearSVMBank().fit(rows(random), np.arange(160).reshape(40, 4) % 3 == 0),
    "ridge": lambda random: ridge_map(rows(random), np.eye(40)[:, :3]),
    "eigenmap": lambda random: laplacian_eigenmap(malformed(random, 30, 30), 3),
    "index": _index,
    "scan": _scan,
    "core project": _project,
    "core sparse_neighbors": _sparse_neighbors,
    "core dense_neighbors": _dense_neighbors,
    "core fit_svm_bank": _fit_svm_bank,
    "core scatter": _scatter,
    "core largest_in_rows": _largest_in_rows,
    "core count_terms": _count_terms,
    "core search_balls": _search_balls,
    "core gather_ball": _gather_ball,
    "core pair_scores": _pair_scores,
    "core products_among": _products_among,
    "core vote_weights": _vote_weights,
    "core counts": _counts_of_rows,
    "core blocks": _list_blocks,
    "core phrases": _phrases,
    "core rerank_hits": _rerank_hits,
    "core words": _words,
}
