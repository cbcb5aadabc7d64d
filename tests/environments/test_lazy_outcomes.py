"""Lazy outcomes: one entry has the bits of the whole vector, and games are the same with and without them."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiers import some

import jaxonline as jo
from jaxonline.environments import BernoulliArms, GaussianArms, HiddenBestArm, SwitchingArms
from jaxonline.environments.arms import ContextFreeArms
from jaxonline.learners import EXP3, UCB1
from jaxonline.losses.arms import LazyOutcome
from jaxonline.parameters.struct import replace, struct
from jaxonline.random.draws import fused_entry

DRAWS = [jo.random.uniform, jo.random.normal, jo.random.laplace, jo.random.fast_normal]


@pytest.mark.parametrize("draw", some(DRAWS, jo.random.normal))
@pytest.mark.parametrize("inlined", [False, True])
def test_one_entry_has_the_bits_of_the_vector(draw, inlined):
    key = jax.random.key(7)
    key = jo.random.inlined(key) if inlined else key
    vector = jax.jit(lambda key: draw(key, (1000,), jnp.float32))(key)
    entry = jax.jit(lambda key, k: fused_entry(draw, key, k, 1000, jnp.float32))
    for k in (0, 1, 500, 999):
        assert entry(key, k) == vector[k]
    np.testing.assert_array_equal(entry(key, np.array([[3, 999], [0, 7]])), vector[np.array([[3, 999], [0, 7]])])
    with jax.enable_x64(True):
        assert fused_entry(draw, key, jnp.int32(3), 10) == draw(key, (10,))[3]


MEANS = np.linspace(0.1, 0.9, 12)
ARMS = {
    "Bernoulli": BernoulliArms(MEANS),
    "Gaussian": GaussianArms(MEANS, std=0.7),
    "hidden": HiddenBestArm(12, 0.2),
    "switching": SwitchingArms([MEANS, MEANS[::-1]], [11]),
}


@struct
class Plain(ContextFreeArms):
    """Arms that return whole vectors."""

    arms: Any

    @property
    def outcome_spec(self):
        return self.arms.outcome_spec

    def init(self, key):
        return self.arms.init(key)

    def outcome(self, key, state, t, x, y_hat):
        y, state = self.arms.outcome(key, state, t, x, y_hat)
        assert isinstance(y, LazyOutcome)
        return y.vector(), state

    def mean_outcome(self, state, t, x, y):
        return self.arms.mean_outcome(state, t, x, y)


@pytest.mark.filterwarnings("ignore:.*assumes losses from 0 to 1:UserWarning")  # both games have Gaussian losses
@pytest.mark.parametrize("name", some(ARMS))
@pytest.mark.parametrize(
    "pseudo",
    [pytest.param(False, id="regret", marks=pytest.mark.long), pytest.param(True, id="pseudo-regret")],
)  # fmt: skip
def test_games_have_the_same_bits_with_whole_vectors(name, pseudo):
    game = jo.Game(ARMS[name], jo.Bandit(), loss=jo.losses.ArmLoss(), pseudo=pseudo)
    whole = replace(game, environment=Plain(game.environment))
    learners = {"UCB1": UCB1(), "EXP3": EXP3(0.1)}
    kwargs = {"n_runs": 16, "n_rounds": 40, "key": 1, "comparator": jo.BestArm(), "measures": [jo.Pulls()]}
    lazy, plain = (jo.simulate(g, learners, **kwargs) for g in (game, whole))
    for measure in lazy.measures:
        np.testing.assert_array_equal(lazy.measures[measure], plain.measures[measure])
    np.testing.assert_array_equal(lazy.regret, plain.regret)


@pytest.mark.long
@pytest.mark.parametrize("pseudo", [False, True], ids=["regret", "pseudo-regret"])
def test_a_round_of_ucb1_draws_one_loss(pseudo):
    """No operation of threefry in the compiled program of a round with 1,000 arms has 1,000 entries."""
    arms = BernoulliArms(np.linspace(0, 1, 1000))
    game = jo.Game(arms, jo.Bandit(), loss=jo.losses.ArmLoss(), pseudo=pseudo)

    ucb1 = UCB1(ties="first")  # a random order of 1,000 arms is drawn before the first round

    def draws_all(game, learner=ucb1):
        program = jax.jit(lambda key: jo.play(game, learner, key, 3)[1].loss).lower(jax.random.key(0)).compile()
        shifts = [line for line in program.as_text().splitlines() if "shift-right-logical(" in line]
        assert shifts, "threefry is in the program"
        return any("[1000]" in line for line in shifts)

    assert not draws_all(game)
    assert draws_all(replace(game, environment=Plain(arms))), "whole vectors are seen"
    assert not draws_all(replace(game, environment=jo.environments.Rewards(arms)), jo.learners.EpsilonGreedy(0.1))
