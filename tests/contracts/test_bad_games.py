"""Parts of the classical games raise an error that names the argument, at construction.

As in `test_bad_calls`, the test runs the rows of a table and compiles nothing.
"""

import numpy as np
import optax
import pytest
from bad_calls import MASKED, Row, check, count, grouped, number, option, positive, rows, thing, vector

from jaxonline import bounds, comparators, environments, estimators, feedback, learners, losses

X, Y = np.arange(6.0).reshape(3, 2) / 6, np.array([1.0, -1.0, 1.0])
FULL, HALF = estimators.FullGradient(), learners.EWA(0.5)
NOT_FLAGS = ("yes", 1, None, 0.0, [True])


def not_negative(name, call):
    """An argument of at least 0."""
    yield from number(name, call, -1.0, -np.inf)


def fraction(name, call, *outside):
    """An argument in [0, 1]."""
    yield from number(name, call, -0.1, 1.1, *outside)


def experts_calls():
    combiners = (learners.EWA, learners.Perceptron(), learners.Hedge(HALF))
    yield from positive("eta", lambda eta: learners.FixedShare(eta, 0.1))
    yield from fraction("share", lambda share: learners.FixedShare(0.5, share))
    yield from count("n_experts", lambda n: learners.FixedShare.over_horizon(n, 10, 1), 2)
    yield from count("n_rounds", lambda n: learners.FixedShare.over_horizon(2, n, 1), 2)
    yield from count("n_switches", lambda n: learners.FixedShare.over_horizon(2, 10, n), 0)
    yield from positive("eta", learners.FollowTheRegularizedLeader)
    yield from option("regularizer", lambda name: learners.FollowTheRegularizedLeader(0.5, name), "entrpy")
    yield from positive("eta", learners.FollowThePerturbedLeader)
    yield from option("perturbation", lambda law: learners.FollowThePerturbedLeader(0.5, law), "gumbl")
    yield from count("n_experts", lambda n: learners.FollowThePerturbedLeader.over_horizon(n, 10), 2)
    yield from thing("combiner", learners.DrawnExpert, *combiners)
    yield from count("n_rounds", lambda n: learners.DrawnExpert.over_horizon(2, n))
    yield from thing("combiner", lambda combiner: learners.LabelEfficientHedge(combiner, 0.5), *combiners)
    yield from fraction("epsilon", lambda epsilon: learners.LabelEfficientHedge(HALF, epsilon), 0.0)
    yield from count("n_questions", lambda n: learners.LabelEfficientHedge.over_horizon(2, 10, n))
    yield from fraction("beta", learners.WeightedMajority, 0.0, 1.0)
    yield from rows("learner_for", learners.Doubling, TypeError, None, 3.0, "hedge", learners.Hedge(HALF))


