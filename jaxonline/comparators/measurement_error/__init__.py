"""Methods of statistics for noisy rows and flipped labels, which use all rows at once (errors in variables).

Linear models have no intercept, like the linear learners. A column of ones whose noise has the variance 0 is one.
"""

from jaxonline.comparators.measurement_error.calibration import calibrate_rows, regression_calibration
from jaxonline.comparators.measurement_error.corrected_moments import CorrectedScore, corrected_score
from jaxonline.comparators.measurement_error.extrapolation import SimexEstimate, extrapolate, simex
from jaxonline.comparators.measurement_error.flipped_labels import logistic_regression, mc_simex
from jaxonline.comparators.measurement_error.noisy_rows import least_squares
from jaxonline.comparators.measurement_error.orthogonal_regression import total_least_squares

__all__ = [
    "CorrectedScore",
    "SimexEstimate",
    "calibrate_rows",
    "corrected_score",
    "extrapolate",
    "least_squares",
    "logistic_regression",
    "mc_simex",
    "regression_calibration",
    "simex",
    "total_least_squares",
]
