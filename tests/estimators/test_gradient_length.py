"""Grad_Length_Estimate: every stratum by enumeration; tests/papers/claims has the chain from noisy copies to g~."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxonline.estimators.counts import Geometric, minimum_variance
from jaxonline.estimators.feature_maps import DotProductFeatureMap
from jaxonline.estimators.gradient_length import GradientLength
from jaxonline.estimators.noisy_features import prod
from jaxonline.kernels import ExponentialKernel, Linear
from jaxonline.losses import Exponential, SmoothedAbsolute, SmoothedHinge, Squared

pytestmark = pytest.mark.fast_compile

VALUES = np.array([0.9, -0.1, 0.4])  # <w, Psi~>: three equally likely values, of mean 0.4
MEAN = VALUES.mean()
CASES = [
    (Exponential(), -1.0, {}),
    (Exponential(), 1.0, {}),
    (SmoothedHinge(1.0), -1.0, {"centre": 1.0}),
    (SmoothedHinge(1.0), -1.0, {"constant_outside": True}),
    (Squared(), 0.7, {}),
    (SmoothedAbsolute(1.0), -0.3, {}),
]


def factor_moment(loss, y, centre=0.0, **_):
    """E X^2 of one factor."""
    factors = (y * VALUES if loss.kind == "classification" else VALUES - y) - centre
    return float((factors**2).mean())


def target(loss, y):
    """The gradient length at the mean of the values, from the loss itself."""
    return float(loss.gradient(jnp.float64(MEAN), jnp.float64(y)))


TERMS = 96  # of every table: one program for all losses of a kind
combine_one = jax.jit(GradientLength.combine)
combine = jax.jit(jax.vmap(GradientLength.combine, in_axes=(None, 0, 0, None)))


@pytest.mark.parametrize("law", [Geometric(1.5), minimum_variance], ids=["geometric", "minimum variance"])
@pytest.mark.parametrize(("loss", "y", "options"), CASES)
def test_strata_add_up_to_the_gradient(loss, y, options, law, x64):
    """The mean of stratum n is the estimate at the mean value: the first are enumerated over all 3^n draws."""
    moment = factor_moment(loss, y, **options)
    assert len(GradientLength.for_loss(loss, law, moment, **options).series.coefficients) <= TERMS
    estimator = GradientLength.for_loss(loss, law, moment, n_terms=TERMS, **options)
    p = np.exp(estimator.series.law.log_table(TERMS))
    draws = [np.array(list(itertools.product(VALUES, repeat=n))).reshape(3**n, n) for n in range(4)]
    padded = [np.pad(each, ((0, 0), (0, TERMS - n)), constant_values=7.0) for n, each in enumerate(draws)]
    rows = np.concatenate([*padded, np.full((TERMS, TERMS), MEAN)])  # the sevens are unused values
    n = np.concatenate([np.repeat(np.arange(4), 3 ** np.arange(4)), np.arange(TERMS)])
    combined = np.asarray(combine(estimator, jnp.asarray(rows), jnp.asarray(n), y), float)
    strata = combined[-TERMS:]
    for n, mean in enumerate(np.mean(each) for each in np.split(combined[:-TERMS], np.cumsum(3 ** np.arange(3)))):
        if p[n] > 0.0:
            np.testing.assert_allclose(mean, strata[n], rtol=1e-11, atol=1e-14)
    constant = float(estimator.series.constant) * (y if loss.kind == "classification" else 1.0)
    beyond = (1 - p.sum()) * constant  # N beyond the table returns the constant
    np.testing.assert_allclose(p[p > 0] @ strata[p > 0] + beyond, target(loss, y), rtol=1e-9)


def test_a_new_noisy_label_for_each_factor_is_unbiased(x64):
    """All strata with noisy labels, enumerated: the mean is l' at the mean of values and labels, the second moment that
    of independent factors whose noise is the values' and the labels'. With one label for all it is neither."""
    loss, labels = SmoothedAbsolute(1.0), np.array([-0.3, 0.5])
    factors = np.subtract.outer(VALUES, labels).ravel()
    moment, target = float((factors**2).mean()), math.erf(factors.mean())
    estimator = GradientLength.for_loss(loss, Geometric(2.0), moment, n_terms=TERMS)
    p, gammas = np.exp(Geometric(2.0).log_table(TERMS)), loss.coefficients(TERMS)

    def combined(n, values, y):
        values = np.pad(values, (0, TERMS - n), constant_values=7.0)
        y = y if np.ndim(y) == 0 else np.pad(y, (0, TERMS - n), constant_values=9.0)
        return float(combine_one(estimator, jnp.asarray(values), jnp.int32(n), jnp.asarray(y)))

    pairs = list(itertools.product(VALUES, labels))
    for n in (1, 3):
        found = [combined(n, *np.transpose(each)) for each in itertools.product(pairs, repeat=n)]
        np.testing.assert_allclose(np.mean(found), gammas[n] * factors.mean() ** n / p[n], rtol=1e-11)
        np.testing.assert_allclose(np.mean(np.square(found)), gammas[n] ** 2 * moment**n / p[n] ** 2, rtol=1e-11)
    one_label = [combined(3, v, y) for v in itertools.product(VALUES, repeat=3) for y in labels]
    assert abs(np.mean(one_label) / (gammas[3] * factors.mean() ** 3 / p[3]) - 1) > 0.5
    np.testing.assert_allclose(gammas @ factors.mean() ** np.arange(TERMS), target, rtol=1e-12)
    strata = [g**2 * moment**n / p[n] for n, g in enumerate(gammas)]
    np.testing.assert_allclose(estimator.second_moment(moment), math.fsum(strata), rtol=1e-12)


RATE = 0.2  # of flipped labels


def flipped(target, scale=1 / (1 - 2 * RATE)):
    """The two values of a noisy label and their probabilities."""
    return target * scale * np.array([1.0, -1.0]), np.array([1 - RATE, RATE])


@pytest.mark.parametrize(("loss", "y", "options"), [case for case in CASES if case[0].kind == "classification"])
def test_one_noisy_label_is_unbiased_in_classification(loss, y, options, x64):
    """All strata at the mean value, both labels: the mean is the gradient. The second moment is the clean one plus the
    variance of the label times the mean square of its weight. The flipped label itself (y or -y) has another mean."""
    estimator = GradientLength.for_loss(
        loss, Geometric(1.5), factor_moment(loss, y, **options), n_terms=TERMS, **options
    )
    p, values = np.exp(Geometric(1.5).log_table(TERMS)), np.full((TERMS, TERMS), MEAN)
    clean, at_zero = (np.asarray(combine(estimator, values, np.arange(TERMS), label), float) for label in (y, 0.0))
    beyond = (1 - p.sum()) * float(estimator.series.constant)
    for scale in (1 / (1 - 2 * RATE), 1.0):
        labels, weights = flipped(y, scale)
        strata = [np.asarray(combine(estimator, values, np.arange(TERMS), label), float) for label in labels]
        mean = weights @ [p @ own + beyond * label for own, label in zip(strata, labels, strict=True)]
        if scale == 1.0:
            assert abs(mean / target(loss, y) - 1) > 0.05
            continue
        np.testing.assert_allclose(mean, target(loss, y), rtol=1e-9)
        squares = weights @ np.square(strata)
        np.testing.assert_allclose(squares, clean**2 + (scale**2 - 1) * (clean - at_zero) ** 2, rtol=1e-9, atol=1e-300)
        assert (p @ squares) <= scale**2 * (p @ np.maximum(clean**2, (2 * at_zero - clean) ** 2)) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("loss", "y", "options"), [(Exponential(), -0.7, {}), (SmoothedHinge(1.0), 0.4, {"centre": 1.0})]
)
def test_a_label_for_each_factor_and_one_more_is_unbiased_for_any_target(loss, y, options, x64):
    """Stratum n with all 2^(n+1) labels has the mean gamma_n y (y a - c)^n / p_n, and all strata that of the loss's
    gradient; one label used twice has another mean."""
    estimator = GradientLength.for_loss(loss, Geometric(1.5), 1.0, n_terms=TERMS, **options)
    p, values = np.exp(Geometric(1.5).log_table(TERMS)), jnp.full(TERMS, MEAN)
    (labels, weights), n_tested = flipped(y), 5
    draws = np.array(list(itertools.product((0, 1), repeat=n_tested + 1)))
    rows = np.pad(labels[draws], ((0, 0), (0, TERMS - n_tested)), constant_values=9.0)
    many = jax.jit(jax.vmap(GradientLength.combine, in_axes=(None, None, None, 0)))
    gammas = loss.coefficients(TERMS, options.get("centre", 0.0))
    terms = gammas * y * (y * MEAN - options.get("centre", 0.0)) ** np.arange(TERMS)
    for n in range(n_tested + 1):
        found = np.asarray(many(estimator, values, n, rows), float)
        np.testing.assert_allclose(np.prod(weights[draws], axis=1) @ found, terms[n] / p[n], rtol=1e-11)
    same = np.asarray(many(estimator, values, 1, np.repeat(labels[:, None], 1 + TERMS, axis=1)), float)
    assert abs(weights @ same / (terms[1] / p[1]) - 1) > 0.3
    np.testing.assert_allclose(terms.sum(), target(loss, y), rtol=1e-11)


@pytest.mark.long
def test_fresh_estimates_are_independent():
    """Factors +-1: the product of two is negative for 13 to 51 of 64 keys (false alarm 5e-7). The product of an
    estimate with itself is positive."""
    feature_map = DotProductFeatureMap(Linear(), minimum_variance([0.0, 1.0], 1.0))
    estimator = GradientLength.for_loss(Exponential(), Geometric(2.0), 1.0)
    one = feature_map.assemble(jnp.int32(1), jnp.ones((1, 1)))

    def fresh(key):
        copy = lambda k: 1.0 - 2.0 * (jax.random.key_data(k)[:1] % 2).astype(jnp.float32)  # noqa: E731
        return feature_map.estimate_given(key, jnp.int32(1), copy, 1)

    estimate = jax.vmap(lambda key: estimator.estimate_given(key, jnp.int32(2), fresh, lambda psi: prod(psi, one), 1.0))
    values = np.asarray(jax.jit(estimate)(jax.random.split(jax.random.key(0), 64)).value)
    np.testing.assert_allclose(np.abs(values), np.abs(values[0]))
    assert 13 <= np.sum(values < 0) <= 51


def test_second_moment_matches_enumeration(x64):
    """E g~^2 is the sum over the strata n."""
    y = -1.0
    moment = factor_moment(Exponential(), y)
    estimator = GradientLength.for_loss(Exponential(), Geometric(1.5), moment)
    n = np.arange(60)
    p = np.exp(Geometric(1.5).log_table(60))
    expected = sum(moment**k / math.factorial(k) ** 2 / p[k] for k in n)
    np.testing.assert_allclose(estimator.second_moment(moment), expected, rtol=1e-10)
    outside = GradientLength.for_loss(Exponential(), Geometric(1.5), moment, constant_outside=True)
    mean, drawn = 0.3, expected - 1 / p[0]
    promised = 1 + 2 * (math.exp(-mean) - 1) + drawn  # (-1 + what is drawn)^2, which is 1 - e^-mean in the mean
    np.testing.assert_allclose(outside.second_moment(moment, mean), promised, rtol=1e-10)
    with pytest.raises(ValueError, match=r"\bmean\b"):
        outside.second_moment(moment)


def test_combine_drops_terms_with_too_few_values():
    """With two values and n = 3 the term is 0 instead of a product of two factors."""
    estimator = GradientLength.for_loss(Exponential(), Geometric(2.0), 1.0)
    combine = jax.jit(estimator.combine)
    assert float(combine(jnp.ones(2), jnp.int32(3), 1.0)) == 0.0
    assert float(combine(jnp.ones(3), jnp.int32(3), 1.0)) != 0.0


def test_overflow_of_a_fresh_feature_is_reported():
    feature_map = DotProductFeatureMap(ExponentialKernel(), Geometric(2.0))
    estimator = GradientLength.for_loss(Exponential(), Geometric(2.0), 1.0)
    g = jax.jit(
        lambda key, n: estimator.estimate_given(
            key,
            n,
            lambda key: feature_map.estimate_given(key, jnp.int32(3), lambda k: jnp.ones(1), 2),
            lambda psi: prod(psi, psi),
            1.0,
        )
    )(jax.random.key(0), jnp.int32(1))
    assert bool(g.overflow)
    assert int(g.queries) == 3
    assert float(g.value) == 0.0
