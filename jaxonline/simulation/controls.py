"""Control variates: what the noise did to a learner that is simple enough for its expectation to be known exactly.

The shadow of a gradient learner takes the same steps on the same noisy copies, without the projection. Where its
estimate of the gradient is affine in w, mean and second moment of the shadow's w, given instances and outcomes, follow
an exact recursion, and so does its expected loss. The shadow's cumulative loss minus that expectation has the mean 0,
and goes up and down with the loss of the learner: `results.statistics.variance_reduction` takes it out.
"""

import warnings
from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, Key, PyTree

from jaxonline.estimators.gradients import HasGradientMoments, NoisyExample
from jaxonline.feedback import NoisyCopies
from jaxonline.feedback.noise import CustomNoise
from jaxonline.game import Entrant, EnvironmentTraits, ForwardsToLearner, Round, Specs, same_loss
from jaxonline.game.traits import traits_of
from jaxonline.learners import GradientLearner
from jaxonline.linalg.compensated import Compensated
from jaxonline.linalg.triangular import product
from jaxonline.losses import Squared
from jaxonline.parameters.closures import intern_functions
from jaxonline.parameters.struct import struct
from jaxonline.parameters.warning_classes import ControlVariateWarning
from jaxonline.results.statistics.variance_reduction import CONTROL
from jaxonline.simulation.sweeps import Team
from jaxonline.store.lazy_arrays import zero_nonfinite_controls

DIVERGED = 10  # times the loss of predictor 0: a shadow whose expected loss is more tells nothing about its learner


class Shadow(NamedTuple):
    """What the shadow did in a round: its w [d] before the update, the step, and the estimator of the gradient."""

    w: Float[Array, "d"]
    step: Float[Array, ""]
    estimator: Any


class ShadowedState(NamedTuple):
    """State of `Shadowed`: that of the learner, and the shadow's w [d]."""

    learner: PyTree
    w: Float[Array, "d"]


class ShadowedInfo(NamedTuple):
    """The learner's diagnostics, and its shadow."""

    gradient_norm: Float[Array, ""]
    shadow: Shadow


class _SameCopies:
    """An oracle's copies and labels, drawn once: without the barrier, the compiler draws them for each use again."""

    def __init__(self, oracle: Any):
        self._oracle, self._known = oracle, {}

    def copy(self, index: int) -> Array:
        return self._once("copy", index)

    def copies(self, first: int, capacity: int) -> Array:
        return jnp.stack([self.copy(first + k) for k in range(capacity)])

    def label(self, index: int = 0) -> Array:
        return self._once("label", index)

    def _once(self, what: str, index: int) -> Array:
        if (what, index) not in self._known:
            self._known[what, index] = jax.lax.optimization_barrier(getattr(self._oracle, what)(index))
        return self._known[what, index]


@struct
class Shadowed(ForwardsToLearner):
    """A gradient learner, and its shadow: w <- w - step g(w) without projection, on the same copies."""

    learner: GradientLearner

    def init(self, key: Key[Array, ""], specs: Specs) -> ShadowedState:
        """That of the learner, and w_1 = 0."""
        return ShadowedState(self.learner.init(key, specs), jnp.zeros(specs.instance.shape, specs.instance.dtype))

    def predict(self, key: Key[Array, ""], state: ShadowedState, x: Float[Array, "d"]) -> Float[Array, ""]:
        """That of the learner."""
        return self.learner.predict(key, state.learner, x)

    def update(self, key: Key[Array, ""], state: ShadowedState, oracle: Any) -> tuple[ShadowedState, ShadowedInfo]:
        """That of the learner, and the shadow's."""
        copies = _SameCopies(oracle)
        learner, info = self.learner.update(key, state.learner, copies)
        shadow = Shadow(state.w, self.learner.step_size(learner.t, state.w.dtype), self.learner.estimator)
        w = state.w - shadow.step * shadow.estimator(key, state.w, copies)
        return ShadowedState(learner, w), ShadowedInfo(info.gradient_norm, shadow)


class ControlCarry(NamedTuple):
    """Moments of the shadow's w given the environment, and sums over rounds.

    Attributes:
        mean: E w [d].
        second: E w w' [d, d].
        control: of the shadow's losses less their expectations.
        expected: of the expectations.
        of_zero: of the losses of predictor 0.
    """

    mean: Float[Array, "d"]
    second: Float[Array, "d d"]
    control: Compensated
    expected: Float[Array, ""]
    of_zero: Float[Array, ""]


