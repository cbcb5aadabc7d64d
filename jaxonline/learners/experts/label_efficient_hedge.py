"""Label-efficient prediction: Cesa-Bianchi, Lugosi and Stoltz (2005); Cesa-Bianchi and Lugosi (2006), section 6.2."""

from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key

from jaxonline import random
from jaxonline.game.traits import LearnerTraits
from jaxonline.learners.experts.combiner import AnyCombiner
from jaxonline.learners.experts.ewa import EWA
from jaxonline.learners.experts.label_range import nan_outside_unit
from jaxonline.learners.experts.vectors import CombinerLearner
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Count, CountFrom2, PositiveProbability, PyTree, Rounds
from jaxonline.parameters.validation import validate_arguments


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
    traits: ClassVar[LearnerTraits] = LearnerTraits(plays_probabilities=True)

    @classmethod
    @validate_arguments
    def over_horizon(cls, n_experts: CountFrom2, n_rounds: Rounds, n_questions: Count) -> "LabelEfficientHedge":
        """Set epsilon = m / T for m expected questions, eta = sqrt(2 m ln K) / T: regret at most T sqrt(2 ln K / m)."""
        if n_questions > n_rounds:
            raise ArgumentError("n_questions", f"must be at most n_rounds, {n_rounds} (got {n_questions})")
        eta = float(np.sqrt(2.0 * n_questions * np.log(n_experts)) / n_rounds)
        return cls(EWA(eta, n_experts), n_questions / n_rounds)

    def predict(self, key: Key[Array, ""] | None, state: PyTree, x: Any) -> Float[Array, "K"]:
        """Return the weights of the experts."""
        del key, x
        return self.weights(state)

    def update(self, key: Key[Array, ""], state: PyTree, oracle: Any) -> tuple[PyTree, LabelEfficientInfo]:
        """Ask at random; pass losses / epsilon, or zeros, to the combiner."""
        weights = self.weights(state)
        epsilon = jnp.asarray(self.epsilon, weights.dtype)
        asked = random.bernoulli(key, epsilon)
        estimates = jnp.where(asked, nan_outside_unit(oracle.outcome(asked)) / epsilon, 0.0)
        return self.combiner.update(state, estimates, jnp.vdot(weights, estimates)), LabelEfficientInfo(asked)
