"""AdaStop for two learners, in NumPy: a group-sequential permutation test (Mathieu et al. 2023), for a comparison.

Mathieu, Della Vecchia, Shilova, Centa de Medeiros, Kohler, Maillard, Preux, "AdaStop: adaptive statistical testing for
sound comparisons of deep RL agents".
"""

import numpy as np

N_PERMUTATIONS = 1000  # with the identity


def adastop(
    rng: np.random.Generator, runs: np.ndarray, group: int, level: float = 0.95
) -> tuple[np.ndarray, np.ndarray]:
    """Return for each study the sign of the difference that the test finds, 0 for none, and the number of runs.

    After each group of runs, the statistic is the absolute difference of the sums of both learners. Its distribution
    comes from permutations of the runs of both learners within each group. The boundary after group k of K lets k / K
    of the error rate be spent: the share of permutations that have crossed a boundary by then.

    Args:
        rng: draws the permutations; all studies of a call share them.
        runs: runs of studies of two learners [S, 2, R].
        group: number of runs of each learner in a group; divides R.
        level: 1 minus the error rate.
    """
    studies, _, most = runs.shape
    n_groups = most // group
    totals, inside = np.zeros((studies, N_PERMUTATIONS)), np.ones((studies, N_PERMUTATIONS), bool)
    found, used = np.zeros(studies), np.full(studies, most)
    signs = np.repeat([1.0, -1.0], group)
    for k in range(n_groups):
        permuted = rng.permuted(np.tile(signs, (N_PERMUTATIONS, 1)), axis=1)
        permuted[0] = signs
        block = runs[:, :, k * group : (k + 1) * group].reshape(studies, 2 * group)
        totals += block @ permuted.T
        statistics = np.where(inside, np.abs(totals).round(9), -1.0)  # equal sums stay equal in spite of rounding
        crossed = N_PERMUTATIONS - inside.sum(axis=1)
        may_cross = np.floor((1.0 - level) * (k + 1) / n_groups * N_PERMUTATIONS + 1e-9).astype(int) - crossed
        ordered = -np.sort(-statistics, axis=1)
        boundary = np.take_along_axis(ordered, may_cross[:, None], axis=1)
        crosses = statistics > boundary
        new = crosses[:, 0] & (found == 0)
        found, used = np.where(new, np.sign(totals[:, 0]), found), np.where(new, (k + 1) * group, used)
        inside &= ~crosses
    return found, used
