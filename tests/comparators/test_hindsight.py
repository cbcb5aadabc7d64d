"""Comparators that need all instances and targets of a run: the history that they receive, when, and how often."""

import jax
import numpy as np
import pytest
from hindsight_study import (
    ASKED,
    BALL,
    ONE_DEVICE,
    ROUNDS,
    RUNS,
    SlowBall,
    game,
    study,
)
from tiers import some

import jaxonline as jo
from jaxonline.environments.adversaries import ChasingNoise
from jaxonline.losses import Logistic, SmoothedAbsolute, Squared
from jaxonline.parameters.errors import DivergedRunsWarning
from jaxonline.parameters.struct import struct
from jaxonline.simulation.blocks import default_mesh
from jaxonline.simulation.hindsight import Hindsight
from jaxonline.simulation.jobs import Plan
from jaxonline.simulation.progress import Reporter


@pytest.fixture(autouse=True)
def nothing_asked_yet():
    ASKED.clear()


def stream(order: str = "file") -> jo.environments.DataStream:
    rng = np.random.default_rng(0)
    return jo.environments.DataStream(rng.normal(size=(7, 3)), rng.normal(size=7), order=order)


@pytest.fixture(scope="module")
def reference():
    return study()


FEWER = {"n_runs": 8}
GAMES = {
    "clean": lambda: game(),
    "file": lambda: game(environment=stream()),
    "shuffled": lambda: game(environment=stream("shuffled")),
    "adaptive noise": lambda: game(jo.AdversarialCopies(ChasingNoise(0.4))),
}


@pytest.mark.long
@pytest.mark.parametrize("name", GAMES)
def test_best_losses_match_sums_over_rounds(name):
    """The same ball from sums inside the simulation, for the same game."""
    slow, fast = study(GAMES[name]()), study(GAMES[name](), comparator=BALL)
    np.testing.assert_allclose(slow.comparator_loss, fast.comparator_loss, rtol=2e-5)
    np.testing.assert_array_equal(slow.cumulative_loss, fast.cumulative_loss)
    assert len(ASKED) == (1 if name == "file" else RUNS), "one run shows what all runs see, unless it is noisy"
    assert (len(np.unique(slow.comparator_loss[0, :, -1])) == 1) == (name == "file")


@pytest.mark.parametrize(
    "options", some([{"record_at": [3, 5, 9, 20]}, {"mesh": default_mesh()}, FEWER], FEWER), ids=str
)
def test_results_do_not_depend_on_execution_options(reference, options):
    """Other segments, devices and numbers of runs give the same bits."""
    result = study(**options)
    runs = slice(options.get("n_runs", RUNS))
    at = np.isin(result.rounds, reference.rounds)
    np.testing.assert_array_equal(result.comparator_loss[:, :, at], reference.comparator_loss[:, runs])


def test_only_requested_runs_are_solved(reference):
    result = study(runs=[9, 2, 8])  # 8 and 9 are of one block
    assert len(ASKED) == 3
    np.testing.assert_array_equal(result.comparator_loss, reference.comparator_loss[:, [9, 2, 8]])


def test_results_do_not_depend_on_the_memory_budget(reference):
    """Memory for one history, and for three, gives the same losses."""
    for at_once in (0, 3):
        plan = Plan(jax.random.key(5), ROUNDS, np.array([5, 9, ROUNDS]), 4, ONE_DEVICE, [0, 1, 2])
        hindsight = Hindsight(game(), SlowBall(0.7), plan, np.arange(RUNS), max_bytes=at_once * 4 * 4 * ROUNDS)
        with Reporter(False, RUNS) as reporter:
            np.testing.assert_array_equal(hindsight.best_losses(reporter, None), reference.comparator_loss[0])


class Interrupted(Exception):
    pass


