"""The published table averages five draws of the random features. With many draws: which of its differences are real?

The data sets are fixed; what varies is the features (and OMKL-GF's own draws), the same for all algorithms of a draw,
so that differences are paired.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy import stats

from jaxonline._util import check
from jaxonline.estimators.dictionary import Dictionary, published_kernels
from jaxonline.study.ready.multikernel import ALGORITHMS, DESCENT, play_set

PUBLISHED_DRAWS = 5


class Draws(NamedTuple):
    """Mean squared errors of many draws on one data set.

    Attributes:
        name: of the set.
        mse: by algorithm and forecaster, one number a draw [D].

    Example:
        >>> from jaxonline.study.ready.multikernel_draws import Draws
        >>> Draws._fields
        ('name', 'mse')
    """

    name: str
    mse: dict[tuple[str, str], np.ndarray]


class Difference(NamedTuple):
    """The mean difference of two algorithms' mean squared errors over draws.

    Attributes:
        name: of the set.
        forecaster: "ridge" or "vaw".
        better, worse: the algorithms, by mean.
        mean: of worse - better, with the limits low and high of a simultaneous interval.
        low: lower limit.
        high: upper limit.
        wins: the share of draws in which `better` is better.
        misleading: the chance that means over five draws are in the other order.

    Example:
        >>> from jaxonline.study.ready.multikernel_draws import Difference
        >>> Difference("a", "ridge", "EWA", "BOA", 1.0, 0.5, 1.5, 0.9, 0.01).real
        True
    """

    name: str
    forecaster: str
    better: str
    worse: str
    mean: float
    low: float
    high: float
    wins: float
    misleading: float

    @property
    def real(self) -> bool:
        """Whether the interval excludes 0.

        Example:
            >>> from jaxonline.study.ready.multikernel_draws import Difference
            >>> Difference("a", "ridge", "EWA", "BOA", 1.0, -0.5, 2.5, 0.6, 0.2).real
            False
        """
        return self.low > 0


def draw_many(
    name: str,
    X: Float[np.ndarray, "T d"],
    y: Float[np.ndarray, "T"],
    *,
    n_draws: int = 200,
    key: int | Key[Array, ""] = 0,
    together: int = 5,
    progress: Callable[[int, int], None] | None = None,
) -> Draws:
    """Play all algorithms with `n_draws` dictionaries drawn by JAX. Draw i uses `fold_in(key, i)`.

    Args:
        name: of the set.
        X: instances, scaled as in `scaled`.
        y: targets in [0, 1].
        n_draws: at least 2.
        key: of all draws, a seed or a key.
        together: draws played at once.
        progress: called with the number of draws done and of all.

    Raises:
        ValueError: `n_draws` below 2, targets outside [0, 1].

    Example:
        >>> import numpy as np
        >>> from jaxonline.study.ready.multikernel_draws import draw_many
        >>> draws = draw_many("two rounds", np.eye(2), np.array([0.0, 1.0]), n_draws=2, together=2)
        >>> draws.mse["EWA", "vaw"].shape
        (2,)
    """
    check.count("n_draws", n_draws, ge=2)
    with jax.enable_x64(True):
        root = jax.random.key(key) if isinstance(key, int | np.integer) else key
        draw = jax.jit(jax.vmap(lambda k: Dictionary.draw(k, published_kernels(), X.shape[1], 50).frequencies))
        rows = []
        for first in range(0, n_draws, together):
            keys = jax.vmap(lambda i: jax.random.fold_in(root, i))(jnp.arange(first, first + together))
            own = jax.random.fold_in(jax.random.fold_in(root, n_draws), first)
            rows.append(play_set(name, X, y, np.asarray(draw(keys)), key=own).mse)
            if progress is not None:
                progress(min(first + together, n_draws), n_draws)
    return Draws(name, {which: np.concatenate([row[which] for row in rows])[:n_draws] for which in rows[0]})


def intervals(draws: Draws, level: float = 0.95) -> dict[tuple[str, str], tuple[float, float, float, float]]:
    """Mean over draws, the limits of its t interval, and the standard deviation of one draw.

    Example:
        >>> import numpy as np
        >>> from jaxonline.study.ready.multikernel_draws import Draws, intervals
        >>> draws = Draws("a", {("EWA", "vaw"): np.array([1.0, 2.0, 3.0])})
        >>> mean, low, high, deviation = intervals(draws)["EWA", "vaw"]
        >>> mean, bool(low < 1.0), bool(high > 3.0), deviation
        (2.0, True, True, 1.0)
    """
    found = {}
    for which, mse in draws.mse.items():
        mean, deviation = float(mse.mean()), float(mse.std(ddof=1))
        half = float(stats.t.ppf((1 + level) / 2, len(mse) - 1)) * deviation / math.sqrt(len(mse))
        found[which] = (mean, mean - half, mean + half, deviation)
    return found


def differences(studies: Sequence[Draws], level: float = 0.95) -> list[Difference]:
    """All pairs of algorithms on all sets and for both forecasters, with simultaneous intervals.

    Student's t intervals of paired differences with Bonferroni's correction: all of them hold together with
    probability `level` at least (as far as means over draws are normal).

    Raises:
        ValueError: `level` is not between 0 and 1.

    Example:
        >>> import numpy as np
        >>> from jaxonline.study.ready.multikernel_draws import Draws, differences
        >>> rng = np.random.default_rng(0)
        >>> draws = Draws("a", {("EWA", "vaw"): rng.normal(1.0, 0.1, 50), ("BOA", "vaw"): rng.normal(0.0, 0.1, 50)})
        >>> found = differences([draws])[0]
        >>> found.better, found.real
        ('BOA', True)
    """
    check.number("level", level, gt=0.0, lt=1.0)
    pairs = [
        (draws, forecaster, pair)
        for draws in studies
        for forecaster in ("ridge", "vaw")
        for pair in itertools.combinations([a for a in ALGORITHMS if _column(a, forecaster) in draws.mse], 2)
    ]
    found = []
    for draws, forecaster, (a, b) in pairs:
        gap = draws.mse[_column(b, forecaster)] - draws.mse[_column(a, forecaster)]
        if gap.mean() < 0:
            a, b, gap = b, a, -gap
        n, mean, deviation = len(gap), float(gap.mean()), float(gap.std(ddof=1))
        half = float(stats.t.ppf(1 - (1 - level) / (2 * len(pairs)), n - 1)) * deviation / math.sqrt(n)
        wrong = float(stats.norm.sf(mean * math.sqrt(PUBLISHED_DRAWS) / deviation)) if deviation > 0 else 0.0
        found.append(
            Difference(draws.name, forecaster, a, b, mean, mean - half, mean + half, float((gap > 0).mean()), wrong)
        )
    return found


def _column(algorithm: str, forecaster: str) -> tuple[str, str]:
    return algorithm, "ogd" if algorithm in DESCENT else forecaster
