"""The best expert in hindsight, where experts give advice and a loss judges it."""

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
    """The expert with the smallest cumulative loss; an instance is the vector of the predictions of all.

    (Where outcomes are the vectors of their losses, it is `BestArm`.)

    Args:
        loss: `loss(prediction, y)`, that of the game; `ZeroOne()` by default, which counts mistakes.

    Example:
        >>> import numpy as np
        >>> from jaxonline.comparators import BestExpert, cumulative_statistic
        >>> best = BestExpert()
        >>> sums = cumulative_statistic(best, np.array([[1.0, -1.0], [1.0, 1.0]]), np.array([-1.0, -1.0]))
        >>> best.best_loss(sums).item(), best.best_predictor(sums).item()
        (1.0, 1)
    """

    loss: AnyLoss = ZeroOne()
    label: ClassVar[str] = "the best expert"

    def statistic(self, x: Float[Array, "K"], y: Any) -> Float[Array, "K"]:
        """The losses of all experts in one round.

        Raises:
            TypeError: the instance is no vector.
        """
        if len(getattr(x, "shape", ())) != 1:
            raise ArgumentTypeError("instances", f"must be vectors of predictions for BestExpert (got {x})")
        return jax.vmap(lambda prediction: self.loss(prediction, y))(x)

    def best_loss(self, sums: Float[np.ndarray, "... K"]) -> Float[np.ndarray, "..."]:
        """The smallest of the sums."""
        return np.asarray(sums).min(axis=-1)

    def best_predictor(self, sums: Float[np.ndarray, "... K"]) -> np.ndarray:
        """The expert that has it."""
        return np.asarray(sums).argmin(axis=-1)