def arms_calls():
    yield from not_negative("exploration", learners.UCB1)
    yield from not_negative("c", learners.KLUCB)
    yield from number("n_rounds", learners.MOSS, 0.0, -1.0)
    yield from number("pulls_each", learners.ExploreThenCommit, 0.0, -1.0)
    yield from not_negative("epsilon", learners.EpsilonGreedy)
    yield from not_negative("power", lambda power: learners.EpsilonGreedy(0.1, power))
    yield from count("n_arms", lambda n: learners.EpsilonGreedy.decreasing(n, 0.1))
    yield from number("gap", lambda gap: learners.EpsilonGreedy.decreasing(2, gap), 0.0, 1.1)
    yield from positive("c", lambda c: learners.EpsilonGreedy.decreasing(2, 0.1, c))
    yield from number("prior_ones", learners.BernoulliThompson, 0.5, -1.0)
    yield from number("prior_zeros", lambda b: learners.BernoulliThompson(1.0, b), 0.5, -1.0)
    yield from positive("noise_std", learners.GaussianThompson)
    yield from number("prior_mean", lambda mean: learners.GaussianThompson(1.0, mean))
    yield from positive("prior_std", lambda std: learners.GaussianThompson(1.0, 0.0, std))
    yield from positive("eta", lambda eta: learners.EXP3IX(eta, 0.1))
    yield from not_negative("gamma", lambda gamma: learners.EXP3IX(0.1, gamma))
    yield from positive("eta", lambda eta: learners.EXP3P(eta, 0.1, 0.1))
    yield from fraction("beta", lambda beta: learners.EXP3P(0.1, beta, 0.1))
    yield from fraction("exploration", lambda gamma: learners.EXP3P(0.1, 0.1, gamma))
    yield from number("delta", lambda delta: learners.EXP3P.over_horizon(2, 10, delta), 0.0, 1.1)
    for make in (learners.EXP3IX, learners.EXP3P):
        yield from count("n_arms", lambda n, make=make: make.over_horizon(n, 10), 2)
        yield from count("n_rounds", lambda n, make=make: make.over_horizon(2, n))
    yield from rows("combiner", learners.EXP4, TypeError, None, "a", learners.EWA)
    yield from rows("combiner", learners.EXP4, ValueError, -1.0, 0.0, np.nan)
    yield from fraction("exploration", lambda gamma: learners.EXP4(0.1, gamma))
    yield from count("n_experts", lambda n: learners.EXP4.over_horizon(n, 2, 10), 2)
    yield from count("n_arms", lambda n: learners.EXP4.over_horizon(2, n, 10))
    for make in (learners.LinUCB, learners.LinThompson):
        yield from not_negative("width", make)
        yield from positive("regularizer", lambda lam, make=make: make(1.0, lam))
    yield from positive("delta", lambda delta: learners.GradientBandit(delta, 0.1))
    yield from rows("delta", lambda delta: learners.GradientBandit(delta, 0.1), ValueError, 1.0, 2.0)
    yield from positive("step_size", lambda step: learners.GradientBandit(0.1, step))
    yield from positive("radius", lambda radius: learners.GradientBandit(0.1, 0.1, radius))
    yield from thing("loss", feedback.LossOfMove, losses.Squared)


def classifiers_and_steps_calls():
    yield from number("p", learners.PNormPerceptron, 1.5, -1.0)
    yield from number("promotion", learners.Winnow, 1.0, 0.5)
    yield from positive("threshold", lambda threshold: learners.Winnow(2.0, threshold), optional=True)
    yield from option("variant", learners.PassiveAggressive, "PA1")
    yield from positive("C", lambda C: learners.PassiveAggressive("PA-I", C))
    yield from rows("lazy", learners.Halving, TypeError, *NOT_FLAGS)
    newton = learners.OnlineNewtonStep
    yield from thing("estimator", lambda e: newton(e, 1.0, 1.0, 1.0), estimators.FullGradient)
    yield from positive("gamma", lambda gamma: newton(FULL, gamma, 1.0, 1.0))
    yield from positive("epsilon", lambda epsilon: newton(FULL, 1.0, epsilon, 1.0))
    yield from positive("radius", lambda radius: newton(FULL, 1.0, 1.0, radius))
    yield from thing("estimator", lambda e: learners.AdaGrad(e, 1.0, 1.0), estimators.FullGradient)
    yield from positive("step_size", lambda step: learners.AdaGrad(FULL, step, 1.0))
    yield from positive("radius", lambda radius: learners.AdaGrad(FULL, 1.0, radius))
    mirror = learners.MirrorLearner
    yield from thing("estimator", lambda e: mirror(e, 0.1, learners.LogBarrier()), estimators.FullGradient)
    yield from positive("step_size", lambda step: mirror(FULL, step, learners.LogBarrier()))
    yield from thing("mirror_map", lambda mirror_map: mirror(FULL, 0.1, mirror_map), learners.LogBarrier)
    yield from number("p", learners.PNorm, 1.5)
    yield from positive("scale", learners.Entropy)
    yield from rows("signed", lambda yes: learners.Entropy(1.0, yes), TypeError, *NOT_FLAGS)
    entropic = learners.ExponentiatedGradient
    yield from thing("estimator", lambda e: entropic(e, 0.1), estimators.FullGradient)
    yield from positive("step_size", lambda step: entropic(FULL, step))
    yield from positive("scale", lambda scale: entropic(FULL, 0.1, scale))
    yield from rows("signed", lambda yes: entropic(FULL, 0.1, signed=yes), TypeError, *NOT_FLAGS)
    yield from thing("optimizer", lambda o: entropic(FULL, 0.1, optimizer=o), optax.adam, "adam")
    yield from positive("eta", learners.InverseTime)


