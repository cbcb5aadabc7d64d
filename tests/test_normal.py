"""Normal numbers are jax's, up to rounding, and the inverse error function is scipy's."""

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special

from jaxonline._util.normal import normal, normal_of
from jaxonline._util.threefry import written_out


def test_they_are_those_of_jax():
    """A hundred thousand of them, as far as jax's are right; in float64 the same."""
    key = written_out(jax.random.key(8))
    got, wanted = jax.jit(lambda key: (normal(key, (10**5,), jnp.float32), jax.random.normal(key, (10**5,))))(key)
    np.testing.assert_allclose(got, wanted, rtol=6e-6)
    with jax.enable_x64(True):
        np.testing.assert_array_equal(normal(key, (5,), jnp.float64), jax.random.normal(key, (5,), jnp.float64))


def test_the_inverse_error_function_is_that_of_scipy():
    """For all numbers u = 1 - k 2^-24 from 0.98 on, and some below, of either sign."""
    u = np.concatenate([np.linspace(1e-6, 0.98, 10_001), 1 - np.arange(1, 2**24 // 50) * 2.0**-24]).astype(np.float32)
    got = np.asarray(jax.jit(normal_of)(u))
    np.testing.assert_allclose(got, np.sqrt(2) * scipy.special.erfinv(u.astype(float)), rtol=4e-7)
    np.testing.assert_array_equal(jax.jit(normal_of)(-u), -got)
