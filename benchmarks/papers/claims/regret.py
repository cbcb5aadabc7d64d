"""Claims on the regret theorems of papers A and B: high probability, independence, and sets of hypotheses."""

import math

import jax
import numpy as np
from scipy import special

from benchmarks.papers.claims.registry import SamplingOptions, claim
from jaxonline.bounds import largest_estimate, two_copies, with_high_probability
from jaxonline.environments import unavoidable_regret
from jaxonline.losses import Squared
from jaxonline.verify.bias import unbiased
from jaxonline.verify.moments import bound
from jaxonline.verify.result import Verification


def largest_exponential_moment(n_rounds: int = 12, factor: float = 1.0) -> float:
    """The largest E exp(s S) / exp(s^2 c^2 T / 8) of all s >= 0, for S of `bounds.with_high_probability`.

    Linear prediction of y = 0.5 at x = 1 from labels y + 3 or y - 3, T = 12. The 2^T runs have equal probabilities.
    A `factor` multiplies c.
    """
    radius, y, error = 1.0, 0.5, 3.0
    expected = two_copies(radius, 1.0, math.hypot(y, error), n_rounds)
    likely = with_high_probability(expected, largest_estimate(radius, 1.0, y + error), n_rounds, math.exp(-2))
    eta = expected.step_size
    azuma = factor * 2 * expected.diameter * likely.estimate_bound  # c
    signs = 1 - 2 * ((np.arange(2**n_rounds)[:, None] >> np.arange(n_rounds)) & 1)
    w, S = np.zeros(len(signs)), np.zeros(len(signs))
    for sign in signs.T:
        h = [eta * g**2 / 2 - g * (w - y) for g in (2 * (w - y - error), 2 * (w - y + error))]
        S += np.where(sign > 0, *h) - (h[0] + h[1]) / 2
        w = np.clip(w - eta * 2 * (w - y - error * sign), -radius, radius)
    s = np.linspace(0, 4, 81)[1:] / azuma
    logs = special.logsumexp(s[:, None] * S, axis=1) - math.log(len(S)) - s**2 * azuma**2 * n_rounds / 8
    return float(np.exp(logs.max()))


@claim(
    "high-probability regret, the martingale's exponential moment", "B, section 2", cost="exact", improved="respected"
)
def _high_probability(form: str, options: SamplingOptions) -> Verification:
    """Paper B mentions Azuma's inequality; `bounds.with_high_probability` has the bound and its proof."""
    return bound(largest_exponential_moment(), 1.0)


@claim(
    "g~_t and earlier Psi~, independence",
    "A, Theorem 4",
    erratum=24,
    cost="exact",
    mathematics=("printed", "corrected"),
    printed="biased",
    corrected="within tolerance",
)
def _independence(form: str, options: SamplingOptions) -> Verification:
    """E g~_2 Psi~_1 against E g~_2 E Psi~_1, and E g~_2 Psi~_2 given the past against the product of the means.

    Squared loss, linear kernel, x = y = 1, noise +-0.5: w_2 = 2 step y Psi~_1, g~_2 = 2 (w_2 x~ - y).
    """
    step, copies = 0.1, (0.5, 1.5)
    if form == "printed":
        support = [(0.25, 2 * (2 * step * psi1 * copy - 1) * psi1) for psi1 in copies for copy in copies]
        return unbiased(None, 2 * (2 * step - 1.0), support=support)
    w2 = 2 * step * 1.5
    support = [(0.25, 2 * (w2 * copy - 1) * psi2) for copy in copies for psi2 in copies]
    return unbiased(None, 2 * (w2 - 1.0), support=support)


@claim(
    "subgradients at 3w and -w",
    "A, Appendix E",
    erratum=27,
    cost="exact",
    printed="biased",
    corrected="within tolerance",
)
def _subgradients(form: str, options: SamplingOptions) -> Verification:
    """At w = 0.2, the minimiser of l(3w) + l(-w) for the squared loss: -0.8 and -2.4."""
    multiples = np.array([3.0, -1.0])
    w = multiples.sum() / (multiples @ multiples)
    with jax.enable_x64(True):
        at_3w, at_minus_w = (float(slope) for slope in Squared().gradient(multiples * w, np.ones(2)))
    return unbiased(None, at_minus_w, support=[(1.0, at_3w if form == "printed" else 3 * at_3w)])


@claim(
    "regret a round with one copy, |w| <= 1/5",
    "A, Theorem 3",
    erratum=28,
    cost="exact",
    printed="biased",
    corrected="within tolerance",
)
def _small_ball(form: str, options: SamplingOptions) -> Verification:
    """The instances 3e and -e give 0, and 15e and -5e give the constant (1 - 1/sqrt(5))^2 of a large ball."""
    scale, loss = 1.0 if form == "printed" else 5.0, Squared()
    regret = unavoidable_regret(0.2, lambda y_hat, y: loss(scale * y_hat, y))
    return unbiased(None, (1 - 1 / math.sqrt(5)) ** 2, support=[(1.0, regret)], detect=1e-6)


@claim(
    "the comparator's loss in Eq. 5, |w| <= 1/2",
    "A, Appendix A",
    erratum=29,
    cost="exact",
    mathematics=("printed", "corrected"),
    printed="biased",
    corrected="within tolerance",
)
def _comparator(form: str, options: SamplingOptions) -> Verification:
    """w* = 1/2, x = w*/|w*| = 1: the least loss (w - y)^2 is 1/4 for the printed label 1, and 0 for the label |w*|."""
    label = 1.0 if form == "printed" else 0.5
    return unbiased(None, 0.0, support=[(1.0, float(np.min((np.linspace(-0.5, 0.5, 101) - label) ** 2)))])
