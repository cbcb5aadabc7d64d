"""Objects that cannot be printed, lists that contain themselves, huge sizes and wrong paths raise a clear error."""

import io
import sys

import numpy as np
import pytest
from bad_calls import Row, check, grouped, row, rows
from generated_calls import CYCLE, UNPRINTABLE

import jaxonline as jo
from benchmarks.papers.__main__ import app as papers
from jaxonline import bounds, cli, comparators, datasets, environments, estimators, losses
from jaxonline.feedback import noise

X, Y = np.arange(6.0).reshape(3, 2) / 6, np.array([1.0, -1.0, 1.0])
GAME = jo.Game(environments.DataStream(X, Y), jo.FullInformation())
LEARNER = jo.GradientLearner(estimators.FullGradient(), 0.1)
LOSS = np.array([[[1.0, 2.0], [3.0, 5.0]]])
RESULT = jo.Result(("a",), np.arange(2), np.array([1, 2]), {"cumulative_loss": LOSS, "queries": 0 * LOSS})
HOSTILE = UNPRINTABLE, CYCLE, [CYCLE, CYCLE], {"a": CYCLE}
ERRORS = TypeError, ValueError


def study(**changed):
    return {"game": GAME, "learners": LEARNER, "n_runs": 2, "n_rounds": 2} | changed


def hostile_calls():
    for name, call in {
        "step_size": lambda value: jo.GradientLearner(estimators.FullGradient(), value),
        "delta": losses.Huber,
        "weights": environments.LinearModel,
        "X": lambda value: environments.DataStream(value, Y),
        "environment": lambda value: jo.Game(value, jo.FullInformation()),
        "feedback": lambda value: jo.WithFeedback(LEARNER, value),
        "loss": lambda value: jo.Game(GAME.environment, GAME.feedback, value),
        "covariance": noise.gaussian,
        "learners": jo.sweep,
        "grid": lambda value: jo.tune(GAME, LEARNER, value, n_runs=2, n_rounds=2),
        "path": jo.load_result,
        "things": jo.cite,
    }.items():
        yield from rows(name, call, ERRORS, *HOSTILE)
    for name in ("n_runs", "record_at", "measures", "comparator", "checkpoint"):
        yield from rows(name, lambda value, name=name: jo.simulate(**study(**{name: value})), ERRORS, *HOSTILE)


def named_calls():
    yield from rows("path", RESULT.plot, ERRORS, 3, [1], b"x.png", UNPRINTABLE, "", "figure.exe")
    yield from rows("other", RESULT.merge_runs, TypeError, None, 3, "a", LEARNER, jo.Result)
    sums = comparators.cumulative_statistic
    yield from rows("comparator", lambda value: sums(value, X, Y), TypeError, None, 3, jo.L2Ball, jo.BestSegments(2))
    for name, call in {
        "X": lambda value: sums(jo.L2Ball(1.0), value, Y),
        " X": lambda value: datasets.checksum(value, Y),
        "y": lambda value: sums(jo.L2Ball(1.0), X, value),
        " y": lambda value: datasets.checksum(X, value),
    }.items():
        bad = None, "a", np.full(3, np.nan), np.ones(2), 3.0, [["a"]]
        yield from rows(name.strip(), call, ERRORS, *bad)
    yield from rows("obj", jo.replace, TypeError, None, 3, "a", [1], jo.L2Ball, UNPRINTABLE)
    yield from rows("centre", lambda value: bounds.factor_moment(2.0, 4.0, centre=value), ERRORS, np.nan, "a", None)
    features = bounds.Features(50)
    yield from rows(
        "truncated", lambda value: bounds.vaw2(1.0, 10, features, 1.0, 9, truncated=value), TypeError, "abc", 1
    )
    grid = {"step_size": [0.1, 0.2]}
    tune = lambda value: jo.tune(GAME, LEARNER, grid, n_runs=2, n_rounds=2, progress=value)  # noqa: E731
    yield from rows("progress", tune, TypeError, np.nan, None, 1, "yes")
    student = noise.StudentCoordinates(5.0)
    yield row(lambda: noise.Noise(1.0, student=student), ValueError, "student")
    yield row(lambda: noise.Noise(1.0, law=None), ValueError, "student")
    yield from rows("student", lambda value: noise.Noise(1.0, None, value), TypeError, "a", 5.0)


def sizes():
    yield from rows("block_size", lambda n: jo.simulate(**study(n_runs=10, block_size=n)), ValueError, 10**9, 2**20 + 1)
    yield from rows("n_runs", lambda n: jo.simulate(**study(n_runs=n)), ValueError, 10**12)
    large = jo.Game(environments.LinearModel(np.full(600_000, 0.1)), jo.FullInformation())
    yield row(lambda: jo.simulate(**study(game=large, comparator=jo.L2Ball(1.0))), ValueError, "block_size")


TABLE: list[Row] = [*hostile_calls(), *named_calls(), *sizes()]


@pytest.mark.parametrize("calls", grouped(TABLE))
def test_hostile_argument_raises_error_that_names_the_argument(calls):
    check(calls)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_terminal_replaces_characters_that_it_cannot_show(encoding, monkeypatch):
    output = io.TextIOWrapper(io.BytesIO(), encoding)
    monkeypatch.setattr(sys, "stdout", output)
    monkeypatch.setattr(sys, "argv", ["papers", "verify", "--claim", "E18"])
    with pytest.raises(SystemExit) as end:
        cli.main(papers)
    assert end.value.code == 0
    assert "E18" in output.buffer.getvalue().decode(encoding)
