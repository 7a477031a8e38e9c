"""The C++ core. It assumes what the Python packages have validated; call those instead.

Arrays are C-contiguous. Arrays come first, by position; settings follow, by name. ``tools/check_stub.py`` holds this
file to the compiled module; the headers in ``src/core`` document every parameter.
"""

import enum
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

def simd_path() -> str: ...
def simd_paths() -> list[str]: ...
def set_time_limit(seconds: float | None) -> None: ...

# views: arrays that belong together

class RowsView:
    """Rows: number i has the entries from ``starts[i]`` to before ``ends[i]``; without columns they are dense.

    ``checked`` says that they are some of the rows of another view.
    """

    def __init__(
        self,
        starts: npt.NDArray[np.int64],
        ends: npt.NDArray[np.int64],
        columns: npt.NDArray[np.int32] | None,
        values: npt.NDArray[np.float32],
        *,
        n_columns: int,
        checked: bool = False,
    ) -> None: ...

# text

unicode_version: str

class WordTable:
    def __init__(self) -> None: ...
    def __len__(self) -> int: ...
    def nbytes(self) -> int: ...
    def longest_probe(self) -> int: ...
    def scan(self, texts: list[str], *, threads: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]: ...
    def add(self, words: list[str], wanted: npt.NDArray[np.bool_]) -> npt.NDArray[np.int32]: ...
    def find(self, words: list[str]) -> npt.NDArray[np.int32]: ...
    def words_from(self, first: int) -> list[str]: ...
    def hashes_from(self, first: int) -> npt.NDArray[np.uint64]: ...
    def words_at(self, numbers: npt.NDArray[np.int32]) -> list[str]: ...

class Phrases:
    def __init__(self, content: bytes) -> None: ...
    def __len__(self) -> int: ...
    def pack(self, texts: list[bytes], *, prefix: bytes, threads: int) -> list[bytes]: ...
    def unpack(self, packed: bytes, *, start: int) -> bytes: ...

def learn_phrases(texts: list[bytes]) -> bytes: ...

FIRST_FORM: int

class RepeatFinder:
    def __init__(self, *, words: int, filter_bits: int, most_entries: int, template_texts: int) -> None: ...
    def look(self, texts: list[str], *, threads: int) -> None: ...
    def find(self, texts: list[str], *, threads: int) -> npt.NDArray[np.int64]: ...
    def end_pass(self) -> None: ...
    @property
    def done(self) -> bool: ...
    def places(self, texts: list[str], runs: npt.NDArray[np.int64], *, threads: int) -> npt.NDArray[np.int64]: ...

def wording(
    texts: list[str], *, threads: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64], npt.NDArray[np.int64], npt.NDArray[np.uint64]]: ...

class Partition:
    def __init__(self, *, threshold: float, n_counters: int, per_text: int, key: int) -> None: ...
    def count(self, indptr: npt.NDArray[np.int64], items: npt.NDArray[np.uint64], *, second_round: bool) -> None: ...
    def place(
        self, indptr: npt.NDArray[np.int64], items: npt.NDArray[np.uint64], *, n_parts: int, threads: int
    ) -> tuple[_Ids, npt.NDArray[np.int32], npt.NDArray[np.uint8]]: ...

def gathered(
    indptr: npt.NDArray[np.int64], items: npt.NDArray[np.uint64], rows: npt.NDArray[np.int64]
) -> npt.NDArray[np.uint64]: ...
def wording_scores(
    indptr: npt.NDArray[np.int64],
    items: npt.NDArray[np.uint64],
    marks_indptr: npt.NDArray[np.int64],
    marks: npt.NDArray[np.uint64],
    *,
    keep_numbers: bool,
) -> npt.NDArray[np.float64]: ...
def count_forms(
    texts: list[str],
    *,
    head_indptr: npt.NDArray[np.int64] | None = None,
    head_columns: npt.NDArray[np.int32] | None = None,
    stemmed: bool,
    stop_words: npt.NDArray[np.int32],
    threads: int,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int32]]: ...
