"""Ranges of parameters at their ends, relations between arguments, and games that a learner rejects."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from registry import LEARNERS
from tiers import some

import jaxonline as jo
from jaxonline import bounds, learners
from jaxonline.environments import SeparableData
from jaxonline.estimators import FullGradient, Surrogate, TwoCopies
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
    ("delta", lambda: learners.FixedConfidenceUCB.over_horizon(1)),
    ("high", lambda: EWA.over_range(1.0, 1.0)),
    ("high", lambda: learners.Aggregating(1.0, 0.0)),
    ("eta", lambda: learners.Aggregating(eta=2.5)),
    ("eta", lambda: learners.Aggregating(loss=Opaque())),
    ("high", lambda: learners.Truncated(EWA(0.5), 1.0, 0.0)),
    ("combiner", lambda: learners.OverAdvice(learners.VAW())),
    ("loss", lambda: learners.OverAdvice(EWA(0.5), jnp.sin)),
    ("n_switches", lambda: learners.FixedShare.over_horizon(2, 10, 10)),
    ("n_questions", lambda: learners.LabelEfficientHedge.over_horizon(2, 10, 11)),
    ("learner_for", lambda: learners.Doubling(3)),
    ("learner_for", lambda: learners.Doubling(lambda n_rounds: n_rounds)),
    ("direction", lambda: SeparableData([1.0])),
    ("margin", lambda: SeparableData([1.0, 0.0], margin=2.0)),
    ("features", lambda: learners.WithFeatures(GradientLearner(FULL, 0.1), np.ones((2, 3)))),
    ("n_attributes", lambda: learners.AER(3, 1.0, 1.0)),
    ("n_attributes", lambda: learners.Baseline(3, 1.0)),
    ("optimizer", lambda: GradientLearner(TwoCopies(), 0.1, optimizer=optax.sgd)),
    ("delta", lambda: learners.GradientBandit(1.0, 0.1, radius=1.0)),
    ("n_rounds", lambda: bounds.gradient_bandit(1.0, 1.0, 1.0, 10, 5)),
    ("expert", lambda: learners.MultiKernel(ONE, learners.VAW(), EWA(0.5))),
    ("expert", lambda: learners.MultiKernel(ONE, learners.VAW(), learners.VAW(features=jnp.sin))),
    ("frequencies", lambda: Dictionary(np.ones((1, 1)))),
    ("phases", lambda: Dictionary(np.ones((2, 3, 1)), np.ones((3, 2)))),
    ("kernels", lambda: Dictionary.draw(KEY, [], 1, 1)),
    ("kernels", lambda: Dictionary.draw(KEY, [Scaled(Gaussian(1.0), 2.0)], 1, 1)),
    ("surrogate", lambda: learners.SurrogateKernel(Surrogate(Gaussian(1.0), 0.1, 2), 0.1, 9).init(KEY, VECTORS)),
    ("radius", lambda: jo.replace(NOISY, radius=-1.0)),
    ("instances", lambda: learners.EXP4(0.1).init(None, ARMS)),
    ("instances", lambda: learners.LinThompson().init(None, VECTORS)),
    ("instances", lambda: learners.LogisticUCB(model="disjoint").init(None, VECTORS)),
    ("n_arms", lambda: jo.environments.ContextualLinearArms([1.0])),
    ("n_arms", lambda: jo.environments.ContextualLogisticArms([[1.0], [2.0]], n_arms=3)),
    ("shared", lambda: jo.environments.ContextualLinearArms([1.0], 2, shared=True)),
    ("y", lambda: jo.environments.ClassificationArms([[1.0], [2.0]], ["a", "a"])),
    ("y", lambda: jo.environments.ClassificationArms([[1.0], [2.0]], [[0.5], [0.5]])),
    ("environment", lambda: jo.environments.Rewards(jo.environments.ClassificationArms([[1.0], [2.0]], ["a", "b"]))),
    ("regressor", lambda: learners.SquareCB(learners.PassiveAggressive())),
    ("regressor", lambda: learners.BaggingCB(jo.GradientLearner(jo.estimators.FullGradient(jo.losses.Hinge()), 0.1))),
    ("n_explore", lambda: learners.ExploreFirstCB(learners.VAW(), 2.5)),
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
    "Gaussian Thompson", "LinUCB", "linear Thompson", "LinUCB, disjoint", "LinUCB, hybrid", "linear Thompson, disjoint",
    "linear Thompson, hybrid", "SquareCB", "contextual epsilon-greedy", "contextual explore first",
    "contextual bagging", "leader", "perturbed leader", "gradient bandit",
    "lil'UCB", "track and stop, Gaussian, cumulative", "successive rejects", "APT", "FeedExp3",
}  # fmt: skip


@pytest.mark.parametrize("name", some(ARM_LEARNERS, *ARM_LEARNERS[::4]))
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
