"""Test of a stated second moment by betting.

If E theta^2 <= s, a gambler who bets the share l of the wealth in every sample on theta^2 > s has the wealth prod (1 +
l (theta_i^2 / s - 1)), a non-negative supermartingale. The mean wealth of several gamblers ever exceeds 1/level with
probability at most `level`, for all tails (Ville's inequality). The gamblers bet on a second moment 25 % above the
stated one, because biased estimators have a smaller excess, which hardly changes the intervals.
"""

import dataclasses

import numpy as np

_SHARES = 2.0 ** -np.array([1.0, 4.0, 7.0, 10.0])
_MARGIN = 1.25


@dataclasses.dataclass(frozen=True)
class Bets:
    """The logarithm of each gambler's wealth by coordinate [gamblers, size]."""

    stated: np.ndarray
    wealth: np.ndarray

    @classmethod
    def start(cls, stated: np.ndarray) -> "Bets":
        """Return the wealth before the first sample, for second moments [size]."""
        return cls(stated, np.zeros((len(_SHARES), len(stated))))

    def update(self, values: np.ndarray) -> "Bets":
        """Return the wealth after samples [n, size]."""
        limit = np.maximum(self.stated * _MARGIN, np.finfo(float).tiny)
        with np.errstate(over="ignore"):
            excess = values**2 / limit - 1
            # log is ten times as fast as log1p and precise enough to compare wealth with 1 / level
            gains = np.stack([np.log(1 + share * excess).sum(axis=0) for share in _SHARES])
        return Bets(self.stated, self.wealth + gains)

    def contradicted(self, level: float) -> np.ndarray:
        """Return the coordinates whose stated second moment is too small; each is wrong with probability <= `level`."""
        return np.logaddexp.reduce(self.wealth, axis=0) - np.log(len(_SHARES)) > np.log(1 / level)
