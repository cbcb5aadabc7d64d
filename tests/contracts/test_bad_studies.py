"""Games, studies, results and verifications raise an error that names the argument, before the first round."""

import dataclasses
import functools

import jax
import numpy as np
import pytest
from bad_calls import MASKED, Row, check, count, grouped, number, option, positive, row, rows, thing

import jaxonline as jo
from jaxonline import datasets, environments, estimators, feedback, learners, losses, study, verify
from jaxonline.feedback import noise
from jaxonline.results import statistics
from jaxonline.simulation import measures, record_rounds

X, Y = np.arange(6.0).reshape(3, 2) / 6, np.array([1.0, -1.0, 1.0])
STREAM, FULL = environments.DataStream(X, Y), feedback.FullInformation()
COPIES = feedback.NoisyCopies(noise.gaussian(0.1))
GAME = jo.Game(STREAM, FULL)
LEARNER = jo.GradientLearner(estimators.FullGradient(), 0.1)
KEY = jax.random.key(0)
GOOD = {"game": GAME, "learners": LEARNER, "n_runs": 2, "n_rounds": 4}


def simulate(**changed):
    return jo.simulate(**(GOOD | changed))


def with_argument(name):
    return lambda value: simulate(**{name: value})


def games_calls():
    bad = environments.DataStream, X, FULL
    yield from thing("environment", lambda environment: jo.Game(environment, FULL), *bad)
    bad = feedback.FullInformation, noise.gaussian(0.1), STREAM
    yield from thing("feedback", lambda answers: jo.Game(STREAM, answers), *bad)
    yield from thing("loss", lambda loss: jo.Game(STREAM, FULL, loss), losses.Squared, lambda y_hat, y: y_hat)
    yield from thing("pseudo", lambda pseudo: jo.Game(STREAM, FULL, pseudo=pseudo))
    yield row(lambda: jo.Game(STREAM, FULL, pseudo=True), ValueError, "pseudo")
    yield row(lambda: jo.Game(STREAM, feedback.NoisyCopies(noise.gaussian([0.1] * 3))), ValueError, "covariance")
    for loss in (losses.Logistic(), losses.Hinge(), losses.ZeroOne(), losses.Exponential(), losses.SmoothedHinge(1.0)):
        for y in ([0, 1, 0], [1, 2, 1], Y / 2):
            stream = environments.DataStream(X, y)
            yield row(lambda stream=stream, loss=loss: jo.Game(stream, FULL, loss), ValueError, "y: must be -1 or +1")
    yield from thing("learner", lambda learner: jo.play(GAME, learner, KEY, 3), learners.Perceptron, losses.Squared())
    yield from thing("game", lambda game: jo.play(game, LEARNER, KEY, 3), STREAM, jo.Game)
    yield from rows("key", lambda key: jo.play(GAME, LEARNER, key, 3), TypeError, None, "0", 1.5, X, MASKED)
    yield from count("n_rounds", lambda n: jo.play(GAME, LEARNER, KEY, n))
    yield from rows(
        "feedback", lambda own: jo.play(GAME, jo.WithFeedback(LEARNER, own), KEY, 3), TypeError, None, 3.0, STREAM
    )


