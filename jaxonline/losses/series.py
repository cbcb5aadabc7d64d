"""Losses with the Taylor series of their derivative, for series estimators.

`value` and `derivative` are JAX functions. The methods on the series l'(centre + h) = sum gamma_n h^n compute on the
host, in float64. The coefficients come from recurrences in 60-digit decimal arithmetic: the coefficients are correct to
the last bit or two, and neither overflow nor underflow. Source: Cesa-Bianchi et al. (2010a), "Online learning of noisy
data with kernels" (COLT 2010), Examples 1 to 4, with errata E1 to E4.
"""

import abc
import decimal
import itertools
import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, Any, ClassVar

import numpy as np

from jaxonline.losses.base import ScalarLoss
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentTypeError
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.types import Convert, Count, NonNegative, host_float

_CONTEXT = decimal.Context(prec=60, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)


class SeriesLoss(ScalarLoss):
    """A loss of a residual or a margin, with the series of its derivative.

    A subclass implements `value`, `derivative`, the coefficients of l' (`_series`), `tail_bound`, and `radius` if the
    radius of convergence is finite.

    Example:
        >>> from jaxonline.losses import Hinge, SeriesLoss, SmoothedHinge
        >>> isinstance(SmoothedHinge(1.0), SeriesLoss), isinstance(Hinge(), SeriesLoss)
        (True, False)
    """

    degree: ClassVar[int | None] = None
    """The degree of l' if it is a polynomial, None if its series is infinite."""
    _max_terms: ClassVar[int] = 1 << 19

    @abc.abstractmethod
    def tail_bound(self, n_terms: int, a: float, centre: float = 0.0) -> float:
        """Return a proven upper bound on sum over n >= `n_terms` of |gamma_n| a^n (a >= 0); inf beyond the radius."""

    @abc.abstractmethod
    def _series(self, centre: float) -> Iterator[Decimal]:
        """Yield gamma_0, gamma_1, ... of l' about `centre`, without end."""

    def radius(self, centre: float = 0.0) -> float:
        """Return the radius of convergence of the series of l' about `centre`, inf by default."""
        return math.inf

    @validate_arguments
    def coefficients(self, n_terms: Count, centre: float = 0.0) -> np.ndarray:
        """Return gamma_0 .. gamma_(n_terms - 1) of l'(centre + h) = sum gamma_n h^n, in float64.

        Each coefficient has a relative error of about 1e-15 (0 or inf outside the range of float64).

        Raises:
            ValueError: `centre` is not finite.
            TypeError: a parameter of the loss is a tracer (the series is computed on the host).

        Example:
            >>> from jaxonline.losses import Exponential
            >>> Exponential().coefficients(3).tolist()
            [-1.0, 1.0, -0.5]
        """
        with decimal.localcontext(_CONTEXT):
            series = self._series(host_float("centre", centre))
            return np.array([float(gamma) for gamma in itertools.islice(series, n_terms)])

    @validate_arguments
    def majorant(self, a: NonNegative, centre: float = 0.0) -> float:
        """Return the majorant l'_+(a) = sum |gamma_n| a^n of the series about `centre`.

        The result is a closed form if the loss has one, otherwise a finite sum plus a bound on its tail. The bound on
        the tail is at most 1e-13 of the sum, except near the radius of convergence, or if many thousand terms do not
        suffice. The majorant is inf if `a` is not below the radius of convergence, or outside the range of float64.

        Example:
            >>> from jaxonline.losses import SmoothedHinge
            >>> round(SmoothedHinge(1.0).majorant(0.2), 3)  # the paper's bound is 0.615 (E4)
            0.972
        """
        a, centre = host_float("a", a), host_float("centre", centre)
        if a >= self.radius(centre):
            return math.inf
        with decimal.localcontext(_CONTEXT):
            total, power, step, next_test = Decimal(0), Decimal(1), Decimal(a), 16
            for n, gamma in enumerate(self._series(centre), start=1):
                total += abs(gamma) * power
                power *= step
                if n == next_test:
                    rest = self.tail_bound(n, a, centre)
                    if float(total) == math.inf or rest <= 1e-13 * float(total) or n >= self._max_terms:
                        break
                    next_test *= 2
            return float(total) + rest


def require_series(name: str, loss: Any) -> SeriesLoss:
    """Return the loss; raise a TypeError if the loss has no Taylor series."""
    if not isinstance(loss, SeriesLoss):
        raise ArgumentTypeError(
            name,
            "must be a loss with a Taylor series (a SeriesLoss of jaxonline.losses, as SmoothedHinge for "
            f"Hinge and SmoothedAbsolute for Absolute) (got {check.quote(loss)})",
        )
    return loss


AnySeriesLoss = Annotated[SeriesLoss, Convert(lambda loss, name: require_series(name, loss))]
"""A loss with a Taylor series, as an argument."""
