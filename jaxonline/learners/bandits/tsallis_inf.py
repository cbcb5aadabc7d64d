"""Tsallis-INF: Zimmert and Seldin (2021), Algorithm 1 with alpha = 1/2."""

from typing import Any, ClassVar, Literal, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Draw, Specs
from jaxonline.game.traits import LearnerTraits
from jaxonline.learners.bandits.arm_sampling import draw_arm
from jaxonline.learners.bandits.tally import arm_indicator
from jaxonline.learners.experts.cumulative_losses import add_losses, excess, zero_sums
from jaxonline.learners.experts.vectors import vector_length
from jaxonline.linalg.compensated import Compensated
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import static, struct

_NEWTON_STEPS = 8  # the function of the search is almost linear; the last steps do not change float32 numbers


class TsallisState(NamedTuple):
    """The number of rounds so far, and the sums of the estimated losses [K]."""

    rounds: Int[Array, ""]
    sums: Compensated


@cites("zimmert2021tsallis")
@struct
class TsallisINF(LearnerDefaults):
    """Tsallis-INF: a bandit learner that is optimal, up to constants, for stochastic and for adversarial losses.

    The learner draws an arm from the weights w that minimise <w, L> - (4 / eta_t) sum of sqrt(w_k) on the simplex,
    where L holds the sums of the estimated losses: w_k = 4 / (eta_t (L_k - z))^2 with z such that the sum is 1. It
    needs no horizon. Losses known before the game must lie in [0, 1] (otherwise a ValueError).

    Args:
        estimator: the estimated losses. "importance_weighted" is loss / w_k for the drawn arm k, 0 for the other arms,
            and eta_t = 2 / sqrt(t). "reduced_variance" is (loss - b_k) / w_k + b_k for the drawn arm, b_k for the other
            arms, where b_k = 1/2 if w_k >= eta_t^2 and otherwise 0, and eta_t = 4 / sqrt(t).

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> learner = jo.learners.TsallisINF()
        >>> state = learner.init(None, jo.game.Specs((), jnp.zeros(4)))
        >>> learner.predict(jax.random.key(0), state, ()).probabilities.tolist()
        [0.25, 0.25, 0.25, 0.25]
    """

    estimator: Literal["reduced_variance", "importance_weighted"] = static(default="reduced_variance")

    traits: ClassVar[LearnerTraits] = LearnerTraits(loss_range=(0.0, 1.0), plays_probabilities=True)

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> TsallisState:
        """Return the state before the first draw; raise a ValueError if outcomes are not vectors."""
        del key
        return TsallisState(jnp.int32(0), zero_sums(vector_length("outcomes", specs.outcome), specs.outcome.dtype))

    def predict(self, key: Key[Array, ""], state: TsallisState, x: Any) -> Draw:
        """Draw an arm from the weights."""
        del x
        return draw_arm(key, tsallis_weights(excess(state.sums), self._rate(state)))

    def update(self, key: Key[Array, ""] | None, state: TsallisState, oracle: Any) -> tuple[TsallisState, tuple]:
        """Add the estimated losses to the sums."""
        del key
        (arm, w), loss = oracle.move, oracle.loss()
        reduced = self.estimator == "reduced_variance"
        base = jnp.where(w >= self._rate(state) ** 2, 0.5, 0.0) if reduced else jnp.zeros_like(w)
        drawn = arm_indicator(arm, len(w))
        estimates = base + jnp.where(drawn, (loss - base) / jnp.where(drawn, w, 1.0), 0.0)
        return TsallisState(state.rounds + 1, add_losses(state.sums, estimates)), ()

    def _rate(self, state: TsallisState) -> Float[Array, ""]:
        """Return eta_t of the next round t."""
        t = (state.rounds + 1).astype(state.sums.total.dtype)
        return (4.0 if self.estimator == "reduced_variance" else 2.0) / jnp.sqrt(t)


def tsallis_weights(sums: Float[Array, "K"], rate: Float[Array, ""]) -> Float[Array, "K"]:
    """Return the weights 4 / (rate (L_k - z))^2 with sum 1, for sums L of losses with any common offset.

    With y = min L - z, the function (sum of weights)^(-1/2) is concave and increasing in y. Newton's method starts at y
    = 2 / rate, which is too small, and increases to the root.
    """
    differences = sums - jnp.min(sums)
    y = 2.0 / rate
    for _ in range(_NEWTON_STEPS):
        distances = rate * (differences + y) / 2.0
        total = jnp.sum(distances**-2.0)
        y = y + (jnp.sqrt(total) - 1.0) * total / jnp.sum(distances**-3.0) * 2.0 / rate
    weights = (rate * (differences + y) / 2.0) ** -2.0
    return weights / jnp.sum(weights)
