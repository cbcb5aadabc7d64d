"""Gradient descent by any optax transformation, exponentiated gradient, Newton steps, and one-point gradients: NumPy
loops, closed forms, general optimisers, and theorems."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from convex_rows import KEY, D, data, rows
from full_rounds import played
from scipy import optimize
from tiers import some

import jaxonline as jo
from jaxonline import bounds, verify
from jaxonline.environments import DataStream
from jaxonline.estimators import FullGradient
from jaxonline.feedback import LossOfMoveOracle
from jaxonline.learners import (
    EWA,
    ExponentiatedGradient,
    GradientBandit,
    GradientLearner,
    Hedge,
    OnlineNewtonStep,
)
from jaxonline.learners.gradient.descent import _project
from jaxonline.losses import Absolute, ExpectedLoss, Hinge, Huber, Logistic, SquaredDistance

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
LOSSES = {
    "absolute": (Absolute(), lambda a, y: np.sign(a - y)),
    "huber": (Huber(0.3), lambda a, y: np.clip(a - y, -0.3, 0.3)),
    "hinge": (Hinge(), lambda a, y: -y * (y * a < 1)),
    "logistic": (Logistic(), lambda a, y: -y / (1 + np.exp(y * a))),
}


@pytest.mark.parametrize("loss_name", some(LOSSES, "absolute"))
@pytest.mark.parametrize("name", some(TRANSFORMATIONS, "momentum"))
def test_descent_with_optax_transformations_and_losses_equals_numpy(name, loss_name):
    """w <- projection of w + step times optax's update; the gradients of the losses are written by hand."""
    transformation, (loss, slope) = TRANSFORMATIONS[name], LOSSES[loss_name]
    X, y = data(1, 12, classes=loss.kind == "classification")
    with jax.numpy_dtype_promotion("standard"):  # of optax's own counters
        learner = GradientLearner(FullGradient(loss), jo.InverseSqrt(0.2), radius=0.4, optimizer=transformation)
        moves = played(learner, rows(X.astype(np.float32), y.astype(np.float32)))[0]
        w, expected, state = np.zeros(D), [], transformation.init(jnp.zeros(D))
        update = jax.jit(transformation.update)
        for t, (x, label) in enumerate(zip(X, y, strict=True), start=1):
            expected.append(w @ x)
            gradient = jnp.asarray(slope(w @ x, label) * x, jnp.float32)
            step, state = update(gradient, state, jnp.asarray(w, jnp.float32))
            w = w + 0.2 / np.sqrt(t) * np.asarray(step, float)
            w = w * min(1.0, 0.4 / max(np.linalg.norm(w), 1e-30))
    np.testing.assert_allclose(moves, expected, rtol=1e-3, atol=1e-5)
    assert np.ptp(expected) > 0.05


def linear_regret(learner, gradients):
    """Regret on linear losses <w, g_t>, to the best vector of the l2 ball of radius 1 and of the simplex."""
    n_rounds = len(gradients)
    X = jnp.asarray(gradients)

    @jo.struct
    class Linear:
        def __call__(self, y_hat, y):
            return y_hat

        def gradient(self, y_hat, y):
            return jnp.ones_like(y_hat)

    own = float(played(learner(FullGradient(Linear())), (X, jnp.zeros(n_rounds, X.dtype)))[0].sum())
    total = gradients.sum(axis=0)
    return own + np.linalg.norm(total), own - total.min()


def test_gradient_descent_is_below_its_bound_and_reaches_half_of_it(x64):
    """The bound is D G sqrt(T) from any start, and half of it from the centre."""
    rng = np.random.default_rng(0)
    gradients = rng.choice([-1.0, 1.0], size=(200, 1)) * np.array([[0.6, 0.8, 0.0]])
    bound = bounds.projected_gradient(2.0, 1.0, 200)
    half = bounds.gradient_descent(1.0, 1.0, 200)
    assert bound.value == 2 * half.value == pytest.approx(2 * np.sqrt(200))
    for step in (bound.step_size, half.step_size):
        regret = linear_regret(lambda g, step=step: GradientLearner(g, step, radius=1.0), gradients)[0]
        assert half.value / 20 < regret <= (bound.value if step == bound.step_size else half.value)
    zinkevich = (2.0**2 / (2 * 0.3) + 0.3) * np.sqrt([1.0, 200.0])  # (D^2 / (2 eta) + eta G) sqrt(T)
    np.testing.assert_allclose(bound.at_rounds([1, 200], eta=0.3), zinkevich, rtol=1e-14)
    np.testing.assert_allclose(half.at_rounds([1, 200], eta=0.3), zinkevich, rtol=1e-14)
    constant = np.tile([[0.6, 0.8, 0.0]], (200, 1))
    regret = linear_regret(lambda g: GradientLearner(g, half.step_size, radius=1.0), constant)[0]
    assert 0.5 * half.value < regret <= half.value


