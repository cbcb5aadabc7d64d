"""Formulas of losses as printed in paper A, Examples 2 to 4 and Appendix C, for comparison with `jaxonline.losses`."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike

from jaxonline.losses import SmoothedHinge
from jaxonline.parameters import check
from jaxonline.parameters.types import as_floating


def printed_exponential(a: ArrayLike) -> jax.Array:
    """Return e^(+a), the exponential loss printed in paper A, Example 2; it grows with the margin a (erratum E1)."""
    return jnp.exp(as_floating(a))


def printed_exponential_coefficients(n_terms: int) -> np.ndarray:
    """Return the Taylor coefficients 1/n! of e^(+a), the derivative of the printed exponential loss (erratum E1)."""
    return np.array([1.0 / math.factorial(n) for n in range(check.count("n_terms", n_terms))])


def printed_smoothed_absolute(a: ArrayLike, scale: ArrayLike, sigma: ArrayLike) -> jax.Array:
    """Return the smoothed absolute loss printed in paper A, Appendix C (erratum E2).

    The printed loss a erf(sa) + e^(-s^2 a^2) / (sigma sqrt(pi)) is an antiderivative of erf(sa) only if sigma = s.
    """
    a = as_floating(a)
    s, sigma = jnp.asarray(scale, a.dtype), jnp.asarray(sigma, a.dtype)
    return a * jax.scipy.special.erf(s * a) + jnp.exp(-((s * a) ** 2)) / (sigma * math.sqrt(math.pi))


def printed_hinge_coefficients(n_terms: int, scale: float) -> np.ndarray:
    """Coefficients of powers of (a - 1) in paper A, Appendix C; its estimator has powers of a instead (erratum E3)."""
    return SmoothedHinge(scale).coefficients(n_terms, centre=1.0)


def printed_absolute_majorant(a: float, scale: float) -> float:
    """Bound on l'_+(a) of the smoothed absolute loss printed in paper A, Example 3 (erratum E4).

    The bound is 1/2 + (e^(s^2 a^2) - 1) / (s a sqrt(pi)). Appendix C derives it for the smoothed hinge loss, from the
    series of erratum E3.
    """
    reach = check.positive("scale", scale) * check.positive("a", a)
    return 0.5 + math.expm1(reach**2) / (reach * math.sqrt(math.pi))


def printed_hinge_majorant(a: float, scale: float) -> float:
    """Bound on l'_+(a) of the smoothed hinge loss printed in paper A, Example 4 (erratum E4).

    The bound is 2 e^(s^2 a^2 - 1) / (s a sqrt(pi)). Appendix C derives it for the smoothed absolute loss, also with the
    1 in the exponent. With e^(s^2 a^2) - 1, the sum of (s a)^(2n+2) / (n+1)!, the bound would be right for the smoothed
    absolute loss.
    """
    reach = check.positive("scale", scale) * check.positive("a", a)
    return 2.0 * math.exp(reach**2 - 1.0) / (reach * math.sqrt(math.pi))
