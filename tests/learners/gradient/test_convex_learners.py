"""Step sizes, optax transformations, exponentiated gradient, Newton steps and one-point gradients; theorems."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from convex_rows import KEY, D, data, rows
from full_rounds import played
from linear_losses import total_loss
from tiers import some

import jaxonline as jo
from jaxonline import bounds, verify
from jaxonline.environments import DataStream
from jaxonline.estimators import FullGradient, TwoCopies
from jaxonline.feedback import LossOfMoveOracle
from jaxonline.learners import (
    EWA,
    ExponentiatedGradient,
    GradientBandit,
    GradientLearner,
    Hedge,
    OnlineNewtonStep,
)
from jaxonline.losses import Absolute, ExpectedLoss, SquaredDistance

pytestmark = pytest.mark.fast_compile


TRANSFORMATIONS = {
    "sgd": optax.sgd(1.0),
    "momentum": optax.sgd(1.0, momentum=0.9, nesterov=True),
    "adagrad": optax.adagrad(1.0),
    "adam": optax.adam(1.0),
    "rmsprop": optax.rmsprop(1.0),
    "sign": optax.sign_sgd(1.0),
    "clipped": optax.chain(optax.clip_by_global_norm(0.5), optax.sgd(1.0)),
    "dual averaging": optax.chain(optax.trace(1.0), optax.scale(-1.0)),
}


@pytest.mark.parametrize("name", some(TRANSFORMATIONS, "momentum"))
def test_descent_with_optax_transformations_equals_numpy(name):
    """w <- projection of w + step times optax's update, for the absolute loss."""
    transformation, (X, y) = TRANSFORMATIONS[name], data(1, 12)
    with jax.numpy_dtype_promotion("standard"):  # of optax's own counters
        estimator = FullGradient(Absolute())
        learner = GradientLearner(estimator, jo.InverseSqrt(0.2), radius=0.4, optimizer=transformation)
        moves = played(learner, rows(X.astype(np.float32), y.astype(np.float32)))[0]
        w, expected, state = np.zeros(D), [], transformation.init(jnp.zeros(D))
        update = jax.jit(transformation.update)
        for t, (x, label) in enumerate(zip(X, y, strict=True), start=1):
            expected.append(w @ x)
            gradient = jnp.asarray(np.sign(w @ x - label) * x, jnp.float32)
            step, state = update(gradient, state, jnp.asarray(w, jnp.float32))
            w = w + 0.2 / np.sqrt(t) * np.asarray(step, float)
            w = w * min(1.0, 0.4 / max(np.linalg.norm(w), 1e-30))
    np.testing.assert_allclose(moves, expected, rtol=1e-3, atol=1e-5)
    assert np.ptp(expected) > 0.05


def test_gradient_descent_is_below_its_bound_and_reaches_half_of_it(x64):
    """The bound is D G sqrt(T) from any start, and half of it from the centre."""
    bound, half = bounds.projected_gradient(2.0, 1.0, 200), bounds.gradient_descent(1.0, 1.0, 200)
    assert bound.value == 2 * half.value == pytest.approx(2 * np.sqrt(200))
    signs, constant = np.random.default_rng(0).choice([-1.0, 1.0], size=(200, 1)), np.ones((200, 1))
    for step, limit, sizes in (
        (bound.step_size, bound, signs),
        (half.step_size, half, signs),
        (half.step_size, half, constant),
    ):
        gradients = sizes * np.array([[0.6, 0.8, 0.0]])
        own = total_loss(lambda g, step=step: GradientLearner(g, step, radius=1.0), gradients)
        regret = own + np.linalg.norm(gradients.sum(axis=0))
        assert half.value * (0.5 if sizes is constant else 0.05) < regret <= limit.value


