"""Errors that name the argument, for mistakes that a declaration of types and ranges does not exclude.

`test_generated_calls` tests declared types and ranges. Here are components of a wrong kind, entries of arrays,
relations between arguments, and arguments of methods.
"""

import dataclasses
import functools

import jax
import numpy as np
import optax
import pytest
from bad_calls import MASKED, NOT_NUMBERS, Row, check, grouped, row, rows

import jaxonline as jo
from benchmarks.papers.engines.kernels import aggregate, expert_forecasts, forecast
from jaxonline import bounds, comparators, datasets, environments, estimators, feedback, kernels, learners, losses
from jaxonline.environments.adversaries import indistinguishable_pair
from jaxonline.estimators.fourier import Dictionary
from jaxonline.feedback import noise
from jaxonline.kernels import shift_invariant as radial
from jaxonline.results import statistics
from jaxonline.simulation import measures, record_rounds
from jaxonline.study import Report

ERRORS = TypeError, ValueError
X, Y = np.arange(6.0).reshape(3, 2) / 6, np.array([1.0, -1.0, 1.0])
KEY = jax.random.key(0)
GAUSS, EXP, LAW = kernels.Gaussian(2.0), kernels.ExponentialKernel(), estimators.Geometric(2.0)
MAP = estimators.DotProductFeatureMap(EXP, LAW)
LENGTH = estimators.GradientLength.for_loss(losses.Squared(), LAW, 1.0)
DICTIONARY = Dictionary(np.zeros((2, 1, 2)))
STREAM, FULL = environments.DataStream(X, Y), feedback.FullInformation()
COPIES = feedback.NoisyCopies(noise.gaussian(0.1))
GAME = jo.Game(STREAM, FULL)
LEARNER = jo.GradientLearner(estimators.FullGradient(), 0.1)
HALF = learners.EWA(0.5)


def kinds_calls():
    for name, call, *wrong in (
        ("kernel", lambda kernel: radial.truncate(kernel, 1.0), GAUSS, radial.Cauchy),
        ("loss", lambda loss: jo.RKHSBall(GAUSS, 1.0, loss), losses.ZeroOne()),
        ("combiner", learners.Hedge, learners.Perceptron(), learners.Hedge(HALF)),
        ("estimator", lambda estimator: learners.KernelGradient(GAUSS, estimator, 0.1, 3), estimators.TwoCopies()),
        ("feedback", lambda own: jo.play(GAME, jo.WithFeedback(LEARNER, own), KEY, 3), None, 3.0, STREAM),
        ("comparator", lambda ball: comparators.cumulative_statistic(ball, X, Y), comparators.BestSegments(2)),
        ("outcomes", lambda y: comparators.BestSegments(2).best_losses(None, y, np.array([1])), np.zeros(3)),
        ("schedule", learners.Schedule, lambda: 0.1, lambda _: np.ones(2)),
        ("step_size", lambda step: jo.GradientLearner(estimators.FullGradient(), step), optax.adam(0.1)),
        ("optimizer", lambda value: jo.GradientLearner(estimators.FullGradient(), 0.1, optimizer=value), optax.adam),
    ):
        yield from rows(name, call, TypeError, *wrong)


