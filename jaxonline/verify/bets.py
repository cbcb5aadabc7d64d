"""Bets against a stated second moment: does the sample contradict it?

Where E theta^2 <= s, a gambler who in every sample stakes the part l of all that he has on theta^2 being above s has
the wealth prod (1 + l (theta_i^2 / s - 1)), which is not negative and a supermartingale. The mean wealth of several
such gamblers ever exceeds 1/level with probability at most `level`, whatever the tails (Ville's inequality).

They bet on a second moment a quarter above the stated one: less changes the intervals that are made of it by little,
and is what an estimator has whose bias is to be found.
"""

import dataclasses

import numpy as np

_PARTS = 2.0 ** -np.array([1.0, 4.0, 7.0, 10.0])
_MARGIN = 1.25


@dataclasses.dataclass(frozen=True)
class Bets:
    """The logarithm of each gambler's wealth, coordinate by coordinate [gamblers, size]."""

    stated: np.ndarray
    wealth: np.ndarray

    @classmethod
    def start(cls, stated: np.ndarray) -> "Bets":
        """Before the first sample, for second moments [size]."""
        return cls(stated, np.zeros((len(_PARTS), len(stated))))

    def update(self, values: np.ndarray) -> "Bets":
        """After samples [n, size]."""
        limit = np.maximum(self.stated * _MARGIN, np.finfo(float).tiny)
        with np.errstate(over="ignore"):
            excess = values**2 / limit - 1
            # not log1p, which takes ten times as long: wealth is compared with factors of 1 / level
            gains = np.stack([np.log(1 + part * excess).sum(axis=0) for part in _PARTS])
        return Bets(self.stated, self.wealth + gains)

    def contradicted(self, level: float) -> np.ndarray:
        """The coordinates whose stated second moment is too small, each wrongly with probability at most `level`."""
        return np.logaddexp.reduce(self.wealth, axis=0) - np.log(len(_PARTS)) > np.log(1 / level)