def test_exponentiated_gradient_equals_its_numpy_loop(x64):
    """With weights of any sign, decreasing steps, and momentum on the simplex."""
    X, y = data(2)
    p, direction, expected = np.ones(2 * D), 0.0, []
    for t, (x, label) in enumerate(zip(X, y, strict=True), start=1):
        p = p / p.sum()
        w = 1.5 * (p[:D] - p[D:])
        expected.append(w @ x)
        direction = 0.5 * direction + 2 * (w @ x - label) * x * 1.5
        p = p * np.exp(-0.4 / np.sqrt(t) * np.concatenate([direction, -direction]))
    momentum = optax.sgd(1.0, momentum=0.5)
    learner = ExponentiatedGradient(FullGradient(), jo.InverseSqrt(0.4), 1.5, signed=True, optimizer=momentum)
    np.testing.assert_allclose(played(learner, rows(X, y))[0], expected, rtol=1e-9, atol=1e-12)


def test_exponentiated_gradient_on_linear_losses_equals_hedge_and_is_below_its_bound(x64):
    rng = np.random.default_rng(3)
    losses = np.clip(np.array([0.4, 0.5, 0.6]) + 0.4 * rng.normal(size=(200, 3)), -1, 1)
    bound = bounds.exponentiated_gradient(3, 1.0, 200)
    own = total_loss(lambda g: ExponentiatedGradient(g, bound.step_size), losses)
    moves = played(Hedge(EWA(bound.step_size)), ((), jnp.asarray(losses)))[0]
    assert own == pytest.approx(float((np.asarray(moves) * losses).sum()), rel=1e-9)
    assert 0 < own - losses.sum(axis=0).min() <= bound.value == pytest.approx(np.sqrt(400 * np.log(3)))
    big = ExponentiatedGradient(FullGradient(), 1.0)
    state = big.init(None, jo.game.Specs.of_vectors(3))
    assert np.isfinite(big.w(state._replace(theta=jnp.asarray([0.0, -1e30, -1e6], jnp.float32)))).all()


def test_exponentiated_gradient_with_decreasing_steps_has_linear_regret(x64):
    """One expert has the loss 1 for 0.3 T rounds, the other one afterwards."""
    bound, regrets = bounds.exponentiated_gradient(2, 1.0, 1000), []
    for step in (bound.step_size, jo.InverseSqrt(np.sqrt(np.log(2)))):
        for n_rounds in (250, 1000):
            losses = np.where(np.arange(n_rounds)[:, None] < 0.3 * n_rounds, [[0.0, 1.0]], [[1.0, 0.0]])
            own = total_loss(lambda g, step=step: ExponentiatedGradient(g, step), losses)
            regrets.append(own - losses.sum(axis=0).min())
    assert np.all(regrets[:2] <= bound.at_rounds([250, 1000]))
    assert regrets[3] > 3.9 * regrets[2] > 3.9 * 95
    assert np.isinf(bound.at_rounds([250, 1000], eta=0.8)).all()


@pytest.mark.long
def test_online_newton_step_is_below_its_bound_and_beats_gradient_descent(x64):
    """Squared loss, |x| <= sqrt(3), |y_hat - y| <= 1 + sqrt(3)/2 = M, alpha = 1/(2 M^2); the regret hardly grows."""
    M, x_bound = 1 + np.sqrt(3) / 2, np.sqrt(3)
    regrets = []
    for n_rounds in (500, 4000):
        X, y = data(5, n_rounds)
        bound = bounds.online_newton_step(1 / (2 * M**2), 2 * M * x_bound, 1.0, D, n_rounds)
        learner = OnlineNewtonStep(FullGradient(), bound.gamma, bound.epsilon, radius=0.5)
        steps = bounds.full_information(0.5, x_bound, 1.0, n_rounds)
        both = [learner, GradientLearner(FullGradient(), steps.step_size, radius=0.5)]
        best = float(jo.L2Ball(0.5).best_loss(jo.comparators.cumulative_statistic(jo.L2Ball(0.5), *rows(X, y))))
        own = [((np.asarray(played(each, rows(X, y))[0]) - y) ** 2).sum() - best for each in both]
        assert -1e-6 < own[0] <= bound.value
        assert own[1] <= steps.value
        regrets.append(own)
    assert regrets[1][0] - regrets[0][0] < 0.3 * (regrets[1][1] - regrets[0][1])


