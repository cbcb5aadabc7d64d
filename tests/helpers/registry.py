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
from jaxonline.environments.adversaries import ChasingNoise
from jaxonline.estimators import (
    AttributeGradient,
    DotProductFeatureMap,
    FiniteDistribution,
    FourierFeatures,
    FullGradient,
    GaussianFeatureMap,
    Geometric,
    GradientLength,
    KnownCovariance,
    MeanOfCopies,
    NaiveCopy,
    PairsOfCopies,
    Surrogate,
    TwoCopies,
    cost_aware,
    radial_surrogate,
)
from jaxonline.estimators.fourier import Dictionary
from jaxonline.kernels import Gaussian, Inhomogeneous
from jaxonline.kernels.shift_invariant import Cauchy
from jaxonline.learners.attributes import AER, AERR, Baseline
from jaxonline.learners.bandits.contextual import LinThompson, LinUCB
from jaxonline.learners.bandits.exponential import EXP3, EXP3IX, EXP3P, EXP4, TsallisINF
from jaxonline.learners.bandits.index_policies import (
    KLUCB,
    MOSS,
    UCB1,
    UCB2,
    AsymptoticUCB,
    FixedConfidenceUCB,
    UCB1Tuned,
)
from jaxonline.learners.bandits.moving import DiscountedUCB, SlidingWindowUCB
from jaxonline.learners.bandits.sets_and_duels import CUCB, RUCB
from jaxonline.learners.bandits.thompson import BernoulliThompson, EpsilonGreedy, ExploreThenCommit, GaussianThompson
from jaxonline.learners.experts.advice import Aggregating, Halving, OverAdvice, Truncated, WeightedMajority
from jaxonline.learners.experts.combiners import (
    BOA,
    EWA,
    FixedShare,
    FollowTheLeader,
    FollowThePerturbedLeader,
    FollowTheRegularizedLeader,
    MLPoly,
    MLProd,
)
from jaxonline.learners.experts.hedge import DrawnExpert, Hedge, LabelEfficientHedge
from jaxonline.learners.gradient.descent import AdaGrad, GradientBandit, OnlineNewtonStep
from jaxonline.learners.gradient.mirror import ExponentiatedGradient, LogBarrier, MirrorLearner, PNorm
from jaxonline.learners.kernels.dictionaries import MultiKernel, Raker
from jaxonline.learners.kernels.noisy import NoisyKernel, Storage
from jaxonline.learners.kernels.supports import KernelGradient, SurrogateKernel
from jaxonline.learners.linear.classifiers import (
    PassiveAggressive,
    Perceptron,
    PNormPerceptron,
    Winnow,
)
from jaxonline.learners.linear.vaw import VAW
from jaxonline.learners.wrappers import Doubling, WithFeatures
from jaxonline.losses import (
    ArmLoss,
    ExpectedLoss,
    Exponential,
    PairLoss,
    SmallestArms,
    SmoothedAbsolute,
    Squared,
    SquaredDistance,
    SumOfArms,
    ZeroOne,
)

COVARIANCE = np.array([[0.30, 0.10, 0.00], [0.10, 0.20, -0.05], [0.00, -0.05, 0.10]])
LABEL_VARIANCE = 0.09
D = 3  # numbers of an instance, or arms


