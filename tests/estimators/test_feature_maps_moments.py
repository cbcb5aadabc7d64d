"""Second moments of estimates of features, in closed form and of the map as printed."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from feature_copies import COVARIANCE, X, copies_of
from scipy import special

from benchmarks.papers.claims.kernels import (
    PrintedGaussianFeatureMap,
    printed_gaussian_second_moment,
    printed_lemma5_bound,
)
from jaxonline.estimators.counts import FiniteDistribution, Geometric
from jaxonline.estimators.feature_maps import DotProductFeatureMap, GaussianFeatureMap, log_factorial
from jaxonline.estimators.noisy_features import copy_moments, prod
from jaxonline.kernels import Binomial, ExponentialKernel, Gaussian, Inhomogeneous

pytestmark = pytest.mark.fast_compile


def test_logarithms_of_factorials_are_exact_beyond_their_table(x64):
    n = np.array([0, 3, 511, 512, 513, 600, 4000], np.int32)
    logs = [float(log_factorial(number, np.dtype("float64"))) for number in n]
    np.testing.assert_allclose(logs, special.gammaln(n + 1.0), rtol=1e-13)


def test_second_moments_in_closed_form():
    """Lemma 3 and the corrected Lemma 5 against explicit sums, for the paper's distribution and another one."""
    m, f, width = 0.8, 0.5, 1.4
    p = Geometric(1.5).log_table(400)
    n = np.arange(400)
    log_factorial = special.gammaln(n + 1)
    exponential = np.exp(-log_factorial + n * math.log(m) - p).sum()
    np.testing.assert_allclose(
        DotProductFeatureMap(ExponentialKernel(), Geometric(1.5)).second_moment(m), exponential, rtol=1e-12
    )
    law = FiniteDistribution([0.25, 0.25, 0.0, 0.5])
    betas = Inhomogeneous(3).coefficients(4)
    expected = sum(betas[k] * m**k / q for k, q in [(0, 0.25), (1, 0.25), (3, 0.5)])
    np.testing.assert_allclose(DotProductFeatureMap(Inhomogeneous(3), law).second_moment(m), expected, rtol=1e-12)
    pairs = np.exp(n * math.log(f / width**4) - 2 * log_factorial - p).sum()
    factors = np.exp(n * math.log(2 * m / width**2) - log_factorial - p).sum()
    gaussian_map = GaussianFeatureMap(Gaussian(width), Geometric(1.5))
    np.testing.assert_allclose(gaussian_map.second_moment(m, f), pairs * factors, rtol=1e-12)
    assert gaussian_map.second_moment(m) > gaussian_map.second_moment(m, f)
    np.testing.assert_allclose(
        DotProductFeatureMap(Binomial(2.0), Geometric(1.5)).second_moment(0.4), 3 * (1 - 0.6) ** -2, rtol=1e-12
    )


@jax.jit
def squared_norms(feature_map, counts, copies):
    return jax.vmap(lambda *c: prod(*[feature_map.assemble(c, copies)] * 2))(*counts)


def test_second_moment_of_the_printed_map_exceeds_its_printed_bound(x64):
    """E7 at p = 1.5, E|x~|^2 = 4, width 1, by the strata of copies that are all the same vector.

    The second moment of the printed map is 4.86e7; Lemma 5 bounds it by 4.87e5. The corrected map respects its own.
    """
    p, m, width = 1.5, 4.0, 1.0
    copies = np.tile([math.sqrt(m), 0.0], (150, 1))
    law = np.exp(Geometric(p).log_table(40))

    def second_moment(feature_map):
        grid = jnp.asarray(list(itertools.product(range(36), repeat=2)), jnp.int32)
        norms = squared_norms(feature_map, tuple(grid.T), jnp.asarray(copies))
        return float(np.asarray(norms) @ np.outer(law[:36], law[:36]).ravel())

    printed = second_moment(PrintedGaussianFeatureMap(Gaussian(width), Geometric(p)))
    np.testing.assert_allclose(printed, printed_gaussian_second_moment(p, m, width), rtol=1e-6)
    assert (f"{printed:.3g}", f"{printed_lemma5_bound(p, m, width):.3g}") == ("4.86e+07", "4.87e+05")
    right = GaussianFeatureMap(Gaussian(width), Geometric(p))
    bound = (p / (p - 1)) ** 2 * special.i0(2 * math.sqrt(p) * m) * math.exp(2 * p * m)
    np.testing.assert_allclose(right.second_moment(m), bound, rtol=1e-12)
    np.testing.assert_allclose(second_moment(right), bound, rtol=1e-3)  # the last strata of the sum are left out


def test_copy_moments_match_closed_forms():
    values = copies_of(X, 2)
    expected = (values[:, 0] ** 2).sum(-1).mean(), ((values[:, 0] * values[:, 1]).sum(-1) ** 2).mean()
    np.testing.assert_allclose(copy_moments(X, COVARIANCE), expected, rtol=1e-12)