def heads_of(texts: list[str]) -> list[str]: ...
def head_columns(stems: list[str]) -> npt.NDArray[np.int32]: ...
def forms_of(text: str) -> list[tuple[int, int]]: ...
def count_terms(
    starts: npt.NDArray[np.int64],
    words: npt.NDArray[np.int32],
    *,
    term_of: npt.NDArray[np.int32],
    n_terms: int,
    threads: int,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int32]]: ...

class SpelledWords:
    def __init__(self, words: list[str], frequencies: npt.NDArray[np.int64]) -> None: ...
    def closest(
        self, word: str, *, distance: int, count: int, threads: int
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]: ...

# graph

def sparse_neighbors(
    rows: RowsView,
    *,
    penalty: npt.NDArray[np.float32],
    k: int,
    common_share: float,
    threads: int,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]: ...
def dense_neighbors(
    rows: npt.NDArray[np.float32],
    products: npt.NDArray[np.float32],
    *,
    first: int,
    penalty: npt.NDArray[np.float32],
    norms: npt.NDArray[np.float32],
    largest_norm: float,
    k: int,
    threads: int,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]: ...
def approximate_neighbors(
    rows: RowsView, *, k: int, seed: int, threads: int, report: Callable[[int, int], None] | None = None
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]: ...
def largest_in_rows(
    scores: npt.NDArray[np.float32], *, k: int, threads: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]: ...

# svm

lanes_in_group: int

def fit_svm_bank(
    rows: RowsView,
    bits: npt.NDArray[np.uint8],
    *,
    inverse_curvature: npt.NDArray[np.float32],
    diagonal: npt.NDArray[np.float32],
    upper: npt.NDArray[np.float32],
    bias: float,
    tolerance: float,
    max_rounds: int,
    seed: int,
    threads: int,
    report: Callable[[int, int], None] | None = None,
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32], npt.NDArray[np.int32]]: ...
def project(rows: RowsView, weights: npt.NDArray[np.float32], *, threads: int) -> npt.NDArray[np.float32]: ...

# spectral

def filter_step(
    matrix: RowsView,
    now: npt.NDArray[np.float32],
    following: npt.NDArray[np.float32],
    *,
    scale: float,
    shift: float,
    past: float,
    threads: int,
) -> None: ...

# hamming

_Codes = npt.NDArray[np.uint8]
_Ids = npt.NDArray[np.int64]
_Distances = npt.NDArray[np.int32]

class Strategy(enum.Enum):
    auto = 0
    scan = 1
    tables = 2

class HammingCore:
    def __init__(self, n_bits: int, strategy: Strategy) -> None: ...
    @staticmethod
    def open(descriptor: int, *, mapped: bool, name: str, strategy: Strategy) -> HammingCore: ...
    def verify(self) -> None: ...
    def save(self, descriptor: int) -> None: ...
    def n_bits(self) -> int: ...
    def size(self) -> int: ...
    def add(self, codes: _Codes, ids: _Ids | None) -> _Ids: ...
    def remove(self, ids: _Ids) -> None: ...
    def update(self, codes: _Codes, ids: _Ids) -> None: ...
    def contains(self, id: int) -> bool: ...  # noqa: A002
    def codes(self, ids: _Ids) -> _Codes: ...
    def ids(self) -> _Ids: ...
    def search(
        self, codes: _Codes, *, k: int, radius: int | None, allowed: _Ids | None, threads: int
    ) -> tuple[_Ids, _Distances]: ...
    def weighted_search(
        self,
        codes: _Codes,
        weights: npt.NDArray[np.float32],
        *,
        k: int,
        radius: int | None,
        allowed: _Ids | None,
        threads: int,
    ) -> tuple[_Ids, npt.NDArray[np.float32]]: ...
    def radius_search(
        self, codes: _Codes, *, radius: int, allowed: _Ids | None, threads: int
    ) -> tuple[_Ids, _Ids, _Distances]: ...
    def count(self, codes: _Codes, *, radius: int, allowed: _Ids | None, threads: int) -> _Ids: ...
    def build_tables(self, *, threads: int) -> None: ...
    def stats(self) -> dict[str, int]: ...

