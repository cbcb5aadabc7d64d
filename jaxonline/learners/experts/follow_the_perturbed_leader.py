"""Follow the perturbed leader: Kalai and Vempala (2005), Hutter and Poland (2005); Hannan (1957)."""

from typing import Any, Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Key

from jaxonline.game.protocols import Specs
from jaxonline.learners.experts.cumulative_losses import add_losses, excess
from jaxonline.learners.experts.drawn_expert import arm_unless_nan
from jaxonline.learners.experts.label_range import nan_outside_unit
from jaxonline.learners.experts.vectors import SumsLearner, check_prescribed_number, vector_length
from jaxonline.linalg.compensated import Compensated
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Count, CountFrom2, Positive, Rounds
from jaxonline.parameters.validation import validate_arguments
from jaxonline.random.word_pairs import WordPairs, word_pairs

PERTURBATIONS = {"exponential": WordPairs.exponential, "gumbel": WordPairs.gumbel}


@cites("kalai2005efficient", "hutter2005adaptive", "hannan1957approximation")
@struct
class FollowThePerturbedLeader(SumsLearner):
    """Follow the perturbed leader (FPL): follows the expert that minimises L_k - Z_k / eta, with new Z in each round.

    The outcome is the vector of the losses of all experts in [0, 1]. The move is an expert; the state is the cumulative
    losses L [K]. With exponential Z the expected regret is at most (H_K - 1) / eta + eta T, H_K = 1 + 1/2 + ... + 1/K
    (`bounds.perturbed_leader`). With Gumbel Z the probabilities of the experts are exponential weights, so the bound of
    `Hedge` holds. Both bounds assume losses that do not depend on the draw of the same round. A loss outside [0, 1],
    where the theorems do not hold, makes all later numbers of the run NaN.

    Args:
        eta: rate; the perturbations are Z / eta.
        perturbation: distribution of Z: exponential with mean 1, or standard Gumbel.
        n_experts: the number of experts for which eta was chosen; another number of experts is a ValueError. None for
            any number.

    Example:
        >>> import jax, jaxonline as jo, numpy as np
        >>> losses = np.tile([1.0, 0.0], (50, 1))
        >>> game = jo.Game(jo.environments.DataStream(None, losses), jo.FullInformation(), loss=jo.losses.ArmLoss())
        >>> learner = jo.learners.FollowThePerturbedLeader.over_horizon(2, n_rounds=50)
        >>> state, history = jo.play(game, learner, jax.random.key(0), n_rounds=50)
        >>> state.total.tolist(), history.y_hat[-5:].tolist()
        ([50.0, 0.0], [1, 1, 1, 1, 1])
    """

    eta: Positive
    perturbation: Literal["exponential", "gumbel"] = static(default="exponential")
    n_experts: Count | None = static(default=None)

    @classmethod
    @validate_arguments
    def over_horizon(cls, n_experts: CountFrom2, n_rounds: Rounds) -> "FollowThePerturbedLeader":
        """Set eta = sqrt(ln K / T), for exponential Z: the expected regret is at most 2 sqrt(T ln K)."""
        return cls(float(np.sqrt(np.log(n_experts) / n_rounds)), n_experts=n_experts)

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> Compensated:
        """Return zeros, one for each expert; raise a ValueError for another number of experts than `n_experts`."""
        check_prescribed_number("n_experts", self.n_experts, vector_length("outcomes", specs.outcome))
        return super().init(key, specs)

    def predict(self, key: Key[Array, ""], state: Compensated, x: Any) -> Int[Array, ""]:
        """Return the expert that minimises L_k - Z_k / eta for a new draw of Z."""
        del x
        differences = excess(state)
        shape, dtype = differences.shape, differences.dtype
        z = PERTURBATIONS[self.perturbation](word_pairs(key, shape, dtype), dtype)
        return arm_unless_nan(jnp.argmin(jnp.asarray(self.eta, dtype) * differences - z), differences)

    def update(self, key: Key[Array, ""] | None, state: Compensated, oracle: Any) -> tuple[Compensated, tuple[()]]:
        """Add the losses to L."""
        del key
        return add_losses(state, nan_outside_unit(oracle.y)), ()
