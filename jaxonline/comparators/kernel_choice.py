"""Comparator: the best of several kernels in hindsight."""

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
from jaxtyping import ArrayLike, Float

from jaxonline.comparators.rkhs import SQUARED, RKHSPredictor, best_in_rkhs_ball
from jaxonline.kernels.base import Kernel, require_kernel
from jaxonline.losses.base import AnyLoss
from jaxonline.parameters import check
from jaxonline.parameters.types import Convert, PositiveFloat
from jaxonline.parameters.validation import validate_arguments


class BestKernel(NamedTuple):
    """Index of the best kernel, its best predictor, and the losses of the best predictors of all kernels [N]."""

    index: int
    best: RKHSPredictor
    losses: np.ndarray


def _as_kernels(kernels: Any, name: str) -> tuple[Kernel, ...]:
    return tuple(require_kernel(name, kernel) for kernel in check.sequence(name, kernels, "kernel"))


@validate_arguments
def best_kernel(
    kernels: Annotated[Sequence[Kernel], Convert(_as_kernels)],
    X: Float[ArrayLike, "n d"],
    y: Float[ArrayLike, "n"],
    radius: PositiveFloat,
    loss: AnyLoss = SQUARED,
) -> BestKernel:
    """Best kernel in hindsight, by `best_in_rkhs_ball`, as in Rokhlin and Gurtovaya (2025), Theorems 2 and 3.

    Args:
        kernels: the kernels, at least one.
        X: instances.
        y: targets.
        radius: radius of every kernel's ball.
        loss: a convex and twice differentiable loss, from `jaxonline.losses` or your own.

    Example:
        >>> import numpy as np
        >>> from jaxonline.comparators import best_kernel
        >>> from jaxonline.kernels import Gaussian, Linear
        >>> X = np.array([[-1.0], [0.0], [1.0]])
        >>> best_kernel([Linear(), Gaussian(1.0)], X, np.array([1.0, 0.0, 1.0]), radius=2.0).index
        1
    """
    predictors = [best_in_rkhs_ball(kernel, X, y, radius, loss) for kernel in kernels]
    losses = np.array([predictor.loss for predictor in predictors])
    index = int(np.argmin(losses))
    return BestKernel(index, predictors[index], losses)
