"""Bounds for learners that identify the best arm."""

import math

import numpy as np

from jaxonline.bounds.bandits import Gaps
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.types import Count, OpenUnitFloat
from jaxonline.parameters.validation import validate_arguments


@cites("evendar2006action")
@validate_arguments
def successive_elimination(gaps: Gaps, delta: OpenUnitFloat) -> int:
    """Bound on the number of pulls of `SuccessiveElimination`, which holds with probability at least 1 - delta.

    The learner drops an arm with the gap D after n pulls if 4 a(n) <= D, where a(n) is the confidence radius of the
    learner. The best arm is pulled as often as the second best arm.

    Args:
        gaps: the gaps of the mean losses of the arms [K]; exactly one gap is 0.
        delta: the largest probability of a wrong recommendation.

    Raises:
        ValueError: more than one arm has the gap 0.

    Example:
        >>> from jaxonline.bounds import successive_elimination
        >>> successive_elimination([0.0, 0.5], 0.1)
        1074
    """
    positive = np.sort(np.asarray(gaps, float))[1:]
    if not (positive > 0).all():
        raise ArgumentError("gaps", "must have one 0, as the best arm is unique")

    def pulls(gap: float) -> int:
        n = 1
        while 4 * math.sqrt(math.log(math.pi**2 * (len(positive) + 1) * n**2 / (3 * delta)) / (2 * n)) > gap:
            n += 1
        return n

    each = [pulls(gap) for gap in positive]
    return sum(each) + max(each)


@cites("karnin2013almost")
@validate_arguments
def sequential_halving(gaps: Gaps, budget: Count) -> float:
    """Bound on the probability that `SequentialHalving` recommends a wrong arm: 3 log2 K exp(-budget / (8 H log2 K)).

    H is the largest i / gap_i^2 over i = 2, ..., K, with the gaps in increasing order. The bound is Theorem 4.1 of
    Karnin, Koren and Somekh (2013), for losses in [0, 1].

    Args:
        gaps: the gaps of the mean losses of the arms [K]; exactly one gap is 0.
        budget: the number of pulls.

    Raises:
        ValueError: more than one arm has the gap 0.

    Example:
        >>> from jaxonline.bounds import sequential_halving
        >>> round(sequential_halving([0.0, 0.5, 0.5, 0.5], 2000), 4)
        0.0024
    """
    positive = np.sort(np.asarray(gaps, float))[1:]
    if not (positive > 0).all():
        raise ArgumentError("gaps", "must have one 0, as the best arm is unique")
    H = float((np.arange(2, len(positive) + 2) / positive**2).max())
    phases = math.log2(len(positive) + 1)
    return min(1.0, 3 * phases * math.exp(-budget / (8 * H * phases)))
