"""Normal numbers and permutations equal those of jax, up to rounding or bit for bit."""

import jax
import numpy as np
import pytest
from scipy import special
from tiers import some

from jaxonline.random import exact, fast_normal, inlined, permutation
from jaxonline.random.exact import normal_from_uniform, shuffled_indices
from jaxonline.random.threefry import WordPairs, word_pairs


def test_normal_numbers_equal_those_of_jax():
    """A hundred thousand of them, as far as jax's are right; in float64 the same."""
    key = inlined(jax.random.key(8))
    got, wanted = jax.jit(lambda key: (fast_normal(key, (10**5,), np.float32), jax.random.normal(key, (10**5,))))(key)
    np.testing.assert_allclose(got, wanted, rtol=6e-6)
    with jax.enable_x64(True):
        np.testing.assert_array_equal(fast_normal(key, (5,), np.float64), jax.random.normal(key, (5,), np.float64))


@pytest.mark.parametrize("step", some([1, 64], 64))
def test_inverse_error_function_matches_scipy(step):
    """For all 2^23 uniform numbers that jax draws in float32 (long) or each 64th: each right to 3.2e-7, and they do not
    lean to a side."""
    lowest = np.nextafter(np.float32(-1), np.float32(0))
    u = np.maximum(lowest, np.arange(2**23, dtype=np.float32) * np.float32(2.0**-23) * (1 - lowest) + lowest)
    assert np.isin(jax.random.uniform(jax.random.key(1), (1000,), minval=lowest, maxval=1.0), u).all()
    u = u[::step]
    got = np.asarray(jax.jit(normal_from_uniform)(u))
    wanted = np.sqrt(2) * special.erfinv(u.astype(float))
    np.testing.assert_allclose(got, wanted, rtol=3.2e-7, atol=0)
    assert abs(np.mean(got / wanted - 1)) < 2e-8
    np.testing.assert_array_equal(jax.jit(normal_from_uniform)(-u), -got)


@pytest.mark.parametrize("n", some([1, 2, 5, 1626, 70_000], 1626))  # 1,626 is the first n that jax sorts twice
def test_permutation_equals_that_of_jax(n):
    keys = jax.random.split(jax.random.key(3), 2)

    def both(key):
        return permutation(key, n), permutation(inlined(key), n), jax.random.permutation(key, n)

    for got, other, wanted in zip(*jax.jit(jax.vmap(both))(keys), strict=True):
        assert got.dtype == np.int32
        np.testing.assert_array_equal(got, wanted)
        np.testing.assert_array_equal(other, wanted)


def test_permutation_is_stable_for_ties(monkeypatch):
    words = np.arange(50) % 2
    monkeypatch.setattr(jax.random, "bits", lambda key, shape, dtype: jax.numpy.asarray(words, dtype))
    np.testing.assert_array_equal(permutation(jax.random.key(0), 50), np.argsort(words, kind="stable"))


@pytest.mark.parametrize("n", some([1, 30, 1625, 65_537], 30))
def test_shuffled_indices_of_short_and_long_data_equal_those_of_jax(n):
    key = inlined(jax.random.key(4))
    np.testing.assert_array_equal(shuffled_indices(key, n), jax.random.permutation(key, n))


@pytest.mark.parametrize(("n", "index_bits"), some([(1626, 11), (2048, 11), (2049, 12), (65_536, 16)], (2048, 11)))
def test_shuffled_indices_order_the_random_bits(n, index_bits):
    """The reference is a stable sort by NumPy of the random bits that remain beside the index."""
    key = inlined(jax.random.key(5))
    high, low = (np.asarray(words, np.uint64) for words in word_pairs(key, (n,), np.float32))
    random_bits = ((high << 32) | low) << index_bits
    np.testing.assert_array_equal(shuffled_indices(key, n), np.argsort(random_bits, kind="stable"))


def test_tied_indices_keep_their_order(monkeypatch):
    """All 53 random bits of even indices are 0, and those of odd indices are equal."""
    n = 2000
    words = WordPairs(jax.numpy.zeros(n, np.uint32), jax.numpy.arange(n, dtype=np.uint32) % 2)
    monkeypatch.setattr(exact, "word_pairs", lambda key, shape, dtype: words)
    expected = np.concatenate([np.arange(0, n, 2), np.arange(1, n, 2)])
    np.testing.assert_array_equal(shuffled_indices(jax.random.key(0), n), expected)
