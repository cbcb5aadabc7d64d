"""Cases of the study of Algorithm 1: a kernel, a loss and a distribution of the numbers of copies."""

import math
from typing import NamedTuple

THEOREM, BEST = "the theorem's step", "the best step tried"


class Case(NamedTuple):
    """A case: a kernel (key of `KERNELS`), a loss (key of `LOSSES`), and a distribution of the numbers of copies.

    The parameter of the distribution "geometric" is p. The parameter of "best" is the overhead: the fixed cost of an
    estimate in units of copies, infinite if copies are free.
    """

    kernel: str
    loss: str
    law: str
    parameter: float

    @property
    def name(self) -> str:
        """The label of the case."""
        return "{}, {} loss, {} law {:g}".format(*self)

    @property
    def law_name(self) -> str:
        """The label of the distribution."""
        if self.law == "geometric":
            return f"p = {self.parameter:g}"
        return "best" if math.isinf(self.parameter) else f"best, overhead {self.parameter:g}"


def short(number: float) -> str:
    """Format a regret bound, which may be a huge number, as a short text."""
    return f"{number:,.0f}" if number < 1e6 else f"{number:.0e}"
