"""Formulas of losses in Examples 2 to 4 and Appendix C of paper A as printed, to compare with `jaxonline.losses`."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike

from jaxonline.losses import SmoothedHinge
from jaxonline.parameters import check
from jaxonline.parameters.numbers import as_floating


def printed_exponential(a: ArrayLike) -> jax.Array:
    """E1, Example 2: the exponential loss of a margin as e^(+a), which grows with better predictions."""
    return jnp.exp(as_floating(a))


def printed_exponential_coefficients(n_terms: int) -> np.ndarray:
    """E1: the coefficients 1/n! of the derivative e^(+a) of the printed exponential loss."""
    return np.array([1.0 / math.factorial(n) for n in range(check.count("n_terms", n_terms))])


def printed_smoothed_absolute(a: ArrayLike, scale: ArrayLike, sigma: ArrayLike) -> jax.Array:
    """E2, Appendix C: a erf(sa) + e^(-s^2 a^2) / (sigma sqrt(pi)), an antiderivative of erf(sa) only if sigma = s."""
    a = as_floating(a)
    s, sigma = jnp.asarray(scale, a.dtype), jnp.asarray(sigma, a.dtype)
    return a * jax.scipy.special.erf(s * a) + jnp.exp(-((s * a) ** 2)) / (sigma * math.sqrt(math.pi))


def printed_hinge_coefficients(n_terms: int, scale: float) -> np.ndarray:
    """E3, Appendix C: the coefficients of powers of (a - 1), which the printed estimator multiplies by powers of a."""
    return SmoothedHinge(scale).coefficients(n_terms, centre=1.0)


def printed_absolute_majorant(a: float, scale: float) -> float:
    """E4, Example 3: the bound 1/2 + (e^(s^2 a^2) - 1) / (s a sqrt(pi)), printed for the smoothed absolute loss.

    The appendix derives it for the hinge loss, from the series that E3 is about.
    """
    reach = check.positive("scale", scale) * check.positive("a", a)
    return 0.5 + math.expm1(reach**2) / (reach * math.sqrt(math.pi))


def printed_hinge_majorant(a: float, scale: float) -> float:
    """E4, Example 4: the bound 2 e^(s^2 a^2 - 1) / (s a sqrt(pi)), printed for the smoothed hinge loss.

    The appendix derives it for the absolute loss, also with the 1 in the exponent; outside of it, as in the sum of (s
    a)^(2n+2) / (n+1)!, the bound would be right for that loss.
    """
    reach = check.positive("scale", scale) * check.positive("a", a)
    return 2.0 * math.exp(reach**2 - 1.0) / (reach * math.sqrt(math.pi))
