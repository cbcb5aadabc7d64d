"""Control variates: variance reduction with a simplified learner whose expected loss is known exactly.

The "shadow" of a gradient learner is a copy of the learner without projection: it takes the same steps on the same
noisy copies. If the gradient estimate is affine in w, an exact recursion gives the first two moments of the shadow's w,
given the environment, and thus the shadow's expected loss. The control variate is the shadow's cumulative loss minus
its expectation: it has mean 0 and is correlated with the learner's loss. `results.statistics.variance_reduction`
subtracts a multiple of the control variate.
"""

import warnings
from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, Key

from jaxonline.estimators.gradients import HasGradientMoments, NoisyExample
from jaxonline.feedback import NoisyCopies
from jaxonline.feedback.noise import CustomNoise
from jaxonline.game import Entrant, EnvironmentTraits, ForwardsToLearner, Round, Specs, same_loss
from jaxonline.game.traits import traits_of
from jaxonline.learners import GradientLearner
from jaxonline.losses import Squared
from jaxonline.numerics.elementwise import Compensated
from jaxonline.numerics.triangular import product
from jaxonline.parameters.closures import intern_functions
from jaxonline.parameters.errors import ControlVariateWarning
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import PyTree
from jaxonline.results.statistics.variance_reduction import CONTROL
from jaxonline.simulation.sweeps import Team
from jaxonline.store.lazy_arrays import zero_nonfinite_controls

MAX_LOSS_RATIO = 10  # of the expected losses of a shadow and of predictor 0


class Shadow(NamedTuple):
    """The shadow (learner without projection) in one round: w [d] before the update, step size, gradient estimator."""

    w: Float[Array, "d"]
    step: Float[Array, ""]
    estimator: Any


class ShadowedState(NamedTuple):
    """State of a `Shadowed` learner: the state of the learner with projection, and the shadow's w [d]."""

    learner: PyTree
    w: Float[Array, "d"]


class ShadowedInfo(NamedTuple):
    """Info of a `Shadowed` learner: the diagnostics of the learner with projection, and its shadow."""

    gradient_norm: Float[Array, ""]
    shadow: Shadow


class _SameCopies:
    """Oracle that draws each copy and label once; without its barrier, the compiler repeats the draw for each use."""

    def __init__(self, oracle: Any):
        self._oracle, self._known = oracle, {}

    def copy(self, index: int) -> Array:
        return self._once("copy", index)

    def copies(self, first: int, capacity: int) -> Array:
        return jnp.stack([self.copy(first + k) for k in range(capacity)])

    def label(self, index: int = 0) -> Array:
        return self._once("label", index)

    def _once(self, query: str, index: int) -> Array:
        if (query, index) not in self._known:
            self._known[query, index] = jax.lax.optimization_barrier(getattr(self._oracle, query)(index))
        return self._known[query, index]


@struct
class Shadowed(ForwardsToLearner):
    """Gradient learner with its shadow, which updates w <- w - step g(w) on the same copies without projection."""

    learner: GradientLearner

    def init(self, key: Key[Array, ""], specs: Specs) -> ShadowedState:
        """Return the initial states of the learner and of its shadow (w_1 = 0)."""
        return ShadowedState(self.learner.init(key, specs), jnp.zeros(specs.instance.shape, specs.instance.dtype))

    def predict(self, key: Key[Array, ""], state: ShadowedState, x: Float[Array, "d"]) -> Float[Array, ""]:
        """Return the learner's prediction."""
        return self.learner.predict(key, state.learner, x)

    def update(self, key: Key[Array, ""], state: ShadowedState, oracle: Any) -> tuple[ShadowedState, ShadowedInfo]:
        """Update the learner and its shadow."""
        copies = _SameCopies(oracle)
        learner, info = self.learner.update(key, state.learner, copies)
        shadow = Shadow(state.w, self.learner.step_size(learner.t, state.w.dtype), self.learner.estimator)
        w = state.w - shadow.step * shadow.estimator(key, state.w, copies)
        return ShadowedState(learner, w), ShadowedInfo(info.gradient_norm, shadow)


class ControlCarry(NamedTuple):
    """State of a `ControlVariate`: moments of the shadow's w given the environment, and sums over rounds."""

    mean: Float[Array, "d"]  # E w [d]
    second: Float[Array, "d d"]  # E w w' [d, d]
    control: Compensated  # sum of the shadow's losses minus their expectations
    expected: Float[Array, ""]  # sum of the expectations
    of_zero: Float[Array, ""]  # sum of the losses of predictor 0