def arrays_calls():
    for name, call, *wrong in (
        ("covariance", noise.gaussian, [[1.0, 2.0], [0.0, 1.0]], -np.eye(2), [[1.0, 2.0], [2.0, 1.0]], np.ones((2, 3)),
         -1.0, np.ones((2, 2, 2)), [-1.0, 1.0]),
        ("covariance", lambda c: estimators.Surrogate(GAUSS, c, 2), -1.0, [-1.0, 1.0], 3.0, np.nan),
        ("covariance", lambda c: feedback.Replicates(X[None], None, c), -1.0, [np.inf], [1.0] * 4, [1.0]),
        ("X", lambda X: environments.DataStream(X, Y), np.full((3, 2), 1e39), X[:2], np.zeros((3, 0))),
        ("y", lambda y: environments.DataStream(X, y), [1e39, 1.0, 1.0], [1.0], 1.0),
        ("y", lambda y: feedback.Replicates(X[None], y), Y, [[np.inf]], X),
        ("delay", lambda delay: jo.Delayed(jo.Bandit(), delay), -1, [1, -2]),
        ("weights", environments.LinearModel, [1e39], np.eye(2)),
        ("weights", lambda weights: environments.ContextualLinearArms(weights, 2), [1e39]),
        ("coefficients", environments.Autoregressive, [1e39], np.eye(2), [0.5, 0.5], [-1.0], [1.5], [0.0, -1.01]),
        ("direction", indistinguishable_pair, [2.0], [1.0, 1.0], np.eye(2)),
        ("direction", environments.SeparableData, [0.0, 0.0], [1e20, 0.0]),
        ("advice", environments.ContraryLabels, [1.0, 1.0]),
        ("starts", lambda at: environments.SwitchingArms(np.full((2, 2), 0.5), at), [1], [2, 3], [np.nan]),
        ("starts", lambda at: environments.SwitchingArms(np.full((3, 2), 0.5), at), [3, 2]),
        ("means", lambda means: environments.SwitchingArms(means, [2]), [0.5], np.full((2, 2), 1.5)),
        ("probabilities", estimators.FiniteDistribution, [0.5, 0.2], [-0.5, 1.5]),
        ("phases", lambda phases: estimators.FourierFeatures(X, phases), np.ones(2)),
        ("weights", lambda weights: radial.GaussianMixture([1.0, 1.0], weights), [1.0]),
        ("X", lambda X: comparators.best_in_rkhs_ball(GAUSS, X, Y, 1.0), X[:2]),
        ("y", lambda y: comparators.best_in_rkhs_ball(GAUSS, X, y, 1.0, losses.Logistic()), [0, 1, 0]),
        ("rounds", lambda at: jo.RKHSBall(GAUSS, 1.0).best_losses(X, Y, at), [], [0], [4], [2, 1], [1.5]),
        ("coefficients", lambda a: comparators.rkhs_norm(GAUSS, X, a), Y[:2]),
        ("coefficients", lambda a: comparators.positive_negative_angle(GAUSS, X, a), Y[:2]),
        ("X", lambda X: bounds.moment_bounds(X, Y), X[:2]),
        ("hinge_losses", lambda h: bounds.passive_aggressive("PA", 1.0, 1.0, h), [0.1]),
        ("experts", lambda X: aggregate(HALF, X, Y, dtype="float32"), X * np.nan, X[0], X[:2], 1e39 + X),
        ("Z", lambda Z: forecast(Z, Y, dtype="float32"), X * np.nan, X[0], X[:2], 1e39 + X),
        ("X", lambda X: expert_forecasts(DICTIONARY, X, Y, dtype="float32"), X * np.nan, X[0], X[:2]),
    ):  # fmt: skip
        yield from rows(name, call, ValueError, *wrong)
    for loss in (losses.Logistic(), losses.Hinge(), losses.ZeroOne(), losses.Exponential(), losses.SmoothedHinge(1.0)):
        for y in ([0, 1, 0], [1, 2, 1], Y / 2):
            stream = environments.DataStream(X, y)
            yield row(lambda stream=stream, loss=loss: jo.Game(stream, FULL, loss), ValueError, "y: must be -1 or +1")


