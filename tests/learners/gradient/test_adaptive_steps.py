"""Steps 1 / (mu t) for strongly convex losses, AdaGrad and thresholds: NumPy loops, an exact mean, and theorems."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from convex_rows import D, data, rows
from full_rounds import played
from scipy import optimize

import jaxonline as jo
from jaxonline import bounds
from jaxonline.estimators import FullGradient
from jaxonline.learners import GradientLearner, InverseTime
from jaxonline.losses import Hinge, Pinball

pytestmark = pytest.mark.fast_compile


def test_mean_regret_on_coin_flips_is_exactly_one_plus_a_harmonic_number(x64):
    """All 256 sequences of eight outcomes -1 or +1 under (w - y)^2, where the hypothesis is the mean so far."""
    n_rounds = 8
    outcomes = np.array(list(itertools.product([-1.0, 1.0], repeat=n_rounds)))

    def mean_regret(eta):
        learner = GradientLearner(FullGradient(), InverseTime(eta), radius=1.0)
        moves = jax.vmap(lambda y: played(learner, (jnp.ones((n_rounds, 1)), y))[0])(jnp.asarray(outcomes))
        return np.mean(((np.asarray(moves) - outcomes) ** 2).sum(axis=1) - n_rounds * outcomes.var(axis=1))

    eta = bounds.strongly_convex(2.0, 4.0, n_rounds).eta
    assert mean_regret(eta) == pytest.approx(1 + sum(1 / t for t in range(1, n_rounds)), rel=1e-12)
    assert mean_regret(eta / 2) != pytest.approx(mean_regret(eta), rel=1e-2)


def test_regret_on_strongly_convex_losses_is_below_the_logarithmic_bound(x64):
    """The squared loss of a number, after every round; steps that are ten times too small break the bound."""
    n_rounds = 1000
    rng = np.random.default_rng(0)
    bound = bounds.strongly_convex(2.0, 4.0, n_rounds)
    t = np.arange(1, n_rounds + 1)
    halves = np.where(t <= n_rounds // 2, 1.0, -1.0)
    sequences = np.ones(n_rounds), halves, (-1.0) ** t, rng.uniform(-1, 1, n_rounds)

    def largest_ratio(eta, y):
        learner = GradientLearner(FullGradient(), InverseTime(eta), radius=1.0)
        moves = np.asarray(played(learner, (jnp.ones((n_rounds, 1)), jnp.asarray(y)))[0])
        best = np.cumsum(y**2) - np.cumsum(y) ** 2 / t
        return np.max((np.cumsum((moves - y) ** 2) - best) / bound.at_rounds(t))

    assert max(largest_ratio(bound.eta, y) for y in sequences) <= 1
    assert largest_ratio(bound.eta / 10, sequences[0]) > 2
    assert bound.value == bound.at_rounds(n_rounds) == pytest.approx(4 * (1 + np.log(1000)))


def test_regret_on_regularised_hinge_losses_is_below_the_bound(x64):
    """The hinge loss plus mu |w|^2 / 2 in three dimensions (Pegasos), to the best predictor that SciPy finds."""
    mu, n_rounds = 0.5, 200
    X, y = data(6, n_rounds, classes=True)
    decayed = optax.chain(optax.add_decayed_weights(mu), optax.scale(-1.0))
    learner = GradientLearner(FullGradient(Hinge()), InverseTime(1 / mu), optimizer=decayed)
    states = played(learner, rows(X, y))[1]
    W = np.vstack([np.zeros(D), states.w[:-1]])

    def losses(w):
        return np.maximum(1 - y * (X @ w if w.ndim == 1 else (X * w).sum(axis=1)), 0) + mu / 2 * (w * w).sum(axis=-1)

    smooth = optimize.minimize(lambda w: losses(w).sum(), W[-1], method="Powell", options={"xtol": 1e-10})
    largest = np.linalg.norm(X, axis=1).max()  # |w| <= largest / mu, so gradients are at most 2 largest
    bound = bounds.strongly_convex(mu, 2 * largest, n_rounds)
    regret = losses(W).sum() - smooth.fun
    assert 0 < regret <= bound.value


def adagrad_loop(X, y, step, radius):
    w, squares, moves, gradients = np.zeros(X.shape[1]), np.zeros(X.shape[1]), [], []
    for x, target in zip(X, y, strict=True):
        moves.append(w @ x)
        gradients.append(2 * (w @ x - target) * x)
        squares = squares + gradients[-1] ** 2
        w = np.clip(w - step * gradients[-1] / np.sqrt(np.where(squares > 0, squares, 1)), -radius, radius)
    return np.array(moves), np.array(gradients)


def sparse_rows(n_rounds=120):
    """Attributes that are present in 1, 1/4 and 1/16 of the rounds, and one that is never present."""
    rng = np.random.default_rng(8)
    X = rng.choice([-1.0, 1.0], size=(n_rounds, 4)) * (rng.uniform(size=(n_rounds, 4)) < [1, 0.25, 1 / 16, 0])
    return X, X @ np.array([0.2, -0.9, 0.9, 0.5]) + 0.1 * rng.normal(size=n_rounds)


def linear_regret(gradients, step, radius, power=0.5):
    """Regret on linear losses <w, g_t> to the best corner of the box, of a NumPy loop."""
    w, squares, own = np.zeros(gradients.shape[1]), np.zeros(gradients.shape[1]), 0.0
    for g in gradients:
        own += w @ g
        squares = squares + g**2
        w = np.clip(w - step * g / np.where(squares > 0, squares, 1) ** power, -radius, radius)
    return own + radius * np.abs(gradients.sum(axis=0)).sum()


def test_regret_of_adagrad_is_below_its_bound():
    """On linear losses and on squared losses. Steps with the sum of squares in the place of its root break the bound:
    they are too small after the gradients change their sign."""
    rng, radius, n_rounds = np.random.default_rng(9), 0.7, 4000
    t, step = np.arange(n_rounds)[:, None], bounds.adagrad(radius, [1.0]).step_size
    changing = np.where(t < [1000, 2000, 2800], 1.0, -1.0)
    ratios = []
    for gradients, power in (
        (rng.normal(size=(n_rounds, 3)) * [1.0, 0.1, 10.0], 0.5),
        (np.where(t % [1, 7, 50] == 0, 1.0, 0.0), 0.5),
        (changing, 0.5),
        (changing[:, :1], 1.0),
    ):
        bound = bounds.adagrad(radius, np.linalg.norm(gradients, axis=0)).value
        ratios.append(linear_regret(gradients, step, radius, power) / bound)
    assert 0.2 < max(ratios[:3]) <= 1 < 1.5 < ratios[3]
    X, y = sparse_rows(2000)
    moves, gradients = adagrad_loop(X, y, step, radius)
    found = optimize.lsq_linear(X[:, :3], y, bounds=(-radius, radius))
    bound = bounds.adagrad(radius, np.linalg.norm(gradients, axis=0)).value
    assert 0 < ((moves - y) ** 2).sum() - 2 * found.cost <= bound


T, ALPHA = 300, 0.213


def largest_ratio(missed, bound):
    t = np.arange(1, T + 1)
    return np.max(np.abs(np.cumsum(missed) / t - ALPHA) / [bound(int(n)) for n in t])


def test_gradient_descent_on_the_pinball_loss_of_scores_is_below_its_bound(x64):
    """Scores in [-b, b]; the bound is nearly reached, and the bound for half of b does not hold."""
    b, step = 2.0, 0.1
    rng = np.random.default_rng(1)
    rows = {"high": np.full(T, b), "low": np.full(T, -b), "random": rng.uniform(-b, b, T)}
    learner = GradientLearner(FullGradient(Pinball(1 - ALPHA)), step)
    ratios, wrong = [], []
    for scores in rows.values():
        moves = np.asarray(played(learner, (jnp.ones((T, 1)), jnp.asarray(scores)))[0])
        ratios.append(largest_ratio(scores > moves, lambda t: bounds.quantile_tracking(b, step, t)))
        wrong.append(largest_ratio(scores > moves, lambda t: bounds.quantile_tracking(b / 2, step, t)))
    assert 0.9 < max(ratios) <= 1
    assert max(wrong) > 1.5


@pytest.mark.long
def test_measures_of_coverage_equal_those_of_the_history():
    scores = np.random.default_rng(3).uniform(size=40) * np.repeat([1.0, 2.0], 20)
    stream = jo.environments.DataStream(np.ones((40, 1)), scores, order="iid")
    game = jo.Game(stream, jo.FullInformation(), Pinball(0.75))
    learner = GradientLearner(FullGradient(Pinball(0.75)), 0.1)
    measures, key = [jo.Coverage(8), jo.CoverageError(0.25)], jax.random.key(3)
    result = jo.simulate(game, learner, n_runs=2, n_rounds=40, key=key, measures=measures, record_at=[5, 30, 40])
    for run in range(2):
        history = jo.play(game, learner, jax.random.fold_in(key, run), 40)[1]
        missed = np.asarray(history.y > history.y_hat)
        assert 0 < missed.sum() < 40
        for i, t in enumerate((5, 30, 40)):
            coverage = 1 - missed[max(t - 8, 0) : t].mean()
            np.testing.assert_allclose(result.measures["coverage_of_last_8"][0, run, i], coverage, atol=1e-6)
            error = np.abs(missed[:t].mean() - 0.25)
            np.testing.assert_allclose(result.measures["coverage_error"][0, run, i], error, atol=1e-6)
