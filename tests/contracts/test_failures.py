"""Non-finite losses are counted, reported and affect only their run; bad input raises an error."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxonline as jo
from jaxonline.estimators import FullGradient, TwoCopies
from jaxonline.parameters.errors import DivergedRunsWarning
from jaxonline.parameters.struct import struct
from jaxonline.simulation import record_rounds, simulate
from jaxonline.simulation.blocks import default_mesh

ONE_DEVICE = default_mesh(jax.devices()[:1])
RUNS, ROUNDS, BAD_ROUND = 16, 20, 6


@struct
class Faulty(jo.Environment):
    """A stream whose answer of round 6 is `value` in the runs that draw a number below `share`."""

    share: float
    value: float

    oblivious = True
    instance_spec = jax.ShapeDtypeStruct((2,), np.float32)
    outcome_spec = jax.ShapeDtypeStruct((), np.float32)

    def init(self, key):
        return jax.random.uniform(key) < self.share

    def instance(self, key, state, t):
        return jax.random.normal(key, (2,)), state

    def outcome(self, key, state, t, x, y_hat):
        return jnp.where(state & (t == BAD_ROUND), self.value, x.sum()), state


def faulty_study(share: float, value: float) -> jo.Result:
    learners = {
        "full": jo.WithFeedback(jo.GradientLearner(FullGradient(), step_size=0.1, radius=1.0), jo.FullInformation()),
        "two": jo.GradientLearner(TwoCopies(), step_size=0.1, radius=1.0),
    }
    game = jo.Game(Faulty(share, value), jo.NoisyCopies(jo.noise.gaussian(0.1)))
    return simulate(
        game, learners, n_runs=RUNS, n_rounds=ROUNDS, key=1, block_size=8, record_at=[4], comparator=jo.L2Ball(1.0),
        mesh=ONE_DEVICE,
    )  # fmt: skip


@pytest.fixture(scope="module")
def healthy():
    return faulty_study(0.0, np.nan)


@pytest.mark.long
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e30], ids=str)  # the square of 1e30 is no float32
def test_nan_affects_only_its_run_and_is_counted(healthy, value):
    with pytest.warns(DivergedRunsWarning, match=f"from round {BAD_ROUND} on"):
        result = faulty_study(0.3, value)
    bad = result.first_nonfinite[0] > 0
    assert 0 < bad.sum() < RUNS
    np.testing.assert_array_equal(result.first_nonfinite, np.broadcast_to(np.where(bad, BAD_ROUND, 0), (2, RUNS)))
    assert (healthy.first_nonfinite == 0).all()
    for name in ("cumulative_loss", "comparator_loss", "queries"):
        got, wanted = getattr(result, name), getattr(healthy, name)
        np.testing.assert_array_equal(got[:, ~bad], wanted[:, ~bad], name)
        np.testing.assert_array_equal(got[..., 0], wanted[..., 0], "round 4 is before it happened")

    assert result.failed.tolist() == [bad.sum()] * 2
    assert [row["failed"] for row in result.table()] == [bad.sum()] * 2
    estimate = result.mean()
    assert (estimate.n_runs == RUNS - bad.sum()).all()
    np.testing.assert_allclose(estimate.mean, healthy.regret[:, ~bad].mean(axis=1), rtol=1e-12)
    assert np.isfinite(result.quantiles()).all()
    difference = result.paired_difference("two", "full")
    assert (difference.n_runs == RUNS - bad.sum()).all()
    assert np.isfinite(difference.mean).all()


@pytest.mark.long
def test_diverging_member_of_a_sweep_does_not_affect_others():
    """float32 ends after some rounds for the large step; the small one's numbers are those of a study without it."""
    stream = jo.environments.DataStream(np.array([[1.0, 0.5], [0.3, 1.0]]), np.ones(2))
    game = jo.Game(stream, jo.NoisyCopies(jo.noise.gaussian(0.1)))

    def study(*etas):
        learners = jo.sweep({eta: jo.GradientLearner(TwoCopies(), step_size=eta) for eta in etas})
        return simulate(game, learners, n_runs=8, n_rounds=40, comparator=jo.L2Ball(1.0), record_at=2, mesh=ONE_DEVICE)

    calm = study(0.1, 0.05)
    with pytest.warns(DivergedRunsWarning, match=r"'learner\[1000.0\]' in 8 of 8 runs"):
        result = study(0.1, 1e3)
    assert result.failed.tolist() == [0, 8]
    first = result.first_nonfinite[1]
    assert ((first > 2) & (first <= 40)).all()
    np.testing.assert_array_equal(result.cumulative_loss[0], calm.cumulative_loss[0])
    estimate, rows = result.mean(), result.table()
    np.testing.assert_array_equal(estimate.mean[0], calm.mean().mean[0])
    assert np.isnan(estimate.mean[1]).all()
    assert np.isnan(rows[1]["regret"])
    assert (rows[0]["failed"], rows[1]["failed"]) == (0, 8)
    quantiles = result.quantiles()
    assert np.isfinite(quantiles[:, 0]).all()
    assert np.isnan(quantiles[:, 1]).all()
    assert result.plot() is not None