def environments_calls():
    yield from vector("means", environments.GaussianArms)
    yield from not_negative("std", lambda std: environments.GaussianArms([0.5], std))
    yield from count("n_arms", lambda n: environments.HiddenBestArm(n, 0.1))
    yield from number("gap", lambda gap: environments.HiddenBestArm(2, gap), 0.0, 0.6)
    yield from count("n_rounds", lambda n: environments.HiddenBestArm.over_horizon(2, n))
    yield from vector("means", environments.DriftingArms, [1.5], [-0.1])
    yield from not_negative("step", lambda step: environments.DriftingArms([0.5], step))
    bad = np.full((2, 2), np.nan), np.full((2, 2), 1.5), [0.5]
    yield from rows("means", lambda means: environments.SwitchingArms(means, [2]), ValueError, *bad)
    bad = [1], [2, 3], [np.nan]
    yield from rows("starts", lambda at: environments.SwitchingArms(np.full((2, 2), 0.5), at), ValueError, *bad)
    features = environments.ContextualLinearArms
    yield from vector("weights", lambda weights: features(weights, 2), [1e39])
    yield from count("n_arms", lambda n: features([1.0], n))
    yield from not_negative("noise_std", lambda std: features([1.0], 2, std))
    yield from positive("radius", lambda radius: features([1.0], 2, 0.0, radius))
    yield from vector("advice", environments.ContraryLabels, [1.0, 1.0])
    yield from count("n_experts", environments.ContraryLosses, 2)
    yield from rows("blind", lambda yes: environments.ContraryLosses(2, yes), TypeError, *NOT_FLAGS)
    yield from vector("errors", environments.FiniteClass, [1.5], [-0.1])
    yield from option("outcomes_are", lambda what: environments.FiniteClass([0.1], what), "loss")
    yield from count("n_experts", environments.SwitchingExperts, 2)
    yield from number("every", lambda n: environments.SwitchingExperts(2, n), 0.0, -1.0)
    yield from number("gap", lambda gap: environments.SwitchingExperts(2, 10, gap), 0.0, 1.1)
    yield from count("n_experts", environments.RandomWalkExperts)
    yield from positive("step", lambda step: environments.RandomWalkExperts(2, step))
    yield from fraction("start", lambda start: environments.RandomWalkExperts(2, 0.1, start))
    yield from vector("direction", environments.SeparableData, [0.0, 0.0])
    yield from positive("margin", lambda margin: environments.SeparableData([1.0, 0.0], margin))
    yield from positive("radius", lambda radius: environments.SeparableData([1.0, 0.0], 0.1, radius))
    yield from count("dimension", lambda d: environments.SparseBooleans(d, 1), 2)
    yield from count("n_relevant", lambda k: environments.SparseBooleans(5, k))
    yield from count("n_required", lambda r: environments.SparseBooleans(5, 2, r))
    yield from fraction("presence", lambda p: environments.SparseBooleans(5, 2, 1, p))
    yield from count("n_segments", comparators.BestSegments)
    yield from thing("loss", comparators.BestExpert, losses.Squared)


