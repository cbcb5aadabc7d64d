"""Distribution-free intervals of quantiles: ranks by hand, coverage by simulation, and wrong ranks are caught."""

import numpy as np
import pytest
from made_up import made_up
from scipy import stats

from jaxonline.results.statistics.means import quantile_over_runs

STUDIES, RUNS, P, LEVEL = 4000, 120, 0.9, 0.95


def ranks(n, p, level):
    """The ranks (from 1) of the ends of the interval: 0 and n + 1 if an end is infinite."""
    estimate = quantile_over_runs(np.arange(1.0, n + 1)[None], p, level)
    low, high = float(estimate.low[0]), float(estimate.high[0])
    return (0 if np.isinf(low) else int(low)), (n + 1 if np.isinf(high) else int(high))


@pytest.mark.parametrize("n", [1, 5, 40, 71, 72, 500])
@pytest.mark.parametrize("p", [0.05, 0.5, 0.95])
def test_ranks_are_the_best_with_their_error_rates(n, p):
    """P(B < l) and P(B >= u) are at most alpha/2, and those of the next ranks inside are not (scipy.stats)."""
    law = stats.binom(n, p)
    for level in (0.8, 0.95, 0.999):
        low, high = ranks(n, p, level)
        assert law.cdf(low - 1) <= (1 - level) / 2 < law.cdf(low)
        assert law.sf(high - 1) <= (1 - level) / 2 < law.sf(high - 2)
    estimate = quantile_over_runs(np.random.default_rng(0).normal(size=(1, n)), p, 0.95)
    assert estimate.low[0] <= estimate.value[0] <= estimate.high[0]
    assert n == estimate.n_runs[0]


def test_the_documented_number_of_runs_gives_a_finite_upper_end():
    assert [np.isinf(quantile_over_runs(np.zeros((1, n)), 0.95, 0.95).high[0]) for n in (71, 72)] == [True, False]


@pytest.mark.parametrize("name", ["lognormal", "ties", "Cauchy"])
def test_coverage(name):
    """4,000 studies of 120 runs: the share that covers is at least 0.95 - 4.4 standard errors (a false alarm has
    probability 1e-5), and for continuous distributions it equals P(l <= B < u). Ranks that are two closer to the
    middle cover 0.85, which is caught: a defect of 0.015 is detected with probability 0.5 or more."""
    rng = np.random.default_rng(3)
    draws, truth = {
        "lognormal": (rng.lognormal(sigma=2.0, size=(STUDIES, RUNS)), stats.lognorm(2.0).ppf(P)),
        "ties": (rng.poisson(3.0, size=(STUDIES, RUNS)).astype(float), stats.poisson(3.0).ppf(P)),
        "Cauchy": (rng.standard_cauchy(size=(STUDIES, RUNS)), stats.cauchy.ppf(P)),
    }[name]
    estimate = quantile_over_runs(draws, P, LEVEL)
    covered = np.mean((estimate.low <= truth) & (truth <= estimate.high))
    error = np.sqrt(LEVEL * (1 - LEVEL) / STUDIES)
    assert covered > LEVEL - 4.4 * error
    if name != "ties":
        low, high = ranks(RUNS, P, LEVEL)
        exact = stats.binom(RUNS, P).cdf(high - 1) - stats.binom(RUNS, P).cdf(low - 1)
        assert abs(covered - exact) < 4.4 * error
        ordered = np.sort(draws, axis=1)
        wrong = np.mean((ordered[:, low + 1] <= truth) & (truth <= ordered[:, high - 3]))
        assert wrong < LEVEL - 4.4 * error


def test_results_exclude_failed_runs_and_have_all_rounds():
    result = made_up(failed=((0, 2), (0, 5), (1, 5)))
    estimate = result.quantile_interval(0.5, "cumulative_loss", 0.9)
    assert estimate.n_runs[:, 0].tolist() == [10, 11]
    for learner, out in ((0, (2, 5)), (1, (5,))):
        runs = np.sort(np.delete(result.cumulative_loss[learner], out, axis=0), axis=0)
        low, high = ranks(len(runs), 0.5, 0.9)
        for field, rank in zip(estimate[:3], (-(-len(runs) // 2), low, high), strict=True):
            np.testing.assert_array_equal(field[learner], runs[rank - 1])
    nothing = quantile_over_runs(np.full((1, 4), np.nan), 0.5, 0.9)
    assert np.isnan([nothing.value, nothing.low, nothing.high]).all()