def test_overflow_of_the_sum_counts_as_divergence():
    """Losses of 2e38 are finite, the sum of two of them is not."""
    game = jo.Game(jo.environments.DataStream(np.zeros((1, 1)), np.array([1.4e19])), jo.FullInformation())
    learner = jo.GradientLearner(FullGradient(), step_size=0.1)
    with pytest.warns(DivergedRunsWarning, match="in 2 of 2 runs, from round 2 on"):
        result = simulate(game, learner, n_runs=2, n_rounds=3, record_at=3, mesh=ONE_DEVICE)
    assert np.isfinite(result.cumulative_loss[..., 0]).all()
    assert not np.isfinite(result.cumulative_loss[..., 1]).any()
    assert result.first_nonfinite.tolist() == [[2, 2]]
    assert np.isnan(result.mean("cumulative_loss").mean).all()


# ---------------------------------------------------------------------------------------------------------------------
# Bad input: one clear line that names the argument

STREAM = jo.environments.DataStream(np.eye(3), np.ones(3))
NOISY = jo.NoisyCopies(jo.noise.gaussian(0.1))
TWO_DIMENSIONS = jo.environments.DataStream(np.eye(3), np.ones((3, 1)))
LEARNER = jo.GradientLearner(TwoCopies(), step_size=0.1)
GAME = jo.Game(STREAM, NOISY)
FULL = jo.FullInformation()
NOT_PSD = np.array([[1.0, 2.0], [2.0, 1.0]])
NOT_SYMMETRIC = np.array([[1.0, 0.5], [0.0, 1.0]])


def run(game=GAME, learners=LEARNER, **options):
    return simulate(game, learners, **{"n_runs": 2, "n_rounds": 4, **options})


def noisy_game(noise, label_noise=None):
    return jo.Game(STREAM, jo.NoisyCopies(noise, label_noise=label_noise))


