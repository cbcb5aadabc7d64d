"""Feature-map estimators: exact enumeration of discrete noise, explicit tensors in NumPy, and end-to-end sampling."""

import functools
import itertools
import math

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from feature_copies import COVARIANCE, NOISE, X2, X, copies_of
from scipy import special, stats

from jaxonline.estimators.counts import FiniteDistribution, Geometric
from jaxonline.estimators.feature_maps import DotProductFeatureMap, GaussianFeatureMap, log_factorial
from jaxonline.estimators.noisy_features import NoisyFeature, copy_moments, prod
from jaxonline.kernels import Binomial, ExponentialKernel, Gaussian, Inhomogeneous, Linear, PowerSeries

pytestmark = pytest.mark.fast_compile

DOT_PRODUCT = {
    "linear": Linear(),
    "inhomogeneous": Inhomogeneous(3),
    "exponential": ExponentialKernel(),
    "binomial": Binomial(0.7),
    "scaled": PowerSeries(3.0 * ExponentialKernel().coefficients(40)),
}
LAW = FiniteDistribution([0.3, 0.3, 0.2, 0.1, 0.1])


def noisy_copy(key):
    """X and one of the four errors, chosen by the bits of the key itself: a key is as random as what is drawn from it,
    and every other draw is a generator to compile."""
    return jnp.asarray(X, jnp.float32) + jnp.asarray(NOISE, jnp.float32)[jax.random.key_data(key)[1] % 4]


def tensors(features: NoisyFeature, row: int):
    """An estimate as an explicit tensor of order `level`."""
    n = int(features.level[row])
    weight = float(features.sign[row]) * math.exp(float(features.log_weight[row]))
    return weight * functools.reduce(np.multiply.outer, list(np.asarray(features.copies[row, :n])), np.float64(1.0))


@jax.jit
def assembled(feature_map, counts, copies):
    """For each row its estimate, its product with the exact Psi(X2), and its product with itself."""

    def one(n, rows):
        psi = feature_map.assemble(n, rows)
        return psi, feature_map.prod_clean(psi, jnp.asarray(X2, rows.dtype)), prod(psi, psi)

    return jax.vmap(one)(counts, copies)


def enumerated(feature_map, strata, n_copies):
    """By stratum all arrays of copies and what they give; rows beyond the used ones must not count."""
    arrays = [copies_of(X, n) for n in n_copies]
    capacity = max(n_copies) + 1
    padded = np.concatenate(
        [np.concatenate([a, np.full((len(a), capacity - a.shape[1], 2), 7.0)], axis=1) for a in arrays]
    )
    sizes = [len(a) for a in arrays]
    counts = np.repeat(np.asarray(strata, np.int32), sizes, axis=0)
    counts = jnp.asarray(counts) if counts.ndim == 1 else tuple(jnp.asarray(counts.T))
    whole = assembled(feature_map, counts, jnp.asarray(padded))
    whole, results = jax.tree.map(np.asarray, whole), []
    for a, end in zip(arrays, np.cumsum(sizes), strict=True):
        rows = slice(end - len(a), end)
        results.append((a, *jax.tree.map(lambda leaf, rows=rows: leaf[rows], whole)))
    return results


