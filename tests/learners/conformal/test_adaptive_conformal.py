"""Adaptive conformal prediction: a NumPy loop, p-values, and the theorem, which holds in every run."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from full_rounds import played

import jaxonline as jo
from jaxonline import bounds
from jaxonline.estimators import FullGradient
from jaxonline.learners import AdaptiveConformal, GradientLearner
from jaxonline.losses import Miscoverage, Pinball

pytestmark = pytest.mark.fast_compile
T, N, ALPHA, STEP = 300, 19, 0.213, 0.0537  # no level equals a p-value
CALIBRATION = np.random.default_rng(7).normal(size=N)


def streams():
    """Scores [T]: a shift, an adversary's (far above, then far below all thresholds), and always below."""
    rng = np.random.default_rng(0)
    far = np.where(np.arange(T) < T // 2, 1e6, -1e6)
    return {
        "shift": np.where(np.arange(T) < T // 2, 1.0, 3.0) * rng.normal(size=T),
        "far": far,
        "low": np.full(T, -1e6),
        "high": np.full(T, 1e6),
    }


def loop(scores, step, rolling, finite=False):
    """Thresholds and misses. The quantile is NumPy's, of the scores and infinity; `finite` thresholds are wrong."""
    alpha_t, known, thresholds, missed = ALPHA, CALIBRATION, [], []
    for score in scores:
        if alpha_t >= 1:
            threshold = -np.inf
        elif alpha_t < 1 / (len(known) + 1):
            threshold = np.inf
        else:
            threshold = np.quantile(known, min((1 - alpha_t) * (1 + 1 / len(known)), 1), method="inverted_cdf")
        if finite:
            threshold = np.clip(threshold, known.min(), known.max())
        thresholds.append(threshold)
        missed.append(score > threshold)
        alpha_t += step * (ALPHA - missed[-1])
        known = np.append(known[1:], score) if rolling else known
    return np.array(thresholds), np.array(missed)


@pytest.mark.parametrize("rolling", [False, True])
def test_thresholds_equal_those_of_a_numpy_loop(x64, rolling):
    """The fixed scores have infinite, minus infinite and finite thresholds."""
    learner = AdaptiveConformal(CALIBRATION, ALPHA, STEP, rolling=rolling)
    kinds = set()
    for scores in streams().values():
        moves, _, info = played(learner, ((), jnp.asarray(scores)))
        thresholds, missed = loop(scores, STEP, rolling)
        np.testing.assert_array_equal(moves, thresholds)
        np.testing.assert_array_equal(info.missed, missed)
        kinds |= set(np.where(np.isfinite(thresholds), 0.0, np.sign(thresholds)))
    assert rolling or kinds == {-1.0, 0.0, 1.0}


def test_levels_equal_gradient_descent_on_the_pinball_loss_of_p_values(x64):
    """The level alpha_t follows the conformal p-value of the score, (1 + number of scores at least as large) / (n + 1).

    Gibbs and Candes (2021), section 2. Gradient descent starts at 0, so its targets are p-values minus alpha."""
    scores = streams()["shift"]
    p_values = (1 + (scores[:, None] <= CALIBRATION).sum(axis=1)) / (N + 1)
    states = played(AdaptiveConformal(CALIBRATION, ALPHA, STEP), ((), jnp.asarray(scores)))[1]
    descent = GradientLearner(FullGradient(Pinball(ALPHA)), STEP)
    w = played(descent, (jnp.ones((T, 1)), jnp.asarray(p_values - ALPHA)))[1].w[:, 0]
    np.testing.assert_allclose(states.alpha, ALPHA + np.asarray(w), atol=1e-13)
    assert np.ptp(states.alpha) > 0.2


def largest_ratio(missed, bound):
    """The largest ratio, over the rounds, of the error of the coverage to its bound."""
    t = np.arange(1, T + 1)
    return np.max(np.abs(np.cumsum(missed) / t - ALPHA) / [bound(int(n)) for n in t])


def test_error_of_the_coverage_is_below_the_bound_after_every_round_of_every_stream(x64):
    """The bound is nearly reached. A learner whose thresholds are always finite breaks it."""

    def bound(t):
        return bounds.adaptive_conformal(ALPHA, STEP, t)

    ratios = []
    for rolling in (False, True):
        learner = AdaptiveConformal(CALIBRATION, ALPHA, STEP, rolling=rolling)
        ratios += [
            largest_ratio(played(learner, ((), jnp.asarray(scores)))[2].missed, bound) for scores in streams().values()
        ]
    assert 0.9 < max(ratios) <= 1 + 1e-12
    assert largest_ratio(loop(streams()["high"], STEP, False, finite=True)[1], bound) > 10
    assert largest_ratio(loop(streams()["shift"], 0.0, False)[1], bound) > 1  # split conformal


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


def test_split_conformal_covers_what_exchangeability_gives(x64):
    """One of n + 1 exchangeable scores has a uniform rank: the coverage is k / (n + 1), k = ceil((n + 1) (1 - alpha)).

    Each of 20 scores is left out once: an enumeration, without sampling."""
    values = np.random.default_rng(2).normal(size=N + 1)
    for alpha in (0.2, 0.33, 0.05, 0.04):
        covered = 0
        for i in range(N + 1):
            learner = AdaptiveConformal(np.delete(values, i), alpha, 0.0)
            state = learner.init(None, jo.game.Specs((), jax.ShapeDtypeStruct((), jnp.float64)))
            covered += bool(values[i] <= learner.predict(None, state, ()))
        assert covered == int(np.ceil(round((N + 1) * (1 - alpha), 9)))


def test_measures_of_coverage_equal_those_of_the_history():
    game = jo.Game(jo.environments.ShiftingScores([1.0, 2.0], 20), jo.FullInformation(), Miscoverage())
    learner, key = AdaptiveConformal([0.5], 0.25, 0.1), jax.random.key(3)
    measures = [jo.Coverage(8), jo.CoverageError(0.25)]
    result = jo.simulate(game, learner, n_runs=2, n_rounds=40, key=key, measures=measures, record_at=[5, 30, 40])
    missed = np.diff(
        jo.simulate(game, learner, n_runs=2, n_rounds=40, key=key, record_at=40).measures["cumulative_loss"][0],
        axis=-1, prepend=0.0,
    )  # fmt: skip
    for i, t in enumerate((5, 30, 40)):
        coverage = 1 - missed[:, max(t - 8, 0) : t].mean(axis=1)
        np.testing.assert_allclose(result.measures["coverage_of_last_8"][0, :, i], coverage, atol=1e-6)
        error = np.abs(missed[:, :t].mean(axis=1) - 0.25)
        np.testing.assert_allclose(result.measures["coverage_error"][0, :, i], error, atol=1e-6)


def test_scores_must_be_numbers():
    game = jo.Game(jo.environments.BernoulliArms([0.2, 0.4]), jo.FullInformation(), jo.losses.ExpectedLoss())
    with pytest.raises(ValueError, match="outcome: must be a number, a score"):
        jo.play(game, AdaptiveConformal([1.0], 0.1, 0.1), jax.random.key(0), 2)
