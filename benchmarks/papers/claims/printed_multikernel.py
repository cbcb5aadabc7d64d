"""Statements of paper D as printed, wrong, only for comparison with the right ones."""

import numpy as np
from jaxtyping import ArrayLike, Float
from scipy import special

from jaxonline.bounds import Features, vaw

COLUMNS = (
    "VAW2", "VAW2-truncated", "EWA", "Aggregating", "BOA", "ML-Poly", "ML-Prod", "Raker", "OMKL-GF",
)  # fmt: skip
PRINTED_TABLE_2 = {  # D, Table 2: mean squared errors times 1000 of the algorithms `COLUMNS`, by data set
    "AR(4)": (16.56, 16.51, 16.49, 16.40, 16.34, 16.34, 16.34, 23.24, 20.47),
    "Airfoil": (22.80, 22.78, 27.61, 26.74, 26.42, 26.10, 26.27, 28.64, 24.37),
    "Bias correction": (4.09, 4.09, 5.41, 5.02, 4.98, 4.96, 4.97, 12.70, 7.05),
    "Concrete": (10.96, 10.97, 15.08, 13.57, 13.88, 13.33, 13.64, 35.29, 34.24),
    "Naval": (0.29, 0.29, 0.62, 0.45, 0.52, 0.37, 0.48, 11.32, 4.60),
}


def printed_vaw_of_pairs(features: Features, w_norm: float, y_bound: float, n_rounds: int, regularizer: float) -> float:
    """E46, D Eq. 12: the bound for m features, which the paper also claims for pairs (cos, sin), of norm sqrt(2 m).

    Pairs of m frequencies have 2 m weights and the norm sqrt(m).
    """
    m = features.frequencies
    return float(vaw(w_norm, m, np.sqrt(2 * m), y_bound, n_rounds, regularizer))


def printed_ewa_weights(losses: Float[ArrayLike, "T K"], eta: float) -> np.ndarray:
    """E50, D Eq. 29: the weights of the last round T, with the losses of rounds 2 to T; those of 1 to T - 1 are right.

    At the time of the prediction the loss of round T is unknown.
    """
    return special.softmax(-eta * np.asarray(losses, float)[1:].sum(axis=0))


PRINTED_LAGS = (0.1, 0.2, -0.3, 0.5)  # E51, D Eq. 32: coefficients of x_(t-1), ..., x_(t-4); reversed, they are right