def bounds_calls():
    for bound, rest in (
        (bounds.exponential_weights, (10,)), (bounds.fixed_share, (10, 1)), (bounds.perturbed_leader, (10,)),
        (bounds.regularized_leader, (10,)), (bounds.label_efficient, (10, 5)),
    ):  # fmt: skip
        yield from count("n_experts", lambda n, b=bound, rest=rest: b(n, *rest), 2)
        yield from count("n_rounds", lambda n, b=bound, rest=rest: b(2, n, *rest[1:]))
    for bound in (bounds.exponential_weights, bounds.perturbed_leader, bounds.regularized_leader):
        yield from positive("eta", lambda eta, b=bound: b(2, 10, eta), optional=True)
    yield from count("n_experts", bounds.halving)
    yield from count("best_mistakes", lambda n: bounds.halving(2, n), 0)
    yield from fraction("beta", lambda beta: bounds.weighted_majority(2, beta, 0), 0.0, 1.0)
    yield from count("best_mistakes", lambda n: bounds.weighted_majority(2, 0.5, n), 0)
    yield from positive("constant", lambda c: bounds.doubling(c, 10))
    yield from count("n_rounds", lambda n: bounds.doubling(1.0, n))
    for bound in (bounds.exp3, bounds.minimax):
        yield from count("n_arms", lambda n, b=bound: b(n, 10), 2)
    for bound in (bounds.exp3_ix, bounds.exp3_p):
        yield from count("n_arms", lambda n, b=bound: b(n, 10, 0.1), 2)
        yield from fraction("delta", lambda delta, b=bound: b(2, 10, delta), 0.0, 1.0)
    yield from count("n_arms", lambda n: bounds.moss(n, 10))
    yield from count("n_experts", lambda n: bounds.exp4(n, 2, 10), 2)
    wrong = "10", None, 1j
    for bound in (bounds.exp3, bounds.moss, bounds.minimax, lambda K, T: bounds.ucb1([0.0, 0.5], T)):
        yield from rows("n_rounds", lambda n, b=bound: b(2, n), TypeError, *wrong)
        yield from rows("n_rounds", lambda n, b=bound: b(2, n), ValueError, 0, -1.0, np.nan)
    yield from vector("gaps", lambda gaps: bounds.ucb1(gaps, 10), [0.1, 0.2], [0.0, 1.5], [0.0, -0.1])
    yield from vector("means", bounds.lai_robbins, [0.0, 0.5], [0.5, 1.0])
    yield from count("pulls_each", lambda m: bounds.explore_then_commit([0.0, 0.5], m, 10))
    yield from positive("std", lambda std: bounds.explore_then_commit([0.0, 0.5], 2, 10, std))
    yield from positive("radius", lambda radius: bounds.perceptron(radius, 0.1))
    yield from positive("margin", lambda margin: bounds.perceptron(1.0, margin))
    yield from number("p", lambda p: bounds.p_norm_perceptron(p, 1.0, 0.1), 1.5)
    yield from count("n_relevant", lambda n: bounds.winnow(5, n))
    yield from number("promotion", lambda a: bounds.winnow(5, 2, a), 1.0)
    yield from count("n_required", lambda r: bounds.winnow(5, 2, 1.25, n_required=r))
    yield from option("variant", lambda v: bounds.passive_aggressive(v, 1.0, 1.0, [0.0]), "PA3")
    bad = [-0.1], [np.nan], MASKED
    yield from rows(
        "hinge_losses", lambda h: bounds.passive_aggressive("PA-I", 1.0, 1.0, h), (ValueError, TypeError), *bad
    )
    for bound, first in ((bounds.projected_gradient, 1.0), (bounds.exponentiated_gradient, 2)):
        yield from positive("gradient_bound", lambda G, b=bound, first=first: b(first, G, 10))
    yield from positive("diameter", lambda D: bounds.projected_gradient(D, 1.0, 10))
    yield from count("n_weights", lambda n: bounds.exponentiated_gradient(n, 1.0, 10), 2)
    yield from positive("exp_concavity", lambda a: bounds.online_newton_step(a, 1.0, 1.0, 2, 10))
    yield from count("dimension", lambda d: bounds.online_newton_step(1.0, 1.0, 1.0, d, 10))
    yield from positive("score_bound", lambda b: bounds.quantile_tracking(b, 0.1, 10))
    yield from positive("step_size", lambda step: bounds.quantile_tracking(1.0, step, 10))
    yield from positive("divergence", lambda D: bounds.mirror_descent(D, 1.0, 10))
    yield from positive("gradient_bound", lambda G: bounds.mirror_descent(1.0, G, 10))
    yield from positive("convexity", lambda mu: bounds.strongly_convex(mu, 1.0, 10))
    yield from positive("gradient_bound", lambda G: bounds.strongly_convex(1.0, G, 10))
    yield from count("n_rounds", lambda n: bounds.strongly_convex(1.0, 1.0, n))
    yield from positive("radius", lambda radius: bounds.adagrad(radius, [1.0]))
    yield from vector("gradient_norms", lambda norms: bounds.adagrad(1.0, norms), [-1.0])
    yield from positive("loss_bound", lambda C: bounds.gradient_bandit(1.0, C, 1.0, 2, 10))
    yield from positive("lipschitz", lambda L: bounds.gradient_bandit(1.0, 1.0, L, 2, 10))


TABLE: list[Row] = [
    bad
    for calls in (experts_calls, arms_calls, classifiers_and_steps_calls, environments_calls, bounds_calls)
    for bad in calls()
]  # fmt: skip


@pytest.mark.parametrize("calls", grouped(TABLE))
def test_bad_call_raises_error_that_names_the_argument(calls):
    check(calls)


def test_table_has_enough_rows():
    assert len(TABLE) >= 1000
