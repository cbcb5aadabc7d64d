"""The gradient learner: each of the registry against a NumPy loop on the same noise."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from attribute_efficient import project
from kernel_loops import Seen
from registry import COVARIANCE, LEARNERS
from tiers import some

import jaxonline as jo
from jaxonline.estimators import TwoCopies

ROUNDS = 40


def full(w, seen):
    return 2 * (np.dot(w, seen.x) - seen.y) * seen.x


def two(w, seen):
    return 2 * (np.dot(w, seen.copies[0]) - seen.label) * seen.copies[1]


def naive(w, seen):
    return 2 * (np.dot(w, seen.copies[0]) - seen.label) * seen.copies[0]


def known(w, seen):
    return naive(w, seen) - 2 * COVARIANCE.dot(w)


def printed(w, seen):
    return naive(w, seen) - COVARIANCE.dot(w)


def mean_of_four(w, seen):
    x = (seen.copies[0] + seen.copies[1] + seen.copies[2] + seen.copies[3]) / 4
    return 2 * (np.dot(w, x) - seen.label) * x


def pairs_of_three(w, seen):
    pairs = [(i, j) for i in range(3) for j in range(3) if i != j]
    return sum(2 * (np.dot(w, seen.copies[i]) - seen.label) * seen.copies[j] for i, j in pairs) / 6


def l2_ball(w, radius):
    size = np.sqrt(np.sum(w**2))
    return w if size <= radius else w * (radius / size)


class Momentum:
    """Heavy ball: the direction is a geometric sum of gradients; with decay 0 it is plain gradient descent."""

    def __init__(self, decay=0.0):
        self.decay, self.trace = decay, 0.0

    def __call__(self, g, t):
        self.trace = g + self.decay * self.trace
        return self.trace


class Adam:
    """Kingma and Ba (2015), Algorithm 1, with step size 1."""

    def __init__(self, b1=0.9, b2=0.999, eps=1e-8):
        self.b1, self.b2, self.eps, self.m, self.v = b1, b2, eps, 0.0, 0.0

    def __call__(self, g, t):
        self.m = self.b1 * self.m + (1 - self.b1) * g
        self.v = self.b2 * self.v + (1 - self.b2) * g**2
        m, v = self.m / (1 - self.b1**t), self.v / (1 - self.b2**t)
        return m / (np.sqrt(v) + self.eps)


class Loop(NamedTuple):
    gradient: Callable
    step: Callable
    project: Callable = lambda w: w
    direction: Callable = Momentum
    averaged: bool = False


def cosine(t):
    return 0.5 * 0.1 * 0.5 * (1 + np.cos(np.pi * min(t - 1, 30) / 30))


SHORT_LOOPS = "two copies, momentum, schedule", "known covariance, ball, averaged"
LOOPS = {
    "full gradient": Loop(full, lambda t: 0.1),
    "full gradient, inverse sqrt, ball": Loop(full, lambda t: 0.4 / np.sqrt(t), lambda w: l2_ball(w, 0.5)),
    "two copies": Loop(two, lambda t: 0.05),
    "two copies, over horizon, ball": Loop(two, lambda t: 0.7 / np.sqrt(40), lambda w: l2_ball(w, 0.6)),
    "two copies, averaged": Loop(two, lambda t: 0.1 / np.sqrt(t), lambda w: l2_ball(w, 0.8), averaged=True),
    "two copies, l1 ball": Loop(two, lambda t: 0.3 / np.sqrt(t), lambda w: project(w, 0.5)),
    "two copies, adversarial noise": Loop(two, lambda t: 0.05),
    "two copies, adam": Loop(two, lambda t: 0.05, direction=Adam),
    "two copies, adam, schedule, ball": Loop(
        two, lambda t: 0.2 * 0.5 ** ((t - 1) / 10), lambda w: l2_ball(w, 0.7), lambda: Adam(0.8, 0.95)
    ),
    "two copies, momentum, schedule": Loop(two, cosine, direction=lambda: Momentum(0.7)),
    "known covariance": Loop(known, lambda t: 0.03),
    "known covariance, ball, averaged": Loop(
        known, lambda t: 0.2 / np.sqrt(t), lambda w: l2_ball(w, 0.9), averaged=True
    ),
    "known covariance, as printed": Loop(printed, lambda t: 0.03, lambda w: l2_ball(w, 0.9)),
    "naive copy": Loop(naive, lambda t: 0.05),
    "mean of copies": Loop(mean_of_four, lambda t: 0.1 / np.sqrt(t), lambda w: l2_ball(w, 0.6)),
    "pairs of copies": Loop(pairs_of_three, lambda t: 0.1 / np.sqrt(t), lambda w: l2_ball(w, 0.6)),
}


def run_loop(loop: Loop, rounds: list[Seen]) -> tuple[np.ndarray, np.ndarray]:
    played = [np.zeros(3)]
    direction, y_hat = loop.direction(), []
    for t, seen in enumerate(rounds, start=1):
        used = np.mean(played, axis=0) if loop.averaged else played[-1]
        y_hat.append(np.dot(used, seen.x))
        w = played[-1]
        played.append(loop.project(w - loop.step(t) * direction(loop.gradient(w, seen), t)))
    return np.array(y_hat), played[-1]


@jax.jit
def open_oracles(feedback, key, X, y, y_hat):
    """Copies [T, 4, d] and labels [T] of a run with these predictions, from the oracles that the referee opens."""
    oracle_key = jo.game.stream_keys(key).oracle

    def one(state, seen):
        t, x, y, y_hat = seen
        oracle = feedback.open(jax.random.fold_in(oracle_key, t), t, x, y, y_hat, state)
        drawn = jnp.stack([oracle.copy(j) for j in range(4)]), oracle.label()
        return feedback.observe(key, state, t, x, y, y_hat), drawn

    specs = jo.game.Specs(jax.typeof(X[0]), jax.typeof(y[0]))
    state = feedback.init(jax.random.fold_in(oracle_key, 0), specs, jax.typeof(y_hat[0]))
    return jax.lax.scan(one, state, (jnp.arange(1, len(y) + 1, dtype=jnp.int32), X, y, y_hat))[1]


def test_every_gradient_learner_of_the_registry_has_a_loop():
    """Those that draw numbers of their own have their tests elsewhere, and so has AdaGrad."""
    entries = {name: make() for name, make in LEARNERS.items()}
    known = {n for n, e in entries.items() if isinstance(e.learner, jo.GradientLearner) and not e.randomised}
    assert known - {"AdaGrad"} == set(LOOPS)


@pytest.mark.parametrize("name", some(LOOPS, *SHORT_LOOPS))
def test_a_gradient_learner_equals_its_numpy_loop(name, x64):
    entry, key = LEARNERS[name](), jax.random.fold_in(jax.random.key(11), 3)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROUNDS, 3)) / 2
    y = X @ np.array([0.9, -0.6, 0.3]) + 0.1 * rng.normal(size=ROUNDS)
    with entry.promotion():
        game = jo.Game(jo.environments.DataStream(X, y), entry.feedback)
        state, history = jo.play(game, entry.learner, key, ROUNDS)

    copies, labels = np.zeros((ROUNDS, 4, 3)), np.zeros(ROUNDS)
    if not isinstance(entry.feedback, jo.FullInformation):
        # an adversary aims by the predictions of earlier rounds: the first wrong one would show
        opened = open_oracles(entry.feedback, key, jnp.asarray(X), jnp.asarray(y), history.y_hat)
        copies, labels = map(np.asarray, opened)
        assert copies.dtype == np.float64
    y_hat, w = run_loop(LOOPS[name], [Seen(*each) for each in zip(X, y, copies, labels, strict=True)])
    np.testing.assert_allclose(history.y_hat, y_hat, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(state.w, w, rtol=1e-10)
    np.testing.assert_allclose(history.loss, (y_hat - y) ** 2, rtol=1e-9)
    assert state.t == ROUNDS
    assert np.ptp(y_hat) > 0.1, "a learner that does not move would be no test"


def test_step_sizes_are_their_formulas(x64):
    t = jnp.int32(9)
    assert float(jo.Constant(0.25)(t, jnp.float64)) == 0.25
    assert float(jo.Constant.over_horizon(3.0, n_rounds=16).value) == 0.75
    assert float(jo.InverseSqrt(0.6)(t, jnp.float64)) == pytest.approx(0.2, rel=1e-15)
    with jax.numpy_dtype_promotion("standard"):  # optax does not run under the strict one
        counted = jo.Schedule(lambda count: 1.0 * count, scale=0.5)
        assert float(counted(t, jnp.float64)) == 4.0, "optax counts the updates made before"
        drops = jo.Schedule(optax.piecewise_constant_schedule(1.0, {8: 0.1}))
        assert float(drops(t, jnp.float64)) == pytest.approx(0.1, rel=1e-6)


BUILT_TWICE = (
    lambda: {"optimizer": optax.adam(1.0)},
    lambda: {"optimizer": optax.adam(1.0, b1=0.8, b2=0.95)},
    lambda: {"optimizer": optax.sgd(1.0, momentum=0.7)},
    lambda: {"optimizer": optax.chain(optax.clip(1.0), optax.sgd(1.0))},
    lambda: {"optimizer": optax.chain(optax.clip(2.0), optax.sgd(1.0))},
    lambda: {"optimizer": optax.adam(optax.exponential_decay(1.0, 10.0, 0.5))},
    lambda: {"step_size": optax.cosine_decay_schedule(0.1, 30)},
    lambda: {"step_size": jo.Schedule(optax.cosine_decay_schedule(0.1, 31), scale=0.5)},
)


def test_equal_optax_transformations_have_one_structure():
    """Different ones have different structures, and what others wrote is only equal to itself."""

    def structure(step_size=0.1, **options):
        return jax.tree.structure(jo.GradientLearner(TwoCopies(), step_size=step_size, **options))

    def by_hand(rate):
        return optax.GradientTransformation(lambda w: (), lambda g, state, w: (-rate * g, state))

    first, second = ([structure(**make()) for make in BUILT_TWICE] for _ in range(2))
    assert first == second
    assert len(set(first)) == len(BUILT_TWICE)
    assert structure(optimizer=by_hand(0.5)) != structure(optimizer=by_hand(0.5))
    assert structure(step_size=lambda t: 0.1 + 0.0 * t) != structure(step_size=lambda t: 0.1 + 0.0 * t)
