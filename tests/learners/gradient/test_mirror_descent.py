"""Mirror maps: closed forms, a root finder, and the theorem of mirror descent."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from linear_losses import total_loss
from scipy import optimize

from jaxonline.learners import Entropy, LogBarrier, MirrorLearner, PNorm

pytestmark = pytest.mark.fast_compile


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


def test_divergences_and_dual_norms_equal_their_definitions():
    """R(u) less the smallest R, by NumPy, and sizes of gradients; for weights of any sign the largest divergence."""
    u, g = np.array([0.5, 0.3, 0.2]), np.array([[0.4, -2.0, 1.0], [1.0, 0.5, 0.0]])
    entropy, barrier = np.sum(u * np.log(u)), -np.log(u).sum()
    for mirror_map, weights, divergence, norms in (
        (Entropy(1.5), 1.5 * u, entropy + np.log(3), [3.0, 1.5]),
        (Entropy(2.0, signed=True), u, np.log(6), [4.0, 2.0]),
        (LogBarrier(), u, barrier - 3 * np.log(3), [2.0, 1.0]),
        (PNorm(4.0), u, 1.5 * np.sum(u ** (4 / 3)) ** 1.5, np.sum(np.abs(g) ** 4, axis=1) ** 0.25),
    ):
        np.testing.assert_allclose(mirror_map.divergence(weights), divergence, rtol=1e-12)
        np.testing.assert_allclose(mirror_map.dual_norm(g), norms, rtol=1e-12)
    assert LogBarrier().divergence(np.array([1.0, 0.0])) == np.inf
    assert Entropy().divergence(np.array([1.0, 0.0, 0.0])) == np.log(3)