def relations_calls():
    """Relations between two arguments; the text is that of the argument to change."""
    bound = bounds.two_copies(1.0, 1.0, 1.0, 10)
    stream = environments.DataStream(np.ones((3, 3)), Y)
    arms = environments.BernoulliArms([0.1, 0.2])
    for text, call in (
        ("draws: must be the number", lambda: bounds.largest_copies(X, Y, missed=0.1)),
        ("eta: must not be given with step_size", lambda: bound.at_rounds([1], step_size=1.0, eta=1.0)),
        ("rounds: must not be given", lambda: bounds.exp3(2, 9).at_rounds([1])),
        ("bound: must have a version", lambda: bounds.exp3(2, 9).in_any_environment()),
        ("C: must be a number above 0", lambda: learners.PassiveAggressive("PA-I", None)),
        ("n_switches", lambda: learners.FixedShare.over_horizon(2, 10, 10)),
        ("n_switches", lambda: bounds.fixed_share(2, 10, 10)),
        ("n_questions", lambda: learners.LabelEfficientHedge.over_horizon(2, 10, 11)),
        ("n_questions", lambda: bounds.label_efficient(2, 10, 11)),
        ("eta", lambda: learners.Aggregating(eta=3.0)),
        ("high", lambda: learners.Aggregating(0.0, 0.0)),
        ("low", lambda: learners.Aggregating(1.0)),
        ("high", lambda: learners.Truncated(HALF, 0.0, -1.0)),
        ("delta", lambda: learners.GradientBandit(1.0, 0.1)),
        ("n_attributes", lambda: estimators.AttributeGradient(3)),
        ("n_attributes", lambda: learners.AER(3, 1.0, 1.0)),
        ("n_attributes", lambda: learners.AERR(3, 1.0, 1.0)),
        ("n_attributes", lambda: learners.Baseline(5, 1.0)),
        ("dimension", lambda: estimators.Surrogate(GAUSS, 0.1)),
        ("student", lambda: noise.Noise(1.0, student=noise.StudentCoordinates(5.0))),
        ("student", lambda: noise.Noise(1.0, law=None)),
        ("margin", lambda: environments.SeparableData([1.0, 0.0], 2.0, 1.0)),
        ("n_relevant: must be less than dimension, 3", lambda: environments.SparseBooleans(3, 3)),
        ("n_required: must be at most n_relevant, 1", lambda: environments.SparseBooleans(3, 1, 2)),
        ("n_required: must be at most n_relevant, 3", lambda: bounds.winnow(9, 3, n_required=4)),
        ("n_relevant", lambda: bounds.winnow(5, 6)),
        ("promotion: must be less than r / (r - 1) = 2", lambda: bounds.winnow(9, 3, 2.0, n_required=2)),
        ("y_bound", lambda: bounds.noisy_kernel(MAP, LENGTH, 1.0, 0.1, 10)),
        ("n_rounds", lambda: bounds.explore_then_commit([0.0, 0.5], 6, 10)),
        ("covariance: must be None if noise is given",
         lambda: feedback.Replicates(X[None], None, 1.0, noise.gaussian(1.0))),
        ("budget", lambda: jo.Game(stream, feedback.Attributes(4))),
        ("covariance", lambda: jo.Game(STREAM, feedback.NoisyCopies(noise.gaussian([0.1] * 3)))),
        ("covariance", lambda: jo.Game(STREAM, feedback.NoisyCopies(noise.gaussian(np.eye(3))))),
        ("label_noise", lambda: jo.Game(STREAM, feedback.NoisyCopies(noise.gaussian(0.1), noise.gaussian([0.1])))),
        ("vector", lambda: jo.Game(STREAM, feedback.NoisyCopies(noise.TwoPoints([1.0, 2.0, 3.0])))),
        ("environment: must have as many rows as Replicates, 1",
         lambda: jo.Game(STREAM, feedback.Replicates(X[:1, None]))),
        ("mean_outcome", lambda: jo.Game(STREAM, FULL, pseudo=True)),
        ("means: must be in [0, 1]", lambda: jo.bandit_game([0.5, 3.0], True)),
        ("means: must be in [0, 1]", lambda: jo.bandit_game([0.5, -1.0])),
        ("means: must have 1 dimension", lambda: jo.bandit_game([[0.5, 0.1]], True)),
        ("starts: must be None if std", lambda: jo.bandit_game([[0.5, 0.1], [0.1, 0.5]], std=1.0, starts=[3])),
        ("environment: must not have rewards already", lambda: environments.Rewards(environments.Rewards(arms))),
        ("environment: must have vectors", lambda: environments.Rewards(environments.LinearModel([1.0]))),
        ("environment: must have rewards", lambda: environments.Rewards(environments.HiddenBestArm(3, 0.1))),
        ("loss: must be ArmLoss() or ExpectedLoss()",
         lambda: jo.Game(environments.Rewards(arms), jo.SemiBandit(), losses.SumOfArms())),
    ):  # fmt: skip
        yield row(call, ERRORS, text)
    yield row(lambda: bounds.exp3(2, 9).eta, AttributeError, "eta: this bound has no such attribute")