class HammingJoin:
    def __init__(self, left: HammingCore, right: HammingCore, *, radius: int, threads: int) -> None: ...
    def next(self) -> tuple[_Ids, _Ids, _Distances]: ...

# collection

def search_balls(
    codes: npt.NDArray[np.uint64],
    vectors: RowsView,
    query_codes: npt.NDArray[np.uint64],
    query_rows: RowsView,
    *,
    margins: npt.NDArray[np.float32] | None,
    k: int,
    radius: int | None,
    wanted: int,
    threads: int,
) -> tuple[
    npt.NDArray[np.int64],
    npt.NDArray[np.float32],
    npt.NDArray[np.int32],
    npt.NDArray[np.int32],
    npt.NDArray[np.int64],
]: ...
def gather_ball(
    codes: npt.NDArray[np.uint64],
    query_code: npt.NDArray[np.uint64],
    *,
    margins: npt.NDArray[np.float32] | None,
    radius: int | None,
    wanted: int,
) -> npt.NDArray[np.int64]: ...
def pair_scores(
    vectors: RowsView, left: npt.NDArray[np.int64], right: npt.NDArray[np.int64], *, threads: int
) -> npt.NDArray[np.float32]: ...
def products_among(vectors: RowsView, places: npt.NDArray[np.int64], *, threads: int) -> npt.NDArray[np.float32]: ...
def vote_weights(
    products: npt.NDArray[np.float32], likeness: npt.NDArray[np.float64], *, power: int, ridge: float, threads: int
) -> npt.NDArray[np.float64]: ...
def rerank_hits(
    vectors: RowsView,
    places: npt.NDArray[np.int64],
    scores: npt.NDArray[np.float32],
    *,
    k: int,
    seeds: int,
    neighbors: int,
    smoothing: float,
    feedback_documents: int,
    feedback: float,
    threads: int,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]: ...

class SimilarityJoin:
    def __init__(
        self,
        rows: RowsView,
        *,
        chosen: _Ids,
        squares: npt.NDArray[np.float32],
        measure: int,
        threshold: float,
        first_query: int = 0,
        most_per_row: int,
        most_pairs: int,
        marks_indptr: npt.NDArray[np.int64] | None = None,
        marks: npt.NDArray[np.uint64] | None = None,
        keep_numbers: bool = False,
        threads: int,
    ) -> None: ...
    def next(self) -> tuple[_Ids, _Ids, npt.NDArray[np.float64]]: ...
    @property
    def done(self) -> bool: ...
    @property
    def position(self) -> int: ...
    @property
    def complete(self) -> bool: ...
    def nearest(self) -> npt.NDArray[np.float64]: ...

_Found = tuple[_Ids, npt.NDArray[np.float64], _Ids]

class SetIndex:
    def __init__(self, *, measure: int, threshold: float) -> None: ...
    def __len__(self) -> int: ...
    def find(self, indptr: npt.NDArray[np.int64], items: npt.NDArray[np.uint64]) -> _Found: ...
    def find_or_add(self, indptr: npt.NDArray[np.int64], items: npt.NDArray[np.uint64]) -> _Found: ...
    def add(self, indptr: npt.NDArray[np.int64], items: npt.NDArray[np.uint64]) -> None: ...
    def truncate(self, count: int) -> None: ...
    def firsts(self) -> _Ids: ...
    def links(self) -> _Ids: ...
    def join(self, links: npt.NDArray[np.int64]) -> None: ...
    def sets(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]: ...

