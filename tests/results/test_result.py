"""What a study measured: means, intervals, paired differences, tables, labels, and the way to disk and back."""

import json

import numpy as np
import pytest
from made_up import RUNS, made_up
from scipy import stats

import jaxonline as jo
from jaxonline.results import Result
from jaxonline.results.report.tables import REGRET_COLUMNS, Table


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_means_and_student_intervals(level):
    result = made_up()
    estimate = result.mean(level=level)
    values = result.cumulative_loss - result.comparator_loss
    np.testing.assert_allclose(estimate.mean, values.mean(axis=1), rtol=1e-13)
    np.testing.assert_allclose(estimate.standard_error, stats.sem(values, axis=1), rtol=1e-12)
    low, high = stats.t.interval(level, RUNS - 1, values.mean(axis=1), stats.sem(values, axis=1))
    np.testing.assert_allclose((estimate.low, estimate.high), (low, high), rtol=1e-12)
    assert (estimate.n_runs == RUNS).all()


def test_paired_differences():
    """The interval of scipy's paired test, which is narrower than that of independent samples."""
    result = made_up()
    estimate = result.paired_difference("b, c", "α", level=0.9)
    for g in range(3):
        first, second = result.regret[1, :, g], result.regret[0, :, g]
        interval = stats.ttest_rel(first, second).confidence_interval(0.9)
        np.testing.assert_allclose((estimate.low[g], estimate.high[g]), (interval.low, interval.high), rtol=1e-10)
        np.testing.assert_allclose(estimate.mean[g], np.mean(first - second), rtol=1e-12)
        apart = stats.ttest_ind(first, second, equal_var=False).confidence_interval(0.9)
        assert interval.high - interval.low < 0.9 * (apart.high - apart.low)


def test_failed_runs_are_left_out_and_counted():
    result = made_up(failed=((0, 2), (0, 5), (1, 5)))
    good = [[i for i in range(RUNS) if i not in (2, 5)], [i for i in range(RUNS) if i != 5]]
    estimate, difference = result.mean("cumulative_loss"), result.paired_difference("b, c", "α")
    for learner in range(2):
        values = result.cumulative_loss[learner, good[learner]]
        np.testing.assert_allclose(estimate.mean[learner], values.mean(axis=0), rtol=1e-13)
        np.testing.assert_allclose(estimate.standard_error[learner], stats.sem(values), rtol=1e-12)
        quantiles = result.quantiles([0.1, 0.9], "cumulative_loss")[:, learner]
        np.testing.assert_allclose(quantiles, np.quantile(values, [0.1, 0.9], axis=0), rtol=1e-13)
    assert estimate.n_runs[:, 0].tolist() == [10, 11]
    assert result.failed.tolist() == [2, 1]
    np.testing.assert_allclose(difference.mean, (result.regret[1] - result.regret[0])[good[0]].mean(axis=0), rtol=1e-13)
    assert (difference.n_runs == 10).all(), "runs in which both are there"


def test_one_run_has_no_interval():
    result = made_up()
    one = made_up(comparator=False).select(runs=slice(1))
    estimate = one.mean("cumulative_loss")
    np.testing.assert_array_equal(estimate.mean, result.cumulative_loss[:, 0])
    assert np.isnan(estimate.standard_error).all()
    assert np.isnan(estimate.low).all()


def test_quantiles():
    result = made_up()
    expected = np.quantile(result.regret, [0.05, 0.5, 0.95], axis=1)
    np.testing.assert_allclose(result.quantiles(), expected, rtol=1e-13)
    assert result.quantiles(0.5).shape == (2, 3)


def test_select_keeps_the_numbers_of_the_learners():
    result = made_up(failed=((0, 2),))
    chosen = result.select("b, c")
    assert chosen.learners == ("b, c",)
    np.testing.assert_array_equal(chosen.regret[0], result.regret[1])
    assert result.select("b, c", "α").failed.tolist() == [0, 1]
    assert chosen.meta == result.meta


def test_the_table():
    rows = made_up().table({"b, c": 12.5}, level=0.8)
    estimate = made_up().mean(level=0.8)
    assert [row["learner"] for row in rows] == ["α", "b, c"]
    assert [row["queries_per_round"] for row in rows] == [2.0, 4.0]
    assert [row["bound"] for row in rows] == [None, 12.5]
    assert rows[1]["regret"] == estimate.mean[1, -1]
    assert (rows[1]["low"], rows[1]["high"]) == (estimate.low[1, -1], estimate.high[1, -1])
    assert rows[1]["regret_per_round"] == rows[1]["regret"] / 15
    assert rows[1]["failed"] == 0
    json.dumps(rows)