def simulations_calls():
    yield from thing("game", with_argument("game"), STREAM)
    bad = None, "gauss", 3.0, [LEARNER], {"a": "b"}, {"a": None}, jo.GradientLearner, {"a": learners.Perceptron}
    yield from rows("learner", with_argument("learners"), TypeError, *bad)
    bad = {}, {"": LEARNER}, {"  ": LEARNER}, {"best in hindsight": LEARNER}, {"comparator": LEARNER}
    yield from rows("learners", with_argument("learners"), ValueError, *bad)
    yield from rows("learners", with_argument("learners"), TypeError, {None: LEARNER}, {("a", 1): LEARNER})
    yield row(lambda: simulate(learners={"a[0]": LEARNER, "a": jo.sweep([LEARNER])}), ValueError, "learners")
    yield from count("n_runs", with_argument("n_runs"))
    yield from count("n_rounds", with_argument("n_rounds"))
    yield from count("block_size", with_argument("block_size"), optional=True)
    yield from rows("key", with_argument("key"), TypeError, None, 1.5, "0", True, X, jax.numpy.ones(2))
    yield from rows("key", with_argument("key"), ValueError, 2**32, 2**64, -1, -(2**63) - 1)
    bad = "best", 1.0, jo.L2Ball, jo.BestArm(), LEARNER
    yield from rows("comparator", with_argument("comparator"), TypeError, *bad)
    yield row(
        lambda: simulate(game=jo.Game(STREAM, FULL, losses.Absolute()), comparator=jo.L2Ball(1.0)),
        ValueError,
        "comparator",
    )
    bad = [jo.Mistakes], ["mistakes"], [None], "mistakes", jo.Mistakes(), None, [losses.Squared()], [jo.Pulls()]
    yield from rows("measures", with_argument("measures"), TypeError, *bad[:-1])
    yield row(lambda: simulate(measures=[jo.Pulls()]), TypeError, "Pulls")
    yield row(lambda: simulate(measures=[jo.Mistakes(), jo.Mistakes()]), ValueError, "measures")
    for name in ("regret", "comparator_loss", "first_nonfinite", "first_overflow", "learner", "run", "round"):
        named = jo.struct(type("Named", (measures.Queries,), {"name": name}))()
        yield row(lambda named=named: simulate(measures=[named]), ValueError, "measures")
    yield from rows(
        "field", lambda field: simulate(measures=[jo.OfInfo(field)]), ValueError, "gradient_nrom", "weights"
    )
    yield from rows("field", jo.OfInfo, (TypeError, ValueError), None, 3, "", ["gradient_norm"])
    yield from option("over_rounds", lambda how: jo.OfInfo("gradient_norm", how), "average")
    yield from rows("loss", jo.Mistakes, TypeError, None, "zero-one", 1.0, losses.ZeroOne)
    bad = None, 2.5, "4", [], [1.5], ["a"], [None], MASKED, np.nan
    yield from rows("record_at", with_argument("record_at"), (TypeError, ValueError), *bad)
    yield from rows("record_at", with_argument("record_at"), ValueError, 0, -1, [0], [5], [-1])
    yield from option("spacing", with_argument("spacing"), "logarithmic")
    bad = [], [-1], [2], 0, [[0]], [0.5], "a", ["a"], [None], [True, False], MASKED
    yield from rows("runs", with_argument("runs"), (TypeError, ValueError), *bad)
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("rows",))
    yield from rows("mesh", with_argument("mesh"), (TypeError, ValueError), "cpu", 2, jax.devices(), mesh)
    yield from rows("progress", with_argument("progress"), TypeError, "yes", 1, None, [True])
    yield from rows("checkpoint", with_argument("checkpoint"), TypeError, 3, True, ["kept"])
    yield from count("n_rounds", lambda n: record_rounds(n, 4))
    yield from option("spacing", lambda spacing: record_rounds(10, 4, spacing), "lin")
    yield from rows("learners", jo.sweep, (TypeError, ValueError), None, [], {}, "a", 3, LEARNER)
    yield from rows("learners", lambda other: jo.sweep([other]), TypeError, None, 0.1, "a", learners.Perceptron, FULL)
    yield from rows("learners", lambda other: jo.sweep([LEARNER, other]), ValueError, *_other_structures())
    yield from rows(
        "step_size",
        lambda step: simulate(learners=jo.GradientLearner(estimators.FullGradient(), step)),
        ValueError,
        1e39,
    )


def _other_structures():
    yield jo.GradientLearner(estimators.TwoCopies(), 0.1)
    yield jo.GradientLearner(estimators.FullGradient(), 0.1, hypothesis="average")
    yield jo.GradientLearner(estimators.FullGradient(), 0.1, radius=1.0)
    yield jo.GradientLearner(estimators.FullGradient(), jo.InverseSqrt(0.1))
    yield jo.GradientLearner(estimators.FullGradient(losses.Absolute()), 0.1)