@pytest.mark.parametrize("signed", some([False, True], True))
def test_exponentiated_gradient_equals_its_numpy_loop(x64, signed):
    X, y = data(2)
    scale, step = 1.5, 0.3
    p, expected = np.ones(2 * D if signed else D), []
    for x, label in zip(X, y, strict=True):
        p = p / p.sum()
        w = scale * (p[:D] - p[D:] if signed else p)
        expected.append(w @ x)
        g = 2 * (w @ x - label) * x * scale
        p = p * np.exp(-step * (np.concatenate([g, -g]) if signed else g))
    learner = ExponentiatedGradient(FullGradient(), step, scale, signed)
    np.testing.assert_allclose(played(learner, rows(X, y))[0], expected, rtol=1e-10, atol=1e-13)


@pytest.mark.long
def test_exponentiated_gradient_with_momentum_equals_its_numpy_loop(x64):
    """Momentum, and steps eta / sqrt(t)."""
    X, y = data(2)
    p, momentum, expected = np.ones(D), np.zeros(D), []
    for t, (x, label) in enumerate(zip(X, y, strict=True), start=1):
        w = p / p.sum()
        expected.append(w @ x)
        momentum = 0.5 * momentum + 2 * (w @ x - label) * x
        p = p * np.exp(-0.4 / np.sqrt(t) * momentum)
    learner = ExponentiatedGradient(FullGradient(), jo.InverseSqrt(0.4), optimizer=optax.sgd(1.0, momentum=0.5))
    np.testing.assert_allclose(played(learner, rows(X, y))[0], expected, rtol=1e-9, atol=1e-12)


def test_exponentiated_gradient_on_linear_losses_equals_hedge_and_is_below_its_bound(x64):
    rng = np.random.default_rng(3)
    losses = np.clip(np.array([0.4, 0.5, 0.6]) + 0.4 * rng.normal(size=(200, 3)), -1, 1)
    bound = bounds.exponentiated_gradient(3, 1.0, 200)
    regret = linear_regret(lambda g: ExponentiatedGradient(g, bound.step_size), losses)[1]
    moves = played(Hedge(EWA(bound.step_size)), ((), jnp.asarray(losses)))[0]
    assert regret == pytest.approx(float((np.asarray(moves) * losses).sum() - losses.sum(axis=0).min()), rel=1e-9)
    assert 0 < regret <= bound.value == pytest.approx(np.sqrt(400 * np.log(3)))
    big = ExponentiatedGradient(FullGradient(), 1.0)
    state = big.init(None, jo.game.Specs.of_vectors(3))
    assert np.isfinite(big.w(state._replace(theta=jnp.asarray([0.0, -1e30, -1e6], jnp.float32)))).all()


def test_exponentiated_gradient_with_decreasing_steps_has_linear_regret(x64):
    """One expert has the loss 1 for 0.3 T rounds, the other one afterwards: the regret is linear in T."""
    bound = bounds.exponentiated_gradient(2, 1.0, 1000)
    regrets = {}
    for step in (bound.step_size, jo.InverseSqrt(np.sqrt(np.log(2)))):
        for n_rounds in (250, 1000):
            losses = np.where(np.arange(n_rounds)[:, None] < 0.3 * n_rounds, [[0.0, 1.0]], [[1.0, 0.0]])
            regrets[step, n_rounds] = linear_regret(lambda g, step=step: ExponentiatedGradient(g, step), losses)[1]
    constant, falling = ([regrets[step, T] for T in (250, 1000)] for step, _ in list(regrets)[::2])
    assert np.all(constant <= bound.at_rounds([250, 1000]))
    assert falling[1] > 3.9 * falling[0] > 3.9 * 95
    assert np.isinf(bound.at_rounds([250, 1000], eta=0.8)).all()


def newton_loop(X, y, gamma, epsilon, radius):
    """Projections use a general root finder."""
    w, A, scores, outside = np.zeros(D), epsilon * np.eye(D), [], 0
    for x, label in zip(X, y, strict=True):
        scores.append(w @ x)
        g = 2 * (w @ x - label) * x
        A = A + np.outer(g, g)
        z = w - np.linalg.solve(A, g) / gamma
        w = z
        if np.linalg.norm(z) > radius:
            outside += 1
            mu = optimize.brentq(
                lambda mu, A=A, z=z: np.linalg.norm(np.linalg.solve(A + mu * np.eye(D), A @ z)) - radius,
                0,
                1e6,
                xtol=1e-14,
            )
            w = np.linalg.solve(A + mu * np.eye(D), A @ z)
    return scores, outside


def test_online_newton_step_equals_its_numpy_loop(x64):
    X, y = data(4, 30)
    scores, outside = newton_loop(X, y, 0.2, 0.5, 0.4)
    learner = OnlineNewtonStep(FullGradient(), gamma=0.2, epsilon=0.5, radius=0.4)
    moves, states, _ = played(learner, rows(X, y))
    np.testing.assert_allclose(moves, scores, rtol=1e-7, atol=1e-9)
    assert np.linalg.norm(states.w, axis=1).max() <= 0.4 * (1 + 1e-12)
    assert 0 < outside < 30


