"""Constructors and functions of each package raise an error that names the argument, at the call.

The test runs the rows of a table and compiles nothing. Bounds are in `test_bad_bounds`, studies in `test_bad_studies`.
"""

import jax
import numpy as np
import optax
import pytest
from bad_call_parts import EXP, GAUSS, LAW, LENGTH, MAP, X, Y
from bad_calls import MASKED, Row, check, count, grouped, number, option, positive, row, rows, thing, vector

import jaxonline as jo
from benchmarks.papers.engines.kernels import aggregate, expert_forecasts, forecast
from jaxonline import comparators, environments, estimators, feedback, kernels, learners, losses
from jaxonline.environments.adversaries import indistinguishable_pair, unavoidable_regret
from jaxonline.estimators.fourier import Dictionary
from jaxonline.feedback import noise
from jaxonline.kernels import shift_invariant as radial

FULL, COPIES = estimators.FullGradient(), estimators.TwoCopies()
DICTIONARY = Dictionary(np.zeros((2, 1, 2)))
STORAGE = learners.Storage(1, 2, 2, 2, 2)
SURROGATE = estimators.Surrogate(GAUSS, [0.1, 0.1])
KEY = jax.random.key(0)


def losses_calls():
    yield from positive("scale", losses.SmoothedAbsolute)
    yield from positive("scale", losses.SmoothedHinge)
    yield from positive("delta", losses.Huber)
    yield row(lambda: losses.Huber(np.inf), ValueError, "delta: must be above 0 and finite (got inf")
    yield from number("tau", losses.Pinball, 0.0, 1.0, -0.1)
    yield from count("n_terms", losses.Squared().coefficients)
    yield from number("a", losses.Exponential().majorant, -1.0)
    yield from number("centre", lambda centre: losses.Exponential().coefficients(3, centre))


def kernels_calls():
    yield from positive("width", kernels.Gaussian)
    yield from positive("sigma", kernels.Gaussian.from_standard_deviation)
    yield from positive("scale", kernels.Laplacian)
    yield from count("degree", kernels.Homogeneous)
    yield from count("degree", kernels.Inhomogeneous)
    yield from positive("exponent", kernels.Binomial)
    yield from positive("scale", radial.RadialExponential)
    yield from positive("scale", radial.Cauchy)
    yield from positive("scale", kernels.Matern)
    yield from count("order", lambda order: kernels.Matern(1.0, order), 0)
    yield from positive("exponent", lambda exponent: radial.Cauchy(1.0, exponent))
    yield from vector("rates", lambda rates: radial.GaussianMixture(rates, [1.0, 1.0]), [-1.0, 1.0], [1.0])
    yield from vector("weights", lambda weights: radial.GaussianMixture([1.0, 1.0], weights), [-1.0, 1.0], [1.0])
    yield from vector("betas", kernels.PowerSeries, [-1.0])
    yield from thing("kernels", lambda kernel: kernels.Sum([kernel]), kernels.Gaussian, kernels.Linear())
    yield from rows("kernels", kernels.Sum, (TypeError, ValueError), None, [], "gauss", 3, GAUSS)
    yield from thing("kernel", lambda kernel: kernels.Scaled(kernel, 1.0), kernels.Gaussian)
    yield from number("factor", lambda factor: kernels.Scaled(GAUSS, factor), -1.0)
    yield from thing("kernel", lambda kernel: radial.truncate(kernel, 1.0), GAUSS, radial.Cauchy)
    yield from positive("cut", lambda cut: radial.truncate(radial.Cauchy(1.0), cut))
    yield from count("n_nodes", lambda n: radial.truncate(radial.Cauchy(1.0), 1.0, n))


