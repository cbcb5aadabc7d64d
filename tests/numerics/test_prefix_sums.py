"""Positions of the calls of runs in their joint list."""

import jax.numpy as jnp
import numpy as np
import pytest
from tiers import some

from jaxonline.numerics.elementwise import RunEnds


@pytest.mark.parametrize("size", some([1, 5, 16, 17, 307, 512, 1024, 1025], 1, 17, 307))
def test_run_ends_match_cumsum_and_searchsorted(size):
    number = np.random.default_rng(size).integers(0, 4, size).astype(np.int32)
    number[size // 3 : size // 2] = 0
    ends, places = RunEnds.from_counts(jnp.asarray(number)), np.arange(number.sum() + 40, dtype=np.int32)
    sums = np.cumsum(number)
    assert np.array_equal(ends.per_run(), sums)
    assert int(ends.total()) == sums[-1]
    assert np.array_equal(ends.find_runs(jnp.asarray(places)), np.searchsorted(sums, places, side="right"))


@pytest.mark.parametrize("size", [3, 40, 2000])
def test_run_ends_without_calls(size):
    ends = RunEnds.from_counts(jnp.zeros(size, jnp.int32))
    assert int(ends.total()) == 0
    assert ends.find_runs(jnp.arange(3, dtype=jnp.int32)).tolist() == [size] * 3
