"""Label-efficient prediction: Cesa-Bianchi, Lugosi and Stoltz (2005); Cesa-Bianchi and Lugosi (2006), section 6.2."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key, PyTree

from jaxonline import random
from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Specs
from jaxonline.learners.experts.combiner import AnyCombiner
from jaxonline.learners.experts.ewa import EWA
from jaxonline.learners.experts.label_range import unit_losses
from jaxonline.learners.experts.over_advice import n_experts
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Count, CountFrom2, PositiveProbability, Rounds
from jaxonline.parameters.validation import validate_arguments


class LabelEfficientInfo(NamedTuple):
    """Diagnostics of one update.

    Attributes:
        asked: whether the losses were asked for.
    """

    asked: Bool[Array, ""]


@cites("cesabianchi2005minimizing", "cesabianchi2006prediction")
@struct
class LabelEfficientHedge(LearnerDefaults):
    """Hedge that asks for the experts' losses with probability epsilon, and else learns nothing.

    The combiner is given losses / epsilon where they were asked for and zeros elsewhere: their mean is the vector of
    losses. The move is the vector of weights [K], and the feedback `OnRequest` meters the questions. The losses that
    are answered must be from 0 to 1: others make everything after them NaN.

    Args:
        combiner: `EWA`, or another `Combiner`.
        epsilon: the probability of a question.

    Example:
        >>> import jax, numpy as np
        >>> import jaxonline as jo
        >>> from jaxonline.learners import LabelEfficientHedge
        >>> rows = jo.environments.DataStream(None, np.tile([1.0, 0.0], (200, 1)))
        >>> game = jo.Game(rows, jo.OnRequest(), loss=jo.losses.ExpectedLoss())
        >>> learner = LabelEfficientHedge.over_horizon(2, n_rounds=200, n_questions=100)
        >>> state, history = jo.play(game, learner, jax.random.key(0), n_rounds=200)
        >>> bool(80 < history.queries.sum() < 120), bool(history.y_hat[-1, 1] > 0.99)
        (True, True)
    """

    combiner: AnyCombiner
    epsilon: PositiveProbability

    @classmethod
    @validate_arguments
    def over_horizon(cls, n_experts: CountFrom2, n_rounds: Rounds, n_questions: Count) -> "LabelEfficientHedge":
        """epsilon = m / T for m expected questions, eta = sqrt(2 m ln K) / T: the regret is at most T sqrt(2 ln K / m).

        Raises:
            ValueError: `n_questions` is above `n_rounds`.
        """
        if n_questions > n_rounds:
            raise ArgumentError("n_questions", f"must be at most n_rounds, {n_rounds} (got {n_questions})")
        return cls(EWA(float(np.sqrt(2.0 * n_questions * np.log(n_experts)) / n_rounds)), n_questions / n_rounds)

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> PyTree:
        """The combiner's state, for as many experts as the outcome has entries.

        Raises:
            ValueError: outcomes are not vectors.
        """
        del key
        return self.combiner.init(n_experts("outcomes", specs.outcome), specs.outcome.dtype)

    def predict(self, key: Key[Array, ""] | None, state: PyTree, x: Any) -> Float[Array, "K"]:
        """The weights of the experts."""
        del key, x
        return self.weights(state)

    def update(self, key: Key[Array, ""], state: PyTree, oracle: Any) -> tuple[PyTree, LabelEfficientInfo]:
        """Ask or not; the combiner sees losses / epsilon, or zeros."""
        weights = self.weights(state)
        epsilon = jnp.asarray(self.epsilon, weights.dtype)
        asked = random.uniform(key, (), weights.dtype) < epsilon
        estimates = jnp.where(asked, unit_losses(oracle.outcome(asked)) / epsilon, 0.0)
        return self.combiner.update(state, estimates, jnp.vdot(weights, estimates)), LabelEfficientInfo(asked)

    def weights(self, state: PyTree) -> Float[Array, "K"]:
        """The weights of the next round."""
        return self.combiner.weights(state)
