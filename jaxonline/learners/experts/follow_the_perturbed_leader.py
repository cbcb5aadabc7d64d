"""Follow the perturbed leader: Kalai and Vempala (2005), Hutter and Poland (2005); Hannan (1957)."""

from typing import Any, Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from jaxonline import random
from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Specs
from jaxonline.learners.experts.drawn_expert import arm_unless_nan
from jaxonline.learners.experts.label_range import unit_losses
from jaxonline.learners.experts.over_advice import n_experts
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import CountFrom2, Positive, Rounds
from jaxonline.parameters.validation import validate_arguments

PERTURBATIONS = {"exponential": random.exponential, "gumbel": random.gumbel}


@cites("kalai2005efficient", "hutter2005adaptive", "hannan1957approximation")
@struct
class FollowThePerturbedLeader(LearnerDefaults):
    """Follows the expert that minimises L_k - Z_k / eta, L being the cumulative losses, with fresh Z in each round.

    The outcome is the vector of the losses of all experts, each from 0 to 1; the move is an expert, and the state is L
    [K]. With exponential Z the expected regret is at most (H_K - 1) / eta + eta T, H_K = 1 + 1/2 + ... + 1/K
    (`bounds.perturbed_leader`). With Gumbel Z the expert has the law of exponential weights with the same eta, so that
    the bound of `Hedge` holds. These are against losses that do not depend on the present draw. A loss outside [0, 1],
    where the theorems do not hold, makes everything after it NaN.

    Args:
        eta: the rate; the perturbations are Z / eta.
        perturbation: the law of Z: exponential of mean 1, or the standard Gumbel law.

    Example:
        >>> import jax, numpy as np
        >>> import jaxonline as jo
        >>> from jaxonline.learners import FollowThePerturbedLeader
        >>> losses = np.tile([1.0, 0.0], (50, 1))
        >>> game = jo.Game(jo.environments.DataStream(None, losses), jo.FullInformation(), loss=jo.losses.ArmLoss())
        >>> learner = FollowThePerturbedLeader.over_horizon(2, n_rounds=50)
        >>> state, history = jo.play(game, learner, jax.random.key(0), n_rounds=50)
        >>> state.tolist(), history.y_hat[-5:].tolist()
        ([50.0, 0.0], [1, 1, 1, 1, 1])
    """

    eta: Positive
    perturbation: Literal["exponential", "gumbel"] = static(default="exponential")

    @classmethod
    @validate_arguments
    def over_horizon(cls, n_experts: CountFrom2, n_rounds: Rounds) -> "FollowThePerturbedLeader":
        """Exponential perturbations with eta = sqrt(ln K / T): the expected regret is at most 2 sqrt(T ln K)."""
        return cls(float(np.sqrt(np.log(n_experts) / n_rounds)))

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> Float[Array, "K"]:
        """No losses, of as many experts as the outcome has entries.

        Raises:
            ValueError: outcomes are not vectors.
        """
        del key
        return jnp.zeros(n_experts("outcomes", specs.outcome), specs.outcome.dtype)

    def predict(self, key: Key[Array, ""], state: Float[Array, "K"], x: Any) -> Int[Array, ""]:
        """The leader of this round's perturbation."""
        del x
        z = PERTURBATIONS[self.perturbation](key, state.shape, state.dtype)
        # from the best expert, so that long runs are exact where it matters
        behind = jnp.asarray(self.eta, state.dtype) * (state - jnp.min(state))
        return arm_unless_nan(jnp.argmin(behind - z), state)

    def update(
        self, key: Key[Array, ""] | None, state: Float[Array, "K"], oracle: Any
    ) -> tuple[Float[Array, "K"], tuple]:
        """L += losses."""
        del key
        return state + unit_losses(oracle.y), ()