def environments_calls():
    yield from vector("weights", environments.LinearModel, [1e39])
    yield from number("noise_std", lambda std: environments.LinearModel([1.0], std), -1.0)
    yield from positive("radius", lambda radius: environments.LinearModel([1.0], radius=radius))
    yield from option("instances", lambda law: environments.LinearModel([1.0], instances=law), "gausian")
    yield from vector("coefficients", environments.Autoregressive, [1.5], [1e39])
    yield from number("noise_std", lambda std: environments.Autoregressive([0.5], std), -1.0)
    yield from vector("means", environments.BernoulliArms, [1.5], [-0.1])
    bad = (np.full((3, 2), np.nan), np.full((3, 2), 1e39), np.ones((2, 2)), np.ones(3), np.zeros((0, 2)), 3.0)
    yield from rows("X", lambda X: environments.DataStream(X, Y), ValueError, *bad)
    bad = (X + 0j, X.astype(str), [[1.0], [1.0, 2.0], [3.0]], np.ma.masked_array(X, X > 0), {}, X > 0.5)
    yield from rows("X", lambda X: environments.DataStream(X, Y), TypeError, *bad)
    bad = ([np.nan, 1.0, 1.0], [1e39, 1.0, 1.0], [1.0], [], 1.0)
    yield from rows("y", lambda y: environments.DataStream(X, y), ValueError, *bad)
    bad = (Y + 0j, ["a", "b", "c"], None, np.ma.masked_array(Y, Y > 0), [None, 1.0, 1.0])
    yield from rows("y", lambda y: environments.DataStream(X, y), TypeError, *bad)
    yield from option("order", lambda order: environments.DataStream(X, Y, order), "shufled")
    yield from number("variance", environments.ChasingNoise, -1.0)
    yield from positive("skew", lambda skew: environments.ChasingNoise(1.0, skew))
    yield from number("memory", lambda memory: environments.ChasingNoise(1.0, memory=memory), -0.1, 1.0)
    yield from rows("always", lambda yes: environments.ChasingNoise(1.0, always=yes), TypeError, "yes", 1, None)
    yield from vector("direction", indistinguishable_pair, [2.0])
    yield from thing("loss", lambda loss: indistinguishable_pair(loss=loss), losses.Squared)
    yield from rows("reveal_covariance", lambda yes: indistinguishable_pair(reveal_covariance=yes), TypeError, "yes", 1)
    yield from positive("radius", unavoidable_regret)
    yield from thing("loss", lambda loss: unavoidable_regret(1.0, loss), losses.Squared)


def feedback_calls():
    for law in (noise.gaussian, noise.laplace, noise.uniform):
        yield from rows(
            "covariance", law, TypeError, 1j, "1", None, True, {}, MASKED, ["a"], [[1.0], [1.0, 2.0]], float
        )
        bad = (-1.0, np.nan, np.inf, [-1.0, 1.0], [], np.ones((2, 3)), [[1.0, 2.0], [0.0, 1.0]], -np.eye(2))
        yield from rows("covariance", law, ValueError, *bad, np.ones((2, 2, 2)), np.zeros((0, 0)))
    yield from number("degrees", lambda degrees: noise.student_t(1.0, degrees), 2.0, -1.0)
    yield from option("law", lambda law: noise.Noise(1.0, law), "laplac", optional=True)
    yield from rows("vector", noise.TwoPoints, TypeError, None, "1", 1j, MASKED, ["a"], float)
    yield from rows("vector", noise.TwoPoints, ValueError, np.nan, [np.inf], [])
    yield from number("rate", noise.FlippedLabels, 0.5, -0.1)
    yield from number("rate", lambda rate: noise.RareErrors(1.0, rate), 1.1, -0.1)
    yield from positive("size", lambda size: noise.RareErrors(size, 0.1))
    yield from rows("draw", noise.CustomNoise, TypeError, None, 1.0, "gaussian", noise.Noise)
    yield from rows("covariance", lambda c: noise.CustomNoise(lambda key, t, x: x, c), TypeError, 1.0, "yes", np.eye(2))
    yield from thing("noise", feedback.NoisyCopies, noise.Noise, noise.gaussian, 0.1)
    bad = 0.1, "g", noise.Noise, noise.gaussian
    yield from rows("label_noise", lambda law: feedback.NoisyCopies(noise.gaussian(1.0), law), TypeError, *bad)
    bad = "yes", 1, None, 0.0, [True]
    yield from rows(
        "reveal_covariance", lambda yes: feedback.NoisyCopies(noise.gaussian(1.0), None, yes), TypeError, *bad
    )
    yield from thing("adversary", feedback.AdversarialCopies, environments.ChasingNoise, noise.gaussian(1.0))
    bad = 0.1, "g", noise.gaussian
    chasing = environments.ChasingNoise(1.0)
    yield from rows("label_noise", lambda law: feedback.AdversarialCopies(chasing, law), TypeError, *bad)
    yield from rows(
        "X", feedback.Replicates, (TypeError, ValueError), None, "1", [[[1j]]], 1.0, X, [[[np.nan]]], [[[]]]
    )
    yield from rows("y", lambda y: feedback.Replicates(X[None], y), (TypeError, ValueError), "1", Y, [[np.inf]], X)
    yield from rows(
        "covariance", lambda c: feedback.Replicates(X[None], None, c), ValueError, -1.0, [np.inf], [1.0] * 4
    )
    yield from rows(
        "noise", lambda law: feedback.Replicates(X[None], noise=law), TypeError, "gauss", 3.0, [1], 0.1, noise.gaussian
    )
    yield from count("budget", feedback.Attributes)
    yield from count("index", _copies().copy, 0)


