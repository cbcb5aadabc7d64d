"""Logs: checks of arrays and tables, whose errors name the column and the row, and the Open Bandit Dataset."""

import datetime
import gzip
import sys

import jax
import numpy as np
import pandas as pd
import pytest

import jaxonline as jo

FRAME = pd.DataFrame(
    {"item": [0, 2, 1, 2], "click": [0, 1, 0, 1], "p": [0.5, 0.25, 0.25, 1.0], "age": [31.0, 8.0, 52.5, 8.0],
     "device": ["tv", "pc", "tv", "tv"], "place": [1, 2, 1, 2]}
)  # fmt: skip
NAMES = {"arm": "item", "reward": "click", "propensity": "p", "context": ["age", "device"], "position": "place"}
GOOD = {"contexts": np.ones((3, 2)), "arms": [0, 1, 1], "rewards": [0.0, 1.0, 0.5], "propensities": [0.5, 0.25, 1.0]}


def assert_is_frame(log, swapped=False):
    assert log.arms.tolist() == [0, 2, 1, 2]
    assert log.rewards.tolist() == [0, 1, 0, 1]
    assert log.propensities.tolist() == [0.5, 0.25, 0.25, 1.0]
    assert log.positions.tolist() == [1, 2, 1, 2]
    contexts = [[31.0, 0.0, 1.0], [8.0, 1.0, 0.0], [52.5, 0.0, 1.0], [8.0, 0.0, 1.0]]
    assert log.contexts[:, [0, 2, 1] if swapped else [0, 1, 2]].tolist() == contexts


def test_arrays_lists_and_numbers_are_converted():
    log = jo.Log(None, [1, 0], np.array([True, False]), 0.25)
    assert (len(log), log.n_arms, log.contexts, log.positions) == (2, 2, None, None)
    assert log.rewards.tolist() == [1.0, 0.0]
    assert log.propensities.tolist() == [0.25, 0.25]
    assert jo.Log(None, [1.0, 0.0], [-3, 5], 0.25, n_arms=7, reward_range=(-3, 5)).n_arms == 7
    own = jo.Log(given := np.ones((2, 1)), arms := np.array([0, 1]), [1, 0], 0.5)
    assert not any(part.flags.writeable for part in (own.contexts, own.arms, own.rewards, own.propensities))
    assert given.flags.writeable
    assert arms.flags.writeable
    assert jo.Log(None, [10**9], [0], 0.5, n_arms=10**9 + 1).n_arms == 10**9 + 1
    part = jo.Log(np.arange(6.0).reshape(3, 2), [0, 1, 2], [1, 0, 1], 0.5, 4, [5, 6, 7]).select([2, 0])
    assert (part.arms.tolist(), part.contexts[0].tolist(), part.positions.tolist()) == ([2, 0], [4.0, 5.0], [7, 5])
    assert part.n_arms == 4
    long = jo.Log(None, np.zeros(4097), np.zeros(4097), 0.5)
    assert [(rows.start, rows.stop) for rows in long.chunks()] == [(0, 2048), (2048, 4096), (4096, 4097)]


@pytest.mark.parametrize(
    ("argument", "value", "words"),
    [
        ("propensities", [0.5, 0.0, 0.0], "above 0 and at most 1 (got 0 in row 2, the first of 2 such rows)"),
        ("propensities", [0.5, 1.5, 1.0], "got 1.5 in row 2"),
        ("propensities", [0.5, np.nan, 1.0], "finite (got nan in row 2)"),
        ("propensities", [0.5, 0.5], "a vector of 3 entries"),
        ("propensities", 0.0, "above 0 and at most 1 (got 0 in row 1"),
        ("arms", [0, -1, 1], "got -1 in row 2"), ("arms", [0, 1, 0.5], "integers (got 0.5 in row 3)"),
        ("arms", [], "at least one entry"), ("arms", ["a", "b", "c"], "numbers"),
        ("rewards", [0, 2, 0], "from 0 to 1, the reward_range (got 2 in row 2)"),
        ("rewards", [0, 1, -0.1], "got -0.1 in row 3"), ("rewards", [0, np.inf, 0], "finite (got inf in row 2)"),
        ("contexts", [[0, 1], [0, np.nan], [1, 1]], "row 2, column 1 (from 0)"),
        ("contexts", np.ones(3), "[n, d] or [n, K, d]"), ("contexts", np.ones((2, 2)), "n = 3 rows"),
        ("contexts", np.ones((3, 5, 2)), "K = 2 arms"), ("positions", [1, 2], "a vector of 3 entries"),
        ("positions", [1, 2, 2.5], "integers (got 2.5 in row 3)"), ("n_arms", 0, "at least 1"),
        ("arms", [0, 1, 1e30], "from -2^53 to 2^53, without these limits (got 1e+30 in row 3)"),
        ("arms", [0, 1, 2**53 + 1], "from -2^53"), ("arms", [0, 10**9, 1], "below 1,000,000 if n_arms is not given"),
        ("propensities", [0.5, 1e-300, 1.0], "at least 1e-50 (got 1e-300 in row 2)"),
        ("reward_range", (-1e308, 1e308), "at least -1e+50"), ("reward_range", (1.0, 0.0), "increasing"),
        ("reward_range", 3.0, "a pair of numbers"),
    ],
)  # fmt: skip
def test_bad_logs_raise_errors_that_name_the_argument_and_the_row(argument, value, words):
    with pytest.raises((TypeError, ValueError)) as error:
        jo.Log(**GOOD | {argument: value})
    assert error.value.argument == argument
    assert words in str(error.value)
    with pytest.raises(ValueError, match=r"arms: must be integers from 0 to 1, n_arms - 1 .got 2 in row 3"):
        jo.Log(None, [0, 1, 2], [0, 0, 0], 0.5, n_arms=2)


