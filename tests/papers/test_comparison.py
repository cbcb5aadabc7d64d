"""Comparison and the choice of steps in a study, on a small game: the same numbers as by hand."""

import jax
import numpy as np
import pytest

import jaxonline as jo
from benchmarks.papers.comparison import BestOf, Comparison
from jaxonline.results import Result
from jaxonline.simulation.blocks import default_mesh
from jaxonline.study import Context

ONE = default_mesh(jax.devices()[:1])
X, Y = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [0.8, -0.6]]), np.array([1.0, -1.0, 0.5, 1.0])
GAME = jo.Game(jo.environments.DataStream(X, Y, order="iid"), jo.NoisyCopies(jo.noise.gaussian(0.1)))
MAKERS = {
    "two": lambda step: jo.GradientLearner(jo.estimators.TwoCopies(), step, radius=2.0),
    "naive": lambda step: jo.GradientLearner(jo.estimators.NaiveCopy(), step, radius=2.0),
}
SIZES = {"n_runs": 6, "n_rounds": 64, "record_at": [16, 32, 64], "block_size": 6}


CONTEXT = Context(seed=5, mesh=ONE)


def same_bits(a: Result, b: Result) -> None:
    for name in ("cumulative_loss", "comparator_loss", "queries"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


def learners_of(**etas):
    return {name: MAKERS[name](jo.InverseSqrt(eta)) for name, eta in etas.items()}


@pytest.fixture(scope="module")
def plain():
    return jo.simulate(GAME, learners_of(two=0.3, naive=0.3), key=5, mesh=ONE, comparator=jo.L2Ball(2.0), **SIZES)


@pytest.mark.long
def test_fixed_steps_set_etas_bounds_and_rows(plain):
    bounds = {"naive": lambda eta, rounds: eta * rounds}
    comparison = Comparison(GAME, MAKERS, jo.L2Ball(2.0), bounds, 0.3, {"data": "four points"}, growth_start=1 / 2)
    outcome = comparison.run(CONTEXT, **SIZES)
    same_bits(outcome.result, plain)
    assert outcome.etas == {"two": 0.3, "naive": 0.3}
    assert {name: bound.tolist() for name, bound in outcome.bounds.items()} == {"naive": [0.3 * 16, 0.3 * 32, 0.3 * 64]}
    row = outcome.rows()[1]
    assert (row["data"], row["eta"], row["bound"]) == ("four points", 0.3, pytest.approx(0.3 * 64))
    assert outcome.growth_from == 32
    assert row["slope"] == plain.growth(32)["naive"].exponent
    curve = outcome.curves()["learners"]["naive"]
    np.testing.assert_array_equal(curve["regret"], plain.mean().mean[1])
    assert curve["growth"] == plain.growth(32)["naive"]._asdict()


def test_the_comparator_may_be_a_function_of_the_rounds(plain):
    outcome = Comparison(GAME, learners_of(two=0.3, naive=0.3), lambda rounds: 2.0 * rounds).run(CONTEXT, **SIZES)
    np.testing.assert_array_equal(outcome.result.cumulative_loss, plain.cumulative_loss)
    np.testing.assert_array_equal(outcome.result.comparator_loss[0, 0], [32.0, 64.0, 128.0])
    assert outcome.etas == outcome.bounds == {}


@pytest.mark.long
def test_pilot_runs_choose_the_least_mean_loss_of_each_learner():
    tune = BestOf({"small": 0.003, "good": 0.3, "large": 30.0})
    outcome = Comparison(GAME, MAKERS, tune=tune).run(CONTEXT, **SIZES)
    losses = []
    for eta in tune.etas.values():
        sizes = SIZES | {"n_rounds": 16, "record_at": [16]}
        pilot = jo.simulate(GAME, learners_of(two=eta, naive=eta), key=6, mesh=ONE, **sizes)
        losses.append(pilot.cumulative_loss[:, :, -1].mean(axis=1))
    best = np.argmin(losses, axis=0)
    assert outcome.etas == {name: list(tune.etas.values())[i] for name, i in zip(MAKERS, best, strict=True)}
    assert outcome.at_edge == tuple(name for name, eta in outcome.etas.items() if eta != 0.3)
    again = jo.simulate(GAME, learners_of(**outcome.etas), key=5, mesh=ONE, **SIZES)
    np.testing.assert_array_equal(outcome.result.cumulative_loss, again.cumulative_loss)


@pytest.mark.long
def test_a_third_of_the_runs_chooses_and_the_others_are_reported():
    """Runs 0 and 1 choose, runs 2 to 5 are reported, together with the step of `also_report`."""
    etas = {"small": 0.003, "good": 0.3, "large": 30.0}
    tune = BestOf(etas, runs="third", also_report=("small",))
    one = {"best": MAKERS["two"]}
    bound = lambda eta, rounds: eta * rounds  # noqa: E731
    comparison = Comparison(GAME, one, jo.L2Ball(2.0), dict.fromkeys(("small", "best"), bound), tune)
    outcome = comparison.run(CONTEXT, **SIZES)
    learners = jo.sweep({label: one["best"](jo.InverseSqrt(eta)) for label, eta in etas.items()})
    whole = jo.simulate(GAME, {"each": learners}, key=5, mesh=ONE, comparator=jo.L2Ball(2.0), **SIZES)
    best = list(etas)[int(np.argmin(whole.regret[:, :2, -1].mean(axis=1)))]
    assert outcome.result.learners == ("small", "best")
    assert outcome.etas == {"small": 0.003, "best": etas[best]}
    assert outcome.at_edge == (() if best == "good" else ("best",))
    assert outcome.result.runs.tolist() == [2, 3, 4, 5]
    same_bits(outcome.result, whole.select("each[small]", f"each[{best}]", runs=slice(2, None)))
    assert {name: curve[-1] for name, curve in outcome.bounds.items()} == {"small": 0.003 * 64, "best": etas[best] * 64}


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("runs", lambda: BestOf({"a": 1.0}, "half")),
        ("also_report", lambda: BestOf({"a": 1.0}, "third", ("b",))),
        ("tune", lambda: Comparison(GAME, MAKERS, tune={"x": 0.1})),
        ("bounds", lambda: Comparison(GAME, MAKERS, bounds={"somebody else": max})),
        ("growth_start", lambda: Comparison(GAME, MAKERS, tune=0.3, growth_start=1.0)),
    ],
)
def test_invalid_arguments_are_errors(argument, call):
    with pytest.raises(ValueError, match=f"^{argument}"):
        call()
