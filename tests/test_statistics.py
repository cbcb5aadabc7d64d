"""The exponent of growth: exact for power laws, its interval covers, and a curve without a power law has none."""

import json

import numpy as np
import pytest

from jaxonline.results.growth import growth
from jaxonline.study.files import write_csv, write_json

ROUNDS = np.array([10, 30, 100, 300])


def test_least_squares_of_the_logarithms():
    rng = np.random.default_rng(0)
    values = rng.uniform(1.0, 2.0, (20, 4)) * ROUNDS**0.7
    expected = np.polyfit(np.log(ROUNDS), np.log(values.mean(axis=0)), 1)[0]
    found = growth(ROUNDS, values)
    assert found.exponent == pytest.approx(expected, rel=1e-12)
    assert found.low < found.exponent < found.high


def test_the_interval_covers_as_often_as_it_says():
    """400 intervals of level 95 %; fewer than 92 % or more than 98 % cover by chance less than 1 time in 100. Errors of
    a run are correlated over the rounds, as those of cumulative losses are; independent ones would be another law."""
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(400):
        steps = 1.0 + rng.normal(size=(50, ROUNDS[-1]))
        low, high = growth(ROUNDS, np.cumsum(steps, axis=1)[:, ROUNDS - 1])[1:]
        covered += low <= 1.0 <= high
    assert 0.92 * 400 <= covered <= 0.98 * 400


def test_without_a_power_law_there_is_no_exponent():
    values = np.ones((5, 4)) * ROUNDS
    values[:, 1] *= -1
    assert np.isnan(growth(ROUNDS, values)).all()
    assert np.isnan(growth(ROUNDS, values[:1])).all()


def test_runs_with_a_nan_are_left_out():
    values = np.array([1.0, 2.0, 7.0])[:, None] * np.sqrt(ROUNDS)
    values[2, 1] = np.nan
    assert growth(ROUNDS, values) == growth(ROUNDS, values[:2])


@pytest.mark.parametrize(
    ("rounds", "values", "message"),
    [
        ([10], np.ones((3, 1)), "rounds must be at least two"),
        ([0, 10], np.ones((3, 2)), "rounds must be at least two numbers above 0"),
        ([1, 10], np.ones((3, 3)), r"values must have the shape \(runs, 2\), got \(3, 3\)"),
    ],
)
def test_bad_input(rounds, values, message):
    with pytest.raises(ValueError, match=message):
        growth(rounds, values)


def test_files(tmp_path):
    numbers = {"a": np.array([1.0, np.inf]), "b": (np.int64(3), None, "text"), 5: True}
    read = json.loads(write_json(tmp_path / "new" / "a.json", numbers).read_text())
    assert read == {"a": [1.0, None], "b": [3, None, "text"], "5": True}
    rows = [{"a": "x, y", "b": 1 / 3}, {"a": None, "b": 2}]
    assert write_csv(tmp_path / "a.csv", rows).read_text() == 'a,b\n"x, y",0.333333\n,2\n'
