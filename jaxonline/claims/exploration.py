"""Claims on loss estimates of bandits that explore, checked by enumeration of the drawn arm (4 arms; EXP4: 3 experts).

The arm is drawn from p = (1 - gamma) weights + gamma / K, and estimates divide by p. Division by the weights before
exploration is the wrong version. The claims on horizons compare the constants of the theorems with the learners'.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np

from jaxonline.claims.bandits import ADVICE, CUMULATIVE_LOSSES, LOSSES, P
from jaxonline.claims.registry import SamplingOptions, claim
from jaxonline.feedback import BanditOracle
from jaxonline.game import Draw
from jaxonline.learners.bandits.exp3 import EXP3
from jaxonline.learners.bandits.exp3_ix import EXP3IX
from jaxonline.learners.bandits.exp3_p import EXP3P
from jaxonline.learners.bandits.exp4 import EXP4
from jaxonline.linalg.compensated import Compensated
from jaxonline.verify.bias import unbiased
from jaxonline.verify.result import Verification

EXPLORATION, BETA, ROUNDS, DELTA = 0.2, 0.03, 500, 0.05
EXPERT_LOSSES = np.array([0.5, 0.0, 1.0])


def _explored(log_weights: np.ndarray, advice: np.ndarray | None = None) -> np.ndarray:
    weights = np.exp(log_weights) / np.exp(log_weights).sum()
    mixture = weights if advice is None else weights @ advice
    return (1 - EXPLORATION) * mixture + EXPLORATION / len(mixture)


def _support(learner: EXP3P | EXP3IX, p: np.ndarray, divisors: jax.Array) -> list[tuple[float, np.ndarray]]:
    """Return, for each arm, its probability and the estimates, which divide by `divisors`, after a pull of this arm."""
    draws = [Draw(jnp.int32(arm), divisors) for arm in range(len(p))]
    estimates = [np.asarray(learner.estimates(draw, jnp.asarray(LOSSES[draw.arm]))) for draw in draws]
    return list(zip(p, estimates, strict=True))


def _exp3(explores: bool) -> Verification:
    """With eta = 1 an update adds the loss estimates to the state of EXP3."""
    learner = EXP3(1.0, exploration=EXPLORATION)
    with jax.enable_x64(True):
        state, losses = Compensated.starting_at(jnp.asarray(CUMULATIVE_LOSSES)), jnp.asarray(LOSSES)
        p = learner.predict(jax.random.key(0), state, ()).probabilities if explores else learner.weights(state)
        oracles = [BanditOracle((), Draw(jnp.int32(arm), p), losses) for arm in range(len(LOSSES))]
        estimates = [np.asarray(learner.update(None, state, oracle)[0].value - state.value) for oracle in oracles]
    return unbiased(None, LOSSES, support=list(zip(_explored(-CUMULATIVE_LOSSES), estimates, strict=True)))


@claim("importance weights after exploration, EXP3", "Auer et al. 2002", cost="exact", printed="within tolerance")
def _exp3_explores(form: str, options: SamplingOptions) -> Verification:
    return _exp3(explores=True)


@claim("importance weights before exploration, EXP3", "Auer et al. 2002", cost="exact", printed="biased")
def _exp3_before(form: str, options: SamplingOptions) -> Verification:
    return _exp3(explores=False)


def _exp3_p(explores: bool) -> Verification:
    """The mean of the estimated gains is gain + beta / p."""
    learner, p = EXP3P(1.0, BETA, EXPLORATION), _explored(-CUMULATIVE_LOSSES)
    with jax.enable_x64(True):
        state = Compensated.starting_at(jnp.asarray(CUMULATIVE_LOSSES))
        drawn = learner.predict(jax.random.key(0), state, ()).probabilities
        support = _support(learner, p, drawn if explores else learner.weights(state))
    return unbiased(None, 1 - LOSSES + BETA / p, support=support)


@claim(
    "gains with a bonus after exploration, EXP3.P, mean gain + beta / p",
    "Auer et al. 2002",
    cost="exact",
    printed="within tolerance",
)
def _exp3_p_explores(form: str, options: SamplingOptions) -> Verification:
    return _exp3_p(explores=True)


@claim(
    "gains with a bonus before exploration, EXP3.P, mean gain + beta / p",
    "Auer et al. 2002",
    cost="exact",
    printed="biased",
)
def _exp3_p_before(form: str, options: SamplingOptions) -> Verification:
    return _exp3_p(explores=False)


def _exp4(explores: bool) -> Verification:
    """The mean of the estimates is the vector of the experts' losses."""
    learner, p = EXP4(1.0, exploration=EXPLORATION), _explored(-EXPERT_LOSSES, ADVICE)
    with jax.enable_x64(True):
        state, advice = Compensated.starting_at(jnp.asarray(EXPERT_LOSSES)), jnp.asarray(ADVICE)
        drawn = learner.predict(jax.random.key(0), state, advice).probabilities
        divisors = drawn if explores else learner.weights(state) @ advice
        draws = [Draw(jnp.int32(arm), divisors) for arm in range(len(p))]
        estimates = [np.asarray(learner.estimates(draw, jnp.asarray(LOSSES[draw.arm]), advice)) for draw in draws]
    return unbiased(None, ADVICE @ LOSSES, support=list(zip(p, estimates, strict=True)))