def feedbacks_calls():
    """Feedbacks that do not answer the questions of a learner."""
    for estimator, bad in (
        (estimators.TwoCopies(), (FULL, feedback.Attributes(2), feedback.Bandit())),
        (estimators.FullGradient(), (COPIES, feedback.Attributes(2))),
        (estimators.AttributeGradient(2), (FULL, COPIES)),
    ):
        learner = jo.GradientLearner(estimator, 0.1)
        for answers in bad:
            both = {"good": LEARNER, "this one": jo.WithFeedback(learner, answers)}
            yield row(lambda both=both: simulate(learners=both), TypeError, "learners['this one']")
    known = jo.GradientLearner(estimators.KnownCovariance(), 0.1)
    yield row(lambda: simulate(learners=jo.WithFeedback(known, COPIES)), ValueError, "covariance")
    few = jo.WithFeedback(jo.GradientLearner(estimators.AttributeGradient(2), 0.1), feedback.Attributes(1))
    yield row(lambda: simulate(learners=few), ValueError, "GradientLearner")


def shapes_calls():
    """Instances and outcomes that a learner, a loss or a comparator cannot use."""
    vectors = jo.Game(environments.DataStream(X, np.ones((3, 4))), FULL)
    matrices = jo.Game(environments.DataStream(np.ones((3, 2, 2)), Y), FULL)
    for learner in (LEARNER, learners.Perceptron(), learners.VAW(allow_float32=True)):
        name = type(learner).__name__
        yield row(lambda learner=learner: simulate(game=vectors, learners=learner), (TypeError, ValueError), name)
    for learner in (LEARNER, learners.Perceptron()):
        name = type(learner).__name__
        yield row(lambda learner=learner: simulate(game=matrices, learners=learner), ValueError, name)
    yield row(lambda: simulate(learners=learners.Hedge(learners.EWA(1.0))), ValueError, "Hedge")
    yield row(lambda: simulate(learners=learners.EXP3(0.1)), ValueError, "EXP3")
    arms = jo.Game(environments.BernoulliArms([0.1, 0.9]), feedback.Bandit(), losses.ArmLoss())
    yield row(lambda: simulate(game=arms), (TypeError, ValueError), "GradientLearner")
    exp3 = {"game": arms, "learners": learners.EXP3(0.1)}
    yield row(lambda: simulate(**exp3, comparator=jo.RKHSBall(jo.kernels.Linear(), 1.0)), ValueError, "comparator")
    squared = dataclasses.replace(arms, loss=losses.Squared())
    yield row(lambda: simulate(game=squared, learners=learners.EXP3(0.1)), (TypeError, ValueError), "EXP3")


def make_result():
    loss = np.arange(12.0).reshape(2, 2, 3)
    counted = {"cumulative_loss": loss, "queries": loss, "pulls": np.ones((2, 2, 3, 2))}
    return jo.Result(("first", "second"), np.arange(2), np.array([1, 2, 4]), counted, loss / 2)