def methods_calls():
    bound = bounds.two_copies(1.0, 1.0, 1.0, 10)
    oracle = feedback.CopiesOracle(KEY, 1, X[0], Y[0], noise=lambda key, index: 0.0)  # type: ignore[arg-type]
    for name, call, *wrong in (
        ("step_size", lambda step: bound.at_rounds([1], step_size=step), 0.0, -1.0, np.nan, "1"),
        ("eta", lambda eta: bound.at_rounds([1], eta=eta), 0.0, -1.0, np.nan, "1"),
        ("rounds", lambda at: bound.at_rounds(at, step_size=0.1), None, "a", [-1.0], [np.nan]),
        ("n_terms", losses.Squared().coefficients, 0, 1.5, "3", True),
        ("a", losses.Exponential().majorant, -1.0, *NOT_NUMBERS),
        ("centre", lambda centre: losses.Exponential().coefficients(3, centre), np.nan, *NOT_NUMBERS),
        ("cut", lambda cut: radial.truncate(radial.Cauchy(1.0), cut), 0.0, -1.0, None),
        ("n_nodes", lambda n: radial.truncate(radial.Cauchy(1.0), 1.0, n), 0, 1.5),
        ("index", oracle.copy, -1, 1.5, True),
        ("seed", lambda seed: jo.Context(seed=seed), -1, 1.5),
        ("tables", Report, None, [1], {"a": [1]}),
        ("figures", lambda figures: Report({}, figures), [1], {"a": 1}),
        ("n_rounds", lambda n: record_rounds(n, 4), 0, 1.5),
        ("record_at", lambda at: record_rounds(10, at), [1.5, 3.0], 0, [11]),
        ("spacing", lambda spacing: record_rounds(10, 4, spacing), "lin", 3),
        ("learners", lambda other: jo.sweep([other]), None, 0.1, "a", learners.Perceptron, FULL),
        ("dtype", lambda dtype: aggregate(HALF, X, Y, dtype=dtype), "float16", 3),
        ("regularizer", lambda r: forecast(X, Y, regularizer=r, dtype="float32"), 0.0, -1.0, np.nan),
    ):
        yield from rows(name, call, ERRORS, *wrong)


