"""Successive halving: all settings in a few runs, the better part of them in more, and so on.

Karnin, Koren, Somekh, "Almost optimal exploration in multi-armed bandits" (ICML 2013); Jamieson, Talwalkar,
"Non-stochastic best arm identification and hyperparameter optimization" (AISTATS 2016). With one rung it is the plain
grid: every setting in all runs.
"""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import ArrayLike, Float

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.results.statistics import Estimate, mean_over_runs
from jaxonline.results.tuned import Rung

Play = Callable[[np.ndarray, range], np.ndarray]


def least(means: Float[ArrayLike, "S"]) -> int:
    """The position of the least mean, the first of equal ones; what is NaN or infinite is out.

    Raises:
        ValueError: all are.

    Example:
        >>> from jaxonline.simulation.halving import least
        >>> least([float("nan"), 3.0, 1.0, 1.0])
        2
    """
    means = np.asarray(means)
    if not np.isfinite(means).any():
        raise ArgumentError("settings", f"must have one with finite losses (got {means.size} without)")
    return int(np.argmin(np.where(np.isfinite(means), means, np.inf)))


def judged(values: Float[np.ndarray, "S R"]) -> Estimate:
    """Means of settings over their runs with intervals; infinite where a run is, and runs that are NaN are left out.

    Example:
        >>> import numpy as np
        >>> from jaxonline.simulation.halving import judged
        >>> judged(np.array([[1.0, 3.0], [1.0, np.nan], [np.inf, 0.0]])).mean.tolist()
        [2.0, 1.0, inf]
    """
    failed = np.isinf(values)
    of, out = mean_over_runs(np.where(failed, np.nan, values)), failed.any(axis=1)
    low, high = (np.where(out, np.nan, end) for end in (of.low, of.high))
    return of._replace(mean=np.where(out, np.inf, of.mean), low=low, high=high)


def rungs_of(n_settings: int, n_runs: int, rungs: int | None = None, factor: int = 3) -> list[tuple[int, int]]:
    """How many settings are in each rung, and how many runs each of them has then.

    Args:
        n_settings: in the first rung.
        n_runs: in the last rung.
        rungs: how many; by default as many as leave `factor` settings or fewer for the last one, and at least two runs
            for the first.
        factor: by which settings get fewer, and runs more.

    Raises:
        ValueError: more rungs than there are runs for.

    Example:
        >>> from jaxonline.simulation.halving import rungs_of
        >>> rungs_of(9, 30, factor=3), rungs_of(9, 30, rungs=1), rungs_of(8, 16, factor=2)
        ([(9, 10), (3, 30)], [(9, 30)], [(8, 4), (4, 8), (2, 16)])
    """
    check.count("factor", factor, ge=2)
    if rungs is None:
        rungs = 1
        while n_settings > factor**rungs and n_runs >= 2 * factor**rungs:
            rungs += 1
    elif factor ** (check.count("rungs", rungs) - 1) > n_runs:
        raise ArgumentError("rungs", f"must leave a run for the first of them (got {rungs} for n_runs={n_runs})")
    first = -(-n_runs // factor ** (rungs - 1))
    runs = [min(first * factor**up, n_runs) for up in range(rungs)]
    return [(-(-n_settings // factor**up), n) for up, n in enumerate(runs)]


def successive_halving(play: Play, rungs: Sequence[tuple[int, int]]) -> tuple[int, tuple[Rung, ...]]:
    """The setting with the least mean in the last rung, and what each rung found.

    A rung plays what is new of the runs of its settings, and judges them by all runs that they have. It ends early
    where one setting is left.

    Args:
        play: plays some settings [S] in a range of runs: what is to be small [S, R], infinite in a run that failed,
            which puts its setting out, and NaN in one that is to be left out.
        rungs: how many settings are in each rung, all in the first, and how many runs each of them has (`rungs_of`).

    Raises:
        ValueError: no setting is left with a finite mean.

    Example:
        >>> import numpy as np
        >>> from jaxonline.simulation.halving import successive_halving
        >>> losses = np.array([[5.0, 5.0], [1.0, 3.0], [2.0, 1.0], [np.inf, 0.0]])
        >>> best, rungs = successive_halving(lambda some, runs: losses[some][:, runs], [(4, 1), (2, 2)])
        >>> best, [rung.settings.tolist() for rung in rungs]
        (2, [[0, 1, 2, 3], [1, 2]])
    """
    left, values, found = np.arange(rungs[0][0]), np.empty((rungs[0][0], 0)), []
    for i, (_, n_runs) in enumerate(rungs):
        new = range(values.shape[1], n_runs)
        values = np.concatenate([values, np.asarray(play(left, new), float)], axis=1)
        of = judged(values)
        found.append(Rung(left, n_runs, len(new), of, np.isinf(values).sum(axis=1)))
        best = least(of.mean)
        if i + 1 == len(rungs):
            break
        order = np.argsort(np.where(np.isnan(of.mean), np.inf, of.mean), kind="stable")
        kept = np.sort(order[: min(rungs[i + 1][0], int(np.isfinite(of.mean).sum()))])
        if len(kept) == 1:
            break
        left, values = left[kept], values[kept]
    return int(left[best]), tuple(found)
