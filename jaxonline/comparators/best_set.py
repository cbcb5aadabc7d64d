"""Comparator: the best set of arms in hindsight."""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxonline.losses.sets import Select, set_size
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import PyTree


@struct
class BestSet:
    """Set of arms with the smallest cumulative loss (expected under `PseudoRegret`), for the loss `losses.SumOfArms`.

    Args:
        select: function of the cumulative losses [K] that returns the set [m] with the smallest sum, such as
            `losses.SmallestArms(m)`.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> best, sums = jo.BestSet(jo.losses.SmallestArms(2)), np.array([3.0, 2.0, 5.0])
        >>> best.best_loss(sums).item(), best.best_predictor(sums).tolist()
        (5.0, [0, 1])
    """

    select: Select

    label: ClassVar[str] = "the best set"

    def statistic(self, x: PyTree, y: Float[Array, "K"]) -> Float[Array, "K"]:
        """Return the losses of all arms in one round.

        Raises a TypeError if the outcome is not a vector, and a ValueError if `select` does not return a set of at most
        K arms.
        """
        del x
        if getattr(y, "ndim", getattr(y, "shape", None) and len(y.shape)) != 1:
            raise TypeError(f"y: BestSet needs vectors of losses as outcomes (got {y})")
        set_size(self.select, y.shape[0], y.dtype)
        return y

    def best_loss(self, sums: Float[np.ndarray, "... K"]) -> Float[np.ndarray, "..."]:
        """Return the smallest cumulative loss of a set [...]."""
        return np.take_along_axis(np.asarray(sums), self.best_predictor(sums), axis=-1).sum(axis=-1)

    def best_predictor(self, sums: Float[np.ndarray, "... K"]) -> Int[np.ndarray, "... m"]:
        """Return the arms of the best set [..., m]."""
        sums = np.asarray(sums)
        with jax.enable_x64(True):
            sets = jax.vmap(self.select)(jnp.asarray(sums.reshape(-1, sums.shape[-1])))
        return np.asarray(sets).reshape(*sums.shape[:-1], -1)
