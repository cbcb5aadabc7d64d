"""Comparison and the choice of steps in a study, on a small game: the same numbers as by hand."""

import warnings

import jax
import numpy as np
import pytest

import jaxonline as jo
from benchmarks.papers.comparison import BestOf, Comparison, ComparisonResult
from benchmarks.papers.studies.figures import skewness_sentences
from jaxonline.parameters.errors import SkewedRunsWarning
from jaxonline.results import Result
from jaxonline.simulation.blocks import default_mesh
from jaxonline.study import Context
from jaxonline.study.study import ignore_skewness_warnings

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


@pytest.mark.parametrize("tune", [0.3, {"two copies": 0.3, "naive": 0.3}])
def test_fixed_steps_set_etas_bounds_and_rows(plain, tune):
    bounds = {"naive": lambda eta, rounds: eta * rounds}
    with pytest.raises(ValueError, match=r"bounds: .*got 'somebody else'"):
        Comparison(GAME, MAKERS, bounds={"somebody else": bounds["naive"]})
    labels = {"data": "four points"}
    comparison = Comparison(GAME, MAKERS, jo.L2Ball(2.0), bounds, tune, labels, growth_start=1 / 2)
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


@pytest.mark.long
def test_pilot_runs_equal_a_grid_of_tune_with_the_next_seed():
    etas = {"small": 0.003, "good": 0.3, "large": 30.0}
    outcome = Comparison(GAME, MAKERS, tune=BestOf(etas)).run(Context(seed=5, mesh=ONE), **SIZES)
    for name, maker in MAKERS.items():
        search = jo.tune(
            GAME, lambda eta, maker=maker: maker(jo.InverseSqrt(eta)), {"eta": list(etas.values())}, key=5, runs_key=6,
            n_runs=6, n_rounds=16, rungs=1, mesh=ONE,
        )  # fmt: skip
        assert search.choice == outcome.tuned[name].choice == {"eta": outcome.etas[name]}
        assert search.rounds == outcome.tuned[name].rounds == 16 * 3 * 6
        np.testing.assert_allclose(search.rungs[0].of.mean, outcome.tuned[name].rungs[0].of.mean, rtol=1e-6)


def test_skewed_learners_are_named_in_a_sentence(plain, monkeypatch):
    outcome = Comparison(GAME, MAKERS, jo.L2Ball(2.0), tune=0.3).run(Context(seed=5, mesh=ONE), **SIZES)
    assert outcome.skewed_learners == ()
    assert skewness_sentences({"noise 0.3": outcome}) == []
    monkeypatch.setattr("jaxonline.results.statistics.means.skewness", lambda values: np.full(len(values), 99.0))
    assert outcome.skewed_learners == ("two copies", "naive")
    (sentence,) = skewness_sentences({"noise 0.3": outcome})
    assert "two copies (noise 0.3); naive (noise 0.3)" in sentence
    with pytest.warns(SkewedRunsWarning):
        outcome.rows()
    with warnings.catch_warnings(action="error"), ignore_skewness_warnings():
        outcome.rows()


def test_at_edge_names_learners_with_an_extreme_step():
    tune = BestOf({"0.1": 0.1, "0.3": 0.3, "1": 1.0})
    assert tune.at_edge({"a": 0.1, "b": 0.3, "c": 1.0}) == ("a", "c")
    assert BestOf({"0.1": 0.1}).at_edge({"a": 0.1}) == (), "one candidate is no choice"


def test_an_also_reported_step_may_be_the_best():
    """The learner is then reported under both names."""
    losses = np.arange(12.0).reshape(2, 6, 1)
    measures = {"cumulative_loss": losses, "queries": losses}
    played = Result(("best[a]", "best[b]"), np.arange(6), np.array([64]), measures)
    tune = BestOf({"a": 0.1, "b": 0.3}, "third", also_report=("a", "b"))
    result, etas, _ = tune.choose_in_third(lambda sweeps: played, {"best": MAKERS["naive"]}, 64)
    assert etas == {"a": 0.1, "b": 0.3, "best": 0.1}
    assert result.learners == ("a", "b", "best")
    np.testing.assert_array_equal(result.cumulative_loss, losses[[0, 1, 0], 2:])


def test_the_pilot_seed_after_the_last_seed_is_zero(monkeypatch):
    seen = {}
    monkeypatch.setattr("jaxonline.study.study.tune", lambda *_, **options: seen.update(options))
    BestOf({"0.1": 0.1}).choose(GAME, {"naive": MAKERS["naive"]}, Context(seed=2**32 - 1), 6, 16)
    assert (seen["runs_key"], seen["n_rounds"], seen["rungs"]) == (0, 4, 1)


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [
        (({"a": 1.0}, "half"), "runs"), (({},), "etas"), ((0.1,), "etas"), (({"a": 0.0},), "etas"),
        (({"a": 1.0}, "third", ("b",)), "also_report"),
    ],
)  # fmt: skip
def test_invalid_candidates_are_errors(arguments, argument):
    with pytest.raises((ValueError, TypeError), match=f"^{argument}"):
        BestOf(*arguments)


@pytest.mark.parametrize(
    "change", [{"learners": [1]}, {"bounds": {"x": 1}}, {"tune": {"x": 0.1}}, {"growth_start": 1.0}]
)
def test_invalid_comparisons_are_errors(change):
    arguments = {"game": GAME, "learners": MAKERS, "tune": 0.3} | change
    with pytest.raises((ValueError, TypeError), match=f"^{next(iter(change))}"):
        Comparison(**arguments)


def test_a_comparison_prints_as_one_line_and_its_outcome_as_a_table(plain):
    comparison = Comparison(GAME, MAKERS, jo.L2Ball(2.0), tune=0.3)
    assert " at 0x" not in repr(comparison)
    assert "\n" not in repr(comparison)
    compared = ComparisonResult(plain, {}, {}, {}, 0.5)
    assert repr(compared) == repr(plain)
    assert "<table" in compared._repr_html_()


def test_an_interrupted_comparison_resumes_with_the_same_bits(tmp_path):
    """Finished parts are not computed again."""
    tune = BestOf({"small": 0.003, "good": 0.3})
    comparison = Comparison(GAME, {"naive": MAKERS["naive"]}, tune=tune)
    whole = comparison.run(Context(seed=5, mesh=ONE), **SIZES)

    def stop(done, total, what):
        if what.startswith("best"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        comparison.run(Context(seed=5, mesh=ONE, checkpoint=tmp_path, progress=stop), **SIZES)
    assert (tmp_path / "steps").exists()
    seen = []
    context = Context(seed=5, mesh=ONE, checkpoint=tmp_path, progress=lambda *at: seen.append(at))
    resumed = comparison.run(context, **SIZES)
    np.testing.assert_array_equal(resumed.result.cumulative_loss, whole.result.cumulative_loss)
    assert resumed.etas == whole.etas
    assert not any("rung 1: " in what for _, _, what in seen)
