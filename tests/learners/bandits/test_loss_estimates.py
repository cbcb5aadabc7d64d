"""Loss estimates of bandit algorithms: their means over the drawn arm, by enumeration, and planted wrong divisors."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxonline import learners, verify
from jaxonline.feedback import BanditOracle
from jaxonline.game import Draw
from jaxonline.numerics.elementwise import Compensated

LOSSES, SUMS = np.array([0.3, 0.9, 0.0, 1.0]), np.array([0.5, 0.0, 1.5, 1.0])
WEIGHTS = np.exp(-SUMS) / np.exp(-SUMS).sum()
ADVICE = np.array([[0.7, 0.1, 0.1, 0.1], [0, 0, 0, 1.0], [0.25] * 4])
GAMMA, BETA, SHARE = 0.02, 0.03, 0.2
EXPLORED = (1 - SHARE) * WEIGHTS + SHARE / 4
EXPERT_WEIGHTS = np.exp(-SUMS[:3]) / np.exp(-SUMS[:3]).sum()
MIXED = (1 - SHARE) * EXPERT_WEIGHTS @ ADVICE + SHARE / 4

# the learner, what it sees, the probabilities of its arms, the mean of its estimates, and planted divisors
CASES = {
    "EXP3": (learners.EXP3(1.0), (), WEIGHTS, LOSSES, WEIGHTS**1.05),
    "EXP3, exploration": (learners.EXP3(1.0, exploration=SHARE), (), EXPLORED, LOSSES, WEIGHTS),
    "EXP4, exploration": (
        learners.EXP4(1.0, exploration=SHARE), ADVICE, MIXED, ADVICE @ LOSSES, EXPERT_WEIGHTS @ ADVICE,
    ),
    "EXP3-IX": (learners.EXP3IX(1.0, GAMMA), (), WEIGHTS, LOSSES * WEIGHTS / (WEIGHTS + GAMMA), WEIGHTS + GAMMA),
    "EXP3.P": (learners.EXP3P(1.0, BETA, SHARE), (), EXPLORED, LOSSES - 1 - BETA / EXPLORED, WEIGHTS),
}  # fmt: skip


def mean_of_estimates(name, divisors=None):
    learner, x, p, target, _ = CASES[name]
    state = Compensated.starting_at(jnp.asarray(SUMS[: len(target)]))
    x = jnp.asarray(x) if isinstance(x, np.ndarray) else x
    drawn = learner.predict(jax.random.key(0), state, x).probabilities
    np.testing.assert_allclose(drawn, p, rtol=1e-9)
    drawn = drawn if divisors is None else jnp.asarray(divisors)  # a mutant
    oracles = [BanditOracle(x, Draw(jnp.int32(arm), drawn), jnp.asarray(LOSSES)) for arm in np.flatnonzero(p)]
    estimates = [learner.update(None, state, oracle)[0].value - state.value for oracle in oracles]
    support = list(zip(p[p > 0], map(np.asarray, estimates), strict=True))
    return verify.unbiased(None, target, support=support, detect=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_loss_estimates_have_their_mean_and_wrong_divisors_are_found(name, x64):
    """By enumeration of the arm drawn; wrong: weights without exploration, another power, and gamma twice."""
    assert mean_of_estimates(name).verdict == "within tolerance"
    assert mean_of_estimates(name, CASES[name][4]).verdict == "biased"
