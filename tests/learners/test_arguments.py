"""Ranges of parameters at their ends, relations between arguments, and games that a learner rejects."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from registry import LEARNERS

import jaxonline as jo
from jaxonline import bounds, learners
from jaxonline.environments import HiddenAttribute, SeparableData
from jaxonline.estimators import FullGradient, MeanOfCopies, NaiveCopy, Surrogate, TwoCopies
from jaxonline.estimators.counts import Geometric
from jaxonline.estimators.feature_maps import DotProductFeatureMap
from jaxonline.estimators.fourier import Dictionary
from jaxonline.estimators.gradient_length import GradientLength
from jaxonline.kernels import ExponentialKernel, Gaussian, Scaled
from jaxonline.learners import EWA, GradientLearner, NoisyKernel, Storage
from jaxonline.losses import Squared

FULL, KEY, ONE = FullGradient(), jax.random.key(0), Dictionary(np.ones((1, 1, 1)))
VECTORS, ARMS = jo.game.Specs.of_vectors(3), jo.game.Specs((), jax.ShapeDtypeStruct((2,), np.float32))
LENGTH = GradientLength.for_loss(Squared(), Geometric(2.0), 1.0)
MAP = DotProductFeatureMap(ExponentialKernel(), Geometric(1.5))
NOISY = NoisyKernel(MAP, LENGTH, 0.02, 1.0, Storage(2, 9, 0, 9, 9))


class Opaque:
    """A loss without a declared rate."""

    def __call__(self, y_hat, y):
        return y_hat


jax.tree_util.register_pytree_node(Opaque, lambda _: ((), None), lambda *_: Opaque())

ROWS = [  # the argument that the error names, and the call
    ("pulls_each", lambda: learners.ExploreThenCommit(0)),
    ("epsilon", lambda: learners.EpsilonGreedy(-0.1)),
    ("gap", lambda: learners.EpsilonGreedy.decreasing(3, gap=0.0)),
    ("exploration", lambda: learners.UCB1(-1.0)),
    ("c", lambda: learners.KLUCB(-1.0)),
    ("n_rounds", lambda: learners.MOSS(0)),
    ("exploration", lambda: learners.MOSS(10, exploration=-1.0)),
    ("alpha", lambda: learners.UCB2(alpha=0.0)),
    ("delta", lambda: learners.FixedConfidenceUCB(delta=1.0)),
    ("delta", lambda: learners.FixedConfidenceUCB.over_horizon(1)),
    ("std", lambda: learners.AsymptoticUCB(std=0.0)),
    ("discount", lambda: learners.DiscountedUCB(discount=1.0)),
    ("window", lambda: learners.SlidingWindowUCB(window=0)),
    ("estimator", lambda: learners.TsallisINF("unbiased")),
    ("prior_ones", lambda: learners.BernoulliThompson(0.5)),
    ("noise_std", lambda: learners.GaussianThompson(0.0)),
    ("eta", lambda: learners.EXP3IX(0.0, 0.1)),
    ("n_arms", lambda: learners.EXP3IX.over_horizon(1, 10)),
    ("beta", lambda: learners.EXP3P(0.1, 1.5, 0.1)),
    ("delta", lambda: learners.EXP3P.over_horizon(2, 10, delta=0.0)),
    ("combiner", lambda: learners.EXP4("eta")),
    ("combiner", lambda: learners.EXP3("ewa")),
    ("combiner", lambda: learners.EXP3(0.0)),
    ("exploration", lambda: learners.EXP3(0.1, exploration=1.5)),
    ("n_arms", lambda: learners.EXP3.over_horizon(1, 10)),
    ("regularizer", lambda: learners.LinUCB(regularizer=0.0)),
    ("alpha", lambda: learners.RUCB(0.5)),
    ("eta", lambda: EWA(0.0)),
    ("high", lambda: EWA.over_range(1.0, 1.0)),
    ("high", lambda: learners.Aggregating(1.0, 0.0)),
    ("eta", lambda: learners.Aggregating(eta=2.5)),
    ("eta", lambda: learners.Aggregating(loss=Opaque())),
    ("loss", lambda: learners.Aggregating(loss=3)),
    ("high", lambda: learners.Truncated(EWA(0.5), 1.0, 0.0)),
    ("learner", lambda: learners.Truncated(3)),
    ("initial", lambda: learners.BOA(initial=0.0)),
    ("initial", lambda: learners.MLPoly(initial=-1.0)),
    ("initial", lambda: learners.MLProd(initial=np.inf)),
    ("combiner", lambda: learners.OverAdvice(learners.VAW())),
    ("loss", lambda: learners.OverAdvice(EWA(0.5), jnp.sin)),
    ("combiner", lambda: learners.Hedge(learners.OverAdvice(EWA(0.5)))),
    ("n_experts", lambda: learners.Hedge.over_horizon(1, 10)),
    ("n_rounds", lambda: learners.Hedge.over_horizon(2, 0)),
    ("beta", lambda: learners.WeightedMajority(1.0)),
    ("beta", lambda: learners.WeightedMajority(0.0)),
    ("eta", lambda: learners.FixedShare(0.0, 0.1)),
    ("share", lambda: learners.FixedShare(1.0, 1.1)),
    ("n_switches", lambda: learners.FixedShare.over_horizon(2, 10, 10)),
    ("regularizer", lambda: learners.FollowTheRegularizedLeader(1.0, "l1")),
    ("eta", lambda: learners.FollowTheRegularizedLeader(-1.0)),
    ("eta", lambda: learners.FollowThePerturbedLeader(0.0)),
    ("perturbation", lambda: learners.FollowThePerturbedLeader(1.0, "normal")),
    ("combiner", lambda: learners.DrawnExpert(3)),
    ("n_experts", lambda: learners.DrawnExpert.over_horizon(1, 5)),
    ("epsilon", lambda: learners.LabelEfficientHedge(EWA(1.0), 0.0)),
    ("n_questions", lambda: learners.LabelEfficientHedge.over_horizon(2, 10, 11)),
    ("learner_for", lambda: learners.Doubling(3)),
    ("learner_for", lambda: learners.Doubling(lambda n_rounds: n_rounds)),
    ("p", lambda: learners.PNormPerceptron(1.5)),
    ("promotion", lambda: learners.Winnow(1.0)),
    ("threshold", lambda: learners.Winnow(threshold=0.0)),
    ("variant", lambda: learners.PassiveAggressive("PA-III")),
    ("C", lambda: learners.PassiveAggressive("PA-I", 0.0)),
    ("direction", lambda: SeparableData([1.0])),
    ("margin", lambda: SeparableData([1.0, 0.0], margin=2.0)),
    ("regularizer", lambda: learners.VAW(0.0)),
    ("features", lambda: learners.VAW(features=3)),
    ("learner", lambda: learners.WithFeatures("gradient", ONE)),
    ("features", lambda: learners.WithFeatures(GradientLearner(FULL, 0.1), np.ones((2, 3)))),
    ("n_attributes", lambda: learners.AER(3, 1.0, 1.0)),
    ("regularizer", lambda: learners.AER(4, 0.0, 1.0)),
    ("radius", lambda: learners.AER(4, 1.0, 0.0)),
    ("hypothesis", lambda: learners.AER(4, 1.0, 1.0, hypothesis="mean")),
    ("radius", lambda: learners.AERR(4, 0.1, 0.0)),
    ("n_attributes", lambda: learners.Baseline(3, 1.0)),
    ("radius", lambda: learners.Baseline(4, 0.0)),
    ("eps", lambda: HiddenAttribute(3, 0.3)),
    ("step_size", lambda: GradientLearner(TwoCopies(), 0.0)),
    ("step_size", lambda: GradientLearner(TwoCopies(), "0.1")),
    ("radius", lambda: GradientLearner(TwoCopies(), 0.1, radius=0.0)),
    ("radius", lambda: GradientLearner(TwoCopies(), 0.1, radius=np.inf)),
    ("hypothesis", lambda: GradientLearner(TwoCopies(), 0.1, hypothesis="first")),
    ("optimizer", lambda: GradientLearner(TwoCopies(), 0.1, optimizer=optax.sgd)),
    ("projection", lambda: GradientLearner(TwoCopies(), 0.1, projection=1.0)),
    ("estimator", lambda: GradientLearner("two copies", 0.1)),
    ("eta", lambda: jo.InverseSqrt(0.0)),
    ("eta", lambda: jo.Constant.over_horizon(-1.0, 10)),
    ("n_rounds", lambda: jo.Constant.over_horizon(1.0, 0)),
    ("scale", lambda: jo.Schedule(lambda t: 1.0, scale=-1.0)),
    ("schedule", lambda: jo.Schedule(0.1)),
    ("n_copies", lambda: MeanOfCopies(0)),
    ("step_size", lambda: learners.ExponentiatedGradient(FULL, 0.0)),
    ("estimator", lambda: learners.ExponentiatedGradient(3, 0.1)),
    ("scale", lambda: learners.ExponentiatedGradient(FULL, 0.1, scale=-1.0)),
    ("gamma", lambda: learners.OnlineNewtonStep(FULL, 0.0, 1.0, 1.0)),
    ("epsilon", lambda: learners.OnlineNewtonStep(FULL, 1.0, 0.0, 1.0)),
    ("radius", lambda: learners.OnlineNewtonStep(FULL, 1.0, 1.0, -1.0)),
    ("delta", lambda: learners.GradientBandit(1.0, 0.1, radius=1.0)),
    ("step_size", lambda: learners.GradientBandit(0.1, 0.0)),
    ("n_rounds", lambda: bounds.gradient_bandit(1.0, 1.0, 1.0, 10, 5)),
    ("n_rounds", lambda: bounds.online_newton_step(1.0, 1.0, 1.0, 2, 3)),
    ("n_weights", lambda: bounds.exponentiated_gradient(1, 1.0, 5)),
    ("dictionary", lambda: learners.Raker(3)),
    ("penalty", lambda: learners.Raker(ONE, penalty=-1.0)),
    ("expert", lambda: learners.MultiKernel(ONE, learners.VAW(), EWA(0.5))),
    ("expert", lambda: learners.MultiKernel(ONE, learners.VAW(), learners.VAW(features=jnp.sin))),
    ("frequencies", lambda: Dictionary(np.ones((1, 1)))),
    ("phases", lambda: Dictionary(np.ones((2, 3, 1)), np.ones((3, 2)))),
    ("kernels", lambda: Dictionary.draw(KEY, [], 1, 1)),
    ("kernels", lambda: Dictionary.draw(KEY, [Scaled(Gaussian(1.0), 2.0)], 1, 1)),
    ("layout", lambda: Dictionary.draw(KEY, [Gaussian(1.0)], 1, 1, "sine")),
    ("kernel", lambda: learners.KernelGradient(lambda x, z: 1.0, FULL, 0.1, 10)),
    ("estimator", lambda: learners.KernelGradient(Gaussian(1.0), TwoCopies(), 0.1, 10)),
    ("radius", lambda: learners.KernelGradient(Gaussian(1.0), FULL, 0.1, 10, radius=0.0)),
    ("n_rounds", lambda: learners.KernelGradient(Gaussian(1.0), FULL, 0.1, 0)),
    ("loss", lambda: NaiveCopy("squared")),
    ("surrogate", lambda: learners.SurrogateKernel(Gaussian(1.0), 0.1, 10)),
    ("n_rounds", lambda: learners.SurrogateKernel(Surrogate(Gaussian(1.0), 0.1, 2), 0.1, 0)),
    ("surrogate", lambda: learners.SurrogateKernel(Surrogate(Gaussian(1.0), 0.1, 2), 0.1, 9).init(KEY, VECTORS)),
    ("radius", lambda: jo.replace(NOISY, radius=-1.0)),
    ("storage", lambda: jo.replace(NOISY, storage=3)),
    ("repetitions", lambda: jo.replace(NOISY, repetitions=0)),
    ("n_chunks", lambda: Storage(1, 1, 0, 1, 0)),
    ("repetitions", lambda: Storage.for_horizon(MAP, LENGTH, 3, 10, repetitions=0)),
    ("instances", lambda: learners.EXP4(0.1).init(None, ARMS)),
    ("instances", lambda: learners.LinThompson().init(None, VECTORS)),
    ("instances", lambda: learners.Halving().init(None, ARMS)),
    ("instances", lambda: learners.OverAdvice(EWA(0.5)).init(None, ARMS)),
    ("outcomes", lambda: learners.FollowThePerturbedLeader(1.0).init(None, VECTORS)),
    ("outcomes", lambda: learners.RUCB().init(None, ARMS)),
    ("outcome", lambda: learners.GradientBandit(0.1, 0.1).init(None, VECTORS)),
]


@pytest.mark.parametrize("name", sorted({name for name, _ in ROWS}))
def test_error_names_the_argument(name):
    with jax.enable_x64(True):
        for _, call in (row for row in ROWS if row[0] == name):
            with pytest.raises((ValueError, TypeError), match=rf"^{name}\b"):
                call()


ARM_LEARNERS = [name for name, make in LEARNERS.items() if make().losses_of_arms]
FOR_ANY_LOSSES = {
    "Hedge, BOA", "RUCB", "explore then commit", "epsilon-greedy", "UCB, fixed confidence", "UCB, asymptotic",
    "Gaussian Thompson", "LinUCB", "linear Thompson", "leader", "perturbed leader", "gradient bandit",
}  # fmt: skip


@pytest.mark.parametrize("name", ARM_LEARNERS)
def test_known_losses_outside_the_range_of_the_theorem_raise_an_error(name):
    """Combiners with second-order rates adapt to the range; the perturbed leader makes later losses NaN instead."""
    entry = LEARNERS[name]()
    rows = entry.rows(2)
    for loss in (1.5, -0.1):
        game = jo.Game(jo.replace(rows, y=rows.y.at[0].set(loss)), entry.feedback, loss=entry.loss)
        if name in FOR_ANY_LOSSES:
            jo.game.bind(game, entry.learner)
            continue
        with pytest.raises(ValueError, match=r"^y\b.* 0 .* 1\b"):
            jo.game.bind(game, entry.learner)


WITHOUT_VECTORS = "VAW", "online ridge", "Raker", "OMKL-GF", "ML-Poly, over kernels", "multi-kernel", "Fourier features"


@pytest.mark.parametrize("name", [name for name in LEARNERS if not name.startswith(WITHOUT_VECTORS)])
def test_instances_or_outcomes_that_are_matrices_raise_an_error(name):
    entry = LEARNERS[name]()
    with entry.promotion(), pytest.raises(ValueError, match=r"^(instances?|outcomes?|surrogate)\b.*shape"):
        entry.learner.init(KEY, jo.game.Specs.of_vectors((2, 2)))
