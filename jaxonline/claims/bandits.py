"""Claims on loss estimates of bandit algorithms, checked by enumeration of the drawn arm (4 arms; EXP4: 3 experts).

The estimates of EXP3 and EXP4 are unbiased. The estimates of EXP3-IX and EXP3.P are biased on purpose. One claim
compares their means with the losses (EXP3-IX) or the gains (EXP3.P), another claim with the biased means that the
algorithm intends. In the claims with masks, one arm is not available.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxonline.claims.registry import SamplingOptions, claim
from jaxonline.feedback import Bandit, BanditOracle, Delayed
from jaxonline.game import Available, Draw, Specs
from jaxonline.learners.bandits.exp3 import EXP3
from jaxonline.learners.bandits.exp3_ix import EXP3IX
from jaxonline.learners.bandits.exp3_p import EXP3P
from jaxonline.learners.bandits.exp4 import EXP4
from jaxonline.learners.wrappers.update_on_arrival import UpdateOnArrival
from jaxonline.linalg.compensated import Compensated
from jaxonline.linalg.programs import run_compiled
from jaxonline.verify.bias import unbiased
from jaxonline.verify.result import Verification

LOSSES, P = np.array([0.3, 0.9, 0.0, 1.0]), np.array([0.4, 0.1, 0.45, 0.05])
ADVICE = np.array([[0.7, 0.1, 0.1, 0.1], [0.0, 0.0, 0.0, 1.0], [0.25, 0.25, 0.25, 0.25]])
PRESENT_P = np.array([0.2, 0.3, 0.2, 0.3])
GAMMA, BETA = 0.02, 0.03
MASK, CUMULATIVE_LOSSES = np.array([True, False, True, True]), np.array([0.5, 0.0, 1.5, 1.0])


def _support(estimates: Callable[[Draw, Any], Any]) -> list[tuple[float, np.ndarray]]:
    """Return, for each arm, its probability and the loss estimates after a pull of this arm."""
    with jax.enable_x64(True):
        p, losses = jnp.asarray(P), jnp.asarray(LOSSES)
        estimates_by_arm = jax.vmap(lambda arm: estimates(Draw(arm, p), losses[arm]))
        return list(zip(P, np.asarray(run_compiled(estimates_by_arm, np.arange(len(P), dtype=np.int32))), strict=True))


@claim("importance weights, EXP3", "Auer et al. 2002", cost="exact", printed="within tolerance")
def _exp3(form: str, options: SamplingOptions) -> Verification:
    """With eta = 1 the state of EXP3 after the first update is the loss estimate to test."""
    exp3 = EXP3(1.0)

    def estimates(move: Draw, loss: Any) -> Any:
        state = exp3.init(None, Specs((), jax.ShapeDtypeStruct(P.shape, float)))
        return exp3.update(None, state, BanditOracle((), move, jnp.asarray(LOSSES)))[0].value

    return unbiased(None, LOSSES, support=_support(estimates))


def _sleeping_estimates(renormalised: bool) -> Verification:
    """Return the verdict on EXP3's loss estimates with a mask, for the available arms and non-uniform weights."""
    exp3, weights = EXP3(1.0), np.exp(-CUMULATIVE_LOSSES)
    p = weights[MASK] / weights[MASK].sum()
    with jax.enable_x64(True):
        x, losses = Available(jnp.asarray(MASK), ()), jnp.asarray(LOSSES)
        state = Compensated.starting_at(jnp.asarray(CUMULATIVE_LOSSES))
        move = exp3.predict(jax.random.key(0), state, x)
        probabilities = move.probabilities if renormalised else exp3.weights(state)

        def estimates(arm: Any) -> Any:
            return exp3.update(None, state, BanditOracle(x, Draw(arm, probabilities), losses))[0].value - state.value

        arms = np.flatnonzero(MASK).astype(np.int32)
        by_arm = np.asarray(run_compiled(jax.vmap(estimates), arms))[:, MASK]
    return unbiased(None, LOSSES[MASK], support=list(zip(p, by_arm, strict=True)))


@claim(
    "importance weights of available arms, EXP3 with masks",
    "Freund et al. 1997",
    cost="exact",
    printed="within tolerance",
)
def _sleeping(form: str, options: SamplingOptions) -> Verification:
    return _sleeping_estimates(renormalised=True)


