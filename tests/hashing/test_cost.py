"""Estimates of what learning costs."""

import pytest

from sthash.hashing.cost import largest_sample, learning_cost


@pytest.mark.parametrize("recipe", ["paper", "topics", "neighbors"])
def test_cost_grows_in_proportion_and_with_the_bits(recipe):
    small, large = (learning_cost(n, 30 * n, 64, recipe, threads=2) for n in (50_000, 500_000))
    assert large.seconds == pytest.approx(10 * small.seconds)
    assert large.bytes == pytest.approx(10 * small.bytes)
    assert learning_cost(50_000, 1_500_000, 64, recipe, threads=1).seconds == pytest.approx(2 * small.seconds)
    if recipe != "topics":
        assert learning_cost(50_000, 1_500_000, 128, recipe, threads=2).seconds > small.seconds


def test_cost_of_embeddings_has_a_part_that_does_not_grow():
    small, large = (learning_cost(n, 30 * n, 64, "embeddings", threads=2) for n in (50_000, 500_000))
    assert small.seconds < large.seconds < 10 * small.seconds
    assert large.bytes == pytest.approx(10 * small.bytes)
    assert learning_cost(50_000, 1_500_000, 128, "embeddings", threads=2).seconds > small.seconds


def test_the_largest_sample_is_the_largest_within_the_limits():
    n, nnz = 1_000_000, 30_000_000
    assert largest_sample(n, nnz, 64) == n
    assert largest_sample(n, nnz, 64, memory=0) == 0
    chosen = largest_sample(n, nnz, 64, seconds=20, threads=2)
    assert 0 < chosen < n
    assert learning_cost(chosen, 30 * chosen, 64, threads=2).seconds <= 20
    assert learning_cost(chosen + 1, 30 * (chosen + 1), 64, threads=2).seconds > 20


def test_bad_input():
    with pytest.raises(ValueError, match="n_rows=-1"):
        learning_cost(-1, 0, 64)
    with pytest.raises(ValueError, match="recipe='none'"):
        learning_cost(1, 1, 64, "none")
