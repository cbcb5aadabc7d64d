"""Claims on distributions of the number of copies beyond paper A: a limit, and a polynomial tail."""

import math

import jax
import numpy as np
from scipy import special

from benchmarks.papers.claims.registry import SamplingOptions, claim, control
from benchmarks.papers.claims.series import MEAN, SPREAD, P, check_series
from benchmarks.papers.claims.taylor import taylor_terms
from benchmarks.papers.estimators.limits import limit_bias
from benchmarks.papers.estimators.series import DiscreteLomax
from jaxonline.estimators.count_distributions import Geometric
from jaxonline.estimators.series import SeriesEstimator
from jaxonline.linalg.programs import run_compiled
from jaxonline.losses import SmoothedHinge
from jaxonline.verify.result import Verification


@claim(
    "series estimate with at most one copy: l' without the rest of its series",
    "A, Lemma 1",
    improved="within tolerance",
)
def _limited(form: str, options: SamplingOptions) -> Verification:
    """Test for the smoothed hinge loss that the bias is minus the sum of the remaining terms (`limit_bias`)."""
    return _with_limit(has_bias=True)


@control("series estimate with at most one copy, without its bias", "biased")
def _limited_without_bias(form: str, options: SamplingOptions) -> Verification:
    """Compare the same estimate with l' itself."""
    return _with_limit(has_bias=False)


def _with_limit(has_bias: bool) -> Verification:
    loss = SmoothedHinge(1.0)
    estimator = SeriesEstimator.for_loss(loss, Geometric(P), MEAN**2 + SPREAD**2, max_copies=1)
    with jax.enable_x64(True):
        target = float(run_compiled(type(loss).derivative, loss, np.float64(MEAN)))
    target += limit_bias(loss, estimator, MEAN) if has_bias else 0.0
    return check_series(estimator, MEAN, target, taylor_terms(loss, 0.0, MEAN, 2))


@claim("polynomial tail of N, coefficients ~ n^-5/2", "A, section 3.2", improved="within tolerance")
def _lomax(form: str, options: SamplingOptions) -> Verification:
    """Test l'(a) = (2/pi) (a sqrt(1 - a^2) + asin a), of the absolute loss smoothed by a semicircle."""
    return _semicircle(DiscreteLomax(3.0))


@control("polynomial tail of N, weights of another exponent", "biased")
def _lomax_with_wrong_weights(form: str, options: SamplingOptions) -> Verification:
    """Draw N with the exponent 3 and weigh it with 2.5."""
    return _semicircle(DiscreteLomax(2.5))


def _semicircle(weighed: DiscreteLomax) -> Verification:
    """Check the estimate with the weights of one distribution, for N of the exponent 3."""
    k = np.arange(48)
    gammas = np.zeros(96)
    gammas[1::2] = 4 / math.pi * (-1.0) ** k * special.binom(0.5, k) / (2 * k + 1)
    target = 2 / math.pi * (MEAN * math.sqrt(1 - MEAN**2) + math.asin(MEAN))
    return check_series(SeriesEstimator(gammas, weighed), MEAN, target, drawn=DiscreteLomax(3.0))
