"""The formulas of losses as the paper prints them, wrong: what the claims of the verifier set against the right ones.

Never use them for anything else. The right ones are in `jaxonline.losses`.

Source: Cesa-Bianchi, Shalev-Shwartz, Shamir, "Online learning of noisy data with kernels" (COLT 2010): Examples 2, 3
and 4, and Appendix C.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike

from jaxonline._util import check
from jaxonline._util.numbers import floating
from jaxonline.losses import SmoothedHinge


def printed_exponential(a: ArrayLike) -> jax.Array:
    """E1, Example 2: the exponential loss of a margin as e^(+a), which grows as the prediction gets better.

    Example:
        >>> from jaxonline.losses import Exponential
        >>> from jaxonline.claims.printed_losses import printed_exponential
        >>> round(float(printed_exponential(1.0)), 3), round(float(Exponential().value(1.0)), 3)
        (2.718, 0.368)
    """
    return jnp.exp(floating(a))


def printed_exponential_coefficients(n_terms: int) -> np.ndarray:
    """E1: the coefficients 1/n! of the derivative e^(+a) of the printed exponential loss.

    Example:
        >>> from jaxonline.claims.printed_losses import printed_exponential_coefficients
        >>> printed_exponential_coefficients(3).tolist()
        [1.0, 1.0, 0.5]
    """
    return np.array([1.0 / math.factorial(n) for n in range(check.count("n_terms", n_terms))])


def printed_smoothed_absolute(a: ArrayLike, scale: ArrayLike, sigma: ArrayLike) -> jax.Array:
    """E2, Appendix C: a erf(sa) + e^(-s^2 a^2) / (sigma sqrt(pi)), an antiderivative of erf(sa) only if sigma = s.

    Example:
        >>> import jax
        >>> from jaxonline.claims.printed_losses import printed_smoothed_absolute
        >>> slope = jax.grad(printed_smoothed_absolute)(0.3, 2.0, 1.0)
        >>> round(float(slope), 3), round(float(jax.scipy.special.erf(0.6)), 3)
        (0.132, 0.604)
    """
    a = floating(a)
    s, sigma = jnp.asarray(scale, a.dtype), jnp.asarray(sigma, a.dtype)
    return a * jax.scipy.special.erf(s * a) + jnp.exp(-((s * a) ** 2)) / (sigma * math.sqrt(math.pi))


def printed_hinge_coefficients(n_terms: int, scale: float) -> np.ndarray:
    """E3, Appendix C: the coefficients of powers of (a - 1), which the printed estimator multiplies by powers of a.

    Example:
        >>> from jaxonline.claims.printed_losses import printed_hinge_coefficients
        >>> series = printed_hinge_coefficients(30, scale=1.0)
        >>> round(float(series @ 0.3 ** np.arange(30)), 3)  # l'(0.3) is -0.839
        -0.336
    """
    return SmoothedHinge(scale).coefficients(n_terms, centre=1.0)


def printed_absolute_majorant(a: float, scale: float) -> float:
    """E4, Example 3: the bound 1/2 + (e^(s^2 a^2) - 1) / (s a sqrt(pi)), printed for the smoothed absolute loss.

    The appendix derives it for the hinge loss, from the series that E3 is about.

    Example:
        >>> from jaxonline.losses import SmoothedAbsolute, SmoothedHinge
        >>> from jaxonline.claims.printed_losses import printed_absolute_majorant
        >>> printed_absolute_majorant(2.0, scale=1.0) < SmoothedAbsolute(1.0).majorant(2.0)
        True
        >>> round(printed_absolute_majorant(0.2, scale=1.0), 3), round(SmoothedHinge(1.0).majorant(0.2), 3)
        (0.615, 0.972)
    """
    reach = check.positive("scale", scale) * check.positive("a", a)
    return 0.5 + math.expm1(reach**2) / (reach * math.sqrt(math.pi))


def printed_hinge_majorant(a: float, scale: float) -> float:
    """E4, Example 4: the bound 2 e^(s^2 a^2 - 1) / (s a sqrt(pi)), printed for the smoothed hinge loss.

    The appendix derives it, with the 1 subtracted outside the exponent, for the absolute loss.

    Example:
        >>> from jaxonline.losses import SmoothedHinge
        >>> from jaxonline.claims.printed_losses import printed_hinge_majorant
        >>> printed_hinge_majorant(0.7, scale=1.0) < SmoothedHinge(1.0).majorant(0.7)
        True
    """
    reach = check.positive("scale", scale) * check.positive("a", a)
    return 2.0 * math.exp(reach**2 - 1.0) / (reach * math.sqrt(math.pi))