@struct
class ControlVariate:
    """Measure with mean 0: the loss of the shadow of a `Shadowed` learner minus its expectation given the environment.

    Args:
        noise: distribution of the instances' noise.
        label_noise: distribution of the labels' noise, or None.
    """

    noise: Any
    label_noise: Any = None
    name: ClassVar[str] = CONTROL

    def init(self, record: Round) -> ControlCarry:
        """Return the moments of the shadow's w_1 = 0, and sums before round 1."""
        zero, w = jnp.zeros((), record.x.dtype), jnp.zeros(record.x.shape, record.x.dtype)
        return ControlCarry(w, jnp.outer(w, w), Compensated(zero, zero), zero, zero)

    def add(self, carry: ControlCarry, t: Int[Array, ""], record: Round) -> ControlCarry:
        """Add the shadow's loss (<w, x> - y)^2 minus its expectation; update the moments to those of w - step g."""
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
            second + (step**2 * g.second - step * g.with_w),  # brackets: added alone, step**2 would be rounded away
            carry.control.add(control),
            carry.expected + (squared - 2 * y * predicted + y**2),
            carry.of_zero + (y**2 + label_variance),
        )

    def read(self, carry: ControlCarry) -> Compensated:
        """Return the sum, or NaN if the shadow diverges. Divergence depends only on the environment: no bias arises."""
        is_stable = carry.expected <= MAX_LOSS_RATIO * carry.of_zero
        return carry.control._replace(total=jnp.where(is_stable, carry.control.total, jnp.nan))


@struct
class NoControl:
    """Measure that is always 0, for learners without a control variate in a study that has control variates."""

    name: ClassVar[str] = CONTROL

    def init(self, record: Round) -> Float[Array, ""]:
        """Return 0."""
        return jnp.zeros((), jnp.result_type(float))

    def add(self, carry: Float[Array, ""], t: Int[Array, ""], record: Round) -> Float[Array, ""]:
        """Return 0."""
        return carry

    def read(self, carry: Float[Array, ""]) -> Float[Array, ""]:
        """Return 0."""
        return carry


def add_control_variates(teams: Iterable[Team]) -> list[tuple[Entrant, dict[str, Any]]]:
    """Return each team's entrant and control variate; the entrant gets a shadow if its expected loss is known.

    Raises:
        ValueError: no learner has a control variate.
    """
    teams = list(teams)
    known = [_is_known(team) for team in teams]
    if not any(known):
        raise ValueError(
            "control_variates: no learner supports them; use GradientLearner(TwoCopies()) with plain steps and "
            "hypothesis='last', on NoisyCopies with known covariance, squared loss and an oblivious environment"
        )
    pairs: list[tuple[Entrant, dict[str, Any]]] = []
    for team, is_known in zip(teams, known, strict=True):
        learner, feedback = team.entrant.learner, team.entrant.feedback
        control = ControlVariate(feedback.noise, feedback.label_noise) if is_known else NoControl()
        pairs.append((Entrant(Shadowed(learner) if is_known else learner, feedback), {CONTROL: control}))
    return pairs


def _is_known(team: Team) -> bool:
    """Return whether the exact expected loss of these learners would be known if they had no projection."""
    learner, feedback, game = team.entrant.learner, team.entrant.feedback, team.game
    if not isinstance(learner, GradientLearner) or not isinstance(feedback, NoisyCopies):
        return False
    is_linear = learner.optimizer == intern_functions(optax.sgd(1.0)) and isinstance(
        learner.estimator, HasGradientMoments
    )
    noises = (feedback.noise, feedback.label_noise)
    has_covariance = not any(isinstance(noise, CustomNoise) and noise.covariance is None for noise in noises)
    fits_game = same_loss(game, Squared()) and traits_of(game.environment, EnvironmentTraits).oblivious
    return is_linear and learner.hypothesis == "last" and has_covariance and fits_game


def drop_diverged(learners: Iterable[str], control: Any) -> Any:
    """Set control variates [L, R, G] of learners whose shadow diverges to 0, with a `ControlVariateWarning`."""
    controls, diverged = zero_nonfinite_controls(control, np.ones(control.shape[:2], bool))
    if diverged:
        names = [repr(name) for i, name in enumerate(learners) if i in diverged]
        warnings.warn(
            f"control_variates: not used for {', '.join(names)}, whose steps are too large: without projection the "
            f"expected loss is more than {MAX_LOSS_RATIO} times that of predictor 0",
            ControlVariateWarning, stacklevel=5,
        )  # fmt: skip
    return controls
