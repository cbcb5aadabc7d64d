"""The place of the smallest number."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxonline.numerics.elementwise import first_argmin

LENGTHS = [1, 14, 15, 24, 25, 100]


@pytest.mark.parametrize("length", LENGTHS)
def test_the_first_of_the_smallest_numbers(length):
    rng = np.random.default_rng(0)
    rows = rng.integers(0, max(1, length // 4), size=(50, length)).astype(np.float32)  # many ties
    rows[1], rows[2] = np.inf, -np.inf
    rows[3:10, length // 2] = -np.inf
    places = jax.jit(jax.vmap(first_argmin))(jnp.asarray(rows))
    assert places.dtype == jnp.int32
    np.testing.assert_array_equal(places, np.argmin(rows, axis=1))


@pytest.mark.parametrize("length", LENGTHS)
def test_the_place_of_a_number_if_some_are_nan(length):
    for place in {0, length // 2, length - 1}:
        assert 0 <= first_argmin(jnp.ones(length).at[place].set(jnp.nan)).item() < length
    assert first_argmin(jnp.full(length, jnp.nan)).item() == 0
