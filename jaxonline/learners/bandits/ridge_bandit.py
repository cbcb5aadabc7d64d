"""Online ridge regression on the features of the arms that were pulled, the state of linear bandits."""

from typing import Any

from jaxtyping import Array, Key

from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Specs
from jaxonline.learners.linear.vaw import VAWState, absorb, initial_state
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.types import NonNegative, Positive


class RidgeBandit(LearnerDefaults):
    """Base class of linear bandits. An instance is the features of the arms [K, d]; a subclass implements `predict`."""

    width: NonNegative
    regularizer: Positive

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> VAWState:
        """Return P = I / lambda and w = 0; raise a ValueError if instances are not matrices with a row for each arm."""
        del key
        shape, arms = getattr(specs.instance, "shape", ()), getattr(specs.outcome, "shape", None)
        if len(shape) != 2 or shape[:1] != arms:
            problem = f"must be features [arms, d] for outcomes of shape {arms} (got {specs.instance})"
            raise ArgumentError("instances", problem)
        return initial_state(shape[1], self.regularizer, specs.outcome.dtype)

    def update(self, key: Key[Array, ""] | None, state: VAWState, oracle: Any) -> tuple[VAWState, tuple[()]]:
        """Absorb the features and the loss of the arm pulled."""
        del key
        return absorb(state, oracle.x[oracle.move][:, None], oracle.loss()[None])[0], ()
