"""Normal numbers equal to those of jax up to rounding, with less computation.

jax maps a uniform u on (-1, 1) to a normal number by the inverse error function of Giles, "Approximating the erfinv
function" (GPU Computing Gems, 2011): u times a polynomial in w = -log(1 - u^2), or in the root of w if w >= 5 (selected
per number). Here one polynomial in (1 + w)^(1/2) covers both ranges of w. This polynomial tolerates an absolute error
of w, so w is computed from (1 - u)(1 + u) = 2^k m by k log 2 and a polynomial in m, not from log1p(-u^2), which
computes two forms and rounds u^2. In the tails the numbers of jax have a relative error of 6e-6, and the numbers of
this module have 3e-7. Both polynomials are minimax, with errors of 3e-8 (1 - log m) and 1e-7.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

# Coefficients from the highest power on. 1 - log m for m in [1, 2), in m - 1.5:
_ONE_MINUS_LOG = (
    0.00629994972, -0.0102438871, 0.0142641049, -0.0259673037, 0.0494212173, -0.0987917557, 0.222220793, -0.66666615,
    0.594534874,
)  # fmt: skip
# The normal number divided by u, in (1 + w)^(1/2) - 2 for w in [0, 16):
_NORMAL = (
    1.05094969e-05, -0.000107251821, 0.000357820507, -0.000125119375, -0.00175939314, 0.00257137185, 0.00441150228,
    -0.0111711994, -0.00818974152, 0.0377997346, 0.00584496139, -0.140569717, 0.211867496, 1.36686635, 2.29603529,
)  # fmt: skip
_ONE = np.int32(0x3F800000)  # the bits of 1.0: exponent, then 23 bits of the mantissa
_MANTISSA = np.int32(0x7FFFFF)


@jax.jit  # traced once per shape
def normal_from_uniform(u: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return 2^(1/2) erf^-1(u) for float32 u in (-1, 1), a standard normal number if u is uniform."""
    bits = jax.lax.bitcast_convert_type((1.0 - u) * (1.0 + u), jnp.int32)
    k = ((bits - _ONE) >> 23).astype(jnp.float32)
    m = jax.lax.bitcast_convert_type((bits & _MANTISSA) | _ONE, jnp.float32)
    one_minus_log = _horner(_ONE_MINUS_LOG[:-1], m - 1.5, _ONE_MINUS_LOG[-1] - np.float32(np.log(2.0)) * k)
    return _horner(_NORMAL[:-1], jnp.sqrt(one_minus_log) - 2.0, _NORMAL[-1]) * u


def _horner(coefficients: tuple[float, ...], x: Float[Array, "..."], last: Any) -> Float[Array, "..."]:
    """Return the polynomial in x with `coefficients` from the highest power on, followed by `last`."""
    value = jnp.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        value = value * x + np.float32(coefficient)
    return value * x + last
