"""The registry of learners that every contract test walks. A new learner is one line in `LEARNERS`."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import jax
import numpy as np
import optax

import jaxonline as jo
from benchmarks.papers.claims.noise import PrintedKnownCovariance
from benchmarks.papers.engines.omkl_gf import OMKLGF
from jaxonline import environments, estimators, kernels, learners, losses

COVARIANCE = np.array([[0.30, 0.10, 0.00], [0.10, 0.20, -0.05], [0.00, -0.05, 0.10]])
LABEL_VARIANCE = 0.09
D = 3  # numbers of an instance, or arms
FULL = estimators.FullGradient()


class Entry(NamedTuple):
    """A learner, its feedback and game, and what its documentation says.

    `queries` in a round are None if their number is random. A learner is `randomised` if it draws random numbers in its
    rounds, and `silent` if they are only in its moves. A learner is `coarse` if few moves may be the same after other
    losses, and `late` if its numbers decide only when it stops. Rows are instances of three numbers and a number (-1 or
    +1 with `classes`); with `losses_of_arms` vectors of three losses, with `contexts` for each arm a law on arms or
    features, with `pairs` matrices of duels. `strict` is False for parts of optax that do not run under strict dtype
    promotion."""

    learner: Any
    feedback: Any
    losses_of_arms: bool = False
    pairs: bool = False
    contexts: bool = False
    classes: bool = False
    loss: Any = losses.Squared()
    queries: int | None = 1
    randomised: bool = False
    silent: bool = False
    coarse: bool = False
    late: bool = False
    strict: bool = True

    @property
    def outcome_shape(self) -> tuple[int, ...]:
        return (D, D) if self.pairs else (D,)

    def promotion(self) -> AbstractContextManager:
        return jax.numpy_dtype_promotion("strict" if self.strict else "standard")

    def rows(self, n: int) -> jo.environments.DataStream:
        rng = np.random.default_rng(3)
        X, y = rng.normal(size=(n, D)), rng.normal(size=n)
        if self.losses_of_arms:
            x = rng.dirichlet(np.ones(D), size=(n, D)) if self.contexts else None
            return jo.environments.DataStream(x, rng.uniform(size=(n, *self.outcome_shape)))
        return jo.environments.DataStream(X, np.sign(y) if self.classes else y)


def noisy(labels: bool = True) -> jo.NoisyCopies:
    """Correlated noise on instances, perhaps noise on labels, and a covariance that the learner is told."""
    laws = jo.noise.gaussian(COVARIANCE), jo.noise.laplace(LABEL_VARIANCE) if labels else None
    return jo.NoisyCopies(laws[0], label_noise=laws[1], reveal_covariance=True)


def adversarial() -> jo.AdversarialCopies:
    """Noise that is aimed at the learner, and noise on labels."""
    return jo.AdversarialCopies(environments.ChasingNoise(0.5), label_noise=jo.noise.laplace(LABEL_VARIANCE))


def full(**options: Any) -> Entry:
    return expert(jo.GradientLearner(FULL, **options))


def two(strict: bool = True, **options: Any) -> Entry:
    return Entry(jo.GradientLearner(estimators.TwoCopies(), **options), noisy(), queries=2, strict=strict)


def one(estimator: Any, queries: int = 1, **options: Any) -> Entry:
    return Entry(jo.GradientLearner(estimator, **options), noisy(), queries=queries)


@jo.struct
class Repeatedly(jo.Attributes):
    """More questions than instances have attributes, for which `jo.Attributes` raises an error."""

    def check_specs(self, specs: Any) -> None:
        pass


def few(law: str, **options: Any) -> Entry:
    learner = jo.GradientLearner(estimators.AttributeGradient(4, law=law), **options)
    return Entry(learner, Repeatedly(4), queries=4, randomised=True)


def attributes(learner: Any) -> Entry:
    return Entry(learner, jo.Attributes(2), queries=2, randomised=True, strict=False)


def surrogate(kernel: estimators.Surrogate, **options: Any) -> Entry:
    return Entry(learners.SurrogateKernel(kernel, n_rounds=8, **options), noisy(), queries=2)


def noisy_kernel(feature_map: Any, length: estimators.GradientLength, **options: Any) -> Entry:
    storage = learners.Storage(tensor_levels=1, deepest=6, most_pairs=4, most_fresh=12, n_chunks=20)
    learner = learners.NoisyKernel(feature_map, length, storage=storage, **options)
    return Entry(learner, noisy(length.kind == "regression"), queries=None, randomised=True)


def multilevel(max_level: int) -> estimators.GradientLength:
    return estimators.GradientLength.multilevel(losses.Huber(0.5), estimators.PowersOfTwo(1.5, max_level))


def kernel(estimator: Any, feedback: Any, kernel: Any, queries: int = 1, **options: Any) -> Entry:
    return Entry(learners.KernelGradient(kernel, estimator, n_rounds=8, **options), feedback, queries=queries)


def featured(estimator: Any, queries: int = 1, **options: Any) -> Entry:
    return Entry(learners.WithFeatures(jo.GradientLearner(estimator, **options), FOURIER), noisy(), queries=queries)


def expert(learner: Any, **options: Any) -> Entry:
    return Entry(learner, jo.FullInformation(), **options)


def classifier(learner: Any, **options: Any) -> Entry:
    return expert(learner, loss=losses.ZeroOne(), classes=True, **options)


def hedge_for(n_rounds: Any) -> learners.Hedge:
    return learners.Hedge(learners.EWA(np.sqrt(2.0) / n_rounds**0.5))


def arms(learner: Any, feedback: Any, loss: Any, **options: Any) -> Entry:
    return Entry(learner, feedback, losses_of_arms=True, loss=loss, **options)


def weights(learner: Any) -> Entry:
    return arms(learner, jo.FullInformation(), losses.ExpectedLoss())


def bandit(learner: Any, **options: Any) -> Entry:
    return arms(learner, jo.Bandit(), losses.ArmLoss(), **options)


DICTIONARY = estimators.Dictionary(np.array([[[0.5, -1.0, 0.2]], [[1.5, 0.3, -0.7]]], np.float32))
FOURIER = estimators.FourierFeatures(np.array([[0.5, -1.0, 0.2], [1.5, 0.3, -0.7]], np.float32))

GRAPH = jo.FeedbackGraph([[1, 1, 0], [0, 0, 1], [1, 0, 0]])
SYMBOLS = jo.PartialMonitoring([[0, 1, 0.5], [0.9, 0, 0.5], [1, 1, 0]], [[0, 1, 2], [1, 2, 0], [2, 0, 1]])

# made once: optax builds new functions, and so a new program, at every call
L1 = optax.projections.projection_l1_ball
ADAM, OTHER_ADAM, MOMENTUM = optax.adam(1.0), optax.adam(1.0, b1=0.8, b2=0.95), optax.sgd(1.0, momentum=0.7)
# 10.0 and not 10, with which optax counts in float32 even where float64 is enabled
EXPONENTIAL, COSINE = optax.exponential_decay(0.2, 10.0, 0.5), optax.cosine_decay_schedule(0.1, 30)

LEARNERS: dict[str, Callable[[], Entry]] = {
    "full gradient": lambda: full(step_size=0.1),
    "full gradient, inverse sqrt, ball": lambda: full(step_size=jo.InverseSqrt(0.4), radius=0.5),
    "two copies": lambda: two(step_size=0.05),
    "two copies, over horizon, ball": lambda: two(step_size=jo.Constant.over_horizon(0.7, n_rounds=40), radius=0.6),
    "two copies, averaged": lambda: two(step_size=jo.InverseSqrt(0.1), radius=0.8, hypothesis="average"),
    "two copies, l1 ball": lambda: two(False, step_size=jo.InverseSqrt(0.3), radius=0.5, projection=L1),
    "two copies, adam": lambda: two(False, step_size=0.05, optimizer=ADAM),
    "two copies, adam, schedule, ball": lambda: two(False, step_size=EXPONENTIAL, radius=0.7, optimizer=OTHER_ADAM),
    "two copies, momentum, schedule": lambda: two(False, step_size=jo.Schedule(COSINE, scale=0.5), optimizer=MOMENTUM),
    "two copies, adversarial noise": lambda: two(step_size=0.05)._replace(feedback=adversarial()),
    "known covariance": lambda: one(estimators.KnownCovariance(), step_size=0.03),
    "known covariance, ball, averaged": lambda: one(
        estimators.KnownCovariance(), step_size=jo.InverseSqrt(0.2), radius=0.9, hypothesis="average"),
    "known covariance, as printed": lambda: one(PrintedKnownCovariance(), step_size=0.03, radius=0.9),
    "naive copy": lambda: one(estimators.NaiveCopy(), step_size=0.05),
    "mean of copies": lambda: one(estimators.MeanOfCopies(4), queries=4, step_size=jo.InverseSqrt(0.1), radius=0.6),
    "pairs of copies": lambda: one(estimators.PairsOfCopies(3), queries=3, step_size=jo.InverseSqrt(0.1), radius=0.6),
    "four attributes": lambda: few("l1", step_size=0.02),
    "four attributes, l2": lambda: few("l2", step_size=jo.InverseSqrt(0.05), radius=0.8),
    "four attributes, exponentiated gradient": lambda: Entry(
        learners.ExponentiatedGradient(estimators.AttributeGradient(4), step_size=0.05, scale=1.5, signed=True),
        Repeatedly(4), queries=4, randomised=True),
    "four attributes, p-norm": lambda: Entry(
        learners.MirrorLearner(estimators.AttributeGradient(4), 0.05, learners.PNorm(3.0)),
        Repeatedly(4), queries=4, randomised=True),
    "AER": lambda: attributes(learners.AER(2, regularizer=2.0, radius=3.0)),
    "AER, last hypothesis": lambda: attributes(learners.AER(2, regularizer=2.0, radius=3.0, hypothesis="last")),
    "AERR": lambda: attributes(learners.AERR(2, step_size=0.05, radius=0.4)),
    "Baseline": lambda: attributes(learners.Baseline(2, radius=0.4, n_steps=3)),
    "Baseline, cone": lambda: attributes(learners.Baseline(2, radius=0.4, cone=True, n_steps=3)),
    "surrogate kernel": lambda: surrogate(estimators.Surrogate(kernels.Gaussian(1.5), COVARIANCE), step_size=0.2),
    "surrogate kernel, mixture, ball": lambda: surrogate(
        estimators.radial_surrogate(kernels.Cauchy(3.0), COVARIANCE, cut=0.5, n_nodes=6),
        step_size=jo.InverseSqrt(0.4), radius=0.6),
    "noisy kernel, dot product, exponential loss": lambda: noisy_kernel(
        estimators.DotProductFeatureMap(kernels.Inhomogeneous(3), estimators.FiniteDistribution([0.3, 0.3, 0.2, 0.2])),
        estimators.GradientLength.for_loss(losses.Exponential(), estimators.cost_aware, 1.0, constant_outside=True),
        step_size=0.01, radius=None)._replace(loss=losses.Exponential(), classes=True),
    "noisy kernel, Gaussian, ball": lambda: noisy_kernel(
        estimators.GaussianFeatureMap(
            kernels.Gaussian(2.0), estimators.Geometric(4.0), estimators.FiniteDistribution([0.5, 0.3, 0.2])),
        estimators.GradientLength.for_loss(losses.Squared(), estimators.cost_aware, 1.0),
        step_size=jo.InverseSqrt(0.1), radius=0.6),
    "noisy kernel, mean of two": lambda: noisy_kernel(
        estimators.DotProductFeatureMap(kernels.Inhomogeneous(2), estimators.FiniteDistribution([0.3, 0.4, 0.3])),
        estimators.GradientLength.for_loss(losses.Squared(), estimators.cost_aware, 1.0),
        step_size=0.1, radius=None, repetitions=2),
    "noisy kernel, multilevel": lambda: noisy_kernel(
        estimators.DotProductFeatureMap(kernels.Inhomogeneous(2), estimators.FiniteDistribution([0.3, 0.4, 0.3])),
        multilevel(3), step_size=0.1, radius=0.6),
    "multilevel gradient": lambda: one(estimators.LengthTimesCopy(multilevel(2)), step_size=0.1)._replace(
        queries=None, randomised=True),
    "kernel gradient": lambda: kernel(FULL, jo.FullInformation(), kernels.Gaussian(1.5), step_size=0.2),
    "kernel gradient, naive copy, exponential loss": lambda: kernel(
        estimators.NaiveCopy(losses.Exponential()), noisy(), kernels.Gaussian(1.5), step_size=jo.InverseSqrt(0.3),
        radius=0.6)._replace(loss=losses.Exponential(), classes=True),
    "kernel gradient, mean of copies, absolute loss": lambda: kernel(
        estimators.MeanOfCopies(3, losses.SmoothedAbsolute(2.0)), noisy(), kernels.Inhomogeneous(2), queries=3,
        step_size=0.1, radius=0.7)._replace(loss=losses.SmoothedAbsolute(2.0)),
    "Fourier features, naive copy": lambda: featured(estimators.NaiveCopy(), step_size=0.2),
    "Fourier features, mean of copies": lambda: featured(
        estimators.MeanOfCopies(4, losses.Exponential()), queries=4, step_size=jo.InverseSqrt(0.3), radius=0.5,
        )._replace(loss=losses.Exponential(), classes=True),
    "VAW": lambda: expert(learners.VAW(allow_float32=True)),
    "online ridge": lambda: expert(learners.VAW(forward=False, allow_float32=True)),
    "EWA": lambda: expert(learners.OverAdvice(learners.EWA(0.5))),
    "EWA, truncated": lambda: expert(learners.Truncated(learners.EWA(0.01), low=-5.0, high=5.0)),
    "Aggregating": lambda: expert(learners.Truncated(learners.Aggregating(low=-5.0, high=5.0), low=-5.0, high=5.0)),
    "BOA": lambda: expert(learners.OverAdvice(learners.BOA(initial=0.1))),
    # over raw instances it would follow one expert for all six rounds, and nothing would matter
    "ML-Poly, over kernels": lambda: expert(learners.MultiKernel(DICTIONARY, combiner=learners.MLPoly(initial=5.0),
        expert=learners.VAW(allow_float32=True))),
    "ML-Prod": lambda: expert(learners.OverAdvice(learners.MLProd(initial=5.0))),
    "Raker": lambda: expert(learners.Raker(DICTIONARY)),
    "OMKL-GF": lambda: expert(OMKLGF(DICTIONARY), randomised=True),
    # moves: weights, a draw of an arm, a score
    "Hedge": lambda: weights(learners.Hedge(learners.EWA(0.5))),
    "Hedge, BOA": lambda: weights(learners.Hedge(learners.BOA(initial=0.1))),
    "EXP3": lambda: arms(learners.EXP3(0.3), jo.Bandit(), losses.ArmLoss(), randomised=True),
    "EXP3, exploration": lambda: arms(learners.EXP3(0.3, exploration=0.2), jo.Bandit(), losses.ExpectedLoss(),
        randomised=True),
    "UCB1": lambda: bandit(learners.UCB1(4.0)),
    "CUCB": lambda: arms(learners.CUCB(losses.SmallestArms(2), 1.0), jo.SemiBandit(), losses.SumOfArms(), queries=2),
    "RUCB": lambda: arms(learners.RUCB(4.0), jo.Duel(), losses.PairLoss(0), pairs=True, randomised=True),
    "explore then commit": lambda: bandit(learners.ExploreThenCommit(2.0)),
    "epsilon-greedy": lambda: bandit(learners.EpsilonGreedy(1.5, power=1.0), randomised=True),
    "KL-UCB": lambda: bandit(learners.KLUCB(1.0, ties="first")),
    "MOSS": lambda: bandit(learners.MOSS(n_rounds=6.0)),
    "UCB1-tuned": lambda: bandit(learners.UCB1Tuned()),
    "UCB2": lambda: bandit(learners.UCB2(1.0)),
    "UCB, fixed confidence": lambda: bandit(learners.FixedConfidenceUCB(0.5, 0.3)),
    "UCB, asymptotic": lambda: bandit(learners.AsymptoticUCB(0.5)),
    "LUCB": lambda: bandit(learners.LUCB(0.5), late=True),
    "lil'UCB": lambda: bandit(learners.LilUCB(0.1, 0.2, epsilon=0.5)),
    "track and stop": lambda: bandit(learners.TrackAndStop(0.5), late=True),
    "track and stop, Gaussian, cumulative": lambda: bandit(learners.TrackAndStop(0.5, 0.2, tracking="C")),
    "top-two Thompson": lambda: bandit(learners.TopTwoThompson(0.5, share=0.9), randomised=True),
    "successive rejects": lambda: bandit(learners.SuccessiveRejects(12)),
    "APT": lambda: bandit(learners.APT(6, threshold=0.5)),
    "discounted UCB": lambda: bandit(learners.DiscountedUCB(0.8, 0.3)),
    "sliding-window UCB": lambda: bandit(learners.SlidingWindowUCB(5, 1.0)),
    "discounted Thompson": lambda: bandit(learners.DiscountedThompson(0.8, 2.5, 2.0), randomised=True),
    "sliding-window Thompson": lambda: bandit(learners.SlidingWindowThompson(5, 2.5, 2.0), randomised=True),
    "EXP3.S": lambda: bandit(learners.EXP3S(0.5, 0.1), randomised=True),
    "Rexp3": lambda: bandit(learners.Restarting(learners.EXP3S(0.5, 0.0), 5.0), randomised=True),
    "CUSUM-UCB": lambda: bandit(learners.CUSUMUCB(0.5, 0.5, warmup=2.0, epsilon=0.01), randomised=True),
    "M-UCB": lambda: bandit(learners.MonitoredUCB(2, 0.2, 0.6)),
    "GLR-klUCB": lambda: bandit(learners.GLRKLUCB(0.9, 0.75, capacity=3, stride=1)),
    "Tsallis-INF": lambda: bandit(learners.TsallisINF(), randomised=True),
    "Tsallis-INF, importance-weighted": lambda: bandit(learners.TsallisINF("importance_weighted"), randomised=True),
    "Bernoulli Thompson": lambda: bandit(learners.BernoulliThompson(2.5, 2.0), randomised=True),
    "Gaussian Thompson": lambda: bandit(learners.GaussianThompson(0.5, prior_mean=1.0), randomised=True),
    "EXP3-IX": lambda: bandit(learners.EXP3IX(0.3, 0.1), randomised=True),
    "EXP3.P": lambda: bandit(learners.EXP3P(0.3, 0.1, 0.2), randomised=True),
    "EXP4": lambda: bandit(learners.EXP4(0.3, 0.1), contexts=True, randomised=True),
    "LinUCB": lambda: bandit(learners.LinUCB(0.5, 0.7), contexts=True),
    "linear Thompson": lambda: bandit(learners.LinThompson(0.5, 0.7), contexts=True, randomised=True),
    "LinUCB, disjoint": lambda: bandit(learners.LinUCB(0.5, 0.7, "disjoint"), contexts=True),
    "LinUCB, hybrid": lambda: bandit(learners.LinUCB(0.5, 0.7, "hybrid"), contexts=True),
    "linear Thompson, disjoint": lambda: bandit(learners.LinThompson(0.5, 0.7, "disjoint"), contexts=True,
        randomised=True),
    "linear Thompson, hybrid": lambda: bandit(learners.LinThompson(0.5, 0.7, "hybrid"), contexts=True,
        randomised=True),
    "logistic Thompson": lambda: bandit(learners.LogisticThompson(0.5, 0.7), contexts=True, randomised=True),
    "logistic UCB, disjoint": lambda: bandit(learners.LogisticUCB(0.5, 0.7, "disjoint"), contexts=True),
    "SquareCB": lambda: bandit(learners.SquareCB(learners.VAW(allow_float32=True)), contexts=True, randomised=True),
    "contextual epsilon-greedy": lambda: bandit(
        learners.EpsilonGreedyCB(jo.GradientLearner(FULL, jo.InverseSqrt(0.4)), 0.5, model="shared"), contexts=True,
        randomised=True),
    "contextual explore first": lambda: bandit(
        learners.ExploreFirstCB(learners.VAW(allow_float32=True), 2.0), contexts=True, randomised=True),
    "contextual bagging": lambda: bandit(
        learners.BaggingCB(learners.VAW(allow_float32=True), 3), contexts=True, randomised=True),
    "perceptron": lambda: classifier(learners.Perceptron()),
    "p-norm perceptron": lambda: classifier(learners.PNormPerceptron(3.0)),
    "Winnow": lambda: classifier(learners.Winnow(promotion=1.5, threshold=1.0)),
    "PA-I": lambda: classifier(learners.PassiveAggressive("PA-I", 0.3)),
    "PA": lambda: classifier(learners.PassiveAggressive("PA")),
    "PA-II": lambda: classifier(learners.PassiveAggressive("PA-II", 0.3)),
    "online Newton step": lambda: expert(learners.OnlineNewtonStep(FULL, gamma=0.5, epsilon=1.0, radius=0.6)),
    "mirror descent, p-norm": lambda: expert(learners.MirrorLearner(FULL, 0.1, learners.PNorm(3.0))),
    "mirror descent, barrier": lambda: expert(learners.MirrorLearner(FULL, 0.1, learners.LogBarrier())),
    "AdaGrad": lambda: expert(learners.AdaGrad(FULL, step_size=0.3, radius=0.6)),
    "exponentiated gradient": lambda: expert(learners.ExponentiatedGradient(FULL, step_size=0.1)),
    "exponentiated gradient, signed": lambda: expert(learners.ExponentiatedGradient(FULL, 0.1, 2.0, signed=True)),
    # advice of any size: its sign is what an expert says
    "halving": lambda: classifier(learners.Halving(), coarse=True),
    "halving, lazy": lambda: classifier(learners.Halving(lazy=True), coarse=True),
    "weighted majority": lambda: classifier(learners.WeightedMajority(0.5)),
    "drawn expert": lambda: arms(learners.DrawnExpert(learners.EWA(0.5)), jo.FullInformation(), losses.ArmLoss(),
        randomised=True, silent=True),
    "fixed share": lambda: weights(learners.Hedge(learners.FixedShare(0.5, 0.2))),
    "leader": lambda: weights(learners.Hedge(learners.FollowTheLeader())),
    "regularized leader": lambda: weights(learners.Hedge(learners.FollowTheRegularizedLeader(0.3))),
    "perturbed leader": lambda: arms(learners.FollowThePerturbedLeader(2.0), jo.FullInformation(), losses.ArmLoss(),
        randomised=True, silent=True),
    "label-efficient Hedge": lambda: arms(learners.LabelEfficientHedge(learners.EWA(0.5), 0.8), jo.OnRequest(),
        losses.ExpectedLoss(), queries=None, randomised=True),
    "doubling": lambda: weights(learners.Doubling(hedge_for)),
    "EXP3.G": lambda: arms(learners.EXP3G(0.3, 0.2, [0, 1]), GRAPH, losses.ArmLoss(), queries=None, randomised=True),
    "FeedExp3": lambda: arms(learners.FeedExp3(SYMBOLS, 0.3, 0.2), SYMBOLS, losses.ArmLoss(), randomised=True),
    "gradient bandit": lambda: arms(learners.GradientBandit(delta=0.2, step_size=0.05),
        jo.LossOfMove(losses.SquaredDistance()), losses.SquaredDistance(), randomised=True),
    "multi-kernel": lambda: expert(learners.MultiKernel(DICTIONARY, combiner=learners.BOA(),
        expert=learners.VAW(allow_float32=True))),
}  # fmt: skip
