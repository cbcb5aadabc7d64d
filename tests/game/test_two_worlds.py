"""Two worlds that one noisy copy does not tell apart, as in paper A's impossibility."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from adversary_games import FALSE_ALARM, ONE_DEVICE, Looking, Seen, lower, played
from scipy import stats
from tiers import some

import jaxonline as jo
from jaxonline.environments.adversaries import indistinguishable_pair, unavoidable_regret
from jaxonline.estimators import FullGradient, KnownCovariance, NaiveCopy, TwoCopies
from jaxonline.parameters.struct import struct


def first_copies(game: jo.Game, rounds: int = 400, runs: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """Instances and copies 0 [runs, rounds, d]."""

    @struct
    class OneLook(Looking):
        def update(self, key, state, oracle):
            return state, Seen(oracle.copy(0), oracle.label(), oracle.queries())

    keys = jax.vmap(lambda run: jax.random.fold_in(jax.random.key(0), run))(jnp.arange(runs))
    history = jax.vmap(lambda key: jo.play(game, OneLook(), key, rounds)[1])(keys)
    assert (np.asarray(history.y) == 1).all()
    assert (np.asarray(history.info.second) == 1).all()
    return np.asarray(history.x), np.asarray(history.info.first)


def test_two_points_noise_has_its_mean_and_covariance():
    """v or -v, each half of the time (binomial, false alarm 1e-6); the stated covariance is that of the two points."""
    law, keys = jo.noise.TwoPoints([1.0, -2.0]), jax.random.split(jax.random.key(0), 10_000)
    draws = np.asarray(jax.vmap(lambda key: law.sample(key, jnp.int32(1), jnp.zeros(2)))(keys))
    positive = (draws == [1.0, -2.0]).all(axis=1)
    assert (positive | (draws == [-1.0, 2.0]).all(axis=1)).all()
    assert stats.binomtest(int(positive.sum()), 10_000, 0.5).pvalue > FALSE_ALARM
    np.testing.assert_allclose(law.covariance_at(jnp.int32(1), jnp.zeros(2)), [[1.0, -2.0], [-2.0, 4.0]])


@pytest.mark.long
@pytest.mark.parametrize("e", some([[1.0], [0.0, 1.0, 0.0], [0.36, -0.48, 0.8]], [0.36, -0.48, 0.8]), ids=str)
def test_one_copy_has_the_same_distribution_in_both_games(e):
    """Two points, each half of the time, whatever the copy before was (chi-square of pairs, false alarm 1e-6).
    Instances are {3e, -e} in one world, e in the other."""
    e = np.asarray(e)
    points = []
    for game, multiples in zip(indistinguishable_pair(e), [{3.0, -1.0}, {1.0}], strict=True):
        x, copies = first_copies(game)
        np.testing.assert_allclose(x, (x @ e)[..., None] * e, atol=1e-6)
        assert {round(float(m), 5) for m in np.unique(x @ e)} == multiples
        flat = copies.reshape(-1, len(e))
        points.append(np.unique(flat, axis=0))
        high = copies @ e > 1
        pairs = 2 * high[:, 0::2] + high[:, 1::2]
        assert stats.chisquare(np.bincount(pairs.ravel(), minlength=4)).pvalue > FALSE_ALARM
        repeated = np.where(np.arange(pairs.size) % 4 == 0, 3, pairs.ravel())
        assert stats.chisquare(np.bincount(repeated, minlength=4)).pvalue < FALSE_ALARM, "the mutant is seen"
    assert points[0].shape == (2, len(e))
    np.testing.assert_array_equal(*points)


@pytest.mark.long
def test_two_copies_distinguish_the_games():
    for game, same in zip(indistinguishable_pair((1.0,)), (1.0, 0.5), strict=True):
        history = played(game, Looking(), 2000)
        equal = int((history.info.first == history.info.second).sum())
        assert equal == 2000 if same == 1.0 else stats.binomtest(equal, 2000, same).pvalue > FALSE_ALARM


def by_grid(radius, loss):
    """min over w of the larger regret a round, on grids that close in, each on the neighbours of the best point."""

    def scattered(w):
        return (loss(3 * w) + loss(-w)) / 2

    def least(function):
        low, high = -radius, radius
        for _ in range(6):
            w = np.linspace(low, high, 4001)
            values = function(w)
            i = int(np.argmin(values))
            low, high = w[max(i - 1, 0)], w[min(i + 1, 4000)]
        return values[i]

    best = least(scattered), least(loss)
    return least(lambda w: np.maximum(scattered(w) - best[0], loss(w) - best[1]))


LOSSES = {
    "squared": (jo.losses.Squared(), lambda a: (a - 1) ** 2),
    "exponential": (jo.losses.Exponential(), lambda a: np.exp(-a)),
    "logistic": (jo.losses.Logistic(), lambda a: np.logaddexp(0, -a)),
}


@pytest.mark.parametrize("radius", [0.15, 0.3, 0.7, 1.0, 4.0])
@pytest.mark.parametrize("name", LOSSES)
def test_unavoidable_regret_equals_a_grid_search(name, radius):
    """And the closed forms for the squared loss: (1 - 1/sqrt 5)^2 for radius >= 1, F2 = (1 - w)^2 - (1 - b)^2 below."""
    ours, numpys = LOSSES[name]
    value = unavoidable_regret(radius, ours)
    np.testing.assert_allclose(value, by_grid(radius, numpys), rtol=1e-9, atol=1e-14)
    if name == "squared":
        b = min(radius, 1.0)
        w = np.sqrt(0.8 - (1 - b) ** 2) / 2  # 5 (w - 1/5)^2 = (1 - w)^2 - (1 - b)^2
        wanted = 5 * (w - 0.2) ** 2 if radius > 0.2 else 0.0
        np.testing.assert_allclose(value, wanted, rtol=1e-12, atol=1e-15)
        assert radius < 1 or value == pytest.approx((1 - 5**-0.5) ** 2, rel=1e-12)


def test_unavoidable_regret_accepts_large_radii():
    assert unavoidable_regret(1e4) == pytest.approx((1 - 5**-0.5) ** 2, rel=1e-6)
    assert unavoidable_regret(1e3, jo.losses.Exponential()) == pytest.approx(
        by_grid(10.0, LOSSES["exponential"][1]), 1e-3
    )


@pytest.mark.long
def test_one_copy_has_linear_regret_in_one_game_and_two_copies_in_none():
    """Theorem 3 for learners that take one copy: in one world the regret is at least `unavoidable_regret` a round, at
    every recorded round. Two copies, and one with the covariance told, have less than half of that in both, and less
    than 3 times as much after 4 times the rounds. Each comparison is wrong with probability 1e-6."""
    options = {"step_size": jo.InverseSqrt(0.1), "radius": 1.0}
    learners = {
        "naive": jo.GradientLearner(NaiveCopy(), **options),
        "naive, averaged": jo.GradientLearner(NaiveCopy(), hypothesis="average", **options),
        "two copies": jo.GradientLearner(TwoCopies(), **options),
        "told": jo.GradientLearner(KnownCovariance(), **options),
        "full": jo.WithFeedback(jo.GradientLearner(FullGradient(), **options), jo.FullInformation()),
    }
    study = {"n_runs": 64, "n_rounds": 800, "record_at": [200], "comparator": jo.L2Ball(1.0), "mesh": ONE_DEVICE}
    worlds = indistinguishable_pair(np.eye(2)[0], reveal_covariance=True)
    regret = np.stack([jo.simulate(world, learners, **study).regret for world in worlds])  # [2, L, R, G]
    least = unavoidable_regret(1.0) * np.array([200, 800])
    for i in range(2):
        assert (regret[:, i].mean(axis=1) >= least).any(axis=0).all(), list(learners)[i]
        assert max(lower(regret[world, i, :, 1]) for world in range(2)) > least[1]
    for i in range(2, 5):
        assert max(-lower(-regret[world, i, :, 1]) for world in range(2)) < least[1] / 2
        assert min(lower(3 * regret[world, i, :, 0] - regret[world, i, :, 1]) for world in range(2)) > 0, "not linear"
