"""The round takes any game: arms, weights over experts, dictionaries; histories print as tables."""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiers import some

import jaxonline as jo
from jaxonline.environments import BernoulliArms, DataStream
from jaxonline.estimators import TwoCopies
from jaxonline.learners import EXP3, Hedge, Perceptron
from jaxonline.losses import ArmLoss, ExpectedLoss, ZeroOne
from jaxonline.parameters.struct import struct
from jaxonline.simulation.blocks import default_mesh

ONE_DEVICE = default_mesh(jax.devices()[:1])
MEAN = "mean", np.mean
MEANS = np.array([0.7, 0.4, 0.6])
RUNS, ROUNDS = 4, 60


def bandit_game(pseudo=False) -> jo.Game:
    return jo.Game(BernoulliArms(MEANS), jo.Bandit(), loss=ArmLoss(), pseudo=pseudo)


def histories(game: jo.Game, learner, rounds: int = ROUNDS, runs: int = RUNS) -> list:
    """Each run of a study with key 3, played alone."""
    keys = [jax.random.fold_in(jax.random.key(3), run) for run in range(runs)]
    return [jax.tree.map(np.asarray, jo.play(game, learner, key, rounds)[1]) for key in keys]


def study(game: jo.Game, learner, **options) -> jo.Result:
    options = {"n_runs": RUNS, "n_rounds": ROUNDS, "key": 3, "mesh": ONE_DEVICE, "record_at": [25], **options}
    return jo.simulate(game, learner, **options)


@struct
class Longest:
    """The longest row of rounds with a loss."""

    name = "longest row"

    def init(self, record):
        return jnp.int32(0), jnp.int32(0)

    def add(self, carry, t, record):
        now, longest = carry
        now = jnp.where(record.loss > 0, now + 1, 0)
        return now, jnp.maximum(longest, now)

    def read(self, carry):
        return carry[1]


@pytest.fixture(scope="module")
def bandit() -> jo.Result:
    measures = [jo.Pulls(), jo.Switches(), Longest()]
    return study(bandit_game(), EXP3(0.1), comparator=jo.BestArm(), measures=measures)


def test_measures_equal_counts_of_the_history(bandit):
    for run, history in enumerate(histories(bandit_game(), EXP3(0.1))):
        arms, losses = history.y_hat.arm, history.loss
        np.testing.assert_array_equal(losses, history.y[np.arange(ROUNDS), arms])
        for g, t in enumerate((25, ROUNDS)):
            assert bandit.measures["pulls"][0, run, g].tolist() == np.bincount(arms[:t], minlength=3).tolist()
            assert bandit.measures["switches"][0, run, g] == (np.diff(arms[:t]) != 0).sum()
            rows = "".join(str(int(loss)) for loss in losses[:t]).split("0")
            assert bandit.measures["longest row"][0, run, g] == max(map(len, rows))
            assert bandit.cumulative_loss[0, run, g] == losses[:t].sum()
            assert bandit.queries[0, run, g] == t
            assert bandit.comparator_loss[0, run, g] == history.y[:t].sum(axis=0).min()


def test_pseudo_regret_is_the_sum_of_the_gaps(bandit):
    pseudo = study(bandit_game(pseudo=True), EXP3(0.1), comparator=jo.BestArm(), measures=[jo.Pulls()])
    np.testing.assert_array_equal(pseudo.measures["pulls"], bandit.measures["pulls"], "the same games are played")
    gaps = pseudo.measures["pulls"] @ (MEANS - MEANS.min())
    np.testing.assert_allclose(pseudo.regret, gaps, rtol=1e-5)
    assert (pseudo.regret != bandit.regret).any()


def test_own_measures_have_intervals_storage_and_selection(bandit, tmp_path):
    pulls = bandit.mean("pulls", interval=jo.intervals.Student())  # of few runs
    np.testing.assert_allclose(pulls.mean.sum(axis=-1), [[25.0, ROUNDS]])
    loaded = jo.Result.load(bandit.save(tmp_path / "bandit.npz"))
    for name, array in bandit.measures.items():
        np.testing.assert_array_equal(loaded.measures[name], array, name)
    assert bandit.select(runs=slice(2)).measures["pulls"].shape == (1, 2, 2, 3)


def experts_game(rounds: int = 1000) -> jo.Game:
    """E18's example: ten experts, one of which is always right; the others err in every round."""
    losses = np.ones((rounds, 10))
    losses[:, 4] = 0.0
    return jo.Game(DataStream(None, losses), jo.FullInformation(), loss=ExpectedLoss())


def test_hedge_has_its_regret_bound_against_the_best_expert():
    """Lecture E: with eta = sqrt(8 ln K / T) the regret is below sqrt(T ln K / 2) = 34; it is 17 here."""
    result = study(experts_game(), Hedge.over_horizon(10, 1000), n_runs=1, n_rounds=1000, comparator=jo.BestArm())
    assert result.comparator_loss[0, 0, -1] == 0.0
    assert round(float(result.regret[0, 0, -1])) == 17
    assert result.regret[0, 0, -1] < np.sqrt(1000 * np.log(10) / 2)


