"""What linear bandits learn: online ridge regression on the features of the arms that were pulled."""

from typing import Any

from jaxtyping import Array, Key

from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Specs
from jaxonline.learners.linear.vaw import VAWState, absorb, initial_state
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.types import NonNegative, Positive


class RidgeBandit(LearnerDefaults):
    """An instance is the arms' features [K, d]; a subclass, with these two numbers, has `predict`."""

    width: NonNegative
    regularizer: Positive

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> VAWState:
        """P = I / lambda, w = 0.

        Raises:
            ValueError: instances are not matrices with a row for each arm.
        """
        del key
        shape, arms = getattr(specs.instance, "shape", ()), getattr(specs.outcome, "shape", None)
        if len(shape) != 2 or shape[:1] != arms:
            raise ArgumentError("instances", f"must be features [arms, d] of the arms {arms} (got {specs.instance})")
        return initial_state(shape[1], self.regularizer, specs.outcome.dtype)

    def update(self, key: Key[Array, ""] | None, state: VAWState, oracle: Any) -> tuple[VAWState, tuple]:
        """Absorb the features of the arm pulled, and its loss."""
        del key
        return absorb(state, oracle.x[oracle.move][:, None], oracle.loss()[None])[0], ()
