"""Mirror descent with three mirror maps: NumPy loops with Bregman projections, closed forms, and the theorem."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from convex_rows import D, data, rows
from full_rounds import played
from linear_losses import total_loss
from scipy import optimize

from jaxonline.estimators import FullGradient
from jaxonline.learners import Entropy, ExponentiatedGradient, GradientLearner, LogBarrier, MirrorLearner, PNorm

pytestmark = pytest.mark.fast_compile
STEP = 0.3


def entropy_step(w, g, scale=1.0):
    w = w * np.exp(-STEP * scale * g)
    return scale * w / w.sum()


def barrier_step(w, g):
    """The Bregman projection on the simplex of the point with 1 / w' = 1 / w + step g, by a root finder."""
    inverse = 1 / w + STEP * g
    c = optimize.brentq(lambda c: np.sum(1 / (inverse + c)) - 1, 1e-12 - inverse.min() + 1, 1e3, xtol=1e-15)
    return 1 / (inverse + c)


def p_norm_step(w, g, p=3.0):
    """w' is the vector at which the gradient of R is lower by step g; the gradients are by finite maps of norms."""
    q = p / (p - 1)

    def link(v, r):
        norm = np.sum(np.abs(v) ** r) ** (1 / r)
        return 0 * v if norm == 0 else np.sign(v) * np.abs(v) ** (r - 1) * norm ** (2 - r)

    return link((p - 1) * link(w, q) - STEP * g, p) / (p - 1)


MAPS = {
    "entropy": (Entropy(), entropy_step, np.full(D, 1 / D)),
    "barrier": (LogBarrier(), barrier_step, np.full(D, 1 / D)),
    "p-norm": (PNorm(3.0), p_norm_step, np.zeros(D)),
}


@pytest.mark.parametrize("name", MAPS)
def test_hypotheses_equal_those_of_a_numpy_loop_in_the_primal_form(x64, name):
    """The loop has a step and a Bregman projection in each round; the learner sums gradients."""
    mirror_map, step, w = MAPS[name]
    X, y = data(2)
    states = played(MirrorLearner(FullGradient(), STEP, mirror_map), rows(X, y))[1]
    expected = []
    for x, target in zip(X, y, strict=True):
        w = step(w, 2 * (w @ x - target) * x)
        expected.append(w)
    points = np.asarray(jax.vmap(mirror_map.point)(states.theta))
    np.testing.assert_allclose(points, expected, rtol=1e-9, atol=1e-12)
    assert np.ptp(points, axis=0).min() > 0.05


def test_exponentiated_gradient_and_gradient_descent_are_cases(x64):
    X, y = data(3)
    for signed in (False, True):
        mirror = MirrorLearner(FullGradient(), STEP, Entropy(1.5, signed))
        own = played(ExponentiatedGradient(FullGradient(), STEP, 1.5, signed), rows(X, y))[0]
        np.testing.assert_array_equal(played(mirror, rows(X, y))[0], own)
    descent = played(GradientLearner(FullGradient(), STEP), rows(X, y))[0]
    mirror = MirrorLearner(FullGradient(), STEP, PNorm(2.0))
    np.testing.assert_allclose(played(mirror, rows(X, y))[0], descent, rtol=1e-12)


def test_barrier_of_two_weights_has_its_closed_form(both_precisions):
    """For theta = (0, -a) the sum is 1 at c = ((2 - a) + sqrt(4 + a^2)) / 2."""
    a = np.array([0.0, 1e-3, 0.5, 3.0, 1e3, 1e6])
    points = jax.vmap(lambda a: LogBarrier().point(jnp.stack([0 * a, -a]) + 7.0))(jnp.asarray(a, both_precisions))
    c = 1 + 2 / (a + np.sqrt(4 + a**2))  # (2 - a + sqrt(4 + a^2)) / 2 without cancellation
    np.testing.assert_allclose(points[:, 0], 1 / c, rtol=8 * np.finfo(both_precisions).eps)
    np.testing.assert_allclose(points.sum(axis=1), 1, rtol=4 * np.finfo(both_precisions).eps)


def test_barrier_weights_equal_those_of_a_root_finder(x64):
    """Up to 1,000 weights and gaps from 0 to 1e6."""
    rng = np.random.default_rng(4)
    for n in (2, 30, 1000):
        for spread in (1e-3, 1.0, 100.0, 1e6):
            theta = -np.sort(spread * rng.uniform(size=n) ** 4)
            theta -= theta.max()
            c = optimize.brentq(lambda c, theta=theta: np.sum(1 / (c - theta)) - 1, 1, n + 1, xtol=1e-14)
            np.testing.assert_allclose(LogBarrier().point(jnp.asarray(theta)), 1 / (c - theta), rtol=1e-9)


def test_regret_is_below_the_bound_with_the_gradients_of_the_run(x64):
    """For the best u of the set (an inner point for the barrier), with steps that are best, ten times smaller and ten
    times larger. The bound without its first term is wrong."""
    rng, T, d = np.random.default_rng(5), 300, 4
    t = np.arange(T)[:, None]
    sequences = [
        rng.normal(size=(T, d)),
        np.where(t < [0, 50, 100, 200], 1.0, -1.0),
        np.tile([1.0, 0.9, -1.0, 0.0], (T, 1)),
        np.where(t % 2 == np.arange(d) % 2, 1.0, 0.0),
    ]
    ratios, without = {}, []
    for mirror_map in (Entropy(), Entropy(2.0, signed=True), LogBarrier(), PNorm(2.0), PNorm(4.0)):
        for gradients in sequences:
            total = gradients.sum(axis=0)
            u = np.eye(d)[np.argmin(total)]
            if isinstance(mirror_map, Entropy) and mirror_map.signed:
                i = np.argmax(np.abs(total))
                u = -2.0 * np.sign(total[i]) * np.eye(d)[i]
            if isinstance(mirror_map, LogBarrier):
                u = (1 - 1 / T) * u + 1 / (T * d)
            if isinstance(mirror_map, PNorm):
                u = -total / np.linalg.norm(total)
            squares = float(np.sum(mirror_map.dual_norm(gradients) ** 2))
            for factor in (0.1, 1.0, 10.0):
                step = factor * np.sqrt(2 * mirror_map.divergence(u) / squares)
                own = total_loss(lambda g, step=step, m=mirror_map: MirrorLearner(g, step, m), gradients)
                regret = own - total @ u
                bound = mirror_map.divergence(u) / step + step * squares / 2
                ratios[repr(mirror_map), factor] = max(ratios.get((repr(mirror_map), factor), -np.inf), regret / bound)
                without.append(regret / (step * squares / 2))
    assert max(ratios.values()) <= 1
    assert min(ratio for (_, factor), ratio in ratios.items() if factor == 1.0) > 0.2
    assert max(without) > 5


def test_divergences_of_the_barrier_at_the_border_and_at_the_centre():
    assert LogBarrier().divergence(np.array([1.0, 0.0])) == np.inf
    assert LogBarrier().divergence(np.full(3, 1 / 3)) == pytest.approx(0, abs=1e-12)