@struct
class ControlVariate:
    """The loss of the shadow of a `Shadowed` learner less its exact expectation given the environment: its mean is 0.

    Args:
        noise: the law of the instances' noise.
        label_noise: the law of the labels' noise, or None.
    """

    noise: Any
    label_noise: Any = None
    name: ClassVar[str] = CONTROL

    def init(self, record: Round) -> ControlCarry:
        """w_1 = 0."""
        zero, w = jnp.zeros((), record.x.dtype), jnp.zeros(record.x.shape, record.x.dtype)
        return ControlCarry(w, jnp.outer(w, w), Compensated(zero, zero), zero, zero)

    def add(self, carry: ControlCarry, t: Int[Array, ""], record: Round) -> ControlCarry:
        """(<w, x> - y)^2 less its expectation, and the moments of the next w = w - step g."""
        x, y, (w, step, estimator) = record.x, record.y, record.info.shadow
        mean, second = carry.mean, carry.second
        label_variance = jnp.zeros_like(y)
        if self.label_noise is not None:
            label_variance = self.label_noise.covariance_at(t, y[None]).reshape(())
        predicted, squared = mean @ x, product(second, x) @ x
        control = (w @ x) ** 2 - squared - 2 * y * (w @ x - predicted)
        example = NoisyExample(x, y, self.noise.covariance_at(t, x), label_variance)
        g = estimator.gradient_moments(mean, second, example)
        return ControlCarry(
            mean - step * g.mean,
            second + (step**2 * g.second - step * g.with_w),  # at once: alone, the squares of small steps are lost
            carry.control.add(control),
            carry.expected + (squared - 2 * y * predicted + y**2),
            carry.of_zero + (y**2 + label_variance),
        )

    def read(self, carry: ControlCarry) -> Compensated:
        """The sum; NaN where the shadow diverges, which the environment alone decides: no chance is selected by it."""
        good = carry.expected <= DIVERGED * carry.of_zero
        return carry.control._replace(total=jnp.where(good, carry.control.total, jnp.nan))


@struct
class NoControl:
    """0, for learners beside others that have a control variate."""

    name: ClassVar[str] = CONTROL

    def init(self, record: Round) -> Float[Array, ""]:
        """0."""
        return jnp.zeros((), jnp.result_type(float))

    def add(self, carry: Float[Array, ""], t: Int[Array, ""], record: Round) -> Float[Array, ""]:
        """0."""
        return carry

    def read(self, carry: Float[Array, ""]) -> Float[Array, ""]:
        """0."""
        return carry


def with_controls(teams: Iterable[Team]) -> list[tuple[Entrant, dict[str, Any]]]:
    """The entrant of each team, shadowed where its expectation can be known, and the measure of its control variate.

    Raises:
        ValueError: that is so for none of them.
    """
    teams = list(teams)
    known = [_is_known(team) for team in teams]
    if not any(known):
        raise ValueError(
            "control_variates: must have a learner whose expected loss is known up to its projection (got none); use "
            "GradientLearner with an estimator that states its moments (TwoCopies), plain steps and hypothesis='last', "
            "on NoisyCopies whose laws state their covariance, with the squared loss and an oblivious environment"
        )
    found: list[tuple[Entrant, dict[str, Any]]] = []
    for (learner, feedback), good in zip([(e.entrant.learner, e.entrant.feedback) for e in teams], known, strict=True):
        control = ControlVariate(feedback.noise, feedback.label_noise) if good else NoControl()
        found.append((Entrant(Shadowed(learner) if good else learner, feedback), {CONTROL: control}))
    return found


def _is_known(team: Team) -> bool:
    """Whether the team's learners without projection are a linear recursion of known moments, with squared loss."""
    learner, feedback, game = team.entrant.learner, team.entrant.feedback, team.game
    if not isinstance(learner, GradientLearner) or not isinstance(feedback, NoisyCopies):
        return False
    linear = learner.optimizer == intern_functions(optax.sgd(1.0)) and isinstance(learner.estimator, HasGradientMoments)
    laws = (feedback.noise, feedback.label_noise)
    stated = not any(isinstance(law, CustomNoise) and law.covariance is None for law in laws)
    judged = same_loss(game, Squared()) and traits_of(game.environment, EnvironmentTraits).oblivious
    return linear and learner.hypothesis == "last" and stated and judged


def without_diverged(learners: Iterable[str], control: Any) -> Any:
    """The controls [L, R, G] with 0 for learners whose shadow diverges in some run.

    Warns:
        ControlVariateWarning: such learners.
    """
    found, bad = zero_nonfinite_controls(control, np.ones(control.shape[:2], bool))
    if bad:
        names = [repr(name) for i, name in enumerate(learners) if i in bad]
        warnings.warn(
            f"the control variate of {', '.join(names)} is not used: without the projection the learner's expected "
            f"loss is more than {DIVERGED} times that of predictor 0, its steps are too large for that",
            ControlVariateWarning, stacklevel=5,
        )  # fmt: skip
    return found
