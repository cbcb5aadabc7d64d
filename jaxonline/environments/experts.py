"""Environments of experts: finite classes of hypotheses, and experts whose losses switch or drift."""

from typing import Annotated, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from jaxonline import random
from jaxonline.environments.arms import ZERO_OR_ONE, ContextFreeArms, Probabilities, reflect
from jaxonline.game.roles import Environment
from jaxonline.parameters import check
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import (
    Convert,
    Count,
    CountFrom2,
    Ge,
    Interval,
    Number,
    Probability,
    PyTree,
)

# ---------------------------------------------------------------------------------------------------------------------
# Prediction with expert advice: finite classes of hypotheses, and experts whose losses switch or drift.


class FiniteClassState(NamedTuple):
    """State of `FiniteClass`: the label of the round, drawn with the advice."""

    label: Float[Array, ""]


@struct
class FiniteClass(Environment):
    """Finite class of K hypotheses: hypothesis k errs with probability errors[k], independently; labels are fair coins.

    An instance is the vector of the K predictions, each -1 or +1. If an error probability is 0, the class is
    realizable.

    Args:
        errors: error probabilities [K].
        outcomes_are: "labels", or "losses" (0 or 1) of all hypotheses, for learners that follow or weigh hypotheses.

    Example:
        >>> import jax, jaxonline as jo
        >>> game = jo.Game(jo.environments.FiniteClass([0, 0.5, 0.5, 0.5]), jo.FullInformation(), jo.losses.ZeroOne())
        >>> history = jo.play(game, jo.learners.Halving(), jax.random.key(0), n_rounds=50)[1]
        >>> bool(history.loss.sum() <= 2)  # log2 4
        True
    """

    oblivious = True
    errors: Probabilities
    outcomes_are: Literal["labels", "losses"] = static(default="labels")

    @property
    def outcomes(self) -> np.ndarray:
        """Labels are -1 or +1, losses are 0 or 1."""
        return np.array([-1.0, 1.0] if self.outcomes_are == "labels" else [0.0, 1.0])

    @property
    def instance_spec(self) -> jax.ShapeDtypeStruct:
        """Shape and dtype of an instance: the predictions of all hypotheses [K]."""
        return jax.ShapeDtypeStruct(self.errors.shape, self.errors.dtype)

    @property
    def outcome_spec(self) -> jax.ShapeDtypeStruct:
        """Shape and dtype of an outcome: a label, or the losses of all hypotheses [K]."""
        return jax.ShapeDtypeStruct(self.errors.shape if self.outcomes_are == "losses" else (), self.errors.dtype)

    def init(self, key: Key[Array, ""]) -> FiniteClassState:
        """Return the state before round 1, with an arbitrary label."""
        return FiniteClassState(jnp.ones((), self.errors.dtype))

    def instance(
        self, key: Key[Array, ""], state: FiniteClassState, t: Int[Array, ""]
    ) -> tuple[Float[Array, "K"], FiniteClassState]:
        """Draw the label and the predictions of all hypotheses."""
        label_key, errors_key = jax.random.split(key)
        label = random.rademacher(label_key, (), self.errors.dtype)
        is_wrong = random.bernoulli(errors_key, self.errors)  # type: ignore[arg-type]
        return jnp.where(is_wrong, -label, label), FiniteClassState(label)

    def outcome(
        self, key: Key[Array, ""], state: FiniteClassState, t: Int[Array, ""], x: Float[Array, "K"], y_hat: PyTree
    ) -> tuple[Float[Array, "..."], FiniteClassState]:
        """Return the label, or the losses of all hypotheses."""
        return state.label if self.outcomes_are == "labels" else (x != state.label).astype(x.dtype), state


class _ExpertLosses(ContextFreeArms):
    """Base class of experts that have losses but give no advice."""

    n_experts: int

    @property
    def outcome_spec(self) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((self.n_experts,), jnp.result_type(float))


@struct
class SwitchingExperts(_ExpertLosses):
    """Experts with independent Bernoulli losses; each expert in turn is the best one for `every` rounds.

    Args:
        n_experts: K.
        every: rounds between two switches.
        gap: the best expert has the mean loss (1 - gap) / 2, all other experts have 1/2.

    Example:
        >>> import jax, jaxonline as jo
        >>> experts = jo.environments.SwitchingExperts(3, every=10, gap=1.0)
        >>> experts.outcome(jax.random.key(0), (), 11, None, None)[0][1].item()  # the second is best in rounds 11 to 20
        0.0
    """

    oblivious = True
    outcomes = ZERO_OR_ONE
    n_experts: CountFrom2 = static()
    every: Annotated[int, Ge(1), Convert(lambda rounds, name: check.whole_number(name, rounds, ge=1))] = 100
    gap: Annotated[Number, Interval(gt=0, le=1)] = 0.5

    def outcome(
        self, key: Key[Array, ""], state: tuple[()], t: Int[Array, ""], x: PyTree, y_hat: PyTree
    ) -> tuple[Float[Array, "K"], tuple[()]]:
        """Draw the losses of all experts."""
        return random.bernoulli(key, self._means(t)).astype(self.outcome_spec.dtype), state

    def mean_outcome(self, state: tuple[()], t: Int[Array, ""], x: PyTree, y: PyTree) -> Float[Array, "K"]:
        return self._means(t)

    def _means(self, t: Int[Array, ""]) -> Float[Array, "K"]:
        best = ((t - 1) // jnp.asarray(self.every, jnp.int32)) % self.n_experts
        gap = jnp.asarray(self.gap, self.outcome_spec.dtype)
        return jnp.where(jnp.arange(self.n_experts, dtype=jnp.int32) == best, (1.0 - gap) / 2.0, 0.5)


@struct
class RandomWalkExperts(_ExpertLosses):
    """Experts with drifting losses: independent Gaussian random walks, reflected at 0 and 1.

    Args:
        n_experts: K.
        step: standard deviation of a step of the random walks.
        start: the loss of every expert in round 1.

    Example:
        >>> import jax, jaxonline as jo
        >>> experts = jo.environments.RandomWalkExperts(3, step=0.1)
        >>> losses, state = experts.outcome(jax.random.key(1), experts.init(None), jax.numpy.int32(1), None, None)
        >>> losses.tolist(), bool((state != 0.5).all())
        ([0.5, 0.5, 0.5], True)
    """

    oblivious = True
    outcomes = ZERO_OR_ONE  # the smallest and the largest loss
    n_experts: Count = static()
    step: Annotated[Number, Interval(gt=0, le=100)] = 0.1
    start: Probability = 0.5

    def init(self, key: Key[Array, ""]) -> Float[Array, "K"]:
        return jnp.full(self.n_experts, jnp.asarray(self.start, self.outcome_spec.dtype))

    def outcome(
        self, key: Key[Array, ""], state: Float[Array, "K"], t: Int[Array, ""], x: PyTree, y_hat: PyTree
    ) -> tuple[Float[Array, "K"], Float[Array, "K"]]:
        """Return the losses of all experts; the next state is the vector of losses of the next round."""
        step = jnp.asarray(self.step, state.dtype) * random.normal(key, state.shape, state.dtype)
        return state, reflect(state + step)
