"""Bounds on the error of the coverage of adaptive conformal prediction, in every run and for all scores."""

from typing import Annotated

from jaxonline.bounds.assumptions import assumes
from jaxonline.parameters.citations import cites
from jaxonline.parameters.types import Interval, PositiveFloat, Rounds
from jaxonline.parameters.validation import validate_arguments


@cites("gibbs2021adaptive")
@assumes(quantity="coverage error")
@validate_arguments
def adaptive_conformal(
    start: Annotated[float, Interval(ge=0, le=1)], step_size: PositiveFloat, n_rounds: Rounds
) -> float:
    """Bound on |fraction of missed outcomes - alpha| of `AdaptiveConformal`: (max(a, 1 - a) + step) / (step T).

    The bound holds for every sequence of scores and for every run, not only in the mean: Gibbs and Candes (2021),
    Proposition 4.1. It needs thresholds that are infinite if alpha_t <= 0, and minus infinity if alpha_t >= 1. Then
    alpha_t stays between -step and 1 + step, and step times the sum of (alpha - missed) is alpha_(T+1) - alpha_1.

    Args:
        start: a, the first level alpha_1; the learner starts at alpha.
        step_size: step.
        n_rounds: T.

    Example:
        >>> from jaxonline.bounds import adaptive_conformal
        >>> round(adaptive_conformal(start=0.1, step_size=0.05, n_rounds=1000), 4)
        0.019
    """
    return (max(start, 1.0 - start) + step_size) / (step_size * n_rounds)


@cites("angelopoulos2023conformal")
@assumes(quantity="coverage error")
@validate_arguments
def quantile_tracking(score_bound: PositiveFloat, step_size: PositiveFloat, n_rounds: Rounds) -> float:
    """Bound on |fraction of missed outcomes - alpha| of gradient descent on the pinball loss: (b + step) / (step T).

    The learner is `GradientLearner(FullGradient(Pinball(1 - alpha)), step)` with the instance 1: its threshold w starts
    at 0, rises by step (1 - alpha) after a miss, and falls by step alpha otherwise. The bound holds in every run, for
    every sequence of scores between -b and b that do not equal the threshold: Angelopoulos, Candes and Tibshirani
    (2023), Proposition 1.

    Args:
        score_bound: b.
        step_size: step, in the unit of the scores.
        n_rounds: T.

    Example:
        >>> from jaxonline.bounds import quantile_tracking
        >>> quantile_tracking(score_bound=2.0, step_size=0.5, n_rounds=100)
        0.05
    """
    return (score_bound + step_size) / (step_size * n_rounds)