def test_tables_are_read_from_frames_and_files(tmp_path):
    assert_is_frame(jo.Log.from_table(FRAME, **NAMES))
    FRAME.to_csv(tmp_path / "log.csv", index=False)
    assert_is_frame(jo.Log.from_table(tmp_path / "log.csv", **NAMES))
    (tmp_path / "log.csv.gz").write_bytes(gzip.compress((tmp_path / "log.csv").read_bytes()))
    assert_is_frame(jo.Log.from_table(str(tmp_path / "log.csv.gz"), **NAMES))
    log = jo.Log.from_table(FRAME, arm="item", reward="click", propensity="p", n_arms=9, reward_range=(0, 2))
    assert (log.contexts, log.positions, log.n_arms, log.reward_range) == (None, None, 9, (0.0, 2.0))
    assert jo.Log.from_table(FRAME, arm="item", reward="click", propensity="p", context=[]).contexts is None
    FRAME.replace("tv", "NA").to_csv(tmp_path / "texts.csv", index=False)
    assert_is_frame(jo.Log.from_table(tmp_path / "texts.csv", **NAMES | {"context": ["age", "device"]}), swapped=True)


def test_parquet_files_need_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'jaxonline\[parquet\]'"):
        jo.Log.from_table(tmp_path / "log.parquet", **NAMES)
    monkeypatch.undo()
    pytest.importorskip("pyarrow")
    for name in ("log.parquet", "log.PARQUET", "log.pq"):
        FRAME.to_parquet(tmp_path / name)
        assert_is_frame(jo.Log.from_table(tmp_path / name, **NAMES))
    (tmp_path / "torn.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(ValueError, match=r"torn\.parquet: must be a Parquet file"):
        jo.Log.from_table(tmp_path / "torn.parquet", **NAMES)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("item,click,p\n7,0,1,0.5\n3,1,0,0.25\n", "in row 1, saw 4"),  # all rows have a field more than the header
        ("item,click,p\n0,0,1,0.5\n1,1,0\n", "in row 1, saw 4"),
        ("item,click,p\n0,1,1\n\n1,1,1,1\n", "in row 3, saw 4"),
        ("item,click,p,p\n0,1,1,0.5\n", "must have one column 'p' (got 2)"),
        ("item,click,p\n0,1,1\n\n1,1,1\n", "column 'item': must be a number (got nan in row 2)"),
        ("item,click,p\n0,NA,1\n", "column 'click': must be a number (got 'NA' in row 1)"),
    ],
)  # fmt: skip
def test_rows_of_a_file_that_do_not_fit_raise_errors(tmp_path, text, words):
    (tmp_path / "bad.csv").write_text(text)
    with pytest.raises(ValueError, match=r"bad\.csv") as error:
        jo.Log.from_table(tmp_path / "bad.csv", arm="item", reward="click", propensity="p")
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("column", "cells", "words"),
    [
        ("age", pd.to_datetime(["2020-01-01"] * 4), "must be numbers or texts (got datetime64"),
        ("p", np.full(4, 0.5 + 1j), "must be numbers or texts (got complex128"),
        ("item", [0, [1], 0, 0], "column 'item': must be a number (got [1] in row 2)"),
        ("device", [[1]] * 4, "column 'device': must be a number or a text (got [1] in row 1)"),
        ("device", [datetime.date(2020, 1, 1)] * 4, "a number or a text (got datetime.date(2020, 1, 1) in row 1)"),
    ],
)  # fmt: skip
def test_columns_of_other_types_raise_errors(column, cells, words):
    with pytest.raises(ValueError, match="table, column") as error:
        jo.Log.from_table(FRAME.assign(**{column: pd.Series(cells)}), **NAMES)
    assert words in str(error.value)
    twice = pd.concat([FRAME, FRAME[["p"]]], axis=1)
    with pytest.raises(ValueError, match=r"table: must have one column 'p' .got 2"):
        jo.Log.from_table(twice, **NAMES)


