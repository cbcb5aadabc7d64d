"""Comparator: the best expert in hindsight, for experts that give advice."""

from typing import Any, ClassVar

import jax
import numpy as np
from jaxtyping import Array, Float

from jaxonline.losses import ZeroOne
from jaxonline.losses.base import AnyLoss
from jaxonline.parameters.errors import ArgumentTypeError
from jaxonline.parameters.struct import struct


@struct
class BestExpert:
    """Best expert in hindsight: the expert with the smallest cumulative loss.

    Instances are vectors of the experts' predictions. If outcomes are vectors of the experts' losses, use `BestArm`.

    Args:
        loss: `loss(prediction, y)` of the game; the default `ZeroOne()` counts mistakes.

    Example:
        >>> import numpy as np
        >>> from jaxonline.comparators import BestExpert, cumulative_statistic
        >>> best = BestExpert()
        >>> sums = cumulative_statistic(best, np.array([[1.0, -1.0], [1.0, 1.0]]), np.array([-1.0, -1.0]))
        >>> best.best_loss(sums).item(), best.best_predictor(sums).item()
        (1.0, 1)
    """

    follows_advice: ClassVar[bool] = True
    loss: AnyLoss = ZeroOne()
    label: ClassVar[str] = "the best expert"

    def statistic(self, x: Float[Array, "K"], y: Any) -> Float[Array, "K"]:
        """Losses of all experts in one round; raises a TypeError if the instance is not a vector."""
        if len(getattr(x, "shape", ())) != 1:
            raise ArgumentTypeError("instances", f"must be vectors of predictions for BestExpert (got {x})")
        return jax.vmap(lambda prediction: self.loss(prediction, y))(x)

    def best_loss(self, sums: Float[np.ndarray, "... K"]) -> Float[np.ndarray, "..."]:
        """Smallest cumulative loss."""
        return np.asarray(sums).min(axis=-1)

    def best_predictor(self, sums: Float[np.ndarray, "... K"]) -> np.ndarray:
        """Index of the best expert."""
        return np.asarray(sums).argmin(axis=-1)
