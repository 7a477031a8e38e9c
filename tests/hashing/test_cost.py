"""Estimates of what learning costs."""

import pytest

from sthash.hashing.cost import learning_cost


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


def test_bad_input():
    with pytest.raises(ValueError, match="n_rows=-1"):
        learning_cost(-1, 0, 64)
    with pytest.raises(ValueError, match="recipe='none'"):
        learning_cost(1, 1, 64, "none")
