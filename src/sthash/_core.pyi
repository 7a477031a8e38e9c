"""The C++ core. It assumes what the Python rooms have validated; call those instead."""

import numpy as np
import numpy.typing as npt

def simd_path() -> str: ...
def simd_paths() -> list[str]: ...
def hardware_threads() -> int: ...

# text

unicode_version: str

class WordTable:
    def __init__(self) -> None: ...
    def __len__(self) -> int: ...
    def scan(self, texts: list[str], threads: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]: ...
    def words_from(self, first: int) -> list[str]: ...

def count_terms(
    starts: npt.NDArray[np.int64],
    words: npt.NDArray[np.int32],
    term_of: npt.NDArray[np.int32],
    n_terms: int,
    threads: int,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int32]]: ...

# graph

def sparse_neighbours(
    indptr: npt.NDArray[np.int64],
    indices: npt.NDArray[np.int32],
    data: npt.NDArray[np.float32],
    columns: int,
    penalty: npt.NDArray[np.float32],
    k: int,
    common_share: float,
    threads: int,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]: ...
def dense_neighbours(
    rows: npt.NDArray[np.float32],
    products: npt.NDArray[np.float32],
    first: int,
    penalty: npt.NDArray[np.float32],
    norms: npt.NDArray[np.float32],
    largest_norm: float,
    k: int,
    threads: int,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]: ...
def largest_in_rows(
    scores: npt.NDArray[np.float32], k: int, threads: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]: ...

# svm

lanes_in_group: int

def fit_svm_bank(
    indptr: npt.NDArray[np.int64],
    indices: npt.NDArray[np.int32],
    values: npt.NDArray[np.float32],
    dense: bool,
    n_features: int,
    bits: npt.NDArray[np.uint8],
    inverse_curvature: npt.NDArray[np.float32],
    diagonal: float,
    upper: float,
    bias: float,
    tolerance: float,
    max_rounds: int,
    seed: int,
    threads: int,
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32], npt.NDArray[np.int32]]: ...
def project(
    indptr: npt.NDArray[np.int64],
    indices: npt.NDArray[np.int32],
    values: npt.NDArray[np.float32],
    dense: bool,
    weights: npt.NDArray[np.float32],
    threads: int,
) -> npt.NDArray[np.float32]: ...

# hamming

_Codes = npt.NDArray[np.uint8]
_Ids = npt.NDArray[np.int64]
_Distances = npt.NDArray[np.int32]

class HammingCore:
    def __init__(self, n_bits: int, path: int) -> None: ...
    @staticmethod
    def open(descriptor: int, mapped: bool, name: str, path: int) -> HammingCore: ...
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
        self, codes: _Codes, k: int, within: int, allowed: _Ids | None, threads: int
    ) -> tuple[_Ids, _Distances]: ...
    def weighted_search(
        self,
        codes: _Codes,
        weights: npt.NDArray[np.float32],
        k: int,
        within: int,
        allowed: _Ids | None,
        threads: int,
    ) -> tuple[_Ids, npt.NDArray[np.float32]]: ...
    def radius_search(
        self, codes: _Codes, radius: int, allowed: _Ids | None, threads: int
    ) -> tuple[_Ids, _Ids, _Distances]: ...
    def count(self, codes: _Codes, radius: int, allowed: _Ids | None, threads: int) -> _Ids: ...
    def build_tables(self, threads: int) -> None: ...
    def stats(self) -> dict[str, int]: ...

class HammingJoin:
    def __init__(self, left: HammingCore, right: HammingCore, radius: int, threads: int) -> None: ...
    def next(self) -> tuple[_Ids, _Ids, _Distances]: ...

# collection

def search_balls(
    codes: npt.NDArray[np.uint64],
    starts: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    content: npt.NDArray[np.int32],
    dense: bool,
    query_codes: npt.NDArray[np.uint64],
    margins: npt.NDArray[np.float32] | None,
    query_indptr: npt.NDArray[np.int64],
    query_indices: npt.NDArray[np.int32],
    query_values: npt.NDArray[np.float32],
    columns: int,
    k: int,
    radius: int,
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
    query: npt.NDArray[np.uint64],
    margins: npt.NDArray[np.float32] | None,
    radius: int,
    wanted: int,
) -> npt.NDArray[np.int64]: ...
def pair_scores(
    starts: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    content: npt.NDArray[np.int32],
    dense: bool,
    columns: int,
    left: npt.NDArray[np.int64],
    right: npt.NDArray[np.int64],
    threads: int,
) -> npt.NDArray[np.float32]: ...
def scatter(
    indptr: npt.NDArray[np.int64],
    indices: npt.NDArray[np.int32],
    values: npt.NDArray[np.float32],
    words: int,
    seed: int,
    threads: int,
) -> npt.NDArray[np.float32]: ...
