"""Prediction with expert advice when the loss of each expert is observed: Hedge, a drawn expert, and few labels."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Key

from jaxonline import random
from jaxonline.game.roles import Draw
from jaxonline.learners.experts.combiners import EWA
from jaxonline.learners.experts.weights import AnyCombiner, CombinerLearner, arm_unless_nan, nan_outside
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Count, CountFrom2, PositiveProbability, PyTree, Rounds

# ---------------------------------------------------------------------------------------------------------------------
# Randomised exponential weights: Littlestone and Warmuth (1994); Cesa-Bianchi and Lugosi (2006), section 4.2.


@cites("littlestone1994weighted", "freund1997decision", "cesabianchi2006prediction")
@struct
class DrawnExpert(CombinerLearner):
    """Randomised exponential weights: follows one of K experts, drawn from the weights of a combiner.

    The outcome is the vector of the losses of all experts in [0, 1]. The move is a `Draw`. The expected loss of the
    draw equals the loss of `Hedge` with the same combiner, even against an adversary that knows the weights but not the
    draw. A loss outside [0, 1], where the theorems do not hold, makes all later numbers of the run NaN; a study counts
    such runs.

    Args:
        combiner: `EWA` for exponential weights; `FixedShare`, `BOA` or another `Combiner`.

    Example:
        >>> import jax, jaxonline as jo, numpy as np
        >>> rows = jo.environments.DataStream(None, np.tile([1.0, 0.0], (50, 1)))
        >>> game = jo.Game(rows, jo.FullInformation(), loss=jo.losses.ArmLoss())
        >>> learner = jo.learners.DrawnExpert.over_horizon(2, n_rounds=50)
        >>> state, history = jo.play(game, learner, jax.random.key(0), n_rounds=50)
        >>> history.y_hat.probabilities[-1].round(3).tolist(), history.y_hat.arm[-1].item()
        ([0.0, 1.0], 1)
    """

    combiner: AnyCombiner

    @classmethod
    def over_horizon(cls, n_experts: CountFrom2, n_rounds: Rounds) -> "DrawnExpert":
        """Set eta = sqrt(8 ln K / T) in `EWA`: the expected regret is at most sqrt(T ln K / 2)."""
        return cls(Hedge.over_horizon(n_experts, n_rounds).combiner)

    def predict(self, key: Key[Array, ""], state: PyTree, x: Any) -> Draw:
        """Draw an expert from the weights."""
        weights = self.weights(state)
        return Draw(arm_unless_nan(random.weighted_index(key, weights), weights), weights)

    def update(self, key: Key[Array, ""] | None, state: PyTree, oracle: Any) -> tuple[PyTree, tuple[()]]:
        """Pass to the combiner all losses, and the expected loss of the draw as the loss of the move."""
        losses = nan_outside(oracle.y, 0.0, 1.0)
        return self.combiner.update(state, losses, jnp.vdot(self.weights(state), losses)), ()


# ---------------------------------------------------------------------------------------------------------------------
# Hedge: Freund and Schapire (1997); Cesa-Bianchi and Lugosi (2006), section 2.2.


@cites("freund1997decision", "cesabianchi2006prediction")
@struct
class Hedge(CombinerLearner):
    """Hedge: predicts the vector of weights of K experts. The learner observes the outcome, the vector of all losses.

    The loss of a round is the weighted mean of the losses. Instances are ignored. If the combiner's theorem assumes
    losses in [0, 1], losses known before the game must lie in [0, 1] (otherwise a ValueError).

    Args:
        combiner: `EWA` for Hedge itself; `BOA`, `MLPoly`, `MLProd`, or another `Combiner`.

    Example:
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> hedge, losses = jo.learners.Hedge.over_horizon(2, n_rounds=100), jnp.array([1.0, 0.0])
        >>> state = hedge.init(None, jo.game.Specs((), losses))
        >>> state, _ = hedge.update(None, state, jo.feedback.FullOracle((), losses))
        >>> [round(float(weight), 3) for weight in hedge.predict(None, state, ())]  # eta = sqrt(8 ln 2 / 100) = 0.235
        [0.441, 0.559]
    """

    combiner: AnyCombiner

    @classmethod
    @validate_arguments
    def over_horizon(cls, n_experts: CountFrom2, n_rounds: Rounds) -> "Hedge":
        """Set eta = sqrt(8 ln K / T) in `EWA`: for losses in [0, 1] the regret is at most sqrt(T ln K / 2)."""
        return cls(EWA(float(np.sqrt(8.0 * np.log(n_experts) / n_rounds)), n_experts))

    def update(self, key: Key[Array, ""] | None, state: PyTree, oracle: Any) -> tuple[PyTree, tuple[()]]:
        """Pass all losses to the combiner."""
        return self.combiner.update(state, oracle.y, jnp.vdot(self.weights(state), oracle.y)), ()


# ---------------------------------------------------------------------------------------------------------------------
# Label-efficient prediction: Cesa-Bianchi, Lugosi and Stoltz (2005); Cesa-Bianchi and Lugosi (2006), section 6.2.


class LabelEfficientInfo(NamedTuple):
    """Diagnostics of one update: whether the learner asked for the losses."""

    asked: Bool[Array, ""]


@cites("cesabianchi2005minimizing", "cesabianchi2006prediction")
@struct
class LabelEfficientHedge(CombinerLearner):
    """Label-efficient Hedge: asks for the losses of the experts with probability epsilon, and otherwise learns nothing.

    The combiner updates from losses / epsilon if the learner asks, and otherwise from zeros; the mean of these
    estimates is the vector of losses. The move is the vector of weights [K]. The feedback `OnRequest` counts the
    questions. An answer outside [0, 1] makes all later numbers of the run NaN.

    Args:
        combiner: `EWA`, or another `Combiner`.
        epsilon: probability of a question.

    Example:
        >>> import jax, jaxonline as jo, numpy as np
        >>> rows = jo.environments.DataStream(None, np.tile([1.0, 0.0], (200, 1)))
        >>> game = jo.Game(rows, jo.OnRequest(), loss=jo.losses.ExpectedLoss())
        >>> learner = jo.learners.LabelEfficientHedge.over_horizon(2, n_rounds=200, n_questions=100)
        >>> state, history = jo.play(game, learner, jax.random.key(0), n_rounds=200)
        >>> bool(80 < history.queries.sum() < 120), bool(history.y_hat[-1, 1] > 0.99)
        (True, True)
    """

    combiner: AnyCombiner
    epsilon: PositiveProbability

    @classmethod
    @validate_arguments
    def over_horizon(cls, n_experts: CountFrom2, n_rounds: Rounds, n_questions: Count) -> "LabelEfficientHedge":
        """Set epsilon = m / T for m expected questions, eta = sqrt(2 m ln K) / T: regret at most T sqrt(2 ln K / m)."""
        if n_questions > n_rounds:
            raise ArgumentError("n_questions", f"must be at most n_rounds, {n_rounds} (got {n_questions})")
        eta = float(np.sqrt(2.0 * n_questions * np.log(n_experts)) / n_rounds)
        return cls(EWA(eta, n_experts), n_questions / n_rounds)

    def update(self, key: Key[Array, ""], state: PyTree, oracle: Any) -> tuple[PyTree, LabelEfficientInfo]:
        """Ask at random; pass losses / epsilon, or zeros, to the combiner."""
        weights = self.weights(state)
        epsilon = jnp.asarray(self.epsilon, weights.dtype)
        asked = random.bernoulli(key, epsilon)
        estimates = jnp.where(asked, nan_outside(oracle.outcome(asked), 0.0, 1.0) / epsilon, 0.0)
        return self.combiner.update(state, estimates, jnp.vdot(weights, estimates)), LabelEfficientInfo(asked)
