"""Losses of a move among K arms (actions, experts); the outcome y is the vector of the losses of all arms [K].

A move is an arm, 0 to K - 1, or weights on the arms [K], or a tuple (arm, probabilities): the
`jaxonline.game.protocols.Draw` of a learner that draws its arm.
"""

from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxonline.losses.lazy import LazyOutcome
from jaxonline.losses.pairs import PairLoss
from jaxonline.losses.sets import SumOfArms
from jaxonline.parameters.numbers import as_floating
from jaxonline.parameters.struct import struct


@struct
class ArmLoss:
    """Loss y[arm] of the played arm; NaN for an arm outside 0 to K - 1. The move is an arm, or (arm, probabilities).

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.losses import ArmLoss
        >>> losses = jnp.array([0.5, 0.0, 1.0])
        >>> float(ArmLoss()(2, losses)), float(ArmLoss()((0, jnp.full(3, 1 / 3)), losses))
        (1.0, 0.5)
    """

    reads_entries: ClassVar[bool] = True  # a lazy outcome computes the entry of the arm only

    def __call__(self, y_hat: Any, y: Float[Array, "K"]) -> Float[Array, ""]:
        """Return y[arm]."""
        arm = y_hat[0] if isinstance(y_hat, tuple) else y_hat
        losses = y if isinstance(y, LazyOutcome) else as_floating(y)
        return jnp.where((arm >= 0) & (arm < losses.shape[0]), as_floating(losses[arm]), jnp.nan)

    def gradient(self, y_hat: Any, y: Float[Array, "K"]) -> Float[Array, "K"]:
        """Return the losses of all arms: the gradient of <e, y> in the indicator vector e, for any arm."""
        del y_hat
        return as_floating(y)


@struct
class ExpectedLoss:
    """Expected loss <w, y> of a draw from the weights w; the move is w [K], or (arm, probabilities).

    The loss is linear in the weights, whose sum need not be 1. `Hedge` plays weights. For a learner that draws its arm,
    the expected loss is the mean of `ArmLoss` over the draw.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.losses import ExpectedLoss
        >>> losses, weights = jnp.array([0.5, 0.0, 1.0]), jnp.array([0.5, 0.25, 0.25])
        >>> float(ExpectedLoss()(weights, losses)), float(ExpectedLoss()((2, weights), losses))
        (0.5, 0.5)
        >>> ExpectedLoss().gradient(weights, losses).tolist()
        [0.5, 0.0, 1.0]
    """

    def __call__(self, y_hat: Any, y: Float[Array, "K"]) -> Float[Array, ""]:
        """Return <w, y>."""
        return jnp.vdot(as_floating(y_hat[1] if isinstance(y_hat, tuple) else y_hat), as_floating(y))

    def gradient(self, y_hat: Any, y: Float[Array, "K"]) -> Float[Array, "K"]:
        """Return the losses of all arms: the gradient of <w, y> in the weights w, for any weights."""
        del y_hat
        return as_floating(y)


ARM_LOSSES = (ArmLoss, ExpectedLoss, PairLoss, SumOfArms)  # with these, outcomes are losses