def _copies():
    return feedback.CopiesOracle(KEY, 1, X[0], Y[0], noise=lambda key, index: 0.0)  # type: ignore[arg-type]


def estimators_calls():
    yield from number("p", estimators.Geometric, 1.0, 0.5)
    yield from vector("probabilities", estimators.FiniteDistribution, [0.5, 0.2], [-0.5, 1.5])
    for make in (estimators.minimum_variance, estimators.cost_aware):
        yield from vector("coefficients", lambda table, make=make: make(table, 1.0))
        yield from positive("second_moment", lambda moment, make=make: make([1.0, 1.0], moment))
    yield from rows(
        "overhead", lambda c: estimators.cost_aware([1.0], 1.0, overhead=c), (TypeError, ValueError), 0, "1"
    )
    yield from count("n_copies", estimators.MeanOfCopies)
    yield from count("n_copies", estimators.PairsOfCopies, 2)
    for make in (estimators.FullGradient, estimators.NaiveCopy, lambda loss: estimators.MeanOfCopies(2, loss)):
        yield from thing("loss", make, losses.Squared, lambda y_hat, y: y_hat)
    yield from count("n_attributes", estimators.AttributeGradient, 2)
    yield from count("n_attributes", estimators.AttributePairs, 2)
    yield from rows("n_attributes", estimators.AttributeGradient, ValueError, 3)
    yield from option("law", lambda law: estimators.AttributeGradient(2, law), "l3")
    yield from vector("coefficients", lambda table: estimators.SeriesEstimator(table, LAW))
    yield from thing("law", lambda law: estimators.SeriesEstimator([1.0], law), estimators.Geometric, lambda: 1)
    yield from number("centre", lambda centre: estimators.SeriesEstimator([1.0], LAW, centre))
    yield from number("constant", lambda constant: estimators.SeriesEstimator([1.0], LAW, constant=constant))
    for_loss = estimators.SeriesEstimator.for_loss
    yield from thing("loss", lambda loss: for_loss(loss, LAW, 1.0), losses.Hinge(), losses.Squared)
    yield from thing("law", lambda law: for_loss(losses.Squared(), law, 1.0), estimators.Geometric)
    yield from positive("second_moment", lambda moment: for_loss(losses.Squared(), LAW, moment))
    yield from number("centre", lambda centre: for_loss(losses.Squared(), LAW, 1.0, centre=centre))
    yield from count("n_terms", lambda n: for_loss(losses.Exponential(), LAW, 1.0, n_terms=n), optional=True)
    bad = "yes", 1, None
    yield from rows(
        "constant_outside", lambda yes: for_loss(losses.Squared(), LAW, 1.0, constant_outside=yes), TypeError, *bad
    )
    yield from option("kind", lambda kind: estimators.GradientLength(LENGTH.series, kind), "regresion")
    yield from thing("series", lambda series: estimators.GradientLength(series, "regression"), LENGTH)
    yield from thing("kernel", lambda kernel: estimators.DotProductFeatureMap(kernel, LAW), GAUSS, kernels.Linear)
    yield from thing("law", lambda law: estimators.DotProductFeatureMap(EXP, law), estimators.Geometric)
    yield from thing("kernel", lambda kernel: estimators.GaussianFeatureMap(kernel, LAW), EXP, kernels.Gaussian)
    yield from thing("law", lambda law: estimators.GaussianFeatureMap(GAUSS, law), estimators.Geometric)
    yield from rows("pair_law", lambda law: estimators.GaussianFeatureMap(GAUSS, LAW, law), TypeError, 2.0, "geometric")
    yield from thing("kernel", lambda kernel: estimators.best_feature_map(kernel, 0.5), kernels.Gaussian)
    yield from positive("copy_moment", lambda moment: estimators.best_feature_map(GAUSS, moment))
    yield from positive("pair_moment", lambda m: estimators.best_feature_map(GAUSS, 0.5, m), optional=True)
    yield from thing("kernel", lambda kernel: estimators.Surrogate(kernel, 0.1, 2), EXP, kernels.Gaussian)
    bad = -1.0, np.nan, [-1.0, 1.0], [], 3.0
    yield from rows("covariance", lambda c: estimators.Surrogate(GAUSS, c, 2), ValueError, *bad)
    bad = "1", None, 1j, [1j], MASKED
    yield from rows("covariance", lambda c: estimators.Surrogate(GAUSS, c, 2), TypeError, *bad)
    yield from count("dimension", lambda d: estimators.Surrogate(GAUSS, 0.1, d), optional=True)
    yield from rows("dimension", lambda d: estimators.Surrogate(GAUSS, 0.1, d), ValueError, None)
    yield from thing("kernel", lambda kernel: estimators.radial_surrogate(kernel, 0.1, 1.0, 2), GAUSS)
    yield from positive("cut", lambda cut: estimators.radial_surrogate(radial.Cauchy(1.0), 0.1, cut, 2))
    bad = np.ones(3), np.full((2, 2), np.nan), np.zeros((0, 2))
    yield from rows("frequencies", estimators.FourierFeatures, ValueError, *bad)
    bad = None, "a", X + 0j, np.ma.masked_array(X, X > 0), [[1.0], [1.0, 2.0]]
    yield from rows("frequencies", estimators.FourierFeatures, TypeError, *bad)
    bad = np.ones(2), [np.nan, 1.0, 1.0], np.ones((3, 1))
    yield from rows("phases", lambda phases: estimators.FourierFeatures(X, phases), ValueError, *bad)
    yield from number("at_zero", lambda at_zero: estimators.FourierFeatures(X, None, at_zero), -1.0)
    draw = estimators.FourierFeatures.draw
    yield from thing("kernel", lambda kernel: draw(KEY, kernel, 2, 3), EXP, kernels.Gaussian)
    yield from count("dimension", lambda d: draw(KEY, GAUSS, d, 3))
    yield from count("n_frequencies", lambda n: draw(KEY, GAUSS, 2, n))
    yield from option("layout", lambda layout: draw(KEY, GAUSS, 2, 3, layout), "pairs")
    yield from rows("key", lambda key: draw(key, GAUSS, 2, 3), TypeError, None, "a", 1.5, X)
    yield from rows(
        "frequencies", Dictionary, (ValueError, TypeError), None, "a", X, np.full((1, 1, 1), np.nan), MASKED
    )
    yield from rows(
        "kernels", lambda ks: Dictionary.draw(KEY, ks, 2, 3), (ValueError, TypeError), [], None, [EXP], GAUSS
    )