def simulations_calls():
    def simulate(**changed):
        return jo.simulate(**{"game": GAME, "learners": LEARNER, "n_runs": 2, "n_rounds": 4} | changed)

    def given(name):
        return lambda value: simulate(**{name: value})

    yield from rows("learner", given("learners"), TypeError, [LEARNER], {"a": "b"}, {"a": None}, jo.GradientLearner)
    bad = {}, {"": LEARNER}, {"  ": LEARNER}, {"best in hindsight": LEARNER}, {"comparator": LEARNER}
    yield from rows("learners", given("learners"), ValueError, *bad, {"1": LEARNER, 1: LEARNER})
    yield from rows("learners", given("learners"), TypeError, {None: LEARNER}, {("a", 1): LEARNER})
    yield from rows("learners", given("learners"), ValueError, {"a[0]": LEARNER, "a": jo.sweep([LEARNER])})
    yield row(lambda: jo.sweep({"1": LEARNER, 1: LEARNER}), ERRORS, "labels")
    others = (
        jo.GradientLearner(estimators.TwoCopies(), 0.1), jo.replace(LEARNER, hypothesis="average"),
        jo.replace(LEARNER, radius=1.0), jo.replace(LEARNER, step_size=jo.InverseSqrt(0.1)),
        jo.GradientLearner(estimators.FullGradient(losses.Absolute()), 0.1),
    )  # fmt: skip
    yield from rows("learners", lambda other: jo.sweep([LEARNER, other]), ValueError, *others)
    yield from rows("key", given("key"), ValueError, 2**32, 2**64, -1, -(2**63) - 1)
    yield from rows("comparator", given("comparator"), TypeError, jo.BestArm(), LEARNER, jo.L2Ball)
    absolute = jo.Game(STREAM, FULL, losses.Absolute())
    yield row(lambda: simulate(game=absolute, comparator=jo.L2Ball(1.0)), ValueError, "comparator")
    bad = [jo.Mistakes], ["mistakes"], [None], "mistakes", jo.Mistakes(), [losses.Squared()]
    yield from rows("measures", given("measures"), TypeError, *bad)
    yield from rows("measures: Pulls", given("measures"), TypeError, [jo.Pulls()])
    yield from rows("distinct names", given("measures"), ValueError, [jo.Mistakes(), jo.Mistakes()])
    for name in ("regret", "comparator_loss", "first_nonfinite", "first_overflow", "learner", "run", "round"):
        named = jo.struct(type("Named", (measures.Queries,), {"name": name}))()
        yield from rows("measures", given("measures"), ValueError, [named])
    yield from rows("field", lambda field: simulate(measures=[jo.OfInfo(field)]), ValueError, "gradient_nrom", "length")
    yield from rows("over_rounds", lambda how: jo.OfInfo("gradient_norm", how), ValueError, "median")
    yield from rows("record_at", given("record_at"), ValueError, 0, -1, [0], [5], [-1], [0, 2])
    bad = [], [-1], [2], 0, [[0]], [0.5], "a", ["a"], [None], [True, False], MASKED, [1, 0, 1]
    yield from rows("runs", given("runs"), ERRORS, *bad)
    yield from rows(
        "mesh", given("mesh"), ERRORS, jax.devices(), jax.sharding.Mesh(np.array(jax.devices()[:1]), ("a",))
    )
    yield from rows("block_size", lambda n: simulate(n_runs=10, block_size=n), ValueError, 0, 10**9, 2**20 + 1)
    yield from rows("n_runs", given("n_runs"), ValueError, 0, 10**12)
    large = jo.Game(environments.LinearModel(np.full(600_000, 0.1)), jo.FullInformation())
    yield row(lambda: simulate(game=large, comparator=jo.L2Ball(1.0)), ValueError, "block_size")
    yield from rows(
        "step_size", lambda step: simulate(learners=jo.replace(LEARNER, step_size=step)), ValueError, 1e39
    )  # fmt: skip
    for estimator, bad in (  # feedbacks that do not answer the questions of a learner
        (estimators.TwoCopies(), (FULL, feedback.Attributes(2), feedback.Bandit())),
        (estimators.FullGradient(), (COPIES, feedback.Attributes(2))),
        (estimators.AttributeGradient(2), (FULL, COPIES)),
    ):
        for answers in bad:
            both = {"good": LEARNER, "this one": jo.WithFeedback(jo.GradientLearner(estimator, 0.1), answers)}
            yield row(functools.partial(simulate, learners=both), TypeError, "learners['this one']")
    known = jo.WithFeedback(jo.GradientLearner(estimators.KnownCovariance(), 0.1), COPIES)
    yield row(lambda: simulate(learners=known), ValueError, "covariance")
    few = jo.WithFeedback(jo.GradientLearner(estimators.AttributeGradient(2), 0.1), feedback.Attributes(1))
    yield row(lambda: simulate(learners=few), ValueError, "GradientLearner")
    # instances and outcomes that a learner, a loss or a comparator cannot use
    vectors = jo.Game(environments.DataStream(X, np.ones((3, 4))), FULL)
    matrices = jo.Game(environments.DataStream(np.ones((3, 2, 2)), Y), FULL)
    arms = jo.Game(environments.BernoulliArms([0.1, 0.9]), feedback.Bandit(), losses.ArmLoss())
    squared = dataclasses.replace(arms, loss=losses.Squared())
    for game, learner in (
        (vectors, LEARNER), (vectors, learners.Perceptron()), (vectors, learners.VAW(allow_float32=True)),
        (matrices, LEARNER), (matrices, learners.Perceptron()), (GAME, learners.Hedge(HALF)), (arms, LEARNER),
        (GAME, learners.EXP3(0.1)), (squared, learners.EXP3(0.1)),
    ):  # fmt: skip
        yield row(functools.partial(simulate, game=game, learners=learner), ERRORS, type(learner).__name__)
    ball = jo.RKHSBall(jo.kernels.Linear(), 1.0)
    yield row(lambda: simulate(game=arms, learners=learners.EXP3(0.1), comparator=ball), ValueError, "comparator")
    rewards = environments.Rewards(environments.DataStream(None, [[0.0, 3.0]]))
    table = jo.Game(rewards, feedback.Bandit(), losses.ArmLoss())
    yield row(lambda: simulate(game=table, learners=learners.UCB1()), ValueError, "y (rewards of arms for UCB1)")
    for shown, learner in ((jo.Delayed(jo.Bandit(), 5), learners.BOLD(learners.UCB1(), 4)),):
        late = dataclasses.replace(arms, feedback=shown)
        yield row(lambda late=late, learner=learner: simulate(game=late, learners=learner), ValueError, "max_delay")


