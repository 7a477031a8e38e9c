"""Choices that rounding must not make: signs of eigenvectors, and rotations that follow single signs."""

from itertools import pairwise

import numpy as np
import pytest

from sthash.hashing.rotation import principal_axes, quantizing_frames, quantizing_rotation
from sthash.hashing.signs import column_signs, settled, settled_values


def test_the_first_of_the_nearly_largest_entries_decides():
    vectors = np.array([[0.1, -1.0, 2.0], [-3.0, 1.0 + 1e-9, -2.0 - 1e-9], [2.0, 0.0, 0.0]])
    assert column_signs(vectors).tolist() == [-1.0, -1.0, 1.0]
    assert column_signs(-vectors).tolist() == [1.0, 1.0, -1.0]


def test_axes_do_not_depend_on_the_sign_of_the_solver():
    rows = np.random.default_rng(0).normal(size=(60, 6))
    axes = principal_axes(rows)
    assert (column_signs(axes) == 1).all()


def huber(x, width):
    return np.where(np.abs(x) < width, x**2 / (2 * width), np.abs(x) - width / 2).sum()


@pytest.mark.parametrize("size", [8, 5])
def test_no_step_of_a_soft_rotation_lowers_the_huber_function(size):
    rng = np.random.default_rng(0)
    V = rng.normal(size=(200, 8))
    width = 0.1 * np.sqrt((V**2).mean())
    frame = np.linalg.qr(rng.normal(size=(8, 8)))[0][:, :size]
    reached = [huber(V @ quantizing_rotation(V, frame, turns, soft=0.1)[0], width) for turns in range(12)]
    assert all(after >= before - 0.01 for before, after in pairwise(reached))
    assert reached[-1] > reached[0] + 1


def test_a_soft_rotation_hardly_amplifies_noise():
    rng = np.random.default_rng(0)
    V = rng.normal(size=(2000, 32)) @ rng.normal(size=(32, 32)) / 6
    noisy = V * (1 + 1e-9 * rng.normal(size=V.shape))
    one, other = (quantizing_frames(rows, 32, np.random.default_rng(1)) for rows in (V, noisy))
    assert ((V @ one > 0) == (V @ other > 0)).mean() > 0.9999


def test_settled_vectors_forget_what_solvers_leave_open():
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(500, 20)) * 10.0 ** rng.integers(-6, 6, 20)
    noise = 1e-12 * np.abs(vectors).max(axis=0) * rng.uniform(-1, 1, size=vectors.shape)
    assert np.array_equal(settled(vectors), settled(vectors + noise))
    assert (np.abs(settled(vectors) - vectors).max(axis=0) <= 2.0**-18 * np.abs(vectors).max(axis=0)).all()
    assert np.array_equal(settled(settled(vectors)), settled(vectors))
    assert not settled(np.zeros((3, 2))).any()
    assert settled(np.zeros((0, 2))).shape == (0, 2)
    assert settled_values(np.array([0.25 + 1e-13])).tolist() == [0.25]