def learners_calls():
    yield from positive("value", learners.Constant)
    yield from positive("eta", learners.InverseSqrt)
    yield from positive("eta", lambda eta: learners.Constant.over_horizon(eta, 10))
    yield from count("n_rounds", lambda n: learners.Constant.over_horizon(1.0, n))
    yield from rows("schedule", learners.Schedule, TypeError, None, 0.1, "cosine", lambda: 0.1, lambda _: np.ones(2))
    yield from positive("scale", lambda scale: learners.Schedule(optax.constant_schedule(1.0), scale))
    gradient = learners.GradientLearner
    yield from thing("estimator", lambda e: gradient(e, 0.1), estimators.TwoCopies)
    yield from positive("step_size", lambda step: gradient(COPIES, step))
    yield from rows("step_size", lambda step: gradient(COPIES, step), TypeError, learners.InverseSqrt)
    yield from positive("radius", lambda radius: gradient(COPIES, 0.1, radius), optional=True)
    yield from thing("optimizer", lambda o: gradient(COPIES, 0.1, optimizer=o), optax.adam, "adam")
    yield from thing("projection", lambda p: gradient(COPIES, 0.1, projection=p), jo.L2Ball)
    yield from option("hypothesis", lambda h: gradient(COPIES, 0.1, hypothesis=h), "averaged")
    yield from positive("regularizer", learners.VAW)
    yield from rows("forward", lambda yes: learners.VAW(forward=yes), TypeError, "yes", 1, None)
    yield from rows("allow_float32", lambda yes: learners.VAW(allow_float32=yes), TypeError, "yes", 1)
    yield from rows("features", lambda f: learners.VAW(features=f), TypeError, 3.0, "rbf", estimators.FourierFeatures)
    for make in (learners.BOA, learners.MLPoly, learners.MLProd):
        yield from positive("initial", make)
    yield from positive("eta", learners.EWA)
    yield from thing("combiner", learners.Hedge, learners.EWA, learners.Perceptron(), learners.Hedge(learners.EWA(1.0)))
    yield from count("n_experts", lambda n: learners.Hedge.over_horizon(n, 10), 2)
    yield from rows("combiner", learners.EXP3, TypeError, None, "a", learners.EWA)
    yield from rows("combiner", learners.EXP3, ValueError, -1.0, 0.0, np.nan)
    yield from number("exploration", lambda gamma: learners.EXP3(0.1, gamma), -0.1, 1.1)
    yield from count("n_arms", lambda n: learners.EXP3.over_horizon(n, 10), 2)
    yield from thing("combiner", learners.OverAdvice, learners.EWA)
    yield from thing("loss", lambda loss: learners.OverAdvice(learners.EWA(1.0), loss), losses.Squared)
    yield from number("low", learners.Aggregating, 1.0, 2.0)
    yield from number("high", lambda high: learners.Aggregating(0.0, high), 0.0, -1.0)
    yield from positive("eta", lambda eta: learners.Aggregating(eta=eta), optional=True)
    yield from rows("eta", lambda eta: learners.Aggregating(eta=eta), ValueError, 3.0)
    yield from thing("loss", lambda loss: learners.Aggregating(loss=loss), losses.Squared)
    yield from thing("learner", learners.Truncated, learners.EWA, learners.Perceptron)
    yield from number("high", lambda high: learners.Truncated(learners.EWA(1.0), 0.0, high), 0.0)
    yield from thing("learner", lambda learner: learners.WithFeatures(learner, DICTIONARY), learners.Perceptron)
    yield from thing("features", lambda f: learners.WithFeatures(learners.Perceptron(), f), estimators.FourierFeatures)
    yield from thing("dictionary", learners.Raker, Dictionary)
    yield from number("penalty", lambda penalty: learners.Raker(DICTIONARY, penalty=penalty), -1.0)
    yield from thing("dictionary", lambda d: learners.MultiKernel(d, learners.EWA(1.0)), Dictionary)
    yield from thing("combiner", lambda c: learners.MultiKernel(DICTIONARY, c), learners.EWA)
    yield from thing("expert", lambda e: learners.MultiKernel(DICTIONARY, learners.EWA(1.0), e), learners.VAW)
    kernel_gradient = learners.KernelGradient
    yield from thing("kernel", lambda kernel: kernel_gradient(kernel, FULL, 0.1, 3), kernels.Gaussian)
    yield from thing("estimator", lambda e: kernel_gradient(GAUSS, e, 0.1, 3), COPIES, estimators.FullGradient)
    yield from positive("step_size", lambda step: kernel_gradient(GAUSS, FULL, step, 3))
    yield from count("n_rounds", lambda n: kernel_gradient(GAUSS, FULL, 0.1, n))
    yield from positive("radius", lambda radius: kernel_gradient(GAUSS, FULL, 0.1, 3, radius), optional=True)
    yield from thing("surrogate", lambda s: learners.SurrogateKernel(s, 0.1, 3), GAUSS, estimators.Surrogate)
    yield from count("n_rounds", lambda n: learners.SurrogateKernel(SURROGATE, 0.1, n))
    yield from thing("feature_map", lambda m: learners.NoisyKernel(m, LENGTH, 0.1, 1.0, STORAGE), GAUSS)
    yield from thing("gradient_length", lambda g: learners.NoisyKernel(MAP, g, 0.1, 1.0, STORAGE), LENGTH.series)
    yield from thing("storage", lambda s: learners.NoisyKernel(MAP, LENGTH, 0.1, 1.0, s), learners.Storage)
    yield from positive("radius", lambda r: learners.NoisyKernel(MAP, LENGTH, 0.1, r, STORAGE), optional=True)
    yield from count("repetitions", lambda n: learners.NoisyKernel(MAP, LENGTH, 0.1, 1.0, STORAGE, n))
    yield from count("tensor_levels", lambda n: learners.Storage(n, 2, 2, 2, 2), 0)
    yield from count("n_chunks", lambda n: learners.Storage(1, 2, 2, 2, n))
    for_horizon = learners.Storage.for_horizon
    yield from count("dimension", lambda d: for_horizon(MAP, LENGTH, d, 10))
    yield from count("n_rounds", lambda n: for_horizon(MAP, LENGTH, 2, n))
    yield from count("repetitions", lambda n: for_horizon(MAP, LENGTH, 2, 10, repetitions=n))
    yield from number("risk", lambda risk: for_horizon(MAP, LENGTH, 2, 10, risk), 0.0, 1.0)
    yield from thing("feature_map", lambda m: for_horizon(m, LENGTH, 2, 10), GAUSS)
    yield from thing("length", lambda g: for_horizon(MAP, g, 2, 10), LENGTH.series)