@claim(
    "importance weights of experts after exploration, EXP4",
    "Auer et al. 2002",
    cost="exact",
    printed="within tolerance",
)
def _exp4_explores(form: str, options: SamplingOptions) -> Verification:
    return _exp4(explores=True)


@claim("importance weights of experts before exploration, EXP4", "Auer et al. 2002", cost="exact", printed="biased")
def _exp4_before(form: str, options: SamplingOptions) -> Verification:
    return _exp4(explores=False)


def _implicit(gamma: float) -> Verification:
    """Compare the mean of `EXP3IX.over_horizon` with the mean for `gamma`, loss p / (p + gamma)."""
    with jax.enable_x64(True):
        support = _support(EXP3IX.over_horizon(len(P), ROUNDS), P, jnp.asarray(P))
    return unbiased(None, LOSSES * P / (P + gamma), support=support, detect=1e-6)


@claim(
    "losses over p + gamma, EXP3-IX, gamma = sqrt(ln K / (2 K T)) of Theorem 1",
    "Neu 2015",
    cost="exact",
    printed="within tolerance",
)
def _implicit_horizon(form: str, options: SamplingOptions) -> Verification:
    return _implicit(math.sqrt(math.log(len(P)) / (2 * len(P) * ROUNDS)))


@claim("losses over p + gamma, EXP3-IX, gamma = eta", "Neu 2015", cost="exact", printed="biased")
def _implicit_without_half(form: str, options: SamplingOptions) -> Verification:
    return _implicit(math.sqrt(2 * math.log(len(P)) / (len(P) * ROUNDS)))


def _bonus(beta: float) -> Verification:
    """Compare the mean of `EXP3P.over_horizon` with the mean for `beta`, gain + beta / p."""
    with jax.enable_x64(True):
        support = _support(EXP3P.over_horizon(len(P), ROUNDS, DELTA), P, jnp.asarray(P))
    return unbiased(None, 1 - LOSSES + beta / P, support=support, detect=1e-6)


@claim(
    "gains with a bonus, EXP3.P, beta = sqrt(ln(K / delta) / (T K)) of Theorem 3.3",
    "Auer et al. 2002",
    cost="exact",
    printed="within tolerance",
)
def _bonus_horizon(form: str, options: SamplingOptions) -> Verification:
    return _bonus(math.sqrt(math.log(len(P) / DELTA) / (ROUNDS * len(P))))


@claim("gains with a bonus, EXP3.P, beta for delta = 1", "Auer et al. 2002", cost="exact", printed="biased")
def _bonus_without_delta(form: str, options: SamplingOptions) -> Verification:
    return _bonus(math.sqrt(math.log(len(P)) / (ROUNDS * len(P))))