class TextIndex:
    def __init__(self, *, threshold: float, keep_numbers: bool) -> None: ...
    def __len__(self) -> int: ...
    def find(
        self,
        indptr: npt.NDArray[np.int64],
        items: npt.NDArray[np.uint64],
        marks_indptr: npt.NDArray[np.int64],
        marks: npt.NDArray[np.uint64],
    ) -> _Found: ...
    def find_or_add(
        self,
        indptr: npt.NDArray[np.int64],
        items: npt.NDArray[np.uint64],
        marks_indptr: npt.NDArray[np.int64],
        marks: npt.NDArray[np.uint64],
    ) -> _Found: ...
    def add(
        self,
        indptr: npt.NDArray[np.int64],
        items: npt.NDArray[np.uint64],
        marks_indptr: npt.NDArray[np.int64],
        marks: npt.NDArray[np.uint64],
    ) -> _Found: ...
    def truncate(self, count: int) -> None: ...
    def firsts(self) -> _Ids: ...
    def links(self) -> _Ids: ...
    def join(self, links: npt.NDArray[np.int64]) -> None: ...
    def texts(
        self,
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64], npt.NDArray[np.int64], npt.NDArray[np.uint64]]: ...

class Groups:
    def __init__(self) -> None: ...
    def __len__(self) -> int: ...
    def grow(self, count: int) -> None: ...
    def truncate(self, count: int) -> None: ...
    def firsts(self) -> _Ids: ...
    def links(self) -> _Ids: ...
    def join(self, links: npt.NDArray[np.int64]) -> None: ...

def shingle_sets(
    starts: npt.NDArray[np.int64],
    words: npt.NDArray[np.int32],
    hashes: npt.NDArray[np.uint64],
    *,
    size: int,
    threads: int,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]: ...
def first_equal_rows(rows: RowsView, *, threads: int) -> _Ids: ...
def first_equal_sets(indptr: npt.NDArray[np.int64], items: npt.NDArray[np.uint64], *, threads: int) -> _Ids: ...
def shared_columns(
    indptr: npt.NDArray[np.int64], items: npt.NDArray[np.uint64], *, threads: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], int]: ...
def row_checksum(values: tuple[Any, ...]) -> int: ...
def scatter(rows: RowsView, *, words: int, seed: int, threads: int) -> npt.NDArray[np.float32]: ...

# postings

def pack_counts(
    indptr: npt.NDArray[np.int64], columns: npt.NDArray[np.int32], counts: npt.NDArray[np.int32], *, threads: int
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]: ...
def unpack_counts(
    content: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], *, n_columns: int, threads: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int32]]: ...
def pack_postings(
    indptr: npt.NDArray[np.int64],
    columns: npt.NDArray[np.int32],
    counts: npt.NDArray[np.int32],
    ids: npt.NDArray[np.int64],
    *,
    n_columns: int,
    threads: int,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8], npt.NDArray[np.int64]]: ...
def pack_list_blocks(
    columns: npt.NDArray[np.int32], content: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], *, most: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8], npt.NDArray[np.int64]]: ...
def list_in_block(block: bytes, *, first: int, column: int) -> bytes | None: ...
def unpack_list_block(
    block: bytes, *, first: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8], npt.NDArray[np.int64]]: ...

