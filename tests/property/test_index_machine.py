"""The index and its obvious twin through any sequence of operations."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sthash import HammingIndex
from support.index_twin import Twin, assert_same_answers, random_codes

SEEDS = st.integers(0, 2**32 - 1)


class IndexMachine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()

    def teardown(self):
        self.index = None
        self.folder.cleanup()

    @initialize(
        n_bits=st.integers(1, 1024) | st.sampled_from([8, 16, 64, 128]),
        strategy=st.sampled_from(["auto", "scan", "tables"]),
    )
    def begin(self, n_bits, strategy):
        self.strategy = strategy
        self.index, self.twin = HammingIndex(n_bits, strategy=strategy), Twin(n_bits)
        self.center = random_codes(np.random.default_rng(n_bits), 1, n_bits)

    def some_codes(self, rng, n):
        """Near each other, so that there are ties and duplicates."""
        flips = rng.random((n, self.twin.n_bits)) < rng.choice([0.0, 0.02, 0.3])
        return np.packbits(flips, axis=1, bitorder="little") ^ self.center

    def some_ids(self, rng, share):
        return rng.permutation(sorted(self.twin.held))[: max(1, int(len(self.twin) * share))]

    @rule(seed=SEEDS, n=st.sampled_from([0, 1, 5, 300, 1500]))
    def add(self, seed, n):
        codes = self.some_codes(np.random.default_rng(seed), n)
        assert self.index.add(codes).tolist() == self.twin.add(codes)

    @rule(seed=SEEDS, n=st.integers(1, 400))
    def add_with_ids(self, seed, n):
        rng = np.random.default_rng(seed)
        ids = np.setdiff1d(rng.integers(0, 5000, n), sorted(self.twin.held))
        ids = rng.permutation(ids)
        codes = self.some_codes(rng, len(ids))
        self.index.add(codes, ids)
        self.twin.add(codes, ids)

    @precondition(lambda self: len(self.twin) > 0)
    @rule(seed=SEEDS, share=st.sampled_from([0.01, 0.3, 0.9, 1.0]))
    def remove(self, seed, share):
        ids = self.some_ids(np.random.default_rng(seed), share)
        self.index.remove(ids)
        self.twin.remove(ids)

    @precondition(lambda self: len(self.twin) > 0)
    @rule(seed=SEEDS, share=st.sampled_from([0.01, 0.5]))
    def update(self, seed, share):
        rng = np.random.default_rng(seed)
        ids = self.some_ids(rng, share)
        codes = self.some_codes(rng, len(ids))
        self.index.update(codes, ids)
        self.twin.update(codes, ids)

    @precondition(lambda self: len(self.twin) > 1)
    @rule(seed=SEEDS)
    def fail(self, seed):
        rng = np.random.default_rng(seed)
        there = self.some_ids(rng, 0.1)
        codes = self.some_codes(rng, len(there) + 1)
        with pytest.raises(ValueError, match="already or given twice"):
            self.index.add(codes, [10**15, *there])
        with pytest.raises(KeyError, match=f"{10**15} is not"):
            self.index.remove([*there, 10**15])
        with pytest.raises(ValueError, match="given twice"):
            self.index.update(codes, [there[0], *there])

    @rule(seed=SEEDS, q=st.sampled_from([1, 3, 14]), k=st.integers(1, 40), radius=st.integers(0, 30))
    def search(self, seed, q, k, radius):
        queries = self.some_codes(np.random.default_rng(seed), q)
        assert_same_answers(self.index, self.twin, queries, k, radius, threads=1 + seed % 2)

    @precondition(lambda self: len(self.twin) > 0)
    @rule(seed=SEEDS, share=st.sampled_from([0.1, 0.8]))
    def search_some(self, seed, share):
        rng = np.random.default_rng(seed)
        allowed = self.some_ids(rng, share)
        assert_same_answers(self.index, self.twin, self.some_codes(rng, 3), 5, 10, allowed=allowed)

    @rule()
    def build_tables(self):
        self.index.build_tables()

    @precondition(lambda self: len(self.twin) < 500)
    @rule(radius=st.integers(0, 3))
    def pairs(self, radius):
        found = [
            pair
            for block in self.index.pairs(radius)
            for pair in zip(block.left.tolist(), block.right.tolist(), block.distances.tolist(), strict=True)
        ]
        assert len(found) == len(set(found))
        assert set(found) == self.twin.pairs(radius)

    @rule(mmap=st.booleans())
    def save_and_open(self, mmap):
        path = Path(self.folder.name) / "machine.index"
        self.index.save(path)
        self.index = HammingIndex.open(path, mmap=mmap, strategy=self.strategy)

    @invariant()
    def same_contents(self):
        if not hasattr(self, "twin"):
            return
        assert len(self.index) == len(self.twin)
        ids = sorted(self.twin.held)
        assert self.index.ids.tolist() == ids
        assert [row.tobytes() for row in self.index.codes(ids)] == [self.twin.held[i] for i in ids]
        for key in (*ids[:3], 5001, self.twin.greatest):
            assert (key in self.index) == (key in self.twin.held)


IndexMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
test_index_machine = IndexMachine.TestCase
