"""Non-finite losses are counted, reported and affect only their run."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxonline as jo
from jaxonline.estimators import FullGradient, TwoCopies
from jaxonline.parameters.errors import DivergedRunsWarning
from jaxonline.simulation.blocks import default_mesh

ONE_DEVICE = default_mesh(jax.devices()[:1])
RUNS, ROUNDS, BAD_ROUND = 16, 20, 6


@jo.struct
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
    return jo.simulate(
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

    assert [row["failed"] for row in result.table()] == result.failed.tolist() == [bad.sum()] * 2
    estimate, difference = result.mean(), result.paired_difference("two", "full")
    assert (estimate.n_runs == RUNS - bad.sum()).all()
    np.testing.assert_allclose(estimate.mean, healthy.regret[:, ~bad].mean(axis=1), rtol=1e-12)
    assert np.isfinite(result.quantiles()).all()
    assert (difference.n_runs == RUNS - bad.sum()).all()
    assert np.isfinite(difference.mean).all()


@pytest.mark.long
def test_diverging_member_of_a_sweep_does_not_affect_others():
    stream = jo.environments.DataStream(np.array([[1.0, 0.5], [0.3, 1.0]]), np.ones(2))
    game = jo.Game(stream, jo.NoisyCopies(jo.noise.gaussian(0.1)))

    def study(*etas):
        learners = jo.sweep({eta: jo.GradientLearner(TwoCopies(), step_size=eta) for eta in etas})
        return jo.simulate(
            game, learners, n_runs=8, n_rounds=40, comparator=jo.L2Ball(1.0), record_at=2, mesh=ONE_DEVICE
        )

    calm = study(0.1, 0.05)
    with pytest.warns(DivergedRunsWarning, match=r"'learner\[1000.0\]' in 8 of 8 runs"):
        result = study(0.1, 1e3)
    assert result.failed.tolist() == [0, 8]
    first = result.first_nonfinite[1]
    assert ((first > 2) & (first <= 40)).all()
    np.testing.assert_array_equal(result.cumulative_loss[0], calm.cumulative_loss[0])
    np.testing.assert_array_equal(result.mean().mean[0], calm.mean().mean[0])
    assert np.isnan(result.mean().mean[1]).all()
    assert np.isnan(result.quantiles()[:, 1]).all()


def test_overflow_of_the_sum_counts_as_divergence():
    """Losses of 2e38 are finite, the sum of two of them is not."""
    game = jo.Game(jo.environments.DataStream(np.zeros((1, 1)), np.array([1.4e19])), jo.FullInformation())
    learner = jo.GradientLearner(FullGradient(), step_size=0.1)
    with pytest.warns(DivergedRunsWarning, match="in 2 of 2 runs, from round 2 on"):
        result = jo.simulate(game, learner, n_runs=2, n_rounds=3, record_at=3, mesh=ONE_DEVICE)
    assert np.isfinite(result.cumulative_loss[..., 0]).all()
    assert not np.isfinite(result.cumulative_loss[..., 1]).any()
    assert result.first_nonfinite.tolist() == [[2, 2]]
    assert np.isnan(result.mean("cumulative_loss").mean).all()
