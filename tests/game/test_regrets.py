"""The regret in environments that answer back, and long sums."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxonline as jo
from jaxonline.estimators import TwoCopies
from jaxonline.numerics.elementwise import Compensated
from jaxonline.parameters.struct import struct
from jaxonline.simulation.blocks import default_mesh

ONE_DEVICE = default_mesh(jax.devices()[:1])


def contrary_game() -> jo.Game:
    return jo.Game(jo.environments.OppositeLabels([0.6, -0.8], 1.0), jo.NoisyCopies(jo.noise.gaussian(0.1)))


@pytest.mark.long
def test_each_learner_has_the_comparator_of_its_own_game():
    ball, rounds, key = jo.L2Ball(0.5), 30, 8
    learners = {eta: jo.GradientLearner(TwoCopies(), step_size=eta) for eta in (0.02, 0.2)}
    options = {"n_runs": 4, "n_rounds": rounds, "key": key, "comparator": ball, "mesh": ONE_DEVICE, "record_at": [10]}
    result = jo.simulate(contrary_game(), learners, **options)
    assert result.learners == ("0.02", "0.2")
    for i, learner in enumerate(learners.values()):
        for run in range(4):
            run_key = jax.random.fold_in(jax.random.key(key), run)
            history = jo.play(contrary_game(), learner, run_key, rounds)[1]
            assert (np.asarray(history.y) * np.asarray(history.y_hat) <= 0).all()
            for g, t in enumerate(result.rounds):
                sums = jo.comparators.cumulative_statistic(ball, history.x[:t], history.y[:t])
                np.testing.assert_allclose(result.comparator_loss[i, run, g], ball.best_loss(sums), rtol=1e-5)
                loss = np.sum(np.asarray(history.loss, float)[:t])
                np.testing.assert_allclose(result.cumulative_loss[i, run, g], loss, rtol=1e-5)
    assert (result.comparator_loss[0] != result.comparator_loss[1]).any()
    assert (result.regret[..., -1] > 0).all()

    assert jo.simulate(contrary_game(), learners, **options | {"comparator": None}).comparator_loss is None
    swept = jo.simulate(contrary_game(), jo.sweep(learners), **options)
    np.testing.assert_allclose(swept.regret, result.regret, rtol=1e-5, atol=1e-5)


def test_compensated_sums_keep_what_plain_sums_lose():
    """After 1e8, a float32 sum loses terms of 1; the compensated one keeps them."""

    @jax.jit
    def sums(terms):
        def add(carry, term):
            plain, compensated = carry
            return (plain + term, compensated.add({"loss": term})), None

        empty = Compensated.zeros({"loss": jax.ShapeDtypeStruct((), terms.dtype)})
        return jax.lax.scan(add, (jnp.zeros((), terms.dtype), empty), terms)[0]

    rng = np.random.default_rng(0)
    terms = np.concatenate([[1e8], rng.random(100_000)]).astype(np.float32)
    plain, compensated = sums(terms)
    exact = np.sum(terms.astype(float))
    total = float(compensated.total["loss"]) - float(compensated.correction["loss"])
    late = exact - 1e8
    assert abs(float(plain) - exact) > 0.9 * late
    assert abs(total - exact) < 1e-4 * late


@struct
class Silent(jo.Learner):
    def init(self, key, specs):
        return ()

    def predict(self, key, state, x):
        return jnp.zeros((), x.dtype)

    def update(self, key, state, oracle):
        return state, ()


def test_a_study_sums_losses_with_compensation():
    """The first loss is 1e8, later ones are 1, which is less than the rounding of a plain sum: they all arrive. (In the
    best in hindsight those of the first chunk are rounded with the big one, as float32 rounds 1e8.)"""
    y = np.concatenate([[1e4], np.ones(1999)])
    game = jo.Game(jo.environments.DataStream(np.zeros((2000, 1)), y), jo.FullInformation())
    result = jo.simulate(
        game, Silent(), n_runs=1, n_rounds=2000, record_at=[1000], comparator=jo.L2Ball(1.0), mesh=ONE_DEVICE
    )
    assert result.cumulative_loss[0, 0].tolist() == [1e8 + 999, 1e8 + 1999]
    first, second = result.comparator_loss[0, 0].tolist()
    assert abs(first - (1e8 + 999)) < 1e8 * 2**-23 * 2
    assert second - first == 1000