@pytest.mark.parametrize("law", [Geometric(1.5), LAW], ids=["geometric", "law"])
@pytest.mark.parametrize("name", DOT_PRODUCT)
def test_dot_product_strata_are_exact(name, law, x64):
    """Each stratum by enumeration of the noise. Inside the program the kernel is its own power series, so that all
    kernels are one program."""
    kernel = DOT_PRODUCT[name]
    feature_map = DotProductFeatureMap(kernel, law)
    beta, p = kernel.coefficients(5), np.exp(law.log_table(4))
    for n in range(4):
        np.testing.assert_allclose(np.exp(feature_map.log_beta(jnp.int32(n), jnp.float64)), beta[n], rtol=1e-12)
    strata = enumerated(DotProductFeatureMap(PowerSeries(beta), law), range(4), range(4))
    for n, (arrays, features, clean, norm) in enumerate(strata):
        found = [tensors(features, row) for row in range(len(arrays[:16]))]
        reference = [
            math.sqrt(beta[n]) / p[n] * functools.reduce(np.multiply.outer, list(c), np.float64(1.0))
            for c in arrays[:16]
        ]
        np.testing.assert_allclose(found, reference, rtol=1e-12, atol=1e-300)
        np.testing.assert_allclose(p[n] * clean.mean(), beta[n] * (X @ X2) ** n, rtol=1e-12)
        np.testing.assert_allclose(feature_map.term(n, X, X2), beta[n] * (X @ X2) ** n, rtol=1e-12)
        given = feature_map.second_moment_given(n, X, X2, COVARIANCE)
        np.testing.assert_allclose(given, (clean**2).mean(), rtol=1e-11)
        np.testing.assert_allclose(norm.mean(), beta[n] / p[n] ** 2 * copy_moments(X, COVARIANCE)[0] ** n, rtol=1e-11)


@pytest.mark.long
def test_prod_is_the_inner_product_of_explicit_tensors(x64):
    """Prod(Psi~, Psi~') is the inner product of explicit tensors, 0 between levels, also for unequal capacities."""
    rng = np.random.default_rng(0)
    feature_map = GaussianFeatureMap(Gaussian(1.2), Geometric(2.0), Geometric(3.0))
    made, product = {}, jax.jit(feature_map.prod)
    for n1, n2, capacity in [(0, 0, 4), (1, 0, 4), (0, 2, 4), (2, 2, 8), (1, 3, 8)]:
        counts = jnp.array([n1], jnp.int32), jnp.array([n2], jnp.int32)
        psi = assembled(feature_map, counts, jnp.asarray(rng.normal(size=(1, capacity, 2))))[0]
        made[n1, n2] = jax.tree.map(np.asarray, psi)
    for (a, psi), (b, psi2) in itertools.product(made.items(), repeat=2):
        expected = float((tensors(psi, 0) * tensors(psi2, 0)).sum()) if a[1] == b[1] else 0.0
        first, second = (jax.tree.map(lambda leaf: leaf[0], each) for each in (psi, psi2))
        np.testing.assert_allclose(product(first, second), expected, rtol=1e-12)


@pytest.mark.parametrize("pair_law", [None, Geometric(3.0), LAW], ids=["same", "other", "law"])
def test_gaussian_strata_are_exact(pair_law, x64):
    """E6 corrected, by enumeration of up to 6 copies: bias at rounding in every stratum (n1, n2)."""
    width, law = 1.3, Geometric(1.5)
    feature_map = GaussianFeatureMap(Gaussian(width), law, pair_law)
    p1, p2 = np.exp((pair_law or law).log_table(4)), np.exp(law.log_table(4))
    strata = [(0, 0), (1, 0), (0, 1), (1, 2), (2, 1), (0, 3), (2, 2)]
    results = enumerated(feature_map, strata, [2 * n1 + n2 for n1, n2 in strata])
    for (n1, n2), (arrays, features, clean, _) in zip(strata, results, strict=True):
        row = len(arrays) // 3
        pairs = np.prod([arrays[row, 2 * j] @ arrays[row, 2 * j + 1] for j in range(n1)])
        root = math.sqrt((2 / width**2) ** n2 / math.factorial(n2))
        weight = (-1) ** n1 * pairs / (math.factorial(n1) * width ** (2 * n1)) * root / (p1[n1] * p2[n2])
        factors = functools.reduce(np.multiply.outer, list(arrays[row, 2 * n1 :]), np.float64(1.0))
        np.testing.assert_allclose(tensors(features, row), weight * factors, rtol=1e-12)

        term = (-(X @ X) / width**2) ** n1 / math.factorial(n1) * (2 * X @ X2 / width**2) ** n2 / math.factorial(n2)
        term *= math.exp(-(X2 @ X2) / width**2)
        np.testing.assert_allclose(p1[n1] * p2[n2] * clean.mean(), term, rtol=1e-11)
        np.testing.assert_allclose(feature_map.term((n1, n2), X, X2), term, rtol=1e-12)
        given = feature_map.second_moment_given((n1, n2), X, X2, COVARIANCE)
        np.testing.assert_allclose(given, (clean**2).mean(), rtol=1e-10)


