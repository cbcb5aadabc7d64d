"""Epsilon-greedy: Auer, Cesa-Bianchi and Fischer (2002), Figure 3."""

from typing import Annotated, Any

import jax.numpy as jnp
from jaxtyping import Array, Key

from jaxonline.game.protocols import Draw
from jaxonline.learners.bandits.arm_sampling import draw_arm
from jaxonline.learners.bandits.tally import Tally, TallyPolicy, arm_indicator
from jaxonline.linalg.argmin import first_argmin
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Count, Interval, NonNegative, PositiveFloat
from jaxonline.parameters.validation import validate_arguments


@cites("auer2002finite")
@struct
class EpsilonGreedy(TallyPolicy):
    """Epsilon-greedy policy: pulls the arm with the smallest mean loss or, with probability epsilon_t, a random arm.

    In round t = 1, 2, ... epsilon_t = min(1, epsilon / t^power). The random arm is drawn uniformly from all arms. An
    arm that was never pulled has the mean 0; ties go to the first arm.

    Args:
        epsilon: probability of a random arm in round 1, and in all rounds if `power` is 0.
        power: exponent of t: 0 for a constant epsilon, 1 for the rate of Theorem 3 (`decreasing`).

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> learner = jo.learners.EpsilonGreedy(epsilon=0.3)
        >>> state = learner.init(None, jo.game.Specs((), jnp.zeros(3)))
        >>> [round(p, 3) for p in learner.predict(jax.random.key(0), state, ()).probabilities.tolist()]
        [0.8, 0.1, 0.1]
    """

    epsilon: NonNegative
    power: NonNegative = 0.0

    @classmethod
    @validate_arguments
    def decreasing(
        cls, n_arms: Count, gap: Annotated[float, Interval(gt=0, le=1)], c: PositiveFloat = 6.0
    ) -> "EpsilonGreedy":
        """Set epsilon_t = min(1, c K / (gap^2 t)), where `gap` is at most the gap between the two best arms.

        If c > 5 the probability of pulling a worse arm in round t is at most c / (gap^2 t) + o(1/t) (Theorem 3).
        """
        return cls(float(c) * n_arms / gap**2, power=1.0)

    def predict(self, key: Key[Array, ""], state: Tally, x: Any) -> Draw:
        """Draw the best arm so far with probability 1 - epsilon_t, or else a uniformly random arm."""
        del x
        n_arms, dtype = len(state.pulls), state.totals.dtype
        t = state.rounds + 1
        epsilon = jnp.minimum(1.0, jnp.asarray(self.epsilon, dtype) * t ** -jnp.asarray(self.power, dtype))
        greedy = arm_indicator(first_argmin(state.means), n_arms)
        return draw_arm(key, jnp.where(greedy, 1.0 - epsilon, 0.0) + epsilon / n_arms)

    def update(self, key: Key[Array, ""] | None, state: Tally, oracle: Any) -> tuple[Tally, tuple[()]]:
        """Add the pull and its loss to the tally."""
        del key
        return state.add(oracle.move.arm, oracle.loss()), ()