def attributes_calls():
    for make in (learners.AER, learners.AERR):
        yield from count("n_attributes", lambda n, make=make: make(n, 1.0, 1.0), 2)
        yield from rows("n_attributes", lambda n, make=make: make(n, 1.0, 1.0), ValueError, 3)
        yield from positive("radius", lambda radius, make=make: make(2, 1.0, radius))
        yield from option("hypothesis", lambda h, make=make: make(2, 1.0, 1.0, h), "mean")
    yield from positive("regularizer", lambda regularizer: learners.AER(2, regularizer, 1.0))
    yield from positive("step_size", lambda step: learners.AERR(2, step, 1.0))
    yield from count("n_attributes", lambda n: learners.Baseline(n, 1.0), 2)
    yield from rows("n_attributes", lambda n: learners.Baseline(n, 1.0), ValueError, 5)
    yield from positive("radius", lambda radius: learners.Baseline(2, radius))
    yield from count("n_steps", lambda n: learners.Baseline(2, 1.0, n_steps=n))
    yield from positive("radius", comparators.L1Ball)
    yield from count("dimension", lambda d: environments.HiddenAttribute(d, 0.05))
    yield from number("eps", lambda eps: environments.HiddenAttribute(4, eps), 0.0, 0.3)
    for d, budget in ((1, 2), (3, 4)):
        stream = environments.DataStream(np.ones((3, d)), Y)
        yield from rows("budget", lambda k, stream=stream: jo.Game(stream, feedback.Attributes(k)), ValueError, budget)