BAD = {
    "n_runs 0": ("n_runs", lambda: run(n_runs=0)),
    "n_runs -1": ("n_runs", lambda: run(n_runs=-1)),
    "n_runs 2.0": ("n_runs", lambda: run(n_runs=2.0)),
    "n_rounds 0": ("n_rounds", lambda: run(n_rounds=0)),
    "play n_rounds 0": ("n_rounds", lambda: jo.play(GAME, LEARNER, jax.random.key(0), 0)),
    "block_size 0": ("block_size", lambda: run(block_size=0)),
    "record_at 0": ("record_at", lambda: run(record_at=0)),
    "record_at beyond": ("record_at", lambda: run(record_at=[2, 5])),
    "record_at before": ("record_at", lambda: run(record_at=[0, 2])),
    "record_at fractional": ("record_at", lambda: record_rounds(10, [1.5, 3.0])),
    "spacing": ("spacing", lambda: run(spacing="cubic")),
    "runs beyond": ("runs", lambda: run(runs=[2])),
    "runs none": ("runs", lambda: run(runs=[])),
    "runs twice": ("runs: .*got 1 more than once", lambda: run(runs=[1, 0, 1])),
    "runs fractional": ("runs", lambda: run(runs=[0.5])),
    "checkpoint": ("checkpoint: must be a folder", lambda: run(checkpoint=3)),
    "mesh": ("mesh", lambda: run(mesh=jax.sharding.Mesh(np.array(jax.devices()[:1]), ("other",)))),
    "comparator": ("comparator", lambda: run(comparator=1.0)),
    "no learner": ("learner", lambda: run(learners={})),
    "not a learner": ("learner", lambda: run(learners={"a": TwoCopies()})),
    "names that are one": ("learners", lambda: run(learners={"1": LEARNER, 1: LEARNER})),
    "names of a sweep": ("learners", lambda: run(learners={"a[0]": LEARNER, "a": jo.sweep([LEARNER])})),
    "labels of a sweep": ("labels", lambda: jo.sweep({"1": LEARNER, 1: LEARNER})),
    "game environment": ("environment", lambda: jo.Game(np.eye(3), NOISY)),
    "game feedback": ("feedback", lambda: jo.Game(STREAM, "noisy")),
    "game loss": ("loss", lambda: jo.Game(STREAM, NOISY, loss=lambda y_hat, y: (y_hat - y) ** 2)),
    "game loss of a name": ("loss", lambda: jo.Game(STREAM, NOISY, loss="squared")),
    "game pseudo": ("pseudo", lambda: jo.Game(STREAM, NOISY, pseudo="true")),
    "variances of another dimension": ("covariance", lambda: noisy_game(jo.noise.gaussian([0.1, 0.2]))),
    "covariance of another dimension": ("covariance", lambda: noisy_game(jo.noise.gaussian(np.eye(2)))),
    "label noise of a dimension": ("label_noise", lambda: noisy_game(jo.noise.gaussian(0.1), jo.noise.gaussian([0.1]))),
    "negative variance": ("covariance", lambda: jo.noise.gaussian(-0.1)),
    "negative variances": ("covariance", lambda: jo.noise.laplace([0.1, -0.1])),
    "NaN variance": ("covariance", lambda: jo.noise.uniform(np.nan)),
    "infinite variance": ("covariance", lambda: jo.noise.uniform(np.inf)),
    "no variance": ("covariance", lambda: jo.noise.gaussian(None)),
    "covariance not positive": ("covariance.*positive semi-definite", lambda: jo.noise.gaussian(NOT_PSD)),
    "covariance list not positive": ("covariance", lambda: jo.noise.gaussian(NOT_PSD.tolist())),
    "covariance not symmetric": ("covariance.*symmetric", lambda: jo.noise.gaussian(NOT_SYMMETRIC)),
    "covariance not square": ("covariance", lambda: jo.noise.gaussian(np.ones((2, 3)))),
    "degrees": ("degrees", lambda: jo.noise.student_t(0.1, degrees=2.0)),
    "law": ("law", lambda: jo.noise.Noise(0.1, law="cauchy")),
    "draw": ("draw", lambda: jo.noise.CustomNoise(0.1)),
    "noise": ("noise", lambda: jo.NoisyCopies(0.1)),
    "label noise": ("label_noise", lambda: jo.NoisyCopies(jo.noise.gaussian(0.1), label_noise=0.1)),
    "X and y": ("y", lambda: jo.environments.DataStream(np.eye(3), np.ones(2))),
    "expected outcomes": ("mean_outcome", lambda: jo.Game(STREAM, NOISY, pseudo=True)),
    "X of one dimension": ("X", lambda: jo.environments.DataStream(np.ones(3), np.ones(3))),
    "y of two dimensions": ("loss|rank", lambda: run(jo.Game(TWO_DIMENSIONS, NOISY))),
    "y without rounds": ("y", lambda: jo.environments.DataStream(np.eye(3), np.float64(1.0))),
    "X with NaN": (r"X.*\[0, 0\]", lambda: jo.environments.DataStream(np.full((2, 2), np.nan), np.ones(2))),
    "X empty": ("X", lambda: jo.environments.DataStream(np.ones((0, 2)), np.ones(0))),
    "X without columns": ("X", lambda: jo.environments.DataStream(np.ones((2, 0)), np.ones(2))),
    "X of words": ("X", lambda: jo.environments.DataStream(np.array([["a"]]), np.ones(1))),
    "X complex": ("X", lambda: jo.environments.DataStream(1j * np.eye(2), np.ones(2))),
    "order": ("order", lambda: jo.environments.DataStream(np.eye(3), np.ones(3), order="random")),
    "weights": ("weights", lambda: jo.environments.LinearModel(np.eye(2))),
    "noise_std": ("noise_std", lambda: jo.environments.LinearModel(np.ones(2), noise_std=-1.0)),
    "radius of instances": ("radius", lambda: jo.environments.LinearModel(np.ones(2), radius=0.0)),
    "instances": ("instances", lambda: jo.environments.LinearModel(np.ones(2), instances="ball")),
    "coefficients not stationary": ("coefficients", lambda: jo.environments.Autoregressive([1.0])),
    "coefficients of two dimensions": ("coefficients", lambda: jo.environments.Autoregressive(np.eye(2))),
    "noise_std of a series": ("noise_std", lambda: jo.environments.Autoregressive([0.5], noise_std=-0.1)),
    "ball": ("radius", lambda: jo.L2Ball(-1.0)),
    "ball of radius 0": ("radius", lambda: jo.L2Ball(0.0)),
    "ball of radius NaN": ("radius", lambda: jo.L2Ball(np.nan)),
    "ball without radius": ("radius", lambda: jo.L2Ball(None)),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_error_names_the_bad_argument(name):
    message, make = BAD[name]
    with pytest.raises((ValueError, TypeError), match=message) as error:
        make()
    assert "\n" not in str(error.value)
    assert "Tracer" not in str(error.value)


@pytest.mark.long
def test_integers_are_accepted_as_numbers():
    """Whole numbers are fine where a number is wanted, and arrays may hold integers (under jax's usual promotion)."""

    def study(X, y, one, two):
        learner = jo.GradientLearner(FullGradient(), step_size=one, radius=two)
        game = jo.Game(jo.environments.DataStream(X, y), jo.FullInformation())
        return simulate(game, learner, n_runs=1, n_rounds=3, comparator=jo.L2Ball(two), mesh=ONE_DEVICE)

    with jax.numpy_dtype_promotion("standard"):
        whole, real = (
            study(np.eye(3, dtype=int), [1, 2, 3], 1, 2),
            study(np.eye(3), np.array([1.0, 2.0, 3.0]), 1.0, 2.0),
        )
    assert whole.meta["dtype"] == "float32"
    np.testing.assert_array_equal(whole.regret, real.regret)
