"""Claims on learners with experts that draw: questions of label-efficient Hedge, and draws from the weights."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxonline.claims.registry import SamplingOptions, claim
from jaxonline.feedback import OnRequest
from jaxonline.learners.experts.drawn_expert import DrawnExpert
from jaxonline.learners.experts.ewa import EWA
from jaxonline.learners.experts.label_efficient_hedge import LabelEfficientHedge
from jaxonline.linalg.compensated import Compensated
from jaxonline.parameters.struct import replace, struct
from jaxonline.parameters.types import Positive
from jaxonline.verify.bias import unbiased
from jaxonline.verify.result import Verification

LOSSES, CUMULATIVE_LOSSES, EPSILON = np.array([0.9, 0.2, 0.6]), np.array([0.0, 2.0, 5.0]), 0.3
LEARNER = LabelEfficientHedge(EWA(0.4), EPSILON)


def _label_efficient(target: np.ndarray) -> Verification:
    """Enumerate both answers to the question, with two keys: an update adds losses / epsilon, or zeros."""
    with jax.enable_x64(True):
        changes, state, losses = {}, jnp.asarray(CUMULATIVE_LOSSES), jnp.asarray(LOSSES)
        for seed in range(100):
            oracle = OnRequest().open(None, jnp.int32(1), (), losses, ())
            after, info = LEARNER.update(jax.random.key(seed), state, oracle)
            changes[bool(info.asked)] = np.asarray(after - state)
            if len(changes) == 2:
                break
    return unbiased(None, target, support=[(EPSILON, changes[True]), (1 - EPSILON, changes[False])])


@claim(
    "label-efficient estimates, losses / epsilon", "Cesa-Bianchi et al. 2005", cost="exact", printed="within tolerance"
)
def _over_epsilon(form: str, options: SamplingOptions) -> Verification:
    return _label_efficient(LOSSES)


@claim("label-efficient estimates, mean epsilon losses", "Cesa-Bianchi et al. 2005", cost="exact", printed="biased")
def _not_over_epsilon(form: str, options: SamplingOptions) -> Verification:
    """Show that the losses alone, without the division by epsilon, are another mean."""
    return _label_efficient(EPSILON * LOSSES)


def _ask(learner: LabelEfficientHedge, key: jax.Array) -> Any:
    oracle = OnRequest().open(None, jnp.int32(1), (), jnp.zeros(2, jnp.float32), ())
    learner.update(key, jnp.zeros(2, jnp.float32), oracle)
    return oracle.queries().astype(jnp.float32)


def _questions(epsilon: float, options: SamplingOptions) -> Verification:
    learner = replace(LEARNER, epsilon=np.float32(epsilon))
    sampler = jax.tree_util.Partial(_ask, learner)
    return unbiased(sampler, EPSILON, range=(0.0, 1.0), detect=0.015, **options.sampling())


@claim("questions of label-efficient Hedge, share epsilon", "Cesa-Bianchi et al. 2005", printed="within tolerance")
def _share_of_questions(form: str, options: SamplingOptions) -> Verification:
    return _questions(EPSILON, options)


@claim("questions of label-efficient Hedge, 3 % too many", "Cesa-Bianchi et al. 2005", printed="biased")
def _too_many_questions(form: str, options: SamplingOptions) -> Verification:
    return _questions(1.03 * EPSILON, options)


@struct
class _PowerOfWeights(EWA):
    """Exponential weights with another power."""

    power: Positive = 1.0

    def weights(self, state: Any, mask: Any = None) -> Any:
        weights = super().weights(state, mask)
        weights = weights ** jnp.asarray(self.power, weights.dtype)
        return weights / jnp.sum(weights)


def _draw(learner: DrawnExpert, state: Compensated, key: jax.Array) -> jax.Array:
    arm = learner.predict(key, state, ()).arm
    return (jnp.arange(len(state.total), dtype=jnp.int32) == arm).astype(jnp.float32)


def _draws(power: float, options: SamplingOptions) -> Verification:
    """Compare the frequencies of the experts with weights proportional to exp(-0.4 L)."""
    learner = DrawnExpert(_PowerOfWeights(0.4, power=np.float32(power)))
    state = Compensated.starting_at(jnp.asarray(CUMULATIVE_LOSSES, jnp.float32))
    weights = np.exp(-0.4 * CUMULATIVE_LOSSES)
    sampler = jax.tree_util.Partial(_draw, learner, state)
    return unbiased(sampler, weights / weights.sum(), range=(0.0, 1.0), detect=0.012, **options.sampling())


@claim("frequencies of drawn experts, the weights", "E, exponential weights", improved="within tolerance")
def _frequencies(form: str, options: SamplingOptions) -> Verification:
    return _draws(1.0, options)


@claim("frequencies of drawn experts, the weights to the power 1.05", "E, exponential weights", improved="biased")
def _frequencies_of_power(form: str, options: SamplingOptions) -> Verification:
    return _draws(1.05, options)