@pytest.mark.parametrize(
    ("column", "row", "cell", "words"),
    [
        ("p", 1, 0.0, "column 'p': must be above 0 and at most 1 (got 0 in row 2)"),
        ("p", 2, "x", "column 'p': must be a number (got 'x' in row 3)"),
        ("click", 3, None, "column 'click': must be a number (got"),
        ("click", 0, 7, "column 'click': must be from 0 to 1"),
        ("item", 0, 0.5, "column 'item': must be integers (got 0.5 in row 1)"),
        ("place", 0, 0.5, "column 'place': must be integers (got 0.5 in row 1)"),
        ("age", 1, "old", "column 'age': must be a finite number, as in other rows (got 'old' in row 2)"),
        ("device", 2, None, "column 'device': must be given in each row"),
    ],
)  # fmt: skip
def test_bad_cells_raise_errors_that_name_the_column_and_the_row(tmp_path, column, row, cell, words):
    frame = FRAME.astype(object)
    frame.loc[row, column] = cell
    frame.to_csv(tmp_path / "bad.csv", index=False)
    for table, source in ((frame, "table"), (tmp_path / "bad.csv", str(tmp_path / "bad.csv"))):
        with pytest.raises(ValueError, match="row") as error:
            jo.Log.from_table(table, **NAMES)
        assert words in str(error.value)
        assert str(error.value).startswith(source)


def test_missing_columns_empty_tables_and_too_many_texts_raise_errors(tmp_path):
    with pytest.raises(ValueError, match=r"must have the column 'clicked' .*did you mean 'click'"):
        jo.Log.from_table(FRAME, **NAMES | {"reward": "clicked"})
    with pytest.raises(ValueError, match="at least one row"):
        jo.Log.from_table(FRAME[:0], **NAMES)
    many = pd.DataFrame({"item": np.zeros(1001), "click": 0, "p": 0.5, "user": [f"u{i}" for i in range(1001)]})
    with pytest.raises(ValueError, match=r"column 'user': must have at most 1,000 different texts .got 1,001"):
        jo.Log.from_table(many, arm="item", reward="click", propensity="p", context=["user"])
    (tmp_path / "torn.csv").write_text('a,b\n1,"2\n')
    with pytest.raises(ValueError, match="must be a CSV file"):
        jo.Log.from_table(tmp_path / "torn.csv", **NAMES)
    with pytest.raises(OSError, match=r"absent.csv"):
        jo.Log.from_table(tmp_path / "absent.csv", **NAMES)


def test_a_history_becomes_a_log():
    game = jo.Game(jo.environments.BernoulliArms([0.2, 0.8]), jo.Bandit(), loss=jo.losses.ArmLoss())
    _, history = jo.play(game, jo.learners.EXP3(0.1), jax.random.key(0), n_rounds=40)
    log, move = jo.Log.from_history(history), history.y_hat
    assert (log.n_arms, log.contexts) == (2, None)
    assert log.arms.tolist() == np.asarray(move.arm).tolist()
    assert log.rewards.tolist() == (1.0 - np.asarray(history.loss)).tolist()
    chosen = [float(p[arm]) for p, arm in zip(move.probabilities, move.arm, strict=True)]
    np.testing.assert_allclose(log.propensities, chosen, rtol=1e-6)
    with pytest.raises(TypeError, match="history: must be rounds with moves of type Draw"):
        jo.Log.from_history(jo.play(game, jo.learners.UCB1(), jax.random.key(0), n_rounds=4)[1])


def test_the_open_bandit_dataset(data_folder, monkeypatch):
    """The clicks, arms and positions are those of the files, counted with awk."""
    uniform, bts = jo.logs.open_bandit("random", data_folder), jo.logs.open_bandit("bts", data_folder)
    assert (len(uniform), uniform.rewards.sum(), bts.rewards.sum()) == (10_000, 38, 42)
    assert uniform.n_arms == bts.n_arms == 80
    assert set(uniform.positions) == {1, 2, 3}
    assert set(uniform.propensities) == {1 / 80}
    assert (bts.propensities.min(), bts.propensities.max().round(5)) == (4.5e-5, 0.95424)
    assert uniform.contexts.shape == (10_000, 24)
    assert (uniform.contexts.sum(axis=1) == 4).all()
    monkeypatch.delenv("JAXONLINE_DATA")
    with pytest.raises(ValueError, match=r"data: must be a folder with open-bandit/bts.csv.gz"):
        jo.logs.open_bandit("bts")
    with pytest.raises(ValueError, match="policy: must be one of 'random', 'bts'"):
        jo.logs.open_bandit("uniform")
