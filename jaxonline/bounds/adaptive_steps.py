"""Regret bounds of gradient descent with steps that fall as 1/t, or with the gradients so far."""

import math
from typing import Annotated, NamedTuple

import numpy as np
from jaxtyping import Float

from jaxonline.bounds.assumptions import Assumptions, assumes, with_assumptions
from jaxonline.parameters.citations import cites
from jaxonline.parameters.types import Ge, Numbers, PositiveFloat, Rounds, Vector
from jaxonline.parameters.validation import validate_arguments


class LogarithmicBound(NamedTuple):
    """Regret bound factor (1 + ln T) of gradient descent on strongly convex losses with steps eta / t.

    Attributes:
        value: regret bound at the horizon.
        eta: the steps are eta / t (`InverseTime(eta)`).
        factor: G^2 / (2 mu).
        assumptions: the environments that the theorem covers.

    Example:
        >>> from jaxonline.bounds import strongly_convex
        >>> strongly_convex(convexity=2.0, gradient_bound=4.0, n_rounds=100).at_rounds([1, 100]).round(2).tolist()
        [4.0, 22.42]
    """

    value: float
    eta: float
    factor: float
    assumptions: Assumptions = Assumptions(prescribed_rate=True)

    @validate_arguments
    def at_rounds(self, rounds: Annotated[Numbers, Ge(1)]) -> Float[np.ndarray, "..."]:
        """Regret bound after each round in `rounds`."""
        return with_assumptions(self.factor * (1.0 + np.log(np.asarray(rounds, float))), self.assumptions)


class AdaGradBound(NamedTuple):
    """Regret bound `value` of `AdaGrad`, and the step size of the theorem."""

    value: float
    step_size: float
    assumptions: Assumptions = Assumptions()


@cites("hazan2007logarithmic")
@assumes(prescribed_rate=True)
@validate_arguments
def strongly_convex(convexity: PositiveFloat, gradient_bound: PositiveFloat, n_rounds: Rounds) -> LogarithmicBound:
    """Regret bound of gradient descent on mu-strongly convex losses with |g| <= G: G^2 / (2 mu) (1 + ln T).

    The steps are 1 / (mu t), and hypotheses are projected on any convex set: Hazan, Agarwal and Kale (2007), Theorem 1.
    A loss is mu-strongly convex if it stays convex after mu |w|^2 / 2 is subtracted. The squared loss (w - y)^2 of a
    number w has mu = 2. The squared loss of <w, x> is not strongly convex in two or more dimensions; its sum with
    mu |w|^2 / 2 is.

    Args:
        convexity: mu.
        gradient_bound: G.
        n_rounds: T.

    Example:
        >>> from jaxonline.bounds import strongly_convex
        >>> bound = strongly_convex(convexity=2.0, gradient_bound=4.0, n_rounds=100)
        >>> round(bound.value, 2), bound.eta
        (22.42, 0.5)
    """
    factor = gradient_bound**2 / (2.0 * convexity)
    return LogarithmicBound(factor * (1.0 + math.log(n_rounds)), 1.0 / convexity, factor)


@cites("duchi2011adaptive")
@assumes(prescribed_rate=True)
@validate_arguments
def adagrad(radius: PositiveFloat, gradient_norms: Annotated[Vector, Ge(0)]) -> AdaGradBound:
    """Regret bound of `AdaGrad` in the box |w_i| <= radius: 2 sqrt(2) radius times the sum of the coordinates' norms.

    The norm of coordinate i is the root of the sum over the rounds of g_i^2. The bound depends on the gradients of the
    run: Duchi, Hazan and Singer (2011), Corollary 6, with D_inf = 2 radius and the step size D_inf / sqrt(2). For |g_i|
    <= G in at most n_i rounds the norm is at most G sqrt(n_i).

    Args:
        radius: half the width of the box.
        gradient_norms: the norm of each coordinate [d].

    Example:
        >>> from jaxonline.bounds import adagrad
        >>> bound = adagrad(radius=1.0, gradient_norms=[10.0, 1.0])
        >>> round(bound.value, 2), round(bound.step_size, 3)
        (31.11, 1.414)
    """
    step_size = math.sqrt(2.0) * radius
    return AdaGradBound(2.0 * step_size * float(np.sum(np.asarray(gradient_norms, float))), step_size)