def test_a_perceptron_counts_its_mistakes():
    """Novikoff: at most (r / margin)^2 mistakes, however many passes."""
    X, direction = np.random.default_rng(0).normal(size=(160, 2)), np.array([0.6, -0.8])
    X = X[np.abs(X @ direction) > 0.3][:40]
    y, r, margin = np.sign(X @ direction), np.linalg.norm(X, axis=1).max(), np.abs(X @ direction).min()
    game = jo.Game(DataStream(X, y), jo.FullInformation(), loss=ZeroOne())
    result = study(game, Perceptron(), n_runs=1, n_rounds=400, measures=[jo.Mistakes(), jo.OfInfo("mistake", "sum")])
    mistakes = result.measures["mistakes"][0, 0, -1]
    assert 1 <= mistakes <= (r / margin) ** 2
    assert result.cumulative_loss[0, 0, -1] == mistakes == result.measures["mistake, sum"][0, 0, -1]
    w, count = np.zeros(2), 0
    for x, label in [*zip(X, y, strict=True)] * 10:
        if label * (w @ x) <= 0:
            w, count = w + label * x, count + 1
    assert mistakes == count


@pytest.mark.long
@pytest.mark.parametrize(("how", "of"), some([MEAN, ("sum", np.sum), ("max", np.max), ("last", lambda a: a[-1])], MEAN))
def test_of_info_records_entries_of_info(how, of):
    game = jo.Game(jo.environments.LinearModel(np.array([0.6, -0.8])), jo.NoisyCopies(jo.noise.gaussian(0.1)))
    learner = jo.GradientLearner(TwoCopies(), step_size=0.1)
    result = study(game, learner, measures=[jo.OfInfo("gradient_norm", how)])
    for run, history in enumerate(histories(game, learner)):
        for g, t in enumerate((25, ROUNDS)):
            expected = of(history.info.gradient_norm[:t].astype(float))
            np.testing.assert_allclose(result.measures[f"gradient_norm, {how}"][0, run, g], expected, rtol=1e-5)


@struct
class Pair(jo.Environment):
    """Outcomes are trees: a target and how much it counts."""

    oblivious = True
    instance_spec: ClassVar = {"price": jax.ShapeDtypeStruct((), np.float32)}
    outcome_spec: ClassVar = {
        "target": jax.ShapeDtypeStruct((2,), np.float32), "weight": jax.ShapeDtypeStruct((), np.float32),
    }  # fmt: skip

    def init(self, key):
        return ()

    def instance(self, key, state, t):
        return {"price": jax.random.uniform(key)}, state

    def outcome(self, key, state, t, x, y_hat):
        return {"target": jnp.full(2, x["price"]), "weight": jnp.float32(2.0)}, state


@struct
class Copycat(jo.Learner):
    def init(self, key, specs):
        return ()

    def predict(self, key, state, x):
        return {"guess": jnp.full(2, 2.0) * x["price"], "sure": jnp.bool_(True)}

    def update(self, key, state, oracle):
        return state, ()


def weighted_loss(y_hat, y):
    return y["weight"] * jnp.sum((y_hat["guess"] - y["target"]) ** 2)


@struct
class MeanTarget:
    def statistic(self, x, y):
        return {"y": y["target"], "yy": jnp.sum(y["target"] ** 2), "n": jnp.float32(1.0)}

    def best_loss(self, sums):
        return 2.0 * (sums["yy"] - (sums["y"] ** 2).sum(axis=-1) / sums["n"])


@pytest.mark.long
def test_instances_moves_and_outcomes_may_be_any_pytree():
    game = jo.Game(Pair(), jo.FullInformation(), loss=jax.tree_util.Partial(weighted_loss))
    result = study(game, Copycat(), comparator=MeanTarget(), measures=[jo.Switches()])
    for run, history in enumerate(histories(game, Copycat())):
        price = history.x["price"].astype(float)
        np.testing.assert_allclose(result.cumulative_loss[0, run, -1], 4 * (price**2).sum(), rtol=1e-5)
        np.testing.assert_allclose(result.comparator_loss[0, run, -1], 4 * price.var() * ROUNDS, rtol=1e-4)
        assert result.measures["switches"][0, run, -1] == ROUNDS - 1


def test_a_loss_that_is_no_number_names_the_learner():
    game = jo.Game(DataStream(None, np.ones((3, 2))), jo.FullInformation())
    with pytest.raises((TypeError, ValueError), match=r"loss: must return a number for .*learners.'misfit'"):
        jo.simulate(game, {"misfit": Hedge.over_horizon(2, 9)}, n_runs=2, n_rounds=4)