def results_calls():
    result = make_result()
    bad = {"frist": 1.0}, {"": 1.0}, {None: 1.0}, {"first": np.nan}, {"first": np.ones(3)}
    yield from rows("bounds", lambda bounds: result.table(bounds), ValueError, *bad)
    yield from rows("bounds", lambda bounds: result.table(bounds), TypeError, [1.0], "a", 3.0, {"first": "a"})
    bad = {"frist": np.ones(3)}, {"first": np.ones(2)}, {"first": 1.0}
    yield from rows("bounds", lambda bounds: result.plot(bounds=bounds), ValueError, *bad)
    yield from rows("bounds", lambda bounds: result.plot(bounds=bounds), TypeError, [1.0], "a", {"first": "abc"})
    for call in (result.values, result.mean, lambda quantity: result.growth(1, quantity)):
        yield from option("quantity", call, "regrets")
    for plot in (result.plot, result.plot_final, result.select("first").plot_sweep):
        draw = functools.partial(lambda plot, quantity: plot(quantity=quantity), plot)
        yield from rows("quantity", draw, ValueError, "pulls", "regrets")
    for call in (
        lambda level: result.mean(level=level),
        lambda level: result.table(level=level),
        lambda level: result.paired_difference("first", "second", level=level),
        lambda level: result.plot(level=level),
        lambda level: result.plot_final(level=level),
        lambda level: result.pulls_table(level=level),
        lambda level: statistics.mean_over_runs(np.ones((1, 2)), level),
    ):
        yield from number("level", call, 0.0, 1.0, 95.0)
    yield from count("together", lambda n: statistics.mean_over_runs(np.ones((1, 2)), 0.9, n))
    yield from option("first", lambda name: result.paired_difference(name, "second"), "frist")
    yield from option("second", lambda name: result.paired_difference("first", name), "secnd")
    yield from option("learners", result.select, "frist")
    bad = [2], [-3], [0.5], "a", [[0]], 0, [True], None
    yield from rows("runs", lambda runs: result.select(runs=runs), ValueError, *bad)
    yield from rows("first_round", result.growth, (TypeError, ValueError), 4, 100, "a", np.nan, [1], 1j)
    yield from rows("probabilities", result.quantiles, ValueError, -0.1, 1.1, [np.nan], [])
    yield from rows("probabilities", result.quantiles, TypeError, "a", [None], 1j, None)
    yield from number("probability", result.quantile_interval, 0.0, 1.0, -0.1)
    yield from number("level", lambda level: result.quantile_interval(0.5, level=level), 0.0, 1.0, 95.0)
    yield row(lambda: dataclasses.replace(result, comparator_loss=None).regret, ValueError, "comparator")
    yield from rows(
        "cumulative_loss",
        lambda loss: jo.Result(("a",), np.arange(2), np.array([1]), {"cumulative_loss": loss}),
        ValueError,
        np.ones(3),
        1.0,
    )
    yield from rows(
        "learners",
        lambda names: dataclasses.replace(result, learners=names),
        (TypeError, ValueError),
        "ab",
        (),
        None,
        (1, 2),
    )
    yield from rows(
        "rounds",
        lambda at: statistics.growth(at, np.ones((2, 2))),
        (TypeError, ValueError),
        [1],
        [0, 1],
        "a",
        [1, np.nan],
    )


def comparisons_calls():
    yield from count("seed", lambda seed: study.Context(seed=seed), 0)
    yield from rows("tables", study.Report, TypeError, None, [1], {"a": [1]})
    yield from rows("figures", lambda figures: study.Report({}, figures), TypeError, [1], {"a": 1})


