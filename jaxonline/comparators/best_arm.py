"""Comparator: the best arm, or the best expert, in hindsight."""

from typing import ClassVar

import numpy as np
from jaxtyping import Array, Float

from jaxonline.parameters.errors import ArgumentTypeError
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import PyTree


@struct
class BestArm:
    """Best arm (or expert) in hindsight: the arm with the smallest cumulative loss.

    Outcomes are vectors of the losses of all arms. Under `game.PseudoRegret` losses are expected losses.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> best = jo.BestArm()
        >>> best.best_loss(np.array([3.0, 2.0, 5.0])).item(), best.best_predictor(np.array([3.0, 2.0, 5.0])).item()
        (2.0, 1)
    """

    label: ClassVar[str] = "the best arm"

    def statistic(self, x: PyTree, y: Float[Array, "K"]) -> Float[Array, "K"]:
        """Losses of all arms in one round; raises a TypeError if the outcome is not a vector."""
        del x
        if getattr(y, "ndim", getattr(y, "shape", None) and len(y.shape)) != 1:
            raise ArgumentTypeError("outcomes", f"must be vectors of losses for BestArm (got {y})")
        return y

    def best_loss(self, sums: Float[np.ndarray, "... K"]) -> Float[np.ndarray, "..."]:
        """Smallest cumulative loss."""
        return np.asarray(sums).min(axis=-1)

    def best_predictor(self, sums: Float[np.ndarray, "... K"]) -> np.ndarray:
        """Index of the best arm."""
        return np.asarray(sums).argmin(axis=-1)