@claim("importance weights of all arms, EXP3 with masks", "Freund et al. 1997", cost="exact", printed="biased")
def _sleeping_not_renormalised(form: str, options: SamplingOptions) -> Verification:
    """The loss estimates are too large if the probabilities are not renormalised over the available arms."""
    return _sleeping_estimates(renormalised=False)


@claim(
    "importance weights of the round answered, EXP3 with delay",
    "Joulani et al. 2013",
    cost="exact",
    printed="within tolerance",
)
def _delayed(form: str, options: SamplingOptions) -> Verification:
    """Test the loss estimate of round 1, whose answer arrives in round 3, when the arms have other probabilities."""
    learner, key = UpdateOnArrival(EXP3(1.0)), jax.random.key(0)

    def estimates(move: Draw, loss: Any) -> Any:
        losses, feedback = jnp.asarray(LOSSES), Delayed(Bandit(), 2)
        queue = feedback.init(key, Specs((), losses), move)
        present = Draw(jnp.int32(0), jnp.asarray(PRESENT_P))
        for t, played in ((1, move), (2, present)):
            queue = feedback.observe(key, queue, jnp.int32(t), (), losses, played)
        oracle = feedback.open(key, jnp.int32(3), (), losses, present, queue)
        return learner.update(key, learner.init(key, Specs((), losses)), oracle)[0].value

    return unbiased(None, LOSSES, support=_support(estimates))


@claim(
    "importance weights of the present round, EXP3 with delay", "Joulani et al. 2013", cost="exact", printed="biased"
)
def _delayed_present(form: str, options: SamplingOptions) -> Verification:
    """Show that dividing the loss of round 1 by the arm's probability of round 3 gives a biased estimate."""

    def estimates(move: Draw, loss: Any) -> Any:
        losses, present = jnp.asarray(LOSSES), move._replace(probabilities=jnp.asarray(PRESENT_P))
        state = EXP3(1.0).init(None, Specs((), losses))
        return EXP3(1.0).update(None, state, BanditOracle((), present, losses))[0].value

    return unbiased(None, LOSSES, support=_support(estimates))


@claim("importance weights of experts, EXP4", "Auer et al. 2002", cost="exact", printed="within tolerance")
def _exp4(form: str, options: SamplingOptions) -> Verification:
    """With eta = 1 the state of EXP4 after the first update is the estimate of the experts' losses to test."""
    exp4 = EXP4(1.0)

    def estimates(move: Draw, loss: Any) -> Any:
        state = exp4.init(None, Specs(*(jax.ShapeDtypeStruct(shape, float) for shape in (ADVICE.shape, P.shape))))
        return exp4.update(None, state, BanditOracle(jnp.asarray(ADVICE), move, jnp.asarray(LOSSES)))[0].value

    return unbiased(None, ADVICE @ LOSSES, support=_support(estimates))


@claim("losses over p + gamma, EXP3-IX, as losses", "Neu 2015", cost="exact", printed="biased")
def _implicit(form: str, options: SamplingOptions) -> Verification:
    return unbiased(None, LOSSES, support=_support(EXP3IX(1.0, GAMMA).estimates))


@claim(
    "losses over p + gamma, EXP3-IX, mean loss p / (p + gamma)", "Neu 2015", cost="exact", printed="within tolerance"
)
def _implicit_mean(form: str, options: SamplingOptions) -> Verification:
    return unbiased(None, LOSSES * P / (P + GAMMA), support=_support(EXP3IX(1.0, GAMMA).estimates))


@claim("gains with a bonus, EXP3.P, as gains", "Auer et al. 2002", cost="exact", printed="biased")
def _bonus(form: str, options: SamplingOptions) -> Verification:
    return unbiased(None, 1 - LOSSES, support=_support(EXP3P(1.0, BETA, 0.0).estimates))


@claim("gains with a bonus, EXP3.P, mean gain + beta / p", "Auer et al. 2002", cost="exact", printed="within tolerance")
def _bonus_mean(form: str, options: SamplingOptions) -> Verification:
    return unbiased(None, 1 - LOSSES + BETA / P, support=_support(EXP3P(1.0, BETA, 0.0).estimates))
