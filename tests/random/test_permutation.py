"""Permutations equal those of jax, bit for bit."""

import jax
import numpy as np
import pytest
from tiers import some

from jaxonline.random import inlined, permutation


@pytest.mark.parametrize("n", some([1, 2, 5, 1626, 70_000], 5, 1626))  # 1,626 is the first n that jax sorts twice
def test_permutation_equals_that_of_jax(n):
    keys = jax.random.split(jax.random.key(3), 2)

    def both(key):
        return permutation(key, n), permutation(inlined(key), n), jax.random.permutation(key, n)

    for got, other, wanted in zip(*jax.jit(jax.vmap(both))(keys), strict=True):
        assert got.dtype == np.int32
        np.testing.assert_array_equal(got, wanted)
        np.testing.assert_array_equal(other, wanted)


def test_permutation_is_stable_for_ties(monkeypatch):
    """As a stable sort has it: with words of one bit nearly all are equal."""
    words = np.arange(50) % 2
    monkeypatch.setattr(jax.random, "bits", lambda key, shape, dtype: jax.numpy.asarray(words, dtype))
    np.testing.assert_array_equal(permutation(jax.random.key(0), 50), np.argsort(words, kind="stable"))