def exact_moments(feature_map, x2, counts):
    """Mean and second moment of <Psi~, Psi(x2)>, summed over the strata."""
    mean = sum(feature_map.term(c, X, x2) for c in counts)
    weights = []
    for c in counts:
        n = np.atleast_1d(c)
        laws = [feature_map.law] if len(n) == 1 else [feature_map.pair_law or feature_map.law, feature_map.law]
        weights.append(math.exp(sum(law.log_table(k + 1)[k] for law, k in zip(laws, n, strict=True))))
    return mean, sum(
        w * feature_map.second_moment_given(c, X, x2, COVARIANCE) for c, w in zip(counts, weights, strict=True)
    )


@functools.partial(jax.jit, static_argnums=2)
@functools.partial(jax.vmap, in_axes=(None, 0, None))
def sampled(feature_map, key, capacity):
    """Return an estimate in float32, its product with the exact Psi(X2), and its product with itself."""
    psi = feature_map.estimate(key, noisy_copy, capacity)
    return psi, feature_map.prod_clean(psi, jnp.asarray(X2, jnp.float32)), prod(psi, psi)


@pytest.mark.parametrize(
    ("feature_map", "counts", "capacity"),
    [
        (DotProductFeatureMap(ExponentialKernel(), Geometric(2.0)), list(range(40)), 26),
        (GaussianFeatureMap(Gaussian(2.5), Geometric(2.0)), list(itertools.product(range(25), repeat=2)), 52),
    ],
    ids=["exponential", "gaussian"],
)
@pytest.mark.long
def test_estimates_are_unbiased_end_to_end(feature_map, counts, capacity):
    """2^17 estimates of k(x, x') in float32 within 5.5 standard errors (false alarm 4e-8); a 5 % scale is seen."""
    n = 1 << 17
    kernel = feature_map.kernel
    mean, square = exact_moments(feature_map, X2, counts)
    target = float(kernel(jnp.asarray(X2), jnp.asarray(X)))
    np.testing.assert_allclose(mean, target, rtol=1e-5)

    parts = [sampled(feature_map, keys, capacity) for keys in jax.random.split(jax.random.key(11), (16, n // 16))]
    parts = [(np.asarray(clean), psi.queries, psi.overflow) for psi, clean, _ in parts]
    values, queries, overflow = (np.concatenate(part).astype(float) for part in zip(*parts, strict=True))
    error = math.sqrt((square - mean**2) / n)
    assert 11 * error < 0.05 * target
    assert abs(values.mean() - target) < 5.5 * error
    assert abs(1.05 * values.mean() - target) > 5.5 * error  # mutant: a 5 % scale
    assert abs(queries.mean() - feature_map.expected_queries()) < 5.5 * queries.std() / math.sqrt(n)
    assert overflow.sum() == 0


@pytest.mark.long
def test_overflow_is_reported_and_its_probability_and_bias_are_exact(x64):
    """Above capacity 2 the estimate is 0, with the stated probability (binomial test, level 1e-9) and bias."""
    feature_map = DotProductFeatureMap(ExponentialKernel(), Geometric(1.5))
    psi, _, values = jax.tree.map(np.asarray, sampled(feature_map, jax.random.split(jax.random.key(2), 1 << 15), 2))
    probability = feature_map.overflow_probability(2)
    np.testing.assert_allclose(probability, 1.5**-3, rtol=1e-6)
    assert stats.binomtest(int(psi.overflow.sum()), 1 << 15, probability).pvalue > 1e-9
    assert (psi.overflow == (psi.queries > 2)).all()
    assert (values[psi.overflow] == 0).all()
    assert (values[~psi.overflow] > 0).all()
    lost = mpmath.exp(X @ X) - sum(mpmath.mpf(X @ X) ** n / mpmath.factorial(n) for n in range(3))
    np.testing.assert_allclose(feature_map.bias(2, X @ X), math.sqrt(lost), rtol=1e-9)
    without_two = DotProductFeatureMap(ExponentialKernel(), FiniteDistribution([0.5, 0.5]))
    np.testing.assert_allclose(
        without_two.bias(5, X @ X) ** 2, float(mpmath.exp(X @ X) - 1 - X @ X), rtol=1e-9, err_msg="law without support"
    )


@pytest.mark.parametrize("capacity", [1, 3, 6])
def test_bias_of_the_gaussian_cap_is_bounded(capacity):
    """The probability is a sum over the distribution; the bias of the remaining strata is below the bound."""
    width, s = 0.9, X @ X / 0.9**2
    feature_map = GaussianFeatureMap(Gaussian(width), Geometric(1.5), Geometric(2.5))
    p1, p2 = np.exp(Geometric(2.5).log_table(60)), np.exp(Geometric(1.5).log_table(60))
    n1, n2 = np.meshgrid(np.arange(60), np.arange(60), indexing="ij")
    inside = 2 * n1 + n2 <= capacity
    np.testing.assert_allclose(
        feature_map.overflow_probability(capacity), 1 - (p1[:, None] * p2)[inside].sum(), rtol=1e-5
    )
    partial = np.where(inside, (-s) ** n1 / special.factorial(n1), 0).sum(0)
    levels = (2 * s) ** np.arange(60) / special.factorial(np.arange(60))
    bias = math.sqrt((levels * (math.exp(-s) - partial) ** 2).sum())
    assert bias <= feature_map.bias(capacity, X @ X) < 5 * bias
    unit = GaussianFeatureMap(Gaussian(1.0), Geometric(1.5), Geometric(2.5))
    assert unit.bias(capacity, s) == pytest.approx(feature_map.bias(capacity, X @ X), rel=1e-12), "a function of s"
    assert feature_map.bias(64, X @ X) < 1e-15


@pytest.mark.long
def test_a_larger_capacity_gives_the_same_estimate():
    feature_map = GaussianFeatureMap(Gaussian(1.5), Geometric(1.5))
    keys = jax.random.split(jax.random.key(5), 1 << 13)
    small, large = (jax.tree.map(np.asarray, sampled(feature_map, keys, c)[0]) for c in (8, 52))
    same = ~small.overflow
    assert 0.5 < same.mean() < 1.0
    for name in ("level", "sign", "queries"):
        np.testing.assert_array_equal(getattr(small, name)[same], getattr(large, name)[same])
    np.testing.assert_allclose(small.log_weight[same], large.log_weight[same], rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(small.copies[same], large.copies[same, :8])


def test_large_counts_stay_finite_in_float32():
    """60 factors of size 30 with the weight 1/60!: e^(60 ln 900) alone would overflow, the product does not."""
    feature_map = DotProductFeatureMap(ExponentialKernel(), Geometric(2.0))
    n, copies = 60, np.full((64, 1), 30.0, np.float32)
    value = jax.jit(lambda n, c: feature_map.prod_clean(feature_map.assemble(n, c), jnp.array([0.9], jnp.float32)))(
        jnp.int32(n), jnp.asarray(copies)
    )
    expected = mpmath.mpf(27) ** n / mpmath.factorial(n) * mpmath.mpf(2) ** (n + 1)
    np.testing.assert_allclose(value, float(expected), rtol=1e-4)


def test_moments_of_many_copies_are_finite():
    """10^400 and 1/400! are outside the range of float64; the terms and their sums are inside it."""
    exponential = DotProductFeatureMap(ExponentialKernel(), FiniteDistribution(np.full(20, 0.05)))
    with mpmath.workdps(30):
        lost = float(mpmath.sqrt(mpmath.fsum(mpmath.mpf(10) ** n / mpmath.factorial(n) for n in range(20, 300))))
        term = float(mpmath.mpf(-10) ** 401 / mpmath.factorial(401))
        square = float((mpmath.mpf(400) ** 300 / mpmath.factorial(300) * 601) ** 2)
    assert exponential.bias(400, 10.0) == pytest.approx(lost, rel=1e-12)
    assert exponential.bias(400, 0.0) == 0.0
    wide = DotProductFeatureMap(ExponentialKernel(), FiniteDistribution(np.full(601, 1 / 601)))
    assert wide.term(401, [10.0], [-1.0]) == pytest.approx(term, rel=1e-11)
    assert wide.second_moment_given(300, [400.0], [1.0], 0.0) == pytest.approx(square, rel=1e-9)
    moment = sum(math.exp(n * math.log(100.0) - math.lgamma(n + 1)) for n in range(601)) * 601
    assert wide.second_moment(100.0) == pytest.approx(moment, rel=1e-11)


def test_logarithms_of_factorials_are_exact_beyond_their_table(x64):
    n = np.array([0, 3, 511, 512, 513, 600, 4000], np.int32)
    logs = [float(log_factorial(number, np.dtype("float64"))) for number in n]
    np.testing.assert_allclose(logs, special.gammaln(n + 1.0), rtol=1e-13)


def test_second_moments_in_closed_form():
    """Lemma 3 and the corrected Lemma 5 against explicit sums, for the paper's distribution and another one."""
    m, f, width = 0.8, 0.5, 1.4
    p = Geometric(1.5).log_table(400)
    n = np.arange(400)
    log_factorials = special.gammaln(n + 1)
    exponential = np.exp(-log_factorials + n * math.log(m) - p).sum()
    np.testing.assert_allclose(
        DotProductFeatureMap(ExponentialKernel(), Geometric(1.5)).second_moment(m), exponential, rtol=1e-12
    )
    law = FiniteDistribution([0.25, 0.25, 0.0, 0.5])
    betas = Inhomogeneous(3).coefficients(4)
    expected = sum(betas[k] * m**k / q for k, q in [(0, 0.25), (1, 0.25), (3, 0.5)])
    np.testing.assert_allclose(DotProductFeatureMap(Inhomogeneous(3), law).second_moment(m), expected, rtol=1e-12)
    pairs = np.exp(n * math.log(f / width**4) - 2 * log_factorials - p).sum()
    factors = np.exp(n * math.log(2 * m / width**2) - log_factorials - p).sum()
    gaussian_map = GaussianFeatureMap(Gaussian(width), Geometric(1.5))
    np.testing.assert_allclose(gaussian_map.second_moment(m, f), pairs * factors, rtol=1e-12)
    assert gaussian_map.second_moment(m) == gaussian_map.second_moment(m, m**2) > gaussian_map.second_moment(m, f)
    exact = 9 * special.i0(2 * math.sqrt(1.5) * m / width**2) * math.exp(3 * m / width**2)  # Lemma 5, corrected (E7)
    np.testing.assert_allclose(gaussian_map.second_moment(m), exact, rtol=1e-12)
    np.testing.assert_allclose(
        DotProductFeatureMap(Binomial(2.0), Geometric(1.5)).second_moment(0.4), 3 * (1 - 0.6) ** -2, rtol=1e-12
    )


def test_copy_moments_match_closed_forms():
    values = copies_of(X, 2)
    expected = (values[:, 0] ** 2).sum(-1).mean(), ((values[:, 0] * values[:, 1]).sum(-1) ** 2).mean()
    np.testing.assert_allclose(copy_moments(X, COVARIANCE), expected, rtol=1e-12)
