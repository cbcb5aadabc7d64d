"""The randomised multilevel estimator: a NumPy program, all outcomes by enumeration, planted errors, closed forms."""

import itertools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiers import some

import jaxonline as jo
from jaxonline.estimators import GradientLength, LengthTimesCopy, MultilevelEstimator, PowersOfTwo
from jaxonline.estimators.multilevel import exact_moments

pytestmark = pytest.mark.fast_compile

VALUES, CHANCES = np.array([-0.9, 0.2, 1.1]), np.array([0.3, 0.3, 0.4])
MEAN = VALUES @ CHANCES
LEVELS = 2
estimates_from = jax.jit(jax.vmap(MultilevelEstimator.estimate_from, in_axes=(None, 0, 0)))


def huber(x):
    return np.clip(x, -0.3, 0.3)


def logistic(x):
    return -1 / (1 + np.exp(x))


CASES = {"Huber": (jo.losses.Huber(0.3), huber), "logistic": (jo.losses.Logistic(), logistic)}


def probabilities(rate, levels):
    weights = 2.0 ** (-rate * np.arange(levels + 1))
    return weights / weights.sum()


def loop(f, copies, rate, levels, base=lambda f, x: np.mean([f(one) for one in x])):
    """The estimate given the copies, one by one; `base` is the part that every level estimates."""
    n = len(copies)
    level, halves = n.bit_length() - 1, [copies[: n // 2], copies[n // 2 :]]
    estimate = base(f, copies)
    if level:
        means = [sum(half) / len(half) for half in halves]
        delta = f(sum(copies) / n) - (f(means[0]) + f(means[1])) / 2
        estimate += delta / probabilities(rate, levels)[level]
    return estimate


def enumerated(estimate, rate, drawn=None):
    """Mean and second moment over all numbers of copies and all copies."""
    mean = second = 0.0
    for level, p in enumerate(probabilities(drawn or rate, LEVELS)):
        for outcome in itertools.product(range(len(VALUES)), repeat=2**level):
            theta, chance = estimate(VALUES[list(outcome)], rate), p * CHANCES[list(outcome)].prod()
            mean, second = mean + chance * theta, second + chance * theta**2
    return mean, second


def of_mean(f):
    """E f(mean of 2^L copies)."""
    return sum(
        CHANCES[list(i)].prod() * f(VALUES[list(i)].mean()) for i in itertools.product(range(3), repeat=2**LEVELS)
    )


@pytest.mark.parametrize("name", CASES)
def test_estimates_equal_the_loop_and_both_moments_its_enumeration(name, x64):
    """Every outcome; the mean is E f(mean of 2^L copies), to which the differences of the levels add up."""
    loss, f = CASES[name]
    for rate in (1.5, 1.2):
        estimator = GradientLength.multilevel(loss, PowersOfTwo(rate, LEVELS)).series
        rows = [outcome for n in (1, 2, 4) for outcome in itertools.product(VALUES, repeat=n)]
        padded = np.array([[*row, *[7.0] * (4 - len(row))] for row in rows])
        numbers = np.array([len(row) for row in rows], np.int32)
        expected = [loop(f, np.array(row), rate, LEVELS) for row in rows]
        np.testing.assert_allclose(estimates_from(estimator, padded, numbers), expected, rtol=1e-12, atol=1e-14)
        mean, second = enumerated(lambda x, rate: loop(f, x, rate, LEVELS), rate)
        np.testing.assert_allclose(exact_moments(estimator, VALUES, CHANCES), (mean, second), rtol=1e-12)
        np.testing.assert_allclose(mean, of_mean(f), rtol=1e-12)


def test_planted_errors_are_found():
    """Weights of another rate, f at the mean of all copies as the base, or one vector in both halves: biased."""
    right, rest = of_mean(np.square), (LEVELS,)
    wrong = [
        enumerated(lambda x, rate: loop(np.square, x, rate, *rest), 1.5, drawn=1.2)[0],
        enumerated(lambda x, rate: loop(np.square, x, rate, *rest, base=lambda f, x: f(x.mean())), 1.5)[0],
        enumerated(lambda x, rate: loop(np.square, [*x[::2], *x[::2]] if len(x) > 1 else x, rate, *rest), 1.5)[0],
    ]
    assert np.min(np.abs(np.array(wrong) - right)) > 0.05
    own = enumerated(lambda x, rate: loop(np.square, x, rate, *rest), 1.5)
    one = enumerated(lambda x, rate: loop(np.square, x, rate, *rest, base=lambda f, x: f(x[0])), 1.5)
    assert own[0] == pytest.approx(right)
    assert one[0] == pytest.approx(right)
    assert one[1] > own[1]


def test_the_square_has_its_closed_forms_and_attains_the_bound_of_the_bias():
    """Copies +-1: Delta_k = -(A - B)^2/4, E (A - B)^4 = 12/h^2 - 4/h^3 for halves of h copies, and M = 2."""
    rate, levels = 1.4, 6
    p, k = probabilities(rate, levels), np.arange(1, levels + 1)
    half = 2.0 ** (k - 1)
    deltas, squares = -1 / (2 * half), (12 / half**2 - 4 / half**3) / 16
    mean, second_moment = exact_moments(
        MultilevelEstimator(jnp.square, PowersOfTwo(rate, levels)), [-1.0, 1.0], [0.5, 0.5]
    )
    assert mean == pytest.approx(2.0**-levels, rel=1e-12)
    assert second_moment == pytest.approx(1 + (squares / p[1:]).sum() + 2 * deltas.sum(), rel=1e-12)
    assert PowersOfTwo(rate, levels).mean() == pytest.approx(p @ 2 ** np.arange(levels + 1), rel=1e-6)


def test_numbers_of_copies_have_their_distribution():
    law = PowersOfTwo(1.5, 3)
    drawn = np.asarray(jax.vmap(law.sample)(jax.random.split(jax.random.key(3), 4000)))
    p = probabilities(1.5, 3)
    shares = [(drawn == 2**k).mean() for k in range(4)]
    assert np.all(np.abs(shares - p) < 4 * np.sqrt(p / 4000))
    assert sum(shares) == 1.0
    np.testing.assert_allclose(law.tail(np.array([0, 2, 3, 9])), [1, p[1:].sum(), p[2:].sum(), 0], rtol=1e-5)
    np.testing.assert_allclose(np.exp(law.log_table(5)), [0, p[0], p[1], 0, p[2]], rtol=1e-6)


@pytest.mark.long
def test_drawn_copies_are_those_of_the_estimate():
    """`estimate_given` draws copy j from key j, for arrays entry by entry; a number without probability gives 0."""
    estimator, key = MultilevelEstimator(jo.losses.Huber(0.3).derivative, PowersOfTwo(1.5, LEVELS)), jax.random.key(1)
    keys = jax.vmap(lambda j: jax.random.fold_in(key, j))(jnp.arange(4))
    copies = np.asarray(jax.vmap(lambda key: jax.random.normal(key, (2,)))(keys), float)
    drawn = jax.vmap(lambda n: estimator.estimate_given(key, n, lambda key: jax.random.normal(key, (2,))))
    values = drawn(jnp.array([1, 2, 3, 4, 8]))
    expected = [[loop(huber, copies[:n, i], 1.5, LEVELS) for i in range(2)] for n in (1, 2, 4)]
    np.testing.assert_allclose(values, [*expected[:2], [0, 0], expected[2], [0, 0]], rtol=1e-5)
    assert estimator.estimate(key, lambda key: 0.2) == pytest.approx(0.2)
    assert float(estimator.estimate_from(jnp.ones(3), 4)) == 0.0


@pytest.mark.parametrize("name", some(CASES, "Huber"))
def test_a_gradient_is_the_slope_from_other_copies_times_a_copy(name):
    """Huber's residuals have a noisy label each; the margin of the logistic loss has the label as a factor."""
    loss, _ = CASES[name]
    noisy_labels = jo.noise.gaussian(0.5) if name == "Huber" else None
    feedback = jo.NoisyCopies(jo.noise.gaussian(0.4), label_noise=noisy_labels)
    estimator, w = LengthTimesCopy(GradientLength.multilevel(loss, PowersOfTwo(1.1, LEVELS))), jnp.array([0.5, -0.3])

    @jax.jit
    def one_round(key):
        oracle = feedback.open(key, jnp.int32(1), jnp.ones(2), jnp.float32(-1.0), 0.0)
        gradient, queries = estimator(key, w, oracle), oracle.queries()
        return gradient, queries, oracle.copies(0, 5), jnp.stack([oracle.label(j) for j in range(4)])

    counts = set()
    for key in jax.random.split(jax.random.key(2), 12):
        gradient, queries, copies, labels = map(np.asarray, one_round(key))
        n = int(queries) - 1
        counts.add(n)
        products, labels = copies[1 : n + 1] @ np.asarray(w), labels[:n]
        if name == "Huber":
            slope = loop(huber, products - labels, 1.1, LEVELS)
        else:
            slope = -loop(logistic, -products, 1.1, LEVELS)
        np.testing.assert_allclose(gradient, slope * copies[0], rtol=1e-4, atol=1e-6)
    assert counts == {1, 2, 4}


def test_bad_arguments_are_refused():
    for call, message in (
        (lambda: PowersOfTwo(1.0), "rate: must be"),
        (lambda: PowersOfTwo(1.5, 0), "max_level: must be"),
        (lambda: exact_moments(MultilevelEstimator(jnp.square), [1.0], [0.5]), "probabilities: must"),
        (lambda: GradientLength.multilevel(jo.losses.Huber(0.5)).second_moment(1.0), "series: must be"),
    ):
        with pytest.raises((ValueError, TypeError), match=re.escape(message)):
            call()
