"""The obvious index: a dictionary, searched by looking at everything."""

from __future__ import annotations

import numpy as np

from sthash import codes as packed


def random_codes(rng, n, n_bits, clusters=0, flip=0.05):
    """Random codes, or codes scattered around ``clusters`` random centers."""
    if clusters:
        bits = rng.integers(0, 2, (clusters, n_bits), dtype=np.uint8)[rng.integers(0, clusters, n)]
        bits ^= rng.random((n, n_bits)) < flip
    else:
        bits = rng.integers(0, 2, (n, n_bits), dtype=np.uint8)
    return np.packbits(bits, axis=1, bitorder="little").reshape(n, packed.n_bytes(n_bits))


class Twin:
    def __init__(self, n_bits):
        self.n_bits = n_bits
        self.held = {}
        self.greatest = -1

    def __len__(self):
        return len(self.held)

    def add(self, codes, ids=None):
        start = self.greatest + 1
        ids = list(range(start, start + len(codes))) if ids is None else [int(i) for i in ids]
        for key, code in zip(ids, codes, strict=True):
            assert key not in self.held
            self.held[key] = code.tobytes()
            self.greatest = max(self.greatest, key)
        return ids

    def remove(self, ids):
        for key in ids:
            del self.held[int(key)]

    def update(self, codes, ids):
        for key, code in zip(ids, codes, strict=True):
            assert int(key) in self.held
            self.held[int(key)] = code.tobytes()

    def ranked(self, query, allowed=None):
        """Ids and distances of everything, by (distance, id)."""
        keys = np.array(sorted(k for k in self.held if allowed is None or k in allowed), dtype=np.int64)
        if len(keys) == 0:
            return keys, np.zeros(0, dtype=np.int32)
        rows = np.frombuffer(b"".join(self.held[int(k)] for k in keys), dtype=np.uint8).reshape(len(keys), -1)
        distances = np.unpackbits(rows ^ query[None, :], axis=1).sum(axis=1, dtype=np.int32)
        order = np.lexsort((keys, distances))
        return keys[order], distances[order]

    def search(self, queries, k, radius=None, allowed=None):
        ids = np.full((len(queries), k), -1, dtype=np.int64)
        distances = np.full((len(queries), k), -1, dtype=np.int32)
        for row, query in enumerate(queries):
            found, how_far = self.ranked(query, allowed)
            keep = slice(0, min(k, len(found) if radius is None else int((how_far <= radius).sum())))
            ids[row, : len(found[keep])] = found[keep]
            distances[row, : len(found[keep])] = how_far[keep]
        return ids, distances

    def weighted_search(self, queries, weights, k, radius=None, allowed=None):
        ids = np.full((len(queries), k), -1, dtype=np.int64)
        distances = np.full((len(queries), k), -1, dtype=np.float32)
        for row, (query, weight) in enumerate(zip(queries, weights, strict=True)):
            found, bits = self.ranked(query, allowed)
            found = found if radius is None else found[bits <= radius]
            how_far = np.array([weighted_distance(self.held[int(key)], query, weight) for key in found], np.float32)
            order = np.lexsort((found, how_far))[:k]
            ids[row, : len(order)], distances[row, : len(order)] = found[order], how_far[order]
        return ids, distances

    def radius_search(self, queries, radius, allowed=None):
        lims, ids, distances = [0], [], []
        for query in queries:
            found, how_far = self.ranked(query, allowed)
            near = how_far <= radius
            ids.append(found[near])
            distances.append(how_far[near])
            lims.append(lims[-1] + int(near.sum()))
        empty = np.zeros(0, dtype=np.int64)
        return np.array(lims), np.concatenate([empty, *ids]), np.concatenate([empty, *distances])

    def pairs(self, radius):
        result = set()
        for key, code in self.held.items():
            found, how_far = self.ranked(np.frombuffer(code, dtype=np.uint8))
            for other, distance in zip(found.tolist(), how_far.tolist(), strict=True):
                if distance <= radius and other > key:
                    result.add((key, other, distance))
        return result


def weighted_distance(code, query, weights):
    """Sum of the weights of differing bits: four bits, every fourth four, then the four sums."""
    differ = np.unpackbits(np.frombuffer(code, np.uint8) ^ query, bitorder="little")[: len(weights)]
    parts = np.pad(np.where(differ, weights, np.float32(0)), (0, -len(weights) % 16)).reshape(-1, 4, 4)
    sums = [np.float32(0)] * 4
    for part in parts:
        for lane in range(4):
            sums[lane] += ((part[lane][0] + part[lane][1]) + part[lane][2]) + part[lane][3]
    return (sums[0] + sums[1]) + (sums[2] + sums[3])


def assert_same_weighted_answers(index, twin, queries, weights, k, **how):
    """With weights, the index must give the same ids, and the same distances to the last bit."""
    allowed = how.get("allowed")
    wanted = twin.weighted_search(
        queries, weights, k, how.get("radius"), None if allowed is None else {int(i) for i in allowed}
    )
    for one, other in zip(index.search(queries, k, weights=weights, **how), wanted, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def assert_same_answers(index, twin, queries, k, radius, **how):
    """The index must answer exactly as its twin does."""
    allowed = how.get("allowed")
    allowed = None if allowed is None else {int(i) for i in allowed}
    for bound in (None, radius):
        got, wanted = index.search(queries, k, radius=bound, **how), twin.search(queries, k, bound, allowed)
        for one, other in zip(got, wanted, strict=True):
            np.testing.assert_array_equal(one, other)
    got, wanted = index.radius_search(queries, radius, **how), twin.radius_search(queries, radius, allowed)
    for one, other in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(index.count(queries, radius, **how), np.diff(wanted[0]))
