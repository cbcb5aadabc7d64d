"""Programs with barriers: the compiler makes new arrays where it would overwrite the arguments."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxonline._xla.barriers import out_of_place
from jaxonline.learners import EWA
from jaxonline.linalg.compensated import Compensated
from jaxonline.linalg.exponentials import vector_exp

RUNS, K = 64, 100


def bytes_of_new_arrays(step, *arrays):
    """Return the bytes of temporary arrays in a loop over ten steps of 64 runs."""

    def play(*arrays):
        return jax.lax.fori_loop(0, 10, lambda _, arrays: tuple(jax.vmap(step)(*arrays)), arrays)

    memory = jax.jit(play).lower(*arrays).compile().memory_analysis()
    assert memory is not None
    return memory.temp_size_in_bytes


@pytest.mark.parametrize(
    "function", [lambda x: 0.5 * x, lambda x: (x + 1.0).astype(jnp.float16).astype(x.dtype)], ids=["scaled", "rounded"]
)
def test_results_out_of_place_have_the_same_bits(function):
    for x in (jnp.float32(0.3), jnp.linspace(-2, 2, K, dtype=jnp.float32), jnp.ones((2, 3), jnp.float32)):
        np.testing.assert_array_equal(jax.jit(lambda x: out_of_place(function, x))(x), function(x))


def test_results_out_of_place_do_not_overwrite_the_arguments():
    """The compiler's loops that overwrite an argument compute one number after the other."""
    start = jnp.ones((RUNS, K), jnp.float32)
    assert bytes_of_new_arrays(lambda x: (jnp.exp(-x),), start) < start.nbytes
    assert bytes_of_new_arrays(lambda x: (vector_exp(-x),), start) >= start.nbytes


def test_compensated_sums_overwrite_neither_total_nor_correction():
    start = jnp.zeros((RUNS, K), jnp.float32)
    terms = jnp.linspace(0, 1, K, dtype=jnp.float32)

    def plain(total, correction):
        term = terms - correction
        return total + term, ((total + term) - total) - term

    def compensated(total, correction):
        return Compensated(total, correction).add(terms)

    assert bytes_of_new_arrays(plain, start, start) < 2 * start.nbytes
    assert bytes_of_new_arrays(compensated, start, start) >= 2 * start.nbytes


def test_weights_of_exponential_weights_overwrite_no_sums():
    start, rule = jnp.zeros((RUNS, K), jnp.float32), EWA(0.1)
    terms = jnp.linspace(0, 1, K, dtype=jnp.float32)

    def step(total, correction):
        state = Compensated(total, correction)
        weights = rule.weights(state)
        return rule.update(state, weights * terms, 0.0)

    assert bytes_of_new_arrays(step, start, start) >= 3 * start.nbytes
