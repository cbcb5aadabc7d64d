"""Kernel learners under Gaussian noise: what the study finds and writes, and the facts that its figure shows."""

import dataclasses

import jax
import numpy as np
import pytest
from scipy import stats

import jaxonline as jo
from benchmarks.papers.comparison import BestOf
from benchmarks.papers.studies.gaussian_noise import (
    ALGORITHM_1,
    ALGORITHM_2,
    BOUND_TUNED,
    NAIVE,
    GaussianNoise,
    OnCopies,
)
from jaxonline.simulation.blocks import default_mesh
from jaxonline.study import Context

CONTEXT = Context(mesh=default_mesh(jax.devices()[:1]))
SMALL = GaussianNoise(runs=2, rounds=128, noises=[0.0, 0.3], etas=[0.06, 0.6])


@pytest.mark.long
def test_algorithm_2_beats_one_copy_and_the_mean_of_two_under_noise():
    """At noise 0.45 and equal queries. By how much the others' regret is larger, as a share of their own: above 20 %
    for each of them, false alarm below 1e-6 where it is 20 % (measured: 41 % and 67 %)."""
    study, others = GaussianNoise(rounds=1024), (NAIVE, "mean of 2 copies")
    names = (ALGORITHM_2, *others)
    tune = BestOf({f"{eta:g}": eta for eta in study.etas})
    played = study.problem(0).run(CONTEXT, 0.45, names, tune, n_runs=24, n_rounds=1024)
    regret = dict(zip(played.result.learners, played.result.regret[:, :, -1], strict=True))
    limit = stats.t.ppf(1 - 1e-6, 23)
    for name in others:
        excess = 0.8 * regret[name] - regret[ALGORITHM_2]
        assert excess.mean() / (excess.std(ddof=1) / np.sqrt(24)) > limit, name
    assert (played.result.select(ALGORITHM_2).mean().high[0] < played.bounds[ALGORITHM_2]).all()
    growths = {row["learner"]: row for row in played.rows()}
    assert growths[ALGORITHM_2]["slope_high"] < growths[NAIVE]["slope_low"]


def test_the_bound_tuned_learner_depends_only_on_the_bounds():
    """Its distributions are the same at every noise up to the largest, and for other rows of the same maxima; those of
    Algorithm 1 are not."""
    problem = SMALL.problem(0)
    longest, largest = np.argmax((problem.X**2).sum(axis=1)), np.argmax(np.abs(problem.y))
    X, y = 0.5 * problem.X, 0.5 * problem.y
    X[longest], y[largest] = problem.X[longest], problem.y[largest]
    others = dataclasses.replace(problem, X=X, y=y)
    step = jo.InverseSqrt(0.1)
    for name, alike in ((BOUND_TUNED, True), (ALGORITHM_1, False)):
        first, *rest = (
            [np.asarray(leaf) for leaf in jax.tree.leaves(own.makers(noise)[name](step))]
            for own, noise in ((problem, 0.3), (problem, 0.0), (others, 0.3))
        )
        for each in rest:
            same = all(a.shape == b.shape and (a == b).all() for a, b in zip(first, each, strict=True))
            assert same == alike, name


@pytest.mark.long
def test_the_regret_of_any_linear_learner_on_copies_is_linear():
    """Paper A, Appendix A, Eq. 5: with x = y = 1 and noise of variance 1, E (w x~ - y)^2 = (w - 1)^2 + w^2 >= 1/2 for
    every w, while the comparator, which sees x, has no loss: regret >= T/2, whatever the learner knows. The naive
    learner is the best one here: it comes within 10 % of the bound. Each comparison is wrong with probability 1e-6."""
    copies, rounds, runs = jo.NoisyCopies(jo.noise.gaussian(1.0)), 800, 256
    game = jo.Game(jo.environments.DataStream(np.ones((1, 1)), np.ones(1)), copies)

    def learner(estimator):
        return OnCopies(jo.GradientLearner(estimator, step_size=jo.InverseSqrt(0.2), radius=1.0), copies.noise)

    learners = {
        "full": jo.WithFeedback(learner(jo.estimators.FullGradient()), jo.FullInformation()),
        "two": learner(jo.estimators.TwoCopies()),
        "naive": learner(jo.estimators.NaiveCopy()),
    }
    sizes = {"n_runs": runs, "n_rounds": rounds, "record_at": [rounds], "mesh": CONTEXT.mesh}
    result = jo.simulate(game, learners, comparator=jo.L2Ball(1.0), **sizes)
    np.testing.assert_allclose(result.comparator_loss, 0.0, atol=1e-9)
    regret = result.regret[:, :, -1]
    error = stats.norm.ppf(1 - 1e-6) * regret.std(axis=1, ddof=1) / np.sqrt(runs)
    full, two, naive = regret.mean(axis=1)
    assert (regret.mean(axis=1) + error >= rounds / 2).all()
    assert naive + error[2] < 1.1 * rounds / 2
    assert full - error[0] > 0.95 * rounds
    assert two - error[1] > naive - error[2]


def test_bounds_are_against_the_target_and_not_the_best_in_hindsight():
    problem = GaussianNoise(rounds=256).problem(0)
    rounds = np.array([64, 256, 512])
    losses = problem.target_losses(rounds)
    best = problem.best_losses(rounds)
    assert (best < losses).all()
    assert (losses - best < 0.2 * losses).all()
    centres, a = problem.points, problem.coefficients
    assert centres is not None
    assert a is not None
    f = np.exp(-((problem.X[:, None] - centres[None]) ** 2).sum(axis=2)) @ a
    errors = (f - problem.y) ** 2
    np.testing.assert_allclose(losses, [errors[:64].sum(), errors.sum(), 2 * errors.sum()], rtol=1e-9)
    promised = problem.theorems(0.3, 512)[ALGORITHM_2]
    R = (1 - 2 * 0.09) ** -0.5  # (1 - 2 sigma^2 / s^2)^(-d/4) with d = 2
    W = np.sqrt(a @ (R**2 * np.exp(-((centres[:, None] - centres[None]) ** 2).sum(axis=2) / 0.82)) @ a)
    G = 4 * R**2 * (W * R + np.abs(problem.y).max()) ** 2
    assert (promised.radius, promised.G) == pytest.approx((W, G), rel=1e-6)