class Entry(NamedTuple):
    """A learner, the feedback it plays through, the rows of its game, and what its documentation says: the queries it
    makes a round (None: a random number, whose law is tested with the learner), and whether it draws random numbers of
    its own; it is `silent` about them where they are in its moves only, and not in what it learns. A learner is
    `coarse` whose few moves may be the same though it learned something else. `strict` is False where parts of optax
    are used that do not run under strict dtype promotion.

    Rows are instances of three numbers and a number as outcome, or, with `losses_of_arms`, no instances and vectors of
    three losses; with `contexts` these come with matrices of three rows, each a law on the arms, or the features of an
    arm; with `pairs` outcomes are matrices of three rows, duels of arms. With `classes` outcomes are -1 and +1. The
    loss of the game judges the learner's moves."""

    learner: Any
    feedback: Any
    losses_of_arms: bool = False
    pairs: bool = False
    contexts: bool = False
    classes: bool = False
    loss: Any = Squared()
    queries: int | None = 1
    randomised: bool = False
    silent: bool = False
    coarse: bool = False
    strict: bool = True

    @property
    def outcome_shape(self) -> tuple[int, ...]:
        """The shape of an outcome in a game of arms."""
        return (D, D) if self.pairs else (D,)

    def promotion(self) -> AbstractContextManager:
        """The strictness of dtype promotion under which the learner is tested."""
        return jax.numpy_dtype_promotion("strict" if self.strict else "standard")

    def rows(self, n: int) -> jo.environments.DataStream:
        """Random rows of its game."""
        rng = np.random.default_rng(3)
        X, y = rng.normal(size=(n, D)), rng.normal(size=n)
        if self.losses_of_arms:
            x = rng.dirichlet(np.ones(D), size=(n, D)) if self.contexts else None
            return jo.environments.DataStream(x, rng.uniform(size=(n, *self.outcome_shape)))
        return jo.environments.DataStream(X, np.sign(y) if self.classes else y)


def noisy(labels: bool = True) -> jo.NoisyCopies:
    """Correlated noise on instances, noise on labels if they are noisy, and a covariance that the learner is told."""
    laws = jo.noise.gaussian(COVARIANCE), jo.noise.laplace(LABEL_VARIANCE) if labels else None
    return jo.NoisyCopies(laws[0], label_noise=laws[1], reveal_covariance=True)


def adversarial() -> jo.AdversarialCopies:
    """Noise that is aimed at the learner, and noise on labels."""
    return jo.AdversarialCopies(ChasingNoise(0.5), label_noise=jo.noise.laplace(LABEL_VARIANCE))


def full(**options: Any) -> Entry:
    return Entry(jo.GradientLearner(FullGradient(), **options), jo.FullInformation())


def two(strict: bool = True, **options: Any) -> Entry:
    return Entry(jo.GradientLearner(TwoCopies(), **options), noisy(), queries=2, strict=strict)


def one(estimator: Any, queries: int = 1, **options: Any) -> Entry:
    return Entry(jo.GradientLearner(estimator, **options), noisy(), queries=queries)


@jo.struct
class Repeatedly(jo.Attributes):
    """More questions than instances have attributes, some of them asked again: what `jo.Attributes` refuses."""

    def check_specs(self, specs: Any) -> None:
        """Anything goes."""


def few(law: str, **options: Any) -> Entry:
    learner = jo.GradientLearner(AttributeGradient(4, law=law), **options)
    return Entry(learner, Repeatedly(4), queries=4, randomised=True)


def attributes(learner: Any) -> Entry:
    return Entry(learner, jo.Attributes(2), queries=2, randomised=True, strict=False)


def surrogate(kernel: Surrogate, **options: Any) -> Entry:
    return Entry(SurrogateKernel(kernel, n_rounds=8, **options), noisy(), queries=2)


def noisy_kernel(feature_map: Any, length: GradientLength, **options: Any) -> Entry:
    storage = Storage(tensor_levels=1, deepest=6, most_pairs=4, most_fresh=12, n_chunks=20)
    learner, feedback = NoisyKernel(feature_map, length, storage=storage, **options), noisy(length.kind == "regression")
    return Entry(learner, feedback, queries=None, randomised=True)


def kernel(estimator: Any, feedback: Any, kernel: Any, queries: int = 1, **options: Any) -> Entry:
    return Entry(KernelGradient(kernel, estimator, n_rounds=8, **options), feedback, queries=queries)


def featured(estimator: Any, queries: int = 1, **options: Any) -> Entry:
    return Entry(WithFeatures(jo.GradientLearner(estimator, **options), FOURIER), noisy(), queries=queries)


def expert(learner: Any, **options: Any) -> Entry:
    return Entry(learner, jo.FullInformation(), **options)


def hedge_for(n_rounds: Any) -> Hedge:
    return Hedge(EWA(np.sqrt(2.0) / n_rounds**0.5))


