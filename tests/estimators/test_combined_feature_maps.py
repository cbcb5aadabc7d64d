"""Feature maps of sums and products of kernels: enumeration of discrete noise, moments, cut mixtures."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from feature_copies import COVARIANCE, X2, X, copies_of
from scipy import integrate, special

from jaxonline.estimators import CombinedFeatureMap, FiniteDistribution, GaussianFeatureMap, Geometric
from jaxonline.estimators.feature_maps import copy_moments, prod
from jaxonline.estimators.kernel_groups import kernel_groups
from jaxonline.kernels import Binomial, ExponentialKernel, Gaussian, Inhomogeneous, Linear, Matern, Product, Scaled, Sum
from jaxonline.kernels.radial import GaussianMixture, RadialExponential, quadrature_error, truncate

pytestmark = pytest.mark.fast_compile
LAW, PAIR_LAW = Geometric(1.5), FiniteDistribution([0.4, 0.3, 0.2, 0.1])
S, S2, INNER = X @ X, X2 @ X2, X @ X2
MIX = GaussianMixture([0.0, 0.3, 1.1], [0.2, 0.5, 0.4])


def gaussian_part(n1, n2, rate):
    """Term (n1, n2) of e^(-rate |x - x'|^2): series of e^(-rate |x|^2) and of e^(2 rate <x, x'>)."""
    pairs = (-rate * S) ** n1 / math.factorial(n1)
    return pairs * (2 * rate * INNER) ** n2 / math.factorial(n2) * math.exp(-rate * S2)


KERNELS = {  # the kernel, and its terms
    "sum": (
        Sum([Linear(), Scaled(Gaussian(1.3), 0.7), Gaussian(2.0)]),
        lambda n1, n2: (
            INNER * (n1 == 0 and n2 == 1) + 0.7 * gaussian_part(n1, n2, 1.3**-2) + gaussian_part(n1, n2, 0.25)
        ),
    ),
    "product": (
        Product([Inhomogeneous(2), Gaussian(1.3)]),
        lambda n1, n2: sum(
            math.comb(2, a) * INNER**a * gaussian_part(n1, n2 - a, 1.3**-2) for a in range(min(n2, 2) + 1)
        ),
    ),
    "infinite product": (
        Product([ExponentialKernel(), Gaussian(1.3)]),
        lambda n1, n2: sum(INNER**a / math.factorial(a) * gaussian_part(n1, n2 - a, 1.3**-2) for a in range(n2 + 1)),
    ),
    "mixture": (
        MIX,
        lambda n1, n2: sum(w * gaussian_part(n1, n2, u) for u, w in zip(MIX.rates, MIX.weights, strict=True)),
    ),
    "product of sums": (
        Product([Sum([Linear(), Gaussian(1.0)]), Sum([Gaussian(2.0), Linear()])]),
        lambda n1, n2: (
            INNER**2 * (n1 == 0 and n2 == 2)
            + gaussian_part(n1, n2, 1.25)
            + INNER * sum(gaussian_part(n1, n2 - 1, rate) for rate in (1.0, 0.25) if n2)
        ),
    ),
}


@jax.jit
def assembled(feature_map, counts, copies):
    """Products of estimates with the exact Psi(X2), and with themselves."""

    def one(rows):
        psi = feature_map.assemble(counts, rows)
        return feature_map.prod_clean(psi, jnp.asarray(X2, rows.dtype)), prod(psi, psi)

    return jax.vmap(one)(copies)


@pytest.mark.long
@pytest.mark.parametrize("name", KERNELS)
def test_strata_are_exact(name, x64):
    """By enumeration of up to 4 copies: mean and second moments of each stratum at rounding; all terms sum to k."""
    kernel, term = KERNELS[name]
    feature_map = CombinedFeatureMap(kernel, LAW, PAIR_LAW)
    p1, p2 = np.exp(PAIR_LAW.log_table(4)), np.exp(LAW.log_table(4))
    norms = {}
    for n1, n2 in [(0, 0), (1, 0), (0, 1), (1, 2), (0, 3)]:
        copies = np.concatenate([copies_of(X, 2 * n1 + n2), np.full((4 ** (2 * n1 + n2), 5 - 2 * n1 - n2, 2), 7.0)], 1)
        clean, norm = assembled(feature_map, (jnp.int32(n1), jnp.int32(n2)), jnp.asarray(copies))
        np.testing.assert_allclose(p1[n1] * p2[n2] * clean.mean(), term(n1, n2), rtol=1e-11, atol=1e-16)
        np.testing.assert_allclose(feature_map.term((n1, n2), X, X2), term(n1, n2), rtol=1e-11, atol=1e-16)
        given = feature_map.second_moment_given((n1, n2), X, X2, COVARIANCE)
        np.testing.assert_allclose(given, (clean**2).mean(), rtol=1e-10)
        norms[n1, n2] = float(norm.mean())
    whole = sum(feature_map.term(counts, X, X2) for counts in itertools.product(range(4), range(30)))
    exact = sum(term(*counts) for counts in itertools.product(range(25), range(30)))
    np.testing.assert_allclose(exact, float(kernel(X, X2)), rtol=1e-12)
    assert abs(whole - exact) < feature_map.bias(40, S) * math.sqrt(float(kernel(X2, X2)))  # no more than 3 pairs

    # E|Psi~|^2, with the laws cut to the strata above: the sum over j of a product of two series
    for n1, laws in [(0, [1.0]), (1, [0.5, 0.5])]:
        cut = CombinedFeatureMap(kernel, FiniteDistribution([0.5, 0.5]), FiniteDistribution(laws))
        strata = [(a, b) for a in range(n1 + 1) for b in range(2)]
        if n1 == 0:
            weights = [norms[c] * (p1[0] * p2[c[1]]) ** 2 / 0.5 for c in strata]
            np.testing.assert_allclose(cut.second_moment(*copy_moments(X, COVARIANCE)), sum(weights), rtol=1e-11)


@pytest.mark.parametrize("n_terms", [0, 1, 3, 200])
def test_tails_of_a_product_are_sums_of_its_coefficients(n_terms):
    """And infinite outside the disc of convergence, also if terms of the Gaussian underflow."""
    (group,) = kernel_groups(Product([Binomial(0.5), Gaussian(1e3)]), np.asarray)
    n = np.arange(n_terms, n_terms + 100)
    terms = np.exp(group.log_table(n_terms + 100)[0, n_terms:] + special.xlogy(n, 0.5))
    assert group.tail_bounds(n_terms, 0.5) == pytest.approx([terms.sum()], rel=1e-12)
    assert group.tail_bounds(n_terms, 1.5) == [math.inf]


def test_one_gaussian_kernel_is_the_gaussian_map(x64):
    """The same estimates, moments and biases as `GaussianFeatureMap`."""
    one, other = (kind(Gaussian(1.3), LAW, Geometric(1.4)) for kind in (CombinedFeatureMap, GaussianFeatureMap))
    copies = jnp.asarray(X + 0.2 * np.random.default_rng(0).normal(size=(20, 12, 2)))
    for n1, n2 in [(1, 2), (2, 1), (3, 3), (4, 2), (5, 0)]:
        counts = jnp.int32(n1), jnp.int32(n2)
        for values, wanted in zip(*(assembled(m, counts, copies) for m in (one, other)), strict=True):
            np.testing.assert_allclose(values, wanted, rtol=1e-12)
    np.testing.assert_allclose(one.second_moment(0.8, 0.5), other.second_moment(0.8, 0.5), rtol=1e-12)
    np.testing.assert_allclose([one.bias(c, S) for c in (1, 4, 9)], [other.bias(c, S) for c in (1, 4, 9)], rtol=1e-9)
    np.testing.assert_allclose(one.overflow_probability(5), other.overflow_probability(5), rtol=1e-12)


@pytest.mark.parametrize("capacity", [1, 2, 7])
def test_bias_bound_of_a_gaussian_kernel_adds_its_unused_terms(capacity):
    """Numbers of pairs and of factors without probability, or beyond the capacity, are not used."""
    law, pair_law, s = FiniteDistribution([0.5, 0.2, 0.0, 0.3]), FiniteDistribution([0.4, 0.0, 0.6]), S / 1.3**2
    total = 0.0
    for n2 in range(80):
        unused = [s**n1 / math.factorial(n1) for n1 in range(60) if n1 not in (0, 2) or 2 * n1 + n2 > capacity]
        lost = sum(unused) if n2 <= capacity and n2 in (0, 1, 3) else math.exp(-s)
        total += (2 * s) ** n2 / math.factorial(n2) * lost**2
    for kind in (CombinedFeatureMap, GaussianFeatureMap):
        assert kind(Gaussian(1.3), law, pair_law).bias(capacity, S) == pytest.approx(math.sqrt(total), rel=1e-12)


def test_second_moments_are_sums_over_the_parts():
    """Explicit double series: sum over n1, n2 of M^n2 F^n1 u^(2 n1) / n1!^2 beta_n2 / (P(n1) P(n2)), for each part."""
    M, F, n = 0.6, 0.3, np.arange(150)
    kernel = Sum([Product([Inhomogeneous(2), Gaussian(1.5)]), Scaled(Linear(), 3.0)])
    feature_map, p = CombinedFeatureMap(kernel, Geometric(2.0)), 0.5 ** (n + 1)
    u = 1.5**-2
    gaussian_betas = np.exp(special.xlogy(n, 2 * u) - special.gammaln(n + 1))
    betas = np.convolve([1.0, 2.0, 1.0], gaussian_betas)[: len(n)]
    pairs = np.exp(special.xlogy(n, u**2 * F) - 2 * special.gammaln(n + 1)) @ (1 / p)
    expected = pairs * (betas * M**n) @ (1 / p) + 3.0 * M / p[1] / p[0]
    np.testing.assert_allclose(feature_map.second_moment(M, F), expected, rtol=1e-10)
    # drawing one summand, at best with a probability proportional to the root of its moment, is worse
    parts = [pairs * (betas * M**n) @ (1 / p), 3.0 * M / p[1] / p[0]]
    assert feature_map.second_moment(M, F) < sum(np.sqrt(parts)) ** 2 / 1.5
    with pytest.raises(ValueError, match=r"^copy_moment\b.*radius of convergence 1 "):
        CombinedFeatureMap(Product([Binomial(1.0), Gaussian(1.0)]), Geometric(2.0)).second_moment(0.6)


@pytest.mark.parametrize("kernel", [RadialExponential(1.0), Matern(1.0, order=1), Matern(1.0, order=2)])
def test_estimates_of_exp_and_matern_kernels_have_no_mean(kernel):
    """E|<Psi~, Psi(x)>| of clean copies, for a width drawn from mu, is the integral of e^(2 u |x|^2) mu(u) du: with
    |x| = 1 it is above 1e10 for the part u <= 20 already, and the second moment, of e^(4 u), is larger. The kernel is
    1. The part u <= cut has a finite moment, and is positive definite."""

    def absolute_mean(cut):
        return integrate.quad(lambda u: math.exp(2 * u) * kernel.mixture_density(u), 0, cut, limit=200)[0]

    assert absolute_mean(20.0) > 1e10
    assert absolute_mean(40.0) > 1e10 * absolute_mean(20.0)
    cut, nodes = 2.0, 24
    mixture = truncate(kernel, cut, nodes)
    feature_map = CombinedFeatureMap(mixture, Geometric(2.0))
    assert absolute_mean(cut) ** 2 < feature_map.second_moment(1.0) < math.inf
    absolute = sum(abs(feature_map.term(c, [1.0], [1.0])) for c in itertools.product(range(40), repeat=2))
    np.testing.assert_allclose(absolute, absolute_mean(cut), rtol=1e-5)  # the same number from the estimator
    # the largest difference to the exact kernel, at distance 0 for exact integrals
    r2 = np.concatenate([[0.0], np.geomspace(1e-4, 1e3, 400)])
    differences = np.asarray(kernel.profile(r2)) - np.exp(-np.outer(r2, mixture.rates)) @ mixture.weights
    distance = float(np.abs(differences).max())
    limit = kernel.truncation_error(cut) + quadrature_error(kernel, cut, nodes)
    assert 0.99 * kernel.truncation_error(cut) < distance <= limit + 1e-6
    points = np.random.default_rng(0).normal(size=(20, 2))
    assert np.linalg.eigvalsh(np.asarray(mixture.gram(points), float)).min() > -1e-5
    with pytest.raises(TypeError, match=r"^kernel\b.*truncate"):
        CombinedFeatureMap(kernel, Geometric(2.0))