def test_one_point_gradients_are_unbiased_for_the_smoothed_loss(x64):
    """In one dimension by enumeration, u = -1 or +1, of a loss that is not a polynomial."""
    loss, w, delta = (lambda v: jnp.exp(2 * v[0]) + jnp.abs(v[0])), jnp.asarray([0.1]), 0.3
    learner = GradientBandit(delta=delta, step_size=0.1)

    def estimate(key):
        move = learner.predict(key, w, ())
        return learner.update(key, w, LossOfMoveOracle((), move, loss(move)))[1].gradient

    drawn = np.asarray(jax.jit(jax.vmap(estimate))(jax.random.split(KEY, 64)))[:, 0]
    estimates = drawn.min(), drawn.max()
    assert min(estimates) < 0 < max(estimates)
    assert np.isclose(drawn[:, None], estimates, rtol=1e-12).any(axis=1).all(), "there are two"
    slope = (np.exp(0.8) + 0.4 - np.exp(-0.4) - 0.2) / (2 * delta)
    assert verify.unbiased(None, slope, support=[(0.5, each) for each in estimates]).verdict == "within tolerance"
    assert abs(slope - (2 * np.exp(0.2) + 1)) > 0.05, "the slope of the loss itself is different"


def lengths_of_draws(moves, targets, *, delta, step, radius, one=1.0, power=2.0):
    """The loop uses the learner's moves: the length of u, in each round, if the move is w + delta u."""
    w, lengths = np.zeros(D), []
    for move, target in zip(moves, targets, strict=True):
        u = (move - w) / delta
        lengths.append(np.linalg.norm(u))
        w = w - step * one * D / delta * np.linalg.norm(move - target) ** power * u
        w = w * min(1.0, (radius - delta) / np.linalg.norm(w))
    return lengths


def test_gradient_bandit_equals_its_numpy_loop(x64):
    """The moves have the distance delta from w, and from no other w of a loop with other constants."""
    constants = {"delta": 0.3, "step": 0.01, "radius": 0.45}
    learner, loss = GradientBandit(delta=0.3, step_size=0.01, radius=0.45), SquaredDistance()
    targets = np.random.default_rng(0).normal(size=(40, D)) / 4
    game = jo.Game(DataStream(None, targets), jo.LossOfMove(loss), loss=loss)
    moves = np.asarray(jo.play(game, learner, KEY, 40)[1].y_hat)
    np.testing.assert_allclose(lengths_of_draws(moves, targets, **constants), 1.0, rtol=1e-9)
    assert np.linalg.norm(moves, axis=1).max() <= 0.45 * (1 + 1e-12)
    for name, value in (constants | lengths_of_draws.__kwdefaults__).items():
        lengths = lengths_of_draws(moves, targets, **constants | {name: 1.05 * value})
        assert np.abs(np.array(lengths) - 1).max() > 1e-4, name


@pytest.mark.long
def test_gradient_bandit_is_below_its_bound():
    """Linear losses of a fixed vector, |loss| <= 1: 64 runs, in the mean with 6 standard errors (false alarm 1e-9).
    A learner that does not move has the regret T, above the bound."""
    n_rounds, y = 4000, np.array([0.6, 0.8])
    bound = bounds.gradient_bandit(1.0, 1.0, 1.0, 2, n_rounds)
    learner, loss = GradientBandit(bound.delta, bound.step_size), ExpectedLoss()
    game = jo.Game(DataStream(None, y[None]), jo.LossOfMove(loss), loss=loss)
    history = jax.vmap(lambda key: jo.play(game, learner, key, n_rounds)[1])(jax.random.split(KEY, 64))
    assert np.linalg.norm(history.y_hat, axis=-1).max() <= 1 + 1e-6
    regrets = np.asarray(history.loss, float).sum(axis=1) + n_rounds
    assert regrets.mean() + 6 * regrets.std(ddof=1) / 8 < min(bound.value, n_rounds)
    assert history.queries.tolist() == np.ones((64, n_rounds)).tolist()


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
    for factory in (lambda: optax.sgd(1.0), lambda rate=1.0: optax.sgd(rate), lambda *_: optax.sgd(1.0)):
        assert structure(optimizer=factory) == structure(optimizer=optax.sgd(1.0))
    assert structure(optimizer=by_hand(0.5)) != structure(optimizer=by_hand(0.5))
    assert structure(step_size=lambda t: 0.1 + 0.0 * t) != structure(step_size=lambda t: 0.1 + 0.0 * t)
