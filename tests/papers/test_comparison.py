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
    "two copies": lambda step: jo.GradientLearner(jo.estimators.TwoCopies(), step, radius=2.0),
    "naive": lambda step: jo.GradientLearner(jo.estimators.NaiveCopy(), step, radius=2.0),
}
SIZES = {"n_runs": 6, "n_rounds": 64, "record_at": [16, 32, 64], "block_size": 6}


def same_bits(a: Result, b: Result) -> None:
    for name in ("cumulative_loss", "comparator_loss", "queries"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


@pytest.fixture(scope="module")
def plain():
    """Fixed steps, as `simulate` plays them."""
    learners = {name: make(jo.InverseSqrt(0.3)) for name, make in MAKERS.items()}
    return jo.simulate(GAME, learners, key=5, mesh=ONE, comparator=jo.L2Ball(2.0), **SIZES)


def test_fixed_steps_set_etas_bounds_and_rows(plain):
    bounds = {"naive": lambda eta, rounds: eta * rounds}
    with pytest.raises(ValueError, match=r"bounds: .*got 'somebody else'"):
        Comparison(GAME, MAKERS, bounds={"somebody else": bounds["naive"]})
    labels = {"data": "four points"}
    comparison = Comparison(GAME, MAKERS, jo.L2Ball(2.0), bounds, 0.3, labels, growth_start=1 / 2)
    outcome = comparison.run(Context(seed=5, mesh=ONE), **SIZES)
    same_bits(outcome.result, plain)
    assert outcome.etas == {"two copies": 0.3, "naive": 0.3}
    assert {name: bound.tolist() for name, bound in outcome.bounds.items()} == {"naive": [0.3 * 16, 0.3 * 32, 0.3 * 64]}
    row = outcome.rows()[1]
    assert list(row)[:3] == ["data", "eta", "learner"]
    assert (row["data"], row["eta"], row["bound"]) == ("four points", 0.3, pytest.approx(0.3 * 64))
    assert outcome.growth_from == 32
    assert row["slope"] == plain.growth(32)["naive"].exponent
    assert outcome.slope_rounds == "rounds 32 to 64"
    curve = outcome.curves()["learners"]["naive"]
    np.testing.assert_array_equal(curve["regret"], plain.mean().mean[1])
    assert curve["growth"] == plain.growth(32)["naive"]._asdict()


def test_the_comparator_may_be_a_function_of_the_rounds(plain):
    learners = {name: make(jo.InverseSqrt(0.3)) for name, make in MAKERS.items()}
    outcome = Comparison(GAME, learners, lambda rounds: 2.0 * rounds).run(Context(seed=5, mesh=ONE), **SIZES)
    np.testing.assert_array_equal(outcome.result.cumulative_loss, plain.cumulative_loss)
    np.testing.assert_array_equal(outcome.result.comparator_loss[0, 0], [32.0, 64.0, 128.0])
    assert outcome.etas == outcome.bounds == {}


def test_pilot_runs_choose_the_least_mean_loss_of_each_learner():
    """Pilot runs have another seed and a quarter of the rounds."""
    tune = BestOf({"small": 0.003, "good": 0.3, "large": 30.0})
    outcome = Comparison(GAME, MAKERS, tune=tune).run(Context(seed=5, mesh=ONE), **SIZES)
    losses = []
    for eta in tune.etas.values():
        learners = {name: make(jo.InverseSqrt(eta)) for name, make in MAKERS.items()}
        sizes = SIZES | {"n_rounds": 16, "record_at": [16]}
        losses.append(jo.simulate(GAME, learners, key=6, mesh=ONE, **sizes).cumulative_loss[:, :, -1].mean(axis=1))
    best = np.argmin(losses, axis=0)
    assert outcome.etas == {name: list(tune.etas.values())[i] for name, i in zip(MAKERS, best, strict=True)}
    assert outcome.at_edge == tuple(name for name, eta in outcome.etas.items() if eta != 0.3)
    learners = {name: make(jo.InverseSqrt(outcome.etas[name])) for name, make in MAKERS.items()}
    again = jo.simulate(GAME, learners, key=5, mesh=ONE, **SIZES)
    np.testing.assert_array_equal(outcome.result.cumulative_loss, again.cumulative_loss)


@pytest.mark.long
def test_a_third_of_the_runs_chooses_and_the_others_are_reported():
    """Runs 0 and 1 choose, runs 2 to 5 are reported, together with the step of `also_report`."""
    etas = {"small": 0.003, "good": 0.3, "large": 30.0}
    tune = BestOf(etas, runs="third", also_report=("small",))
    one = {"best": MAKERS["two copies"]}
    bound = lambda eta, rounds: eta * rounds  # noqa: E731
    comparison = Comparison(GAME, one, jo.L2Ball(2.0), dict.fromkeys(("small", "best"), bound), tune)
    outcome = comparison.run(Context(seed=5, mesh=ONE), **SIZES)
    learners = jo.sweep({label: one["best"](jo.InverseSqrt(eta)) for label, eta in etas.items()})
    whole = jo.simulate(GAME, {"each": learners}, key=5, mesh=ONE, comparator=jo.L2Ball(2.0), **SIZES)
    best = list(etas)[int(np.argmin(whole.regret[:, :2, -1].mean(axis=1)))]
    assert outcome.result.learners == ("small", "best")
    assert outcome.etas == {"small": 0.003, "best": etas[best]}
    assert outcome.at_edge == (() if best == "good" else ("best",))
    assert outcome.result.runs.tolist() == [2, 3, 4, 5]
    same_bits(outcome.result, whole.select("each[small]", f"each[{best}]", runs=slice(2, None)))
    assert {name: curve[-1] for name, curve in outcome.bounds.items()} == {"small": 0.003 * 64, "best": etas[best] * 64}


def test_the_pilot_seed_after_the_last_seed_is_zero(monkeypatch):
    seen = {}
    monkeypatch.setattr("jaxonline.study.study.tune", lambda *_, **options: seen.update(options))
    BestOf({"0.1": 0.1}).choose(GAME, {"naive": MAKERS["naive"]}, Context(seed=2**32 - 1), 6, 16)
    assert (seen["runs_key"], seen["n_rounds"], seen["rungs"]) == (0, 4, 1)


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("runs", lambda: BestOf({"a": 1.0}, "half")),
        ("also_report", lambda: BestOf({"a": 1.0}, "third", ("b",))),
        ("tune", lambda: Comparison(GAME, MAKERS, tune={"x": 0.1})),
        ("growth_start", lambda: Comparison(GAME, MAKERS, tune=0.3, growth_start=1.0)),
    ],
)
def test_invalid_arguments_are_errors(argument, call):
    with pytest.raises(ValueError, match=f"^{argument}"):
        call()