def results_calls():
    loss = np.arange(12.0).reshape(2, 2, 3)
    counted = {"cumulative_loss": loss, "queries": loss, "pulls": np.ones((2, 2, 3, 2))}
    result = jo.Result(("first", "second"), np.arange(2), np.array([1, 2, 4]), counted, loss / 2)
    for call in (
        lambda level: result.mean(level=level), lambda level: result.table(level=level),
        lambda level: result.paired_difference("first", "second", level=level), lambda level: result.plot(level=level),
        lambda level: result.plot_final(level=level), lambda level: result.pulls_table(level=level),
        lambda level: statistics.mean_over_runs(np.ones((1, 2)), level),
        lambda level: result.quantile_interval(0.5, level=level),
    ):  # fmt: skip
        yield from rows("level", call, ERRORS, 0.0, 1.0, 95.0, np.nan, "1", None)
    for plot in (result.plot, result.plot_final, result.select("first").plot_sweep):
        yield from rows(
            "quantity", functools.partial(lambda plot, name: plot(quantity=name), plot), ValueError, "pulls"
        )
    for name, call, *wrong in (
        ("bounds", lambda bounds: result.table(bounds), {"frist": 1.0}, {"": 1.0}, {None: 1.0}, {"first": np.nan},
         {"first": np.ones(3)}, [1.0], "a", 3.0, {"first": "a"}),
        ("bounds", lambda bounds: result.plot(bounds=bounds), {"frist": np.ones(3)}, {"first": np.ones(2)}, [1.0]),
        ("quantity", result.values, "regrets"),
        ("quantity", result.mean, "regrets"),
        ("quantity", lambda quantity: result.growth(1, quantity), "regrets"),
        ("together", lambda n: statistics.mean_over_runs(np.ones((1, 2)), 0.9, n), 0, 1.5),
        ("first", lambda name: result.paired_difference(name, "second"), "frist"),
        ("second", lambda name: result.paired_difference("first", name), "secnd"),
        ("learners", result.select, "frist"),
        ("runs", lambda runs: result.select(runs=runs), [2], [-3], [0.5], "a", [[0]], 0, [True], None),
        ("first_round", result.growth, 4, 100, "a", np.nan, [1], 1j),
        ("probabilities", result.quantiles, -0.1, 1.1, [np.nan], [], "a", [None], 1j, None),
        ("probability", result.quantile_interval, 0.0, 1.0, -0.1),
        ("other", result.merge_runs, None, 3, "a", LEARNER, jo.Result),
        ("path", result.plot, 3, [1], b"x.png", "", "figure.exe"),
        ("cumulative_loss", lambda loss: jo.Result(("a",), np.arange(2), np.array([1]), {"cumulative_loss": loss}), 1.0,
         np.ones(3)),
        ("learners", lambda names: dataclasses.replace(result, learners=names), "ab", (), None, (1, 2)),
        ("rounds", lambda at: statistics.growth(at, np.ones((2, 2))), [1], [0, 1], "a", [1, np.nan]),
    ):  # fmt: skip
        yield from rows(name, call, ERRORS, *wrong)
    yield row(lambda: dataclasses.replace(result, comparator_loss=None).regret, ValueError, "comparator")


