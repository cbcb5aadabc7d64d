"""Adjusting by control variates: the coefficients of all other runs, by a loop; no bias; the intervals cover."""

import numpy as np
import pytest

import jaxonline as jo
from jaxonline.results.report.tables import REGRET_COLUMNS, Table
from jaxonline.results.statistics import mean_over_runs
from jaxonline.results.statistics.variance_reduction import (
    CONTROL,
    HALF_DIFFERENCE,
    subtract_controls,
    variance_reduction,
)


@pytest.mark.parametrize("n_controls", [1, 2])
def test_the_coefficients_are_those_of_the_other_runs(n_controls):
    """Least squares without the run, one run after the other; a run with a NaN has no part in it."""
    rng = np.random.default_rng(1)
    controls = rng.normal(size=(n_controls, 9, 4))
    values = 5.0 + 2.0 * controls.sum(axis=0) + rng.normal(size=(9, 4))
    values[3] = np.nan
    found = subtract_controls(values, controls)
    for run in range(9):
        others = [r for r in range(9) if r not in (run, 3)]
        for g in range(4):
            design = np.column_stack([np.ones(len(others)), *controls[:, others, g]])
            beta = np.linalg.lstsq(design, values[others, g])[0][1:]
            np.testing.assert_allclose(found[run, g], values[run, g] - beta @ controls[:, run, g], rtol=1e-10)


def test_undetermined_coefficients_leave_runs_unchanged():
    """Two runs, no control, equal controls, and a control in one run only."""
    values = np.random.default_rng(2).normal(size=(5, 2))
    for control in (np.zeros((1, 5, 2)), np.ones((1, 5, 2)), 3.0 * np.eye(5)[:1, :, None] * np.ones(2)):
        found = subtract_controls(values, control)
        np.testing.assert_array_equal(found[0], values[0])
    np.testing.assert_array_equal(subtract_controls(values[:2], np.ones((1, 2, 2)) * [[1.0], [2.0]]), values[:2])


def test_a_repeated_control_counts_once():
    rng = np.random.default_rng(3)
    control, noise = rng.normal(size=(2, 30))
    one = subtract_controls(control + noise, control[None])
    np.testing.assert_allclose(subtract_controls(control + noise, np.stack([control, 1e6 * control])), one, rtol=1e-6)


def test_adjusted_means_have_no_bias():
    """5 runs of skewed values: the mean over 20,000 studies, within 5 standard errors (wrong once in 10^6). A beta of
    all runs, the mutant, is found out by more than 10 of them."""
    rng = np.random.default_rng(4)
    control = rng.exponential(size=(5, 20_000)) - 1.0
    values = control**2 + control  # the mean of the square is 1
    own = subtract_controls(values, control[None])
    centred = control - control.mean(axis=0)
    beta = (centred * values).sum(axis=0) / (centred**2).sum(axis=0)
    for found, least, most in ((own, 0, 5), (values - beta * control, 10, np.inf)):
        means = found.mean(axis=0) - 1.0
        assert least <= abs(means.mean()) / (means.std(ddof=1) / np.sqrt(20_000)) <= most


@pytest.mark.long
@pytest.mark.parametrize("n_runs", [10, 100, 500])
def test_intervals_of_adjusted_runs_cover(n_runs):
    """Student's 95 % interval of 2,000 studies, correlation 0.97 with the control: within four standard errors of that
    number of studies, 2 %. A right interval fails once in 15,000."""
    rng = np.random.default_rng(5)
    control = rng.normal(size=(n_runs, 2000))
    of = mean_over_runs(subtract_controls(control + 0.25 * rng.normal(size=(n_runs, 2000)), control[None])[None])
    covered = ((of.low <= 0) & (of.high >= 0)).mean()
    assert 0.93 <= covered <= 0.97


def test_the_reduction_by_hand():
    rng = np.random.default_rng(6)
    values, used, half = rng.normal(size=(3, 2, 12))
    values[0, 5] = used[0, 5] = half[0, 5] = np.nan
    kept = [i for i in range(12) if i != 5]
    found = variance_reduction(values, used, half)
    single = values[0, kept].var(ddof=1) + (half[0, kept] ** 2).mean()
    np.testing.assert_allclose(found[0], single / 2 / used[0, kept].var(ddof=1))
    np.testing.assert_allclose(variance_reduction(values, used, None)[1], values[1].var(ddof=1) / used[1].var(ddof=1))
    assert np.isnan(variance_reduction(np.ones((1, 4)), np.ones((1, 4)), None)).all()
    assert np.isnan(variance_reduction(np.ones((1, 1)), np.ones((1, 1)), None)).all()


def test_the_printed_table_has_the_column():
    rng = np.random.default_rng(7)
    control = rng.normal(size=(1, 40, 1))
    loss = 10.0 + control + 0.1 * rng.normal(size=(1, 40, 1))
    measures = {"cumulative_loss": loss, "queries": 0 * loss}
    kinds = ({}, {CONTROL: control}, {HALF_DIFFERENCE: 0 * loss})
    shown = []
    for extra in kinds:
        best = np.zeros_like(loss)
        result = jo.Result(("a",), np.arange(40), np.array([1]), measures | extra, comparator_loss=best)
        shown.append(Table("", result.table(), REGRET_COLUMNS).markdown())
    assert ["variance reduction" in each for each in shown] == [False, True, True]
    assert " 0.5 |" in shown[2]
