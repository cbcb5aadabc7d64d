"""Control variates from an exact recursion, and antithetic noise, are unbiased, and exact without projection."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiers import some

import jaxonline as jo
from jaxonline.estimators import FullGradient, KnownCovariance, TwoCopies
from jaxonline.estimators.gradients import GradientMoments, HasGradientMoments
from jaxonline.feedback.noise import Mirrored, TwoPoints
from jaxonline.game.round import Round
from jaxonline.parameters.errors import ControlVariateWarning
from jaxonline.results.statistics import growth
from jaxonline.results.statistics.variance_reduction import CONTROL, HALF_DIFFERENCE
from jaxonline.simulation.control_variates import ControlVariate, Shadow

X = np.array([[0.8, 0.3], [-0.2, 0.6], [0.5, -0.7]])
Y = np.array([0.5, -0.9, 0.4])
VECTOR, LABEL, ROUNDS, RUNS, RADIUS = np.array([0.6, -0.3]), 0.25, 3, 4000, 0.7
COPIES = jo.NoisyCopies(TwoPoints(VECTOR), label_noise=TwoPoints(LABEL))
GAME = jo.Game(jo.environments.DataStream(X, Y), COPIES)


@jo.struct
class Wrong:
    """Two copies, with moments that are off by factors: 1 is right."""

    of_w: float
    of_squares: float = 1.0

    def __call__(self, key, w, oracle):
        return TwoCopies()(key, w, oracle)

    def gradient_moments(self, mean, second, example):
        right = TwoCopies().gradient_moments(mean, second, example)
        return GradientMoments(self.of_w * right.mean, right.with_w, self.of_squares * right.second)


def outcomes(step: float, radius: float) -> np.ndarray:
    """The cumulative loss of the learner of two copies [8^3, 3] for all signs of two copies and a label in 3 rounds."""
    found = []
    for signs in itertools.product((1, -1), repeat=3 * ROUNDS):
        w, losses = np.zeros(2), []
        for t in range(ROUNDS):
            first, second, of_label = signs[3 * t : 3 * t + 3]
            losses.append((w @ X[t] - Y[t]) ** 2)
            residual = w @ (X[t] + first * VECTOR) - (Y[t] + of_label * LABEL)
            w = w - step / np.sqrt(t + 1) * 2 * residual * (X[t] + second * VECTOR)
            w = w * min(1.0, radius / max(np.linalg.norm(w), 1e-12))
        found.append(np.cumsum(losses))
    return np.array(found)


def expected_loss(estimator, step: float = 0.5) -> np.ndarray:
    """Of the shadow, after each round, by the measure: its control is minus that where the shadow stays at 0."""
    measure = ControlVariate(COPIES.noise, COPIES.label_noise)
    x, y, zero = jnp.asarray(X), jnp.asarray(Y), jnp.zeros(())

    def record(t):
        shadow = Shadow(jnp.zeros(2), jnp.asarray(step / np.sqrt(t + 1)), estimator)
        info = type("Info", (), {"shadow": shadow})
        return Round(zero, zero, y[t], x[t], x[t], y[t], zero, zero, info)

    @jax.jit
    def controls():
        carry, found = measure.init(record(0)), []
        for t in range(ROUNDS):
            carry = measure.add(carry, jnp.int32(t + 1), record(t))
            found.append(measure.read(carry))
        return [sum_.total - sum_.correction for sum_ in found]

    return np.cumsum(Y**2) - np.array(controls())


def test_moment_recursion_matches_enumeration_of_all_noise():
    """E of the unprojected learner's loss is the mean over all 512 outcomes, to rounding; and no mutant's is."""
    right = outcomes(0.5, np.inf).mean(axis=0)
    with jax.enable_x64(True):
        np.testing.assert_allclose(expected_loss(TwoCopies()), right, rtol=1e-13)
        for mutant in (Wrong(1.001), Wrong(1.0, 1.001)):
            assert abs(expected_loss(mutant)[-1] / right[-1] - 1) > 1e-6


@pytest.mark.long
def test_float32_expected_loss_is_accurate_after_many_rounds():
    """The expected loss of 10^5 rounds in float32 is that in float64 up to 3 10^-6 of it; 10^-5 was lost when the two
    parts of the next second moment were added one after the other."""

    def expected(dtype):
        rng = np.random.default_rng(1)
        rows, targets = (jnp.asarray(rng.normal(size=size) / 4, dtype) for size in ((50, 6), 50))
        measure = ControlVariate(jo.noise.gaussian(np.asarray(0.04, dtype)))
        zero = jnp.zeros((), dtype)

        def one_round(t, carry):
            x, y = rows[t % 50], targets[t % 50]
            step = jnp.asarray(0.1, dtype) / jnp.sqrt((t + 1).astype(dtype))
            info = type("Info", (), {"shadow": Shadow(jnp.zeros(6, dtype), step, TwoCopies())})
            return measure.add(carry, t, Round(zero, zero, y, x, x, y, zero, zero, info))

        first = Round(zero, zero, zero, rows[0], rows[0], zero, zero, zero, ())
        carry = jax.jit(lambda: jax.lax.fori_loop(0, 100_000, one_round, measure.init(first)))()
        return float(carry.control.total) - float(carry.control.correction)

    with jax.enable_x64(True):
        exact = expected(np.float64)
    np.testing.assert_allclose(expected(np.float32), exact, rtol=3e-6)


# ---------------------------------------------------------------------------------------------------------------------
# in a study


def learner(estimator, step: float = 0.5, radius: float = RADIUS):
    return jo.GradientLearner(estimator, jo.InverseSqrt(step), radius)


LEARNERS = {
    "of two": jo.sweep(
        {
            "ball": learner(Wrong(1.0)),
            "free": learner(Wrong(1.0), radius=1e9),
            "mutant": learner(Wrong(1.0, 1.25), radius=1e9),
            "wild": learner(Wrong(1.0), step=30.0),
        }
    ),
    "other": learner(KnownCovariance()),
}
FEEDBACK = jo.NoisyCopies(COPIES.noise, COPIES.label_noise, reveal_covariance=True)
SIZES = {"n_rounds": ROUNDS, "record_at": ROUNDS, "key": 1, "block_size": RUNS // 2, "comparator": jo.L2Ball(RADIUS)}


def simulate(n_runs: int = RUNS, learners=LEARNERS, **options) -> jo.Result:
    game = jo.Game(GAME.environment, FEEDBACK)
    return jo.simulate(game, learners, n_runs=n_runs, **(SIZES | options))


@pytest.fixture(scope="module")
def found() -> jo.Result:
    with pytest.warns(ControlVariateWarning, match=r"control_variates.*'of two\[wild\]'"):
        return simulate(control_variates=True, measures=[jo.OfInfo("gradient_norm")])


def test_control_variate_has_mean_zero(found):
    """Within 5 standard errors in each of 3 rounds: a right one fails once in 10^6. The mutant is 10 of them away."""
    of = found.mean(CONTROL)
    z = np.abs(of.mean[:, -1] / of.standard_error[:, -1].clip(1e-300))
    assert (z[[0, 1]] < 5).all()
    assert z[2] > 10


def test_adjusted_means_are_unbiased_for_a_known_regret(found):
    """The mean loss of all outcomes, within 5 adjusted standard errors (once in 10^6); raw ones are twice as large."""
    truth = outcomes(0.5, RADIUS).mean(axis=0)
    of, raw = found.mean("cumulative_loss"), np.std(found.values("cumulative_loss"), axis=1, ddof=1) / np.sqrt(RUNS)
    assert (np.abs(of.mean[0] - truth) < 5 * of.standard_error[0] + 1e-6).all()
    assert of.standard_error[0, -1] < raw[0, -1] / 1.4
    regret = found.mean("regret")
    np.testing.assert_allclose(regret.standard_error, of.standard_error, rtol=1e-6, atol=1e-9)


def test_adjusted_loss_without_projection_has_no_variance(found):
    """The control is all of the noise: every adjusted run has the expected loss."""
    truth = outcomes(0.5, np.inf).mean(axis=0)
    adjusted = found.adjusted("cumulative_loss")[1]
    np.testing.assert_allclose(adjusted, np.broadcast_to(truth, adjusted.shape), rtol=1e-5)
    assert found.variance_reduction()[1] > 1e6


def test_learners_without_a_control_variate_are_unchanged(found):
    """One whose shadow diverges, and one without: their control is 0, and means are the plain ones."""
    for i in (3, 4):
        assert not found.measures[CONTROL][i].any()
        np.testing.assert_array_equal(found.adjusted()[i], found.values()[i])
        np.testing.assert_allclose(found.variance_reduction()[i], 1, rtol=1e-9)


def test_control_variates_do_not_change_the_runs(found):
    plain = simulate(learners={"of two": LEARNERS["of two"]}, measures=[jo.OfInfo("gradient_norm")])
    np.testing.assert_array_equal(plain.queries, found.queries[:4])
    for name in ("cumulative_loss", "gradient_norm, mean"):
        np.testing.assert_allclose(found.measures[name][:4], plain.measures[name], rtol=2e-5)
    assert CONTROL not in plain.measures
    assert "variance_reduction" not in plain.table()[0]


def test_result_stores_its_control_variates(found, tmp_path):
    """Rows, parts put together, and what is on disk."""
    row = found.table()[0]
    np.testing.assert_allclose(row["regret"], found.mean().mean[0, -1])
    assert row["variance_reduction"] == found.variance_reduction()[0] > 2
    halves = [found.select(runs=slice(first, first + RUNS // 2)) for first in (0, RUNS // 2)]
    np.testing.assert_allclose(halves[0].merge_runs(halves[1]).mean().mean, found.mean().mean, rtol=1e-12)
    loaded = jo.Result.load(halves[0].save(tmp_path / "kept"))
    np.testing.assert_array_equal(loaded.mean().mean, halves[0].mean().mean)
    of_one = found.select("of two[ball]")
    np.testing.assert_array_equal(of_one.adjusted()[0], found.adjusted()[0])


def test_all_statistics_of_means_are_adjusted(found):
    """Bands, rankings, differences and growth; quantiles, and the bounded interval, are of what was played."""
    ball, other = "of two[ball]", "other"
    of = found.mean()
    np.testing.assert_array_equal(found.bands().mean, of.mean)
    ranking = found.ranking()
    np.testing.assert_allclose([row["mean"] for row in ranking.rows], np.sort(of.mean[:, -1]))
    difference = found.paired_difference(ball, other)
    raw = found.values()[0] - found.values()[4]
    assert difference.standard_error[-1] < raw[:, -1].std(ddof=1) / np.sqrt(RUNS)
    assert abs(difference.mean[-1] - raw[:, -1].mean()) < 0.2 * raw[:, -1].std(ddof=1)
    exponents = growth(found.rounds[1:], found.adjusted()[0][:, 1:])
    assert found.growth(2)[ball] == exponents
    np.testing.assert_array_equal(found.quantiles(), np.quantile(found.values(), (0.05, 0.5, 0.95), axis=1))
    bounded = found.select(ball).mean("cumulative_loss", interval=jo.intervals.Bounded(0.0, 10.0))
    np.testing.assert_array_equal(bounded.mean[0], found.values("cumulative_loss")[0].mean(axis=0))


@pytest.mark.filterwarnings("ignore::jaxonline.parameters.errors.UnseenEventsWarning")
@pytest.mark.filterwarnings("ignore:precision. a betting interval:jaxonline.parameters.errors.PrecisionWarning")
def test_precision_uses_adjusted_intervals(found):
    """With control variates fewer runs are enough, and they are the first ones of the study."""
    two = {"of two": LEARNERS["of two"], "other": LEARNERS["other"]}
    wanted = jo.Precision(0.1, quantity="cumulative_loss", least_runs=100)
    with pytest.warns(ControlVariateWarning, match="control_variates"):
        few = simulate(learners=two, control_variates=True, precision=wanted, measures=[jo.OfInfo("gradient_norm")])
    np.testing.assert_array_equal(few.cumulative_loss, found.cumulative_loss[:, : len(few.runs)])
    assert few.meta["precision"]["reached"]


# ---------------------------------------------------------------------------------------------------------------------
# antithetic noise


@pytest.mark.long
def test_antithetic_run_is_the_mean_of_two_manual_runs():
    """The mean of the losses with all noise as it is and with all noise negative; half their difference is kept."""
    pair = jo.sweep({step: learner(TwoCopies(), step) for step in (0.5, 0.2)})
    found = simulate(n_runs=3, learners=pair, antithetic=True, block_size=2)
    for run, (i, step) in itertools.product(range(3), enumerate((0.5, 0.2))):
        key = jax.random.fold_in(jax.random.key(1), run)
        losses = []
        for sign in (1.0, -1.0):
            game = jo.Game(GAME.environment, FEEDBACK.mirrored(sign))
            _, history = jo.play(game, learner(TwoCopies(), step), key, ROUNDS)
            losses.append(np.cumsum(np.asarray(history.loss, float)))
        np.testing.assert_allclose(found.cumulative_loss[i, run], np.mean(losses, axis=0), rtol=1e-6)
        half = (losses[0] - losses[1]) / 2
        np.testing.assert_allclose(found.measures[HALF_DIFFERENCE][i, run], half, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(found.queries[0, 0], 2 * found.rounds)
    single = found.cumulative_loss[..., -1][..., None] + found.measures[HALF_DIFFERENCE][..., -1:] * [1, -1]
    variance = ((single - single.mean(axis=(1, 2), keepdims=True)) ** 2).mean(axis=(1, 2))
    pairs = found.cumulative_loss[..., -1]
    corrected = variance + pairs.var(axis=1, ddof=1) - pairs.var(axis=1)
    np.testing.assert_allclose(found.variance_reduction(), corrected / 2 / pairs.var(axis=1, ddof=1), rtol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("options", some([{"antithetic": True}, {"antithetic": True, "control_variates": True}]))
def test_antithetic_means_are_unbiased(options):
    """The mean loss of all outcomes, within 5 standard errors in each of 2 rounds: wrong once in 10^6."""
    truth = outcomes(0.5, RADIUS).mean(axis=0)
    found = simulate(learners={"a": learner(TwoCopies())}, **options)
    of = found.mean("cumulative_loss")
    assert (np.abs(of.mean[0] - truth) < 5 * of.standard_error[0] + 1e-6).all()
    assert found.variance_reduction()[0] > 1


def test_mirrored_feedback_has_the_opposite_noise():
    oracles = [
        FEEDBACK.mirrored(sign).open(jax.random.key(0), jnp.int32(1), jnp.ones(2), jnp.float32(1.0), 0.0)
        for sign in (1.0, -1.0)
    ]
    for ask in (lambda oracle: oracle.copy(1), lambda oracle: oracle.label(0)):
        there, opposite = map(ask, oracles)
        np.testing.assert_allclose(there + opposite, 2 * np.ones_like(there), rtol=1e-6)
        assert (there != opposite).all()
    assert (oracles[1].covariance == oracles[0].covariance).all()


# ---------------------------------------------------------------------------------------------------------------------
# both: refusals, and studies that are interrupted


@pytest.mark.parametrize(
    ("learners", "game", "options"),
    [
        (learner(FullGradient()), {"feedback": jo.FullInformation()}, {}),
        (learner(KnownCovariance()), {"feedback": FEEDBACK}, {}),
        (jo.replace(learner(TwoCopies()), hypothesis="average"), {}, {}),
        (learner(TwoCopies()), {"feedback": jo.NoisyCopies(jo.noise.CustomNoise(lambda key, t, x: 0 * x))}, {}),
        (learner(TwoCopies()), {"loss": jo.losses.Absolute()}, {}),
    ],
)
@pytest.mark.filterwarnings("ignore:the loss of the game is:UserWarning")
def test_error_if_no_learner_has_a_control_variate(learners, game, options):
    game = jo.Game(**({"environment": GAME.environment, "feedback": COPIES} | game))
    with pytest.raises(ValueError, match="control_variates"):
        jo.simulate(game, learners, n_runs=2, n_rounds=3, control_variates=True, **options)


def test_error_if_noise_cannot_be_mirrored():
    def play(feedback, estimator=TwoCopies):
        game = jo.Game(GAME.environment, feedback)
        jo.simulate(game, learner(estimator()), n_runs=2, n_rounds=3, antithetic=True)

    custom = jo.noise.CustomNoise(lambda key, t, x: 0 * x)
    with pytest.raises(ValueError, match=r"must have symmetric = True.*got CustomNoise"):
        play(jo.NoisyCopies(custom))
    with pytest.raises(ValueError, match=r"must have symmetric = True.*got CustomNoise"):
        play(jo.NoisyCopies(jo.noise.gaussian(0.1), label_noise=custom))
    with pytest.raises(ValueError, match=r"noise that can be mirrored.* .got AdversarialCopies"):
        play(jo.AdversarialCopies(jo.environments.adversaries.ChasingNoise(0.5)))
    with pytest.raises(ValueError, match=r"antithetic.*FullInformation"):
        play(jo.FullInformation(), FullGradient)
    with pytest.raises(TypeError, match="antithetic: must be True or False"):
        simulate(antithetic=2)
    with pytest.raises(TypeError, match="control_variates: must be True or False"):
        simulate(control_variates="yes")


def test_gradient_moment_protocol_and_reserved_measure_name():
    assert isinstance(TwoCopies(), HasGradientMoments)
    assert not isinstance(KnownCovariance(), HasGradientMoments)
    assert Mirrored(jo.noise.student_t(0.1, 5.0), -1.0).covariance_at(1, jnp.zeros(2)).shape == (2, 2)
    with pytest.raises(ValueError, match=f"measures: must .*got '{CONTROL}'"):
        simulate(measures=[ControlVariate(COPIES.noise)])


@pytest.mark.long
def test_interrupted_study_resumes_only_with_the_same_options(tmp_path):
    class Stop(Exception):
        pass

    def stop(done, total, what):
        if done > 4:
            raise Stop

    options = {"learners": {"a": learner(TwoCopies())}, "n_runs": 8, "block_size": 2}
    both = {"control_variates": True, "antithetic": True}
    folder = tmp_path / "kept"
    with pytest.raises(Stop):
        simulate(checkpoint=folder, progress=stop, **options, **both)
    resumed, reference = simulate(checkpoint=folder, **options, **both), simulate(**options, **both)
    for name, array in reference.measures.items():
        np.testing.assert_array_equal(resumed.measures[name], array)
    for other in ({}, {"antithetic": True}, {"control_variates": True}):
        with pytest.raises(ValueError, match="checkpoint"):
            simulate(checkpoint=folder, **options, **other)