def verification_calls():
    def unbiased(**changed):
        return jo.verify.unbiased(**({"estimator": jax.random.normal, "target": 0.0} | changed))

    for name, *wrong in (
        ("target", np.nan, np.inf, np.zeros(2)),
        ("detect", 0.0, -1.0),
        ("level", 0.0, 1.0, 1.5),
        ("power", 0.0, 1.0, 1.5),
        ("samples", 0, 1.5),
        ("max_samples", 0, 1.5),
        ("width", 1),
        ("seed", -1),
        ("kurtosis", 0.5),
        ("method", "bernstien"),
        ("range", (0.0,), (1.0, 0.0), (0.0, np.nan), (0.0, 0.0), (np.zeros(2), np.ones(2)), 3.0, "ab", (None, 1.0)),
        ("support", [], [1.0], 3.0, [(0.5, 0.0)], [(2.0, 0.0), (-1.0, 0.0)], [(1.0, np.nan)], [(1.0, np.zeros(2))]),
        ("second_moment", -1.0, np.nan, np.ones(2)),
        ("cap_bias", -1.0, np.nan, [0.1]),
    ):
        yield from rows(name, lambda value, name=name: unbiased(**{name: value}), ERRORS, *wrong)
    yield row(lambda: unbiased(method="bernstein"), ValueError, "range")
    yield row(lambda: unbiased(method="enumeration"), ValueError, "support")
    normal = jax.random.normal
    yield from rows("limit", lambda limit: jo.verify.second_moment(normal, limit), ValueError, 0.0, -1.0, np.nan)
    yield from rows("exact", lambda exact: jo.verify.second_moment(normal, 1.0, exact=exact), ValueError, -1.0)
    yield from rows("value", lambda value: jo.verify.bound(value, 1.0), ERRORS, np.nan, [1.0])
    yield from rows("limit", lambda limit: jo.verify.bound(1.0, limit), ERRORS, 0.0, -1.0, np.nan)


def tracers_calls():
    """Numbers that must be concrete are traced by jit."""
    for name, make in (
        ("weights", environments.LinearModel),
        ("coefficients", environments.Autoregressive),
        ("means", environments.BernoulliArms),
        ("X", lambda X: environments.DataStream(X, np.ones(2))),
        ("probabilities", estimators.FiniteDistribution),
        ("coefficients", lambda table: estimators.SeriesEstimator(table, LAW)),
        ("n_copies", estimators.MeanOfCopies),
        ("n_terms", losses.Squared().coefficients),
        ("width", lambda width: estimators.best_feature_map(kernels.Gaussian(width[0]), 0.5)),
    ):
        yield row(lambda make=make: jax.jit(lambda value: make(value) and 0)(jax.numpy.ones(2)), TypeError, name)


GROUPS = (
    kinds_calls, arrays_calls, relations_calls, methods_calls, simulations_calls, results_calls, verification_calls,
    tracers_calls,
)  # fmt: skip
TABLE: list[Row] = [bad for calls in GROUPS for bad in calls()]


@pytest.mark.parametrize("calls", grouped(TABLE))
def test_bad_call_raises_error_that_names_the_argument(calls):
    check(calls)


def test_bad_call_of_data_sets_raises_error_that_names_the_argument(tmp_path):
    (tmp_path / "tiny.csv").write_text("a,b,label\n1,2,3\n4,5,6\n")
    load = functools.partial(datasets.load, "tiny", tmp_path)
    check([
        *rows("target", lambda at: load(target=at), TypeError, 1.5, [1], True, 1j),
        *rows("target", lambda at: load(target=at), ValueError, "lable", 7, -9, "1.5"),
        *rows("impute", lambda how: load(impute=how), ValueError, "meen", ""),
        *rows("name", lambda name: datasets.load(name, tmp_path), TypeError, None, 3, ["tiny"], 1.5),
        *rows("tinny", lambda name: datasets.load(name, tmp_path), ValueError, "tinny"),
        *rows("data", lambda data: datasets.load("tiny", data), ERRORS, 3, "nowhere", [3]),
        *rows("seed", lambda seed: datasets.ar4(10, seed), ERRORS, -1, 1.5),
    ])  # fmt: skip
