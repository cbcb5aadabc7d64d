"""A threshold of scores by gradient descent on the pinball loss: its bound in every run, and its measures."""

import jax
import jax.numpy as jnp
import numpy as np
from full_rounds import played

import jaxonline as jo
from jaxonline import bounds
from jaxonline.estimators import FullGradient
from jaxonline.learners import GradientLearner
from jaxonline.losses import Pinball

T, ALPHA = 300, 0.213


def largest_ratio(missed, bound):
    """The largest ratio, over the rounds, of the error of the coverage to its bound."""
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