def verification_calls():
    def unbiased(**changed):
        return verify.unbiased(**({"estimator": jax.random.normal, "target": 0.0} | changed))

    def given(name):
        return lambda value: unbiased(**{name: value})

    yield from thing("estimator", given("estimator"), estimators.TwoCopies)
    yield from rows("target", given("target"), TypeError, None, "0", 1j, MASKED, True, [[0.0], [0.0, 1.0]])
    yield from rows("target", given("target"), ValueError, np.nan, np.inf, np.zeros(2))
    yield from positive("detect", given("detect"))
    for name in ("level", "power"):
        yield from number(name, given(name), 0.0, 1.0, 1.5)
    yield from count("samples", given("samples"), optional=True)
    yield from count("max_samples", given("max_samples"))
    yield from count("width", given("width"), 2)
    yield from count("seed", given("seed"), 0)
    yield from number("kurtosis", given("kurtosis"), 0.5, optional=True)
    yield from option("method", given("method"), "bernstien")
    for name, method in (("range", "bernstein"), ("support", "enumeration")):
        yield row(lambda method=method: unbiased(method=method), ValueError, name)
    bad = (0.0,), (1.0, 0.0), (0.0, np.nan), (0.0, 0.0), (np.zeros(2), np.ones(2)), 3.0, "ab", (None, 1.0)
    yield from rows("range", given("range"), (TypeError, ValueError), *bad)
    bad = [], [1.0], 3.0, [(0.5, 0.0)], [(2.0, 0.0), (-1.0, 0.0)], [(1.0, np.nan)], [("a", 0.0)], [(1.0, np.zeros(2))]
    yield from rows("support", given("support"), (TypeError, ValueError), *bad)
    yield from rows("second_moment", given("second_moment"), (TypeError, ValueError), -1.0, np.nan, "a", 1j, np.ones(2))
    yield from rows("cap_bias", given("cap_bias"), (TypeError, ValueError), -1.0, np.nan, "a", [0.1])
    yield from rows("mesh", given("mesh"), TypeError, "cpu", 3)
    yield from rows("progress", given("progress"), TypeError, True, "yes", 3)
    second = verify.second_moment
    yield from thing("estimator", lambda estimator: second(estimator, 1.0), estimators.TwoCopies)
    yield from positive("limit", lambda limit: second(jax.random.normal, limit))
    yield from number("exact", lambda exact: second(jax.random.normal, 1.0, exact=exact), -1.0, optional=True)
    yield from thing("counts", lambda counts: verify.queries(counts, 1.0), estimators.TwoCopies)
    yield from rows(
        "value", lambda value: verify.bound(value, 1.0), (TypeError, ValueError), np.nan, "a", None, 1j, [1.0]
    )
    yield from rows(
        "limit", lambda limit: verify.bound(1.0, limit), (TypeError, ValueError), 0.0, -1.0, np.nan, "a", None
    )


def datasets_calls(folder):
    (folder / "tiny.csv").write_text("a,b,label\n1,2,3\n4,5,6\n")
    yield from rows("target", lambda at: datasets.load("tiny", folder, target=at), TypeError, 1.5, [1], True, 1j)
    yield from rows("target", lambda at: datasets.load("tiny", folder, target=at), ValueError, "lable", 7, -9, "1.5")
    yield from option("impute", lambda how: datasets.load("tiny", folder, impute=how), "meen", optional=True)
    yield from rows("name", lambda name: datasets.load(name, folder), TypeError, None, 3, ["tiny"], 1.5)
    yield row(lambda: datasets.load("tinny", folder), ValueError, "tinny")
    yield from rows("data", lambda data: datasets.load("tiny", data), (TypeError, ValueError), 3, "nowhere", [3])
    yield from count("n_rounds", datasets.ar4)
    yield from count("seed", lambda seed: datasets.ar4(10, seed), 0)


def tracers_calls():
    """Numbers that must be concrete are traced by jit."""
    for name, make in (
        ("weights", environments.LinearModel),
        ("coefficients", environments.Autoregressive),
        ("means", environments.BernoulliArms),
        ("X", lambda X: environments.DataStream(X, np.ones(2))),
        ("probabilities", estimators.FiniteDistribution),
        ("coefficients", lambda table: estimators.SeriesEstimator(table, estimators.Geometric(2.0))),
        ("n_copies", estimators.MeanOfCopies),
        ("n_terms", losses.Squared().coefficients),
        ("width", lambda width: estimators.best_feature_map(jo.kernels.Gaussian(width[0]), 0.5)),
    ):
        yield row(lambda make=make: jax.jit(lambda value: make(value) and 0)(jax.numpy.ones(2)), TypeError, name)


GROUPS = (
    games_calls, simulations_calls, feedbacks_calls, shapes_calls, results_calls, comparisons_calls, verification_calls,
    tracers_calls,
)  # fmt: skip
TABLE: list[Row] = [bad for calls in GROUPS for bad in calls()]


@pytest.mark.parametrize("calls", grouped(TABLE))
def test_bad_call_raises_error_that_names_the_argument(calls):
    check(calls)


def test_bad_call_of_data_sets_raises_error_that_names_the_argument(tmp_path):
    check(list(datasets_calls(tmp_path)))