def test_an_interrupted_study_solves_the_remaining_runs(reference, tmp_path):
    def stop(done, total, what):
        if done == total - 3:
            raise Interrupted

    with pytest.raises(Interrupted):
        study(checkpoint=tmp_path, progress=stop)
    ASKED.clear()
    seen = []
    result = study(checkpoint=tmp_path, progress=lambda *each: seen.append(each))
    np.testing.assert_array_equal(result.comparator_loss, reference.comparator_loss)
    assert len(ASKED) == 3
    assert seen[-1][0] == seen[-1][1]
    ASKED.clear()
    study(checkpoint=tmp_path, n_runs=12)
    assert len(ASKED) == 2
    with pytest.raises(ValueError, match="checkpoint"):
        study(checkpoint=tmp_path, comparator=SlowBall(0.8))


@struct
class Faulty(jo.environments.LinearModel):
    """Returns NaN in round 7 of some runs."""

    share: float = 0.0

    def outcome(self, key, state, t, x, y_hat):
        y, state = jo.environments.LinearModel.outcome(self, key, state, t, x, y_hat)
        return jax.numpy.where((t == 7) & (jo.random.uniform(key) < self.share), np.float32(np.nan), y), state


@pytest.mark.long
def test_losses_are_nan_from_the_first_nonfinite_round():
    """The loss is NaN from that round on, and unchanged before it and in the other runs."""
    with pytest.warns(DivergedRunsWarning, match="NaN or infinite.*of 10 runs, from round 7 on"):
        result = study(game(environment=Faulty(np.ones(3), share=0.5)), record_at=[6, 7])
    bad = result.first_nonfinite[0] > 0
    assert 0 < bad.sum() < RUNS
    healthy = study(game(environment=Faulty(np.ones(3))), record_at=[6, 7])
    assert np.isnan(result.comparator_loss[:, bad, 1:]).all()
    np.testing.assert_array_equal(result.comparator_loss[:, :, 0], healthy.comparator_loss[:, :, 0])
    np.testing.assert_array_equal(result.comparator_loss[:, ~bad], healthy.comparator_loss[:, ~bad])
    assert all(np.isfinite(X).all() and np.isfinite(y).all() for X, y, _ in ASKED)


@pytest.mark.long
def test_environments_that_depend_on_the_learner_raise_an_error():
    adaptive = game(environment=jo.environments.OppositeLabels([0.3, 0.1, -0.2], 1.0))
    with pytest.raises(ValueError, match=r"SlowBall needs the history.*depends on the learner"):
        study(adaptive)
    assert study(adaptive, comparator=BALL).comparator_loss is not None, "sums can be had"


def test_best_losses_of_a_wrong_shape_raise_an_error():
    class Short(SlowBall):
        def best_losses(self, X, y, rounds):
            return np.zeros(1)

    with pytest.raises(ValueError, match=r"\bbest_losses\b.*\(1,\)"):
        study(comparator=Short(1.0))


def for_loss(loss) -> jo.Game:
    rng = np.random.default_rng(3)
    environment = jo.environments.DataStream(rng.normal(size=(7, 3)), rng.choice([-1.0, 1.0], size=7))
    return jo.Game(environment, jo.NoisyCopies(jo.noise.gaussian(0.3)), loss=loss)


@struct
class LogisticBall(SlowBall):
    """A user's comparator that declares its loss."""

    loss: jo.losses.Loss = Logistic()


@pytest.mark.parametrize(
    ("loss", "comparator"),
    [
        (Logistic(), jo.RKHSBall(jo.kernels.Linear(), 1.0)),
        (SmoothedAbsolute(0.5), jo.RKHSBall(jo.kernels.Linear(), 1.0, SmoothedAbsolute(0.4))),
        (Logistic(), BALL),
        (Squared(), LogisticBall(1.0)),
    ],
    ids=["kind", "number", "sums", "a user's"],
)
def test_a_comparator_for_another_loss_raises_an_error(loss, comparator):
    with pytest.raises(ValueError, match=rf"comparator: {type(comparator).__name__} "):
        study(for_loss(loss), comparator)
    assert ASKED == []