def sequences_calls():
    yield from thing("combiner", lambda c: aggregate(c, X, Y), learners.EWA)
    for name, call in (
        ("experts", lambda X: aggregate(learners.EWA(1.0), X, Y, dtype="float32")),
        ("Z", lambda Z: forecast(Z, Y, dtype="float32")),
        ("X", lambda X: expert_forecasts(DICTIONARY, X, Y, dtype="float32")),
    ):
        yield from rows(name, call, TypeError, None, "a", X + 0j, np.ma.masked_array(X, X > 0), [[1], [1, 2], [1]])
        yield from rows(name, call, ValueError, X * np.nan, X[0], X[:2], np.zeros((0, 2)), 1e39 + X)
    yield from option("dtype", lambda dtype: aggregate(learners.EWA(1.0), X, Y, dtype=dtype), "float16")
    bad = "squared", 3.0, losses.Squared
    yield from rows("loss", lambda loss: aggregate(learners.EWA(1.0), X, Y, loss, dtype="float32"), TypeError, *bad)
    yield from positive("regularizer", lambda r: forecast(X, Y, regularizer=r, dtype="float32"))
    yield from count("block", lambda n: forecast(X, Y, block=n, dtype="float32"))


def comparators_calls():
    yield from rows("radius", jo.L2Ball, TypeError, "1", 1j, True, None, [1.0], MASKED, float)
    yield from rows("radius", jo.L2Ball, ValueError, np.nan, 0.0, -1.0, -np.inf, np.ones(3), np.full(2, np.inf))
    yield from thing("kernel", lambda kernel: jo.RKHSBall(kernel, 1.0), kernels.Gaussian, lambda x, x2: 1.0)
    yield from positive("radius", lambda radius: jo.RKHSBall(GAUSS, radius))
    yield from thing("loss", lambda loss: jo.RKHSBall(GAUSS, 1.0, loss), losses.Squared, losses.ZeroOne())
    yield from positive("tolerance", lambda tolerance: jo.RKHSBall(GAUSS, 1.0, tolerance=tolerance))
    ball = comparators.best_in_rkhs_ball
    yield from thing("kernel", lambda kernel: ball(kernel, X, Y, 1.0), kernels.Gaussian)
    yield from rows("X", lambda X: ball(GAUSS, X, Y, 1.0), TypeError, None, X + 0j, np.ma.masked_array(X, X > 0))
    yield from rows("X", lambda X: ball(GAUSS, X, Y, 1.0), ValueError, X * np.nan, X[0], X[:2])
    yield from rows("y", lambda y: ball(GAUSS, X, y, 1.0), ValueError, Y * np.nan, Y[:2], np.ones((3, 1)))
    yield from rows("y", lambda y: ball(GAUSS, X, y, 1.0, losses.Logistic()), ValueError, [0, 1, 0], [1.0, 2.0, -1.0])
    yield from positive("radius", lambda radius: ball(GAUSS, X, Y, radius))
    best = jo.RKHSBall(GAUSS, 1.0).best_losses
    yield from rows(
        "rounds", lambda at: best(X, Y, at), (TypeError, ValueError), [], [0], [4], [2, 1], "a", None, [1.5]
    )
    for measure in (comparators.rkhs_norm, comparators.positive_negative_angle):
        yield from thing("kernel", lambda kernel, measure=measure: measure(kernel, X, Y), kernels.Gaussian)
        yield from rows("coefficients", lambda a, measure=measure: measure(GAUSS, X, a), ValueError, Y[:2], Y * np.nan)


TABLE: list[Row] = [
    bad
    for calls in (
        losses_calls, kernels_calls, environments_calls, feedback_calls, estimators_calls, learners_calls,
        attributes_calls, sequences_calls, comparators_calls,
    )
    for bad in calls()
]  # fmt: skip


@pytest.mark.parametrize("calls", grouped(TABLE))
def test_bad_call_raises_error_that_names_the_argument(calls):
    check(calls)


def test_table_has_enough_rows():
    assert len(TABLE) >= 300
