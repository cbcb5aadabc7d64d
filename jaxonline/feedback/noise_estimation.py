"""The covariance of the noise of measured copies, estimated from the copies of each round."""

from typing import Annotated, Any

import numpy as np
from jaxtyping import Float

from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.types import Shape
from jaxonline.parameters.validation import validate_arguments


@validate_arguments
def replicate_covariance(X: Annotated[Any, Shape("T", "m", "d")]) -> Float[np.ndarray, "d d"]:
    """Estimate the covariance of the noise of a copy from m measured copies of each of T instances, without bias.

    The estimate is the mean over the T rounds of the sample covariance of the m copies of a round, with m - 1 as the
    divisor. It assumes that the noise of all copies is independent, with mean 0 and the same covariance. The instances
    may be any vectors, because they cancel. Carroll, Ruppert, Stefanski and Crainiceanu (2006), chapter 4.

    Args:
        X: measured copies [T, m, d] of the instances.

    Returns:
        The covariance [d, d] in float64, in squared units of the instances.

    Raises:
        ValueError: fewer than two copies are measured in a round.

    Example:
        >>> from jaxonline.feedback import replicate_covariance
        >>> replicate_covariance([[[0.0, 1.0], [2.0, 1.0]], [[5.0, 0.0], [5.0, 4.0]]]).tolist()
        [[1.0, 0.0], [0.0, 4.0]]
    """
    copies = np.asarray(X, np.float64)
    n_rounds, n_copies, dimension = copies.shape
    if n_copies < 2:
        raise ArgumentError("X", f"must have at least two copies of each instance (got {n_copies})")
    deviations = (copies - copies.mean(axis=1, keepdims=True)).reshape(-1, dimension)
    return deviations.T @ deviations / (n_rounds * (n_copies - 1))
