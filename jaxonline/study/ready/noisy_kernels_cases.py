"""The cases of the study of Algorithm 1: a kernel, a loss and a distribution of the numbers of copies."""

import math
from typing import NamedTuple

THEOREM, BEST = "the theorem's step", "the best step tried"


class Case(NamedTuple):
    """A kernel (a key of `KERNELS`), a loss (of `LOSSES`), and a law of the numbers of copies.

    The parameter of the law "geometric" is p; that of "best" is the overhead (what an estimate costs in copies;
    infinity where copies cost nothing).
    """

    kernel: str
    loss: str
    law: str
    parameter: float

    @property
    def name(self) -> str:
        """The case in words."""
        return "{}, {} loss, {} law {:g}".format(*self)

    @property
    def law_name(self) -> str:
        """The law in a word."""
        if self.law == "geometric":
            return f"p = {self.parameter:g}"
        return "best" if math.isinf(self.parameter) else f"best, overhead {self.parameter:g}"


def short(number: float) -> str:
    """A bound, which may be huge."""
    return f"{number:,.0f}" if number < 1e6 else f"{number:.0e}"
