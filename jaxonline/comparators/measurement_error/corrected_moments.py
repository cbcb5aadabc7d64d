"""Corrected score for least squares on noisy rows (Nakamura 1990), with the safeguard of Fuller (1987)."""

from typing import NamedTuple

import numpy as np
from jaxtyping import ArrayLike, Float

from jaxonline.comparators.measurement_error.noisy_rows import joint_moments, largest_noise_share
from jaxonline.feedback.noise import Covariance
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.validation import validate_arguments


class CorrectedScore(NamedTuple):
    """Result of `corrected_score`.

    Attributes:
        w: the estimate [d].
        share: the share of the noise covariance that was subtracted; below 1 if the safeguard acted.
    """

    w: Float[np.ndarray, "d"]
    share: float


@cites("nakamura1990corrected", "fuller1987measurement")
@validate_arguments
def corrected_score(X: Float[ArrayLike, "n d"], y: Float[ArrayLike, "n"], covariance: Covariance) -> CorrectedScore:
    """Solve (M - Sigma) w = m; M is the mean of x~ x~', m the mean of y x~, and Sigma the covariance of the noise.

    The corrected score is the score of least squares plus Sigma w, whose mean is the score on clean rows. It has the
    same expected value as the gradients of `estimators.KnownCovariance` and `estimators.TwoCopies`. If every row is the
    mean of the copies of an instance, and Sigma is `feedback.replicate_covariance` divided by the number of copies, w
    minimises the sum of the losses that `estimators.PairsOfCopies` differentiates.

    In a small sample the corrected moments of (x, y) may have a negative eigenvalue; then the solution is useless.
    Safeguard: let s be the largest number for which the moments of (x, y) minus s Sigma are positive semi-definite. If
    s is above 1 + 1/n, the whole Sigma is subtracted, else s - 1/n times Sigma (at least 0). The remaining matrix is
    positive definite.

    Args:
        X: noisy rows. A column of ones whose noise has the variance 0 is an intercept.
        y: targets; independent noise with mean 0 does not bias the estimate.
        covariance: covariance of the noise of a row: a variance, a vector of variances, or a matrix.

    Raises:
        ValueError: the shapes do not match, or the moments of (x, y) are singular.

    Example:
        >>> import numpy as np
        >>> from jaxonline.comparators import corrected_score
        >>> x = np.array([[1.0], [-1.0], [2.0], [-2.0]])  # the second moment is 2.5
        >>> corrected_score(x, [1.2, -0.8, 1.0, -1.0], covariance=0.1)  # 1.5 / (2.5 - 0.1)
        CorrectedScore(w=array([0.625]), share=1.0)
        >>> estimate = corrected_score(x, [1.2, -0.8, 1.0, -1.0], covariance=2.0)  # 1.5 / (2.5 - 2.0) is far off
        >>> estimate.w.round(3).tolist(), estimate.share
        ([0.6], 0.0)
    """
    X, y = check.rows("X", X, "y", y)
    n, d = X.shape
    moments, noise = joint_moments(X, y, covariance, 0.0)
    largest, _ = largest_noise_share(moments, noise)
    share = 1.0 if largest > 1 + 1 / n else max(largest - 1 / n, 0.0)
    return CorrectedScore(np.linalg.solve((moments - share * noise)[:d, :d], moments[:d, d]), share)