def test_the_dataset_is_labelled():
    result = made_up()
    dataset = result.to_xarray()
    assert dict(dataset.sizes) == {"learner": 2, "run": RUNS, "round": 3}
    assert {"cumulative_loss", "comparator_loss", "regret", "queries", "first_nonfinite"} <= set(dataset.data_vars)
    assert dataset.cumulative_loss.dims == ("learner", "run", "round")
    assert dataset.first_nonfinite.dims == ("learner", "run")
    at = {"learner": "b, c", "run": 3, "round": 10}
    assert dataset.regret.sel(at).item() == result.regret[1, 3, 1]
    assert "regret" not in made_up(comparator=False).to_xarray()


@pytest.mark.parametrize("comparator", [True, False])
def test_a_saved_result_loads_with_the_same_numbers(tmp_path, comparator):
    result = made_up(comparator, failed=((0, 2),))
    path = result.save(tmp_path / "new" / "study.npz")
    assert path == tmp_path / "new" / "study.npz"
    other = made_up().select("α")
    other.save(path)
    assert Result.load(path).learners == ("α",), "a store that is there is replaced"
    result.save(path)
    loaded = Result.load(str(path))
    assert (loaded.learners, loaded.meta) == (result.learners, result.meta)
    for name in ("runs", "rounds", "cumulative_loss", "queries", "first_nonfinite"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(result, name), name)
        assert getattr(loaded, name).dtype == getattr(result, name).dtype
    if comparator:
        np.testing.assert_array_equal(loaded.regret, result.regret)
    else:
        assert loaded.comparator_loss is None
    assert [p.name for p in path.parent.iterdir()] == ["study.npz"], "nothing unfinished is left"


def test_a_simulated_result_loads_with_the_same_meta(tmp_path):
    game = jo.Game(jo.environments.DataStream(np.eye(3), np.ones(3)), jo.FullInformation())
    learner = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.5)
    result = jo.simulate(game, {"gradient": learner}, n_runs=2, n_rounds=6, comparator=jo.L2Ball(2.0), record_at=2)
    loaded = Result.load(result.save(tmp_path / "study.npz"))
    assert loaded.meta == result.meta
    np.testing.assert_array_equal(loaded.regret, result.regret)
    assert loaded.regret[0, 0].tolist() == [3.0, 3.0]


@pytest.mark.parametrize(
    ("left_out", "columns", "cells"),
    [
        ({}, [], ["", ""]),
        ({"failed": ((0, 2),)}, ["failed"], ["1", "0"]),
        ({"overflowed": ((1, 2), (1, 5))}, ["overflowed"], ["0", "2"]),
        ({"failed": ((0, 2),), "overflowed": ((1, 3),)}, ["failed", "overflowed"], ["1 0", "0 1"]),
    ],
)
def test_the_table_on_a_terminal_shows_what_is_left_out(left_out, columns, cells):
    table = Table("a table", made_up(**left_out).table(), REGRET_COLUMNS)
    shown = table.shown[5:]
    assert [column.head.replace("\n", " ") for column in shown] == [f"{what} runs" for what in columns]
    assert [" ".join(column.show(row) for column in shown) for row in table.rows] == cells


@pytest.mark.parametrize(
    ("message", "call"),
    [
        ("quantity", lambda r: r.mean("loss")),
        ("level", lambda r: r.mean(level=1.0)),
        ("level", lambda r: r.mean(level=0.0)),
        ("probabilities", lambda r: r.quantiles([0.5, 1.5])),
        ("learners: must be one of 'α', .*got 'c'", lambda r: r.select("c")),
        ("second: must be one of 'α', .*got 'c'", lambda r: r.paired_difference("α", "c")),
        ("comparator", lambda r: made_up(comparator=False).regret),
        ("comparator", lambda r: made_up(comparator=False).mean("comparator_loss")),
    ],
)
def test_bad_arguments_of_results_are_named(message, call):
    with pytest.raises(ValueError, match=message):
        call(made_up())


def test_loading_a_missing_store_fails(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        Result.load(tmp_path / "nowhere")