def arms(learner: Any, feedback: Any, loss: Any, **options: Any) -> Entry:
    return Entry(learner, feedback, losses_of_arms=True, loss=loss, **options)


def bandit(learner: Any, **options: Any) -> Entry:
    return arms(learner, jo.Bandit(), ArmLoss(), **options)


DICTIONARY = Dictionary(np.array([[[0.5, -1.0, 0.2]], [[1.5, 0.3, -0.7]]], np.float32))
FOURIER = FourierFeatures(np.array([[0.5, -1.0, 0.2], [1.5, 0.3, -0.7]], np.float32))

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
    "known covariance": lambda: one(KnownCovariance(), step_size=0.03),
    "known covariance, ball, averaged": lambda: one(
        KnownCovariance(), step_size=jo.InverseSqrt(0.2), radius=0.9, hypothesis="average"
    ),
    "known covariance, as printed": lambda: one(PrintedKnownCovariance(), step_size=0.03, radius=0.9),
    "naive copy": lambda: one(NaiveCopy(), step_size=0.05),
    "mean of copies": lambda: one(MeanOfCopies(4), queries=4, step_size=jo.InverseSqrt(0.1), radius=0.6),
    "pairs of copies": lambda: one(PairsOfCopies(3), queries=3, step_size=jo.InverseSqrt(0.1), radius=0.6),
    "four attributes": lambda: few("l1", step_size=0.02),
    "four attributes, l2": lambda: few("l2", step_size=jo.InverseSqrt(0.05), radius=0.8),
    "four attributes, exponentiated gradient": lambda: Entry(
        ExponentiatedGradient(AttributeGradient(4), step_size=0.05, scale=1.5, signed=True),
        Repeatedly(4),
        queries=4,
        randomised=True,
    ),
    "four attributes, p-norm": lambda: Entry(
        MirrorLearner(AttributeGradient(4), 0.05, PNorm(3.0)), Repeatedly(4), queries=4, randomised=True
    ),
    "AER": lambda: attributes(AER(2, regularizer=2.0, radius=3.0)),
    "AER, last hypothesis": lambda: attributes(AER(2, regularizer=2.0, radius=3.0, hypothesis="last")),
    "AERR": lambda: attributes(AERR(2, step_size=0.05, radius=0.4)),
    "Baseline": lambda: attributes(Baseline(2, radius=0.4, n_steps=3)),
    "Baseline, cone": lambda: attributes(Baseline(2, radius=0.4, cone=True, n_steps=3)),
    "surrogate kernel": lambda: surrogate(Surrogate(Gaussian(1.5), COVARIANCE), step_size=0.2),
    "surrogate kernel, mixture, ball": lambda: surrogate(
        radial_surrogate(Cauchy(3.0), COVARIANCE, cut=0.5, n_nodes=6), step_size=jo.InverseSqrt(0.4), radius=0.6
    ),
    "noisy kernel, dot product, exponential loss": lambda: noisy_kernel(
        DotProductFeatureMap(Inhomogeneous(3), FiniteDistribution([0.3, 0.3, 0.2, 0.2])),
        GradientLength.for_loss(Exponential(), cost_aware, 1.0, constant_outside=True),
        step_size=0.01,
        radius=None,
    )._replace(loss=Exponential(), classes=True),
    "noisy kernel, Gaussian, ball": lambda: noisy_kernel(
        GaussianFeatureMap(Gaussian(2.0), Geometric(4.0), FiniteDistribution([0.5, 0.3, 0.2])),
        GradientLength.for_loss(Squared(), cost_aware, 1.0),
        step_size=jo.InverseSqrt(0.1),
        radius=0.6,
    ),
    "noisy kernel, mean of two": lambda: noisy_kernel(
        DotProductFeatureMap(Inhomogeneous(2), FiniteDistribution([0.3, 0.4, 0.3])),
        GradientLength.for_loss(Squared(), cost_aware, 1.0),
        step_size=0.1,
        radius=None,
        repetitions=2,
    ),
    "kernel gradient": lambda: kernel(FullGradient(), jo.FullInformation(), Gaussian(1.5), step_size=0.2),
    "kernel gradient, naive copy, exponential loss": lambda: kernel(
        NaiveCopy(Exponential()), noisy(), Gaussian(1.5), step_size=jo.InverseSqrt(0.3), radius=0.6
    )._replace(loss=Exponential(), classes=True),
    "kernel gradient, mean of copies, absolute loss": lambda: kernel(
        MeanOfCopies(3, SmoothedAbsolute(2.0)), noisy(), Inhomogeneous(2), queries=3, step_size=0.1, radius=0.7
    )._replace(loss=SmoothedAbsolute(2.0)),
    "Fourier features, naive copy": lambda: featured(NaiveCopy(), step_size=0.2),
    "Fourier features, mean of copies": lambda: featured(
        MeanOfCopies(4, Exponential()), queries=4, step_size=jo.InverseSqrt(0.3), radius=0.5
    )._replace(loss=Exponential(), classes=True),
    "VAW": lambda: expert(VAW(allow_float32=True)),
    "online ridge": lambda: expert(VAW(forward=False, allow_float32=True)),
    "EWA": lambda: expert(OverAdvice(EWA(0.5))),
    "EWA, truncated": lambda: expert(Truncated(EWA(0.01), low=-5.0, high=5.0)),
    "Aggregating": lambda: expert(Truncated(Aggregating(low=-5.0, high=5.0), low=-5.0, high=5.0)),
    "BOA": lambda: expert(OverAdvice(BOA(initial=0.1))),
    # over raw instances it would follow one expert for all six rounds, and nothing would matter
    "ML-Poly, over kernels": lambda: expert(
        MultiKernel(DICTIONARY, combiner=MLPoly(initial=5.0), expert=VAW(allow_float32=True))
    ),
    "ML-Prod": lambda: expert(OverAdvice(MLProd(initial=5.0))),
    "Raker": lambda: expert(Raker(DICTIONARY)),
    "OMKL-GF": lambda: expert(OMKLGF(DICTIONARY), randomised=True),
    # moves: weights, a draw of an arm, a score
    "Hedge": lambda: arms(Hedge(EWA(0.5)), jo.FullInformation(), ExpectedLoss()),
    "Hedge, BOA": lambda: arms(Hedge(BOA(initial=0.1)), jo.FullInformation(), ExpectedLoss()),
    "EXP3": lambda: arms(EXP3(0.3), jo.Bandit(), ArmLoss(), randomised=True),
    "EXP3, exploration": lambda: arms(EXP3(0.3, exploration=0.2), jo.Bandit(), ExpectedLoss(), randomised=True),
    "UCB1": lambda: bandit(UCB1(4.0)),
    "CUCB": lambda: arms(CUCB(SmallestArms(2), 8.0), jo.SemiBandit(), SumOfArms(), queries=2),
    "RUCB": lambda: arms(RUCB(4.0), jo.Duel(), PairLoss(0), pairs=True, randomised=True),
    "explore then commit": lambda: bandit(ExploreThenCommit(2.0)),
    "epsilon-greedy": lambda: bandit(EpsilonGreedy(1.5, power=1.0), randomised=True),
    "KL-UCB": lambda: bandit(KLUCB(1.0)),
    "MOSS": lambda: bandit(MOSS(n_rounds=8.0)),
    "UCB1-tuned": lambda: bandit(UCB1Tuned()),
    "UCB2": lambda: bandit(UCB2(1.0)),
    "UCB, fixed confidence": lambda: bandit(FixedConfidenceUCB(0.7, 1.0)),
    "UCB, asymptotic": lambda: bandit(AsymptoticUCB(0.5)),
    "discounted UCB": lambda: bandit(DiscountedUCB(0.8, 0.3)),
    "sliding-window UCB": lambda: bandit(SlidingWindowUCB(5, 0.6)),
    "Tsallis-INF": lambda: bandit(TsallisINF(), randomised=True),
    "Tsallis-INF, importance-weighted": lambda: bandit(TsallisINF("importance_weighted"), randomised=True),
    "Bernoulli Thompson": lambda: bandit(BernoulliThompson(2.5, 2.0), randomised=True),
    "Gaussian Thompson": lambda: bandit(GaussianThompson(0.5, prior_mean=1.0), randomised=True),
    "EXP3-IX": lambda: bandit(EXP3IX(0.3, 0.1), randomised=True),
    "EXP3.P": lambda: bandit(EXP3P(0.3, 0.1, 0.2), randomised=True),
    "EXP4": lambda: bandit(EXP4(0.3, 0.1), contexts=True, randomised=True),
    "LinUCB": lambda: bandit(LinUCB(0.5, 0.7), contexts=True),
    "linear Thompson": lambda: bandit(LinThompson(0.5, 0.7), contexts=True, randomised=True),
    "perceptron": lambda: expert(Perceptron(), loss=ZeroOne(), classes=True),
    "p-norm perceptron": lambda: expert(PNormPerceptron(3.0), loss=ZeroOne(), classes=True),
    "Winnow": lambda: expert(Winnow(promotion=1.5, threshold=1.0), loss=ZeroOne(), classes=True),
    "PA-I": lambda: expert(PassiveAggressive("PA-I", 0.3), loss=ZeroOne(), classes=True),
    "PA": lambda: expert(PassiveAggressive("PA"), loss=ZeroOne(), classes=True),
    "PA-II": lambda: expert(PassiveAggressive("PA-II", 0.3), loss=ZeroOne(), classes=True),
    "online Newton step": lambda: expert(OnlineNewtonStep(FullGradient(), gamma=0.5, epsilon=1.0, radius=0.6)),
    "mirror descent, p-norm": lambda: expert(MirrorLearner(FullGradient(), 0.1, PNorm(3.0))),
    "mirror descent, barrier": lambda: expert(MirrorLearner(FullGradient(), 0.1, LogBarrier())),
    "AdaGrad": lambda: expert(AdaGrad(FullGradient(), step_size=0.3, radius=0.6)),
    "exponentiated gradient": lambda: expert(ExponentiatedGradient(FullGradient(), step_size=0.1)),
    "exponentiated gradient, signed": lambda: expert(
        ExponentiatedGradient(FullGradient(), step_size=0.1, scale=2.0, signed=True)
    ),
    # advice of any size: its sign is what an expert says
    "halving": lambda: expert(Halving(), loss=ZeroOne(), classes=True, coarse=True),
    "halving, lazy": lambda: expert(Halving(lazy=True), loss=ZeroOne(), classes=True, coarse=True),
    "weighted majority": lambda: expert(WeightedMajority(0.5), loss=ZeroOne(), classes=True),
    "drawn expert": lambda: arms(DrawnExpert(EWA(0.5)), jo.FullInformation(), ArmLoss(), randomised=True, silent=True),
    "fixed share": lambda: arms(Hedge(FixedShare(0.5, 0.2)), jo.FullInformation(), ExpectedLoss()),
    "leader": lambda: arms(Hedge(FollowTheLeader()), jo.FullInformation(), ExpectedLoss()),
    "regularized leader": lambda: arms(Hedge(FollowTheRegularizedLeader(0.3)), jo.FullInformation(), ExpectedLoss()),
    "perturbed leader": lambda: arms(
        FollowThePerturbedLeader(2.0), jo.FullInformation(), ArmLoss(), randomised=True, silent=True
    ),
    "label-efficient Hedge": lambda: arms(
        LabelEfficientHedge(EWA(0.5), 0.8), jo.OnRequest(), ExpectedLoss(), queries=None, randomised=True
    ),
    "doubling": lambda: arms(Doubling(hedge_for), jo.FullInformation(), ExpectedLoss()),
    "gradient bandit": lambda: arms(
        GradientBandit(delta=0.2, step_size=0.05), jo.LossOfMove(SquaredDistance()), SquaredDistance(), randomised=True
    ),
    "multi-kernel": lambda: expert(MultiKernel(DICTIONARY, combiner=BOA(), expert=VAW(allow_float32=True))),
}
NAMES = list(LEARNERS)
