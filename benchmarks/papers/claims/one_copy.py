"""Claims on paper A's Theorem 5: one noisy copy is not enough, for any distribution, and for kernels."""

import itertools
import math

import numpy as np

from benchmarks.papers.claims.registry import SamplingOptions, claim
from benchmarks.papers.estimators.games import unavoidable_regret_of_games
from jaxonline.kernels import Gaussian
from jaxonline.verify.bias import unbiased
from jaxonline.verify.result import Verification

PERIODS, RATIO = 10, 100.0  # each period is 100 times as long as the period before
POINTS = np.array([[2.0, 0.0], [-1.0, 1.0], [0.5, -0.5]])


def regret_per_round(w: float, noiseless: float) -> float:
    """Regret per round of the predictor w e if a share `noiseless` of the rounds is in the game without noise."""

    def loss(w: float) -> float:
        return noiseless * ((3 * w - 1) ** 2 + (-w - 1) ** 2) / 2 + (1 - noiseless) * (w - 1) ** 2

    best = 1 / (1 + 4 * noiseless)  # E x = 1, E x^2 = 1 + 4 * noiseless
    return loss(w) - loss(best)


@claim(
    "proof of Theorem 5, a learner that throws a coin",
    "A, Appendix F",
    erratum=38,
    cost="exact",
    mathematics=("printed", "corrected"),
    printed="biased",
    corrected="within tolerance",
)
def _almost_surely(form: str, options: SamplingOptions) -> Verification:
    """The learner plays w = 1 or 1/5 for ever, by its first copy. Regrets above (1 - 1/sqrt(5))^2 a round count as 1.

    Printed: the game with the larger probability. Corrected: 10 periods with a coin for the game of each, at the end of
    one of them; the probability is 1 - 2^-10.
    """
    limit, moves = (1 - 1 / math.sqrt(5)) ** 2, (1.0, 0.2)
    if form == "printed":
        exceeds = max([[regret_per_round(w, share) > limit for w in moves] for share in (1.0, 0.0)], key=sum)
        return unbiased(None, 1.0, support=[(0.5, float(bad)) for bad in exceeds])
    lengths, support = RATIO ** np.arange(PERIODS), []
    for w, coins in itertools.product(moves, itertools.product((0.0, 1.0), repeat=PERIODS)):
        shares = np.cumsum(lengths * coins) / np.cumsum(lengths)
        exceeds = any(regret_per_round(w, share) > limit for share in shares)
        support.append((0.5**PERIODS / len(moves), float(exceeds)))
    return unbiased(None, 1 - 0.5**PERIODS, support=support)


@claim(
    "regret a round with one copy, three points in the plane", "A, Theorem 5", cost="exact", improved="within tolerance"
)
def _any_distribution(form: str, options: SamplingOptions) -> Verification:
    """Squared loss: (1 - sqrt(h))^2 with h = m' M^-1 m.

    Proof: F1(w) = (w - M^-1 m)' M (w - M^-1 m). Its least value for <w, m> = q is (q - h)^2 / h, and F2 = (1 - q)^2.
    The larger of the two is least at q = sqrt(h).
    """
    m, M = POINTS.mean(axis=0), POINTS.T @ POINTS / len(POINTS)
    regret = unavoidable_regret_of_games(POINTS[None], radius=10.0)
    return unbiased(None, (1 - math.sqrt(m @ np.linalg.solve(M, m))) ** 2, support=[(1.0, np.float32(regret))])


@claim("regret a round with one copy, Gaussian kernel", "A, section 4.3", cost="exact", improved="within tolerance")
def _kernel(form: str, options: SamplingOptions) -> Verification:
    """Instances 3e, -e with the label 1 and -3e, e with the label -1, or their means e and -e with these labels.

    Without noise f(e) = -1 and f(-e) = 1 are best, with noise the opposite. With a = f(e) = -f(-e), F1 = (1 + a)^2 / 2
    and F2 = (1 - a)^2 if f fits the labels of 3e and -3e. The larger is least at a = (sqrt(2) - 1)^2.
    """
    groups = np.array([[[3.0], [-1.0]], [[-3.0], [1.0]]])
    regret = unavoidable_regret_of_games(groups, radius=5.0, labels=[1.0, -1.0], kernel=Gaussian(1.0))
    return unbiased(None, (1 - (math.sqrt(2) - 1) ** 2) ** 2, support=[(1.0, np.float32(regret))])