class PostingLists:
    def __init__(self, ids: npt.NDArray[np.int64], lengths: npt.NDArray[np.int32]) -> None: ...
    def put(self, column: int, contents: list[bytes]) -> None: ...
    def put_counts(
        self,
        indptr: npt.NDArray[np.int64],
        columns: npt.NDArray[np.int32],
        counts: npt.NDArray[np.int32],
        ids: npt.NDArray[np.int64],
    ) -> None: ...
    def load(
        self, columns: npt.NDArray[np.int32], content: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]
    ) -> None: ...
    def add(
        self,
        indptr: npt.NDArray[np.int64],
        columns: npt.NDArray[np.int32],
        counts: npt.NDArray[np.int32],
        ids: npt.NDArray[np.int64],
        lengths: npt.NDArray[np.int32],
    ) -> None: ...
    def remove(self, positions: npt.NDArray[np.int32]) -> None: ...
    def compact(self) -> npt.NDArray[np.int32]: ...
    def forget_packed(self) -> None: ...
    def evict(self, most: int, *, first: int) -> npt.NDArray[np.int32]: ...
    def pack(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8], npt.NDArray[np.int64]]: ...
    def holds(self, column: int) -> bool: ...
    def document_frequency(self, column: int) -> int: ...
    def document_frequencies(self, columns: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]: ...
    def positions(self, column: int) -> npt.NDArray[np.int32]: ...
    def ids(self) -> npt.NDArray[np.int64]: ...
    def lengths(self) -> npt.NDArray[np.int32]: ...
    @property
    def n_documents(self) -> int: ...
    @property
    def live(self) -> int: ...
    @property
    def next_id(self) -> int: ...
    @property
    def n_words(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    def search(
        self,
        indptr: npt.NDArray[np.int64],
        columns: npt.NDArray[np.int32],
        weights: npt.NDArray[np.float32],
        *,
        k: int,
        k1: float,
        b: float,
        mean_length: float,
        allowed: npt.NDArray[np.uint8] | None,
        threads: int,
        ranks: npt.NDArray[np.uint32] | None = None,
        optional: npt.NDArray[np.int64] | None = None,
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]: ...

def multiply(
    rows: npt.NDArray[np.float32], weights: npt.NDArray[np.float32], *, threads: int
) -> npt.NDArray[np.float32]: ...

class Codewords:
    def __init__(
        self,
        words: npt.NDArray[np.float32],
        signs: npt.NDArray[np.float32],
        *,
        longest: float,
        least_gain: float,
    ) -> None: ...
    def choose(
        self, rows: npt.NDArray[np.float32], *, beam: int, threads: int
    ) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float32]]: ...

def scan_additive(
    codes: npt.NDArray[np.uint8],
    *,
    corrections: npt.NDArray[np.float32],
    tables: npt.NDArray[np.float32],
    offsets: npt.NDArray[np.float32],
    k: int,
    threads: int,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]: ...

class CellTable:
    def ids(self) -> _Ids: ...
    def cells(self) -> npt.NDArray[np.int32]: ...
    def packed(self) -> _Codes: ...
    def vectors(self, first: int, last: int) -> npt.NDArray[Any]: ...
    def max_id(self) -> int: ...

class CellSelection:
    def __init__(self, ids: _Ids) -> None: ...
    def cells(self, index: CellIndex) -> int: ...

class CellIndex:
    def __init__(
        self,
        *,
        centers: npt.NDArray[np.int8],
        lengths: npt.NDArray[np.float32],
        signs: npt.NDArray[np.float32],
        scales: npt.NDArray[np.float32],
        steps: npt.NDArray[np.float32],
        precision: int,
    ) -> None: ...
    def add(
        self,
        *,
        cells: npt.NDArray[np.int32],
        packed: _Codes,
        vectors: npt.NDArray[np.float32] | npt.NDArray[np.uint16] | npt.NDArray[np.int8],
        ids: _Ids | None,
        borrow: bool,
    ) -> _Ids: ...
    def remove(self, ids: _Ids) -> None: ...
    def regroup(
        self,
        *,
        centers: npt.NDArray[np.int8],
        lengths: npt.NDArray[np.float32],
        ids: _Ids,
        cells: npt.NDArray[np.int32],
        packed: _Codes,
    ) -> None: ...
    def cell_sizes(self) -> npt.NDArray[np.int32]: ...
    def ids_in(self, cells: npt.NDArray[np.int32]) -> _Ids: ...
    def cells_of(self, ids: _Ids) -> npt.NDArray[np.int32]: ...
    def raise_max_id(self, id: int) -> None: ...  # noqa: A002
    def max_id(self) -> int: ...
    def size(self) -> int: ...
    def contains(self, id: int) -> bool: ...  # noqa: A002
    def ids(self) -> _Ids: ...
    def vectors(self, ids: _Ids) -> npt.NDArray[Any]: ...
    def stats(self) -> dict[str, int]: ...
    def table(self) -> CellTable: ...
    def search(
        self,
        queries: npt.NDArray[np.float32],
        *,
        k: int,
        probes: int,
        margin: float,
        candidates: int,
        plan: int,
        estimated: bool,
        allowed: CellSelection | _Ids | None,
        threads: int,
    ) -> tuple[_Ids, npt.NDArray[np.float32]]: ...
