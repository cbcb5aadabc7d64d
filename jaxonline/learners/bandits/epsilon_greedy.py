"""Epsilon-greedy: Auer, Cesa-Bianchi and Fischer (2002), Figure 3."""

from typing import Annotated, Any

import jax.numpy as jnp
from jaxtyping import Array, Key

from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Draw, Specs
from jaxonline.learners.bandits.arm_sampling import draw_arm
from jaxonline.learners.bandits.tally import Tally, arm_indicator, first_argmin
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Count, Interval, NonNegative, PositiveFloat
from jaxonline.parameters.validation import validate_arguments


@cites("auer2002finite")
@struct
class EpsilonGreedy(LearnerDefaults):
    """Pulls the arm with the smallest mean loss and, with probability epsilon_t, one drawn uniformly from all.

    epsilon_t = min(1, epsilon / t^power) in round t = 1, 2, ... The mean of an arm never pulled counts as 0; of several
    with the smallest mean it is the first.

    Args:
        epsilon: the probability of a uniform draw in round 1, and in all rounds with `power` 0.
        power: of t; 0 for a constant epsilon, 1 for the rate of Theorem 3 (`decreasing`).

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxonline.game import Specs
        >>> from jaxonline.learners import EpsilonGreedy
        >>> learner = EpsilonGreedy(epsilon=0.3)
        >>> draw = learner.predict(jax.random.key(0), learner.init(None, Specs((), jnp.zeros(3))), ())
        >>> [round(p, 3) for p in draw.probabilities.tolist()]
        [0.8, 0.1, 0.1]
    """

    epsilon: NonNegative
    power: NonNegative = 0.0

    @classmethod
    @validate_arguments
    def decreasing(
        cls, n_arms: Count, gap: Annotated[float, Interval(gt=0, le=1)], c: PositiveFloat = 6.0
    ) -> "EpsilonGreedy":
        """epsilon_t = min(1, c K / (d^2 t)), where d is at most the gap between the best arm and the second.

        With c > 5 the probability of a worse arm in round t is at most c / (d^2 t) + o(1/t), Theorem 3.
        """
        return cls(float(c) * n_arms / gap**2, power=1.0)

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> Tally:
        """No pulls, the state.

        Raises:
            ValueError: outcomes are not vectors.
        """
        del key
        return Tally.empty(specs)

    def predict(self, key: Key[Array, ""], state: Tally, x: Any) -> Draw:
        """An arm drawn from (1 - epsilon_t) [best so far] + epsilon_t / K."""
        del x
        n_arms, dtype = len(state.pulls), state.totals.dtype
        t = state.rounds + 1
        epsilon = jnp.minimum(1.0, jnp.asarray(self.epsilon, dtype) * t ** -jnp.asarray(self.power, dtype))
        greedy = arm_indicator(first_argmin(state.means), n_arms)
        return draw_arm(key, jnp.where(greedy, 1.0 - epsilon, 0.0) + epsilon / n_arms)

    def update(self, key: Key[Array, ""] | None, state: Tally, oracle: Any) -> tuple[Tally, tuple]:
        """One more pull."""
        del key
        return state.add(oracle.move.arm, oracle.loss()), ()