@pytest.mark.long
def test_projection_in_the_norm_of_a_matrix_agrees_with_slsqp(x64):
    """Against SLSQP, for spectra that differ by a factor of 1e6."""
    for values in ([1.0, 1.0, 1.0], [1e-3, 1.0, 1e3], [5.0, 5.0, 1e-2]):
        z, values = np.array([2.0, -1.0, 3.0]), np.array(values)
        optimum = optimize.minimize(
            lambda v, values=values, z=z: values @ (v - z) ** 2 / values.max(), 0.1 * z, method="SLSQP",
            constraints=[{"type": "ineq", "fun": lambda v: 0.49 - v @ v}], options={"ftol": 1e-14, "maxiter": 500},
        )  # fmt: skip
        v = np.asarray(_project(jnp.asarray(z), jnp.asarray(values), jnp.asarray(0.7)))
        assert np.linalg.norm(v) == pytest.approx(0.7, rel=1e-9)
        assert values @ (v - z) ** 2 <= values @ (optimum.x - z) ** 2 * (1 + 1e-9)
        np.testing.assert_allclose(v, optimum.x, atol=2e-3)


@pytest.mark.long
def test_online_newton_step_is_below_its_bound_and_beats_gradient_descent(x64):
    """Squared loss in the ball of radius 1/2: |x| <= sqrt(3), |y_hat - y| <= 1 + sqrt(3)/2 = M, alpha = 1/(2 M^2). The
    regret of Newton steps hardly grows, which that of gradient descent with a step for the horizon does."""
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


def one_point(learner, w, loss):
    """The estimate of a round at w, from the learner's move and update."""

    def estimate(key):
        move = learner.predict(key, w, ())
        oracle = LossOfMoveOracle((), move, loss(move))
        return learner.update(key, w, oracle)[1].gradient

    return estimate


def test_one_point_gradients_are_unbiased_for_the_smoothed_loss(x64):
    """In one dimension by enumeration, u = -1 or +1: the mean is the slope of the loss smoothed over [w - delta,
    w + delta], of a loss that is not a polynomial; the slope at w itself is different."""
    loss, w, delta = (lambda v: jnp.exp(2 * v[0]) + jnp.abs(v[0])), jnp.asarray([0.1]), 0.3
    learner = GradientBandit(delta=delta, step_size=0.1)
    keys = jax.random.split(KEY, 64)
    drawn = np.asarray(jax.jit(jax.vmap(one_point(learner, w, loss)))(keys))[:, 0]
    estimates = drawn.min(), drawn.max()
    assert min(estimates) < 0 < max(estimates)
    assert np.isclose(drawn[:, None], estimates, rtol=1e-12).any(axis=1).all(), "there are two"
    slope = (np.exp(0.8) + 0.4 - np.exp(-0.4) - 0.2) / (2 * delta)
    assert verify.unbiased(None, slope, support=[(0.5, each) for each in estimates]).verdict == "within tolerance"
    assert abs(slope - (2 * np.exp(0.2) + 1)) > 0.05, "the slope of the loss itself is different"


@pytest.mark.long
@pytest.mark.parametrize("factor", [1.0, 1 / 3])
def test_one_point_gradients_are_unbiased_in_three_dimensions(x64, factor):
    """By sampling, on a quadratic loss, whose gradient smoothing does not change: false alarm 1e-9, a bias of 25 % of
    the largest entry is found; without the factor d it is 67 %."""
    target, w, learner = jnp.asarray([0.5, 0.0, -0.2]), jnp.asarray([0.2, -0.1, 0.3]), GradientBandit(0.5, 0.1)
    estimate = one_point(learner, w, lambda v: SquaredDistance()(v, target))
    # |g| <= (d / delta) max loss
    most = 3 / 0.5 * (float(jnp.linalg.norm(w - target)) + 0.5) ** 2
    result = verify.unbiased(
        lambda key: factor * estimate(key), np.asarray(2 * (w - target)), range=(-most, most), detect=0.25
    )
    assert result.verdict == ("within tolerance" if factor == 1.0 else "biased")


def test_gradient_bandit_equals_its_numpy_loop(x64):
    """The loop uses the learner's moves, each at the distance delta from w."""
    learner, loss = GradientBandit(delta=0.3, step_size=0.01, radius=0.45), SquaredDistance()
    targets = np.random.default_rng(0).normal(size=(40, D)) / 4
    game = jo.Game(DataStream(None, targets), jo.LossOfMove(loss), loss=loss)
    moves = np.asarray(jo.play(game, learner, KEY, 40)[1].y_hat)
    w, clipped = np.zeros(D), 0
    for move, target in zip(moves, targets, strict=True):
        u = (move - w) / 0.3
        assert np.linalg.norm(u) == pytest.approx(1.0, rel=1e-9)
        w = w - 0.01 * D / 0.3 * np.sum((move - target) ** 2) * u
        clipped += np.linalg.norm(w) > 0.15
        w = w * min(1.0, 0.15 / np.linalg.norm(w))
    assert 0 < clipped < 40
    assert np.linalg.norm(moves, axis=1).max() <= 0.45 * (1 + 1e-12)


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
