"""Steps of proofs and remarks of papers A and B as printed, wrong, only for comparison with the right ones."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import ArrayLike, Float
from scipy import integrate, special


def printed_unbiased_steps(radius: float, feature_moment: float, length_moment: float, n_rounds: int) -> float:
    """E21, A Theorem 4: sqrt(B_w B_g B_Psi T) for every adversary, with the best w in hindsight."""
    return radius * math.sqrt(feature_moment * length_moment * n_rounds)


def printed_lemma5_step(p: float, copy_moment: float, width: float) -> float:
    """E25, A Lemma 5: E|Psi~|^2 after the proof's sum over N_2, with (4 p^2 B)^n for (4 p B)^n.

    The right value, for the printed map (E6), is `printed_gaussian_second_moment`.
    """
    pairs = special.i0(2.0 * math.sqrt(p) * copy_moment / width**2)
    return float((p / (p - 1.0)) ** 2 * pairs * special.i0(4.0 * p * math.sqrt(copy_moment) / width**2))


class GaussianCopies(NamedTuple):
    """The copies of one estimate Psi~ of the Gaussian kernel: n_1 pairs and n_2 factors."""

    pairs: Float[np.ndarray, "n1 2 d"]
    factors: Float[np.ndarray, "n2 d"]


def printed_prod(p: float, width: float, first: GaussianCopies, second: GaussianCopies) -> float:
    """E26, A Subroutine 6: Prod(Psi~, Psi~') without the test n_2 != n'_2, for n_2 <= n'_2, and with E6."""
    n1, n1_second, n2 = len(first.pairs), len(second.pairs), len(first.factors)
    weight = (-1) ** (n1 + n1_second) * p ** (n1 + n1_second + 2 * n2 + 4) * 2 ** (2 * n2)
    weight /= math.factorial(n1) * math.factorial(n1_second) * math.factorial(n2) ** 2
    weight /= width ** (2 * (n1 + n1_second + 2 * n2)) * (p - 1) ** 4
    pairs = np.concatenate([first.pairs, second.pairs])
    inner = np.sum(pairs[:, 0] * pairs[:, 1], axis=-1).prod()
    return float(weight * inner * np.sum(first.factors * second.factors[:n2], axis=-1).prod())


def printed_calls_of_prod(t: int) -> float:
    """E30, A section 5.2: the calls of Prod in Grad_Length_Estimate; (t - 1)/(p - 1) on average are right."""
    return t - 1.0


def printed_surrogate_factors(
    s: float, sigmas: Float[ArrayLike, "d"], a: Float[ArrayLike, "d"], x: Float[ArrayLike, "d"]
) -> np.ndarray:
    """E32, B Eq. 7: R^(2/d) (2 pi s^2)^(-1/2) times the integrals; the product should be E k^(a, x~)."""
    sigmas, differences = np.asarray(sigmas, float), np.asarray(a, float) - np.asarray(x, float)
    R2 = np.prod(s**2 / (s**2 - 2 * sigmas**2)) ** 0.5
    return R2 ** (1 / len(sigmas)) / math.sqrt(2 * math.pi * s**2) * surrogate_integrals(s, sigmas, differences)


def surrogate_integrals(s: float, sigmas: Float[np.ndarray, "d"], differences: Float[np.ndarray, "d"]) -> np.ndarray:
    """Integrals over z of exp(-z^2/(2 sigma_i^2) - (a_i - x_i - z)^2/(s^2 - 2 sigma_i^2)), by quadrature (B Eq. 7)."""
    values = []
    for sigma, difference in zip(sigmas, differences, strict=True):

        def integrand(z: float, sigma: float = sigma, difference: float = difference) -> float:
            return math.exp(-(z**2) / (2 * sigma**2) - (difference - z) ** 2 / (s**2 - 2 * sigma**2))

        values.append(integrate.quad(integrand, -12 * sigma, 12 * sigma, epsabs=0.0, epsrel=1e-13)[0])
    return np.array(values)
