"""Losses of a move among K arms (actions, experts), where the outcome y is the vector of the losses of all arms [K].

A move is an arm, 0 to K - 1, or weights on the arms [K], or both as a pair (arm, probabilities): the
`jaxonline.game.protocols.Draw` of a learner that draws its arm. A pair is known by being a tuple.
"""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxonline.parameters.numbers import as_floating
from jaxonline.parameters.struct import struct


@struct
class ArmLoss:
    """The loss y[arm] of the arm that was played; the move is an arm, or a pair (arm, probabilities).

    NaN for an arm outside 0 to K - 1.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.losses import ArmLoss
        >>> losses = jnp.array([0.5, 0.0, 1.0])
        >>> float(ArmLoss()(2, losses)), float(ArmLoss()((0, jnp.full(3, 1 / 3)), losses))
        (1.0, 0.5)
    """

    def __call__(self, y_hat: Any, y: Float[Array, "K"]) -> Float[Array, ""]:
        """y[arm]."""
        arm, losses = jnp.asarray(y_hat[0] if isinstance(y_hat, tuple) else y_hat), as_floating(y)
        return jnp.where((arm >= 0) & (arm < losses.shape[0]), losses[arm], jnp.nan)

    def gradient(self, y_hat: Any, y: Float[Array, "K"]) -> Float[Array, "K"]:
        """The losses of all arms: the gradient of <e, y> in the indicator vector e of the arm, whatever the arm."""
        del y_hat
        return as_floating(y)


@struct
class ExpectedLoss:
    """The loss <w, y> expected of a draw from the weights w; the move is w [K], or a pair (arm, probabilities).

    Weights need not have the sum 1: the loss is linear in them. Hedge plays them; for a learner that draws its arm,
    this loss is `ArmLoss` without the luck of the draw.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.losses import ExpectedLoss
        >>> losses = jnp.array([0.5, 0.0, 1.0])
        >>> weights = jnp.array([0.5, 0.25, 0.25])
        >>> float(ExpectedLoss()(weights, losses)), float(ExpectedLoss()((2, weights), losses))
        (0.5, 0.5)
        >>> ExpectedLoss().gradient(weights, losses).tolist()
        [0.5, 0.0, 1.0]
    """

    def __call__(self, y_hat: Any, y: Float[Array, "K"]) -> Float[Array, ""]:
        """<w, y>."""
        return jnp.vdot(as_floating(y_hat[1] if isinstance(y_hat, tuple) else y_hat), as_floating(y))

    def gradient(self, y_hat: Any, y: Float[Array, "K"]) -> Float[Array, "K"]:
        """The losses of all arms, whatever the weights."""
        del y_hat
        return as_floating(y)


ARM_LOSSES = (ArmLoss, ExpectedLoss)  # with these, outcomes are losses
