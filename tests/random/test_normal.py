"""Normal numbers equal those of jax up to rounding, and the inverse error function equals that of scipy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
from tiers import some

from jaxonline.random import fast_normal, inlined
from jaxonline.random.exact import normal_from_uniform


def test_normal_numbers_equal_those_of_jax():
    """A hundred thousand of them, as far as jax's are right; in float64 the same."""
    key = inlined(jax.random.key(8))
    got, wanted = jax.jit(lambda key: (fast_normal(key, (10**5,), jnp.float32), jax.random.normal(key, (10**5,))))(key)
    np.testing.assert_allclose(got, wanted, rtol=6e-6)
    with jax.enable_x64(True):
        np.testing.assert_array_equal(fast_normal(key, (5,), jnp.float64), jax.random.normal(key, (5,), jnp.float64))


@pytest.mark.parametrize("step", some([1, 64], 64))
def test_inverse_error_function_matches_scipy(step):
    """For all 2^23 uniform numbers that jax draws in float32 (long) or each 64th: each right to 3.2e-7, and they do not
    lean to a side."""
    lowest = np.nextafter(np.float32(-1), np.float32(0))
    u = np.maximum(lowest, np.arange(2**23, dtype=np.float32) * np.float32(2.0**-23) * (1 - lowest) + lowest)
    assert np.isin(jax.random.uniform(jax.random.key(1), (1000,), minval=lowest, maxval=1.0), u).all()
    u = u[::step]
    got = np.asarray(jax.jit(normal_from_uniform)(u))
    wanted = np.sqrt(2) * scipy.special.erfinv(u.astype(float))
    np.testing.assert_allclose(got, wanted, rtol=3.2e-7, atol=0)
    assert abs(np.mean(got / wanted - 1)) < 2e-8
    np.testing.assert_array_equal(jax.jit(normal_from_uniform)(-u), -got)
