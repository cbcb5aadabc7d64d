"""Experts with known losses: finite classes, switching experts and random walks."""

from typing import Annotated, ClassVar, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, PyTree

from jaxonline import random
from jaxonline.environments.arms import Probabilities, WithoutContext
from jaxonline.game.defaults import EnvironmentDefaults
from jaxonline.game.traits import EnvironmentTraits
from jaxonline.parameters import check
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Convert, Count, CountFrom2, Ge, Interval, Number, Positive, Probability


class FiniteClassState(NamedTuple):
    """State of `FiniteClass`.

    Attributes:
        label: of this round, fixed with the advice.
    """

    label: Float[Array, ""]


@struct
class FiniteClass(EnvironmentDefaults):
    """Finite class of K hypotheses for fair labels -1 or +1, where hypothesis k errs with probability `errors[k]`.

    All errors are independent. With an error of 0 the class is realizable. An instance is the vector of the predictions
    [K].

    Args:
        errors: probabilities [K].
        outcomes_are: "labels", for learners that predict them, or "losses", the vector of the hypotheses' losses 0 and
            1, for learners that follow or weigh hypotheses.

    Example:
        >>> import jaxonline as jo
        >>> realizable = jo.environments.FiniteClass([0.0, 0.5, 0.5, 0.5])
        >>> game = jo.Game(realizable, jo.FullInformation(), loss=jo.losses.ZeroOne())
        >>> bool(jo.play(game, jo.learners.Halving(), key=0, n_rounds=50)[1].loss.sum() <= 2)  # log2 4
        True
    """

    errors: Probabilities
    outcomes_are: Literal["labels", "losses"] = static(default="labels")
    traits: ClassVar[EnvironmentTraits] = EnvironmentTraits(oblivious=True)

    @property
    def dtype(self) -> jnp.dtype:
        """The dtype of predictions, labels and losses."""
        return self.errors.dtype

    @property
    def n_experts(self) -> int:
        """K."""
        return len(self.errors)

    @property
    def instance_spec(self) -> jax.ShapeDtypeStruct:
        """The predictions of all hypotheses [K]."""
        return jax.ShapeDtypeStruct((self.n_experts,), self.dtype)

    @property
    def outcome_spec(self) -> jax.ShapeDtypeStruct:
        """A label, or the losses of all hypotheses [K]."""
        return jax.ShapeDtypeStruct((self.n_experts,) if self.outcomes_are == "losses" else (), self.dtype)

    def init(self, key: Key[Array, ""]) -> FiniteClassState:
        """The state before round 1, with a placeholder for the label."""
        del key
        return FiniteClassState(jnp.ones((), self.dtype))

    def instance(
        self, key: Key[Array, ""], state: FiniteClassState, t: Int[Array, ""]
    ) -> tuple[Float[Array, "K"], FiniteClassState]:
        """The predictions of all hypotheses."""
        del state, t
        label_key, errors_key = jax.random.split(key)
        label = random.rademacher(label_key, (), self.dtype)
        errs = random.bernoulli(errors_key, self.errors)  # type: ignore[arg-type]
        return jnp.where(errs, -label, label), FiniteClassState(label)

    def answer(
        self, key: Key[Array, ""], state: FiniteClassState, t: Int[Array, ""], x: Float[Array, "K"], y_hat: PyTree
    ) -> tuple[Float[Array, "..."], FiniteClassState]:
        """The label, or the losses."""
        del key, t, y_hat
        return state.label if self.outcomes_are == "labels" else (x != state.label).astype(self.dtype), state


class _Experts(WithoutContext):
    """Experts without advice."""

    dtype: jnp.dtype
    n_experts: int

    @property
    def outcome_spec(self) -> jax.ShapeDtypeStruct:
        """The losses of all experts [K]."""
        return jax.ShapeDtypeStruct((self.n_experts,), self.dtype)


@struct
class SwitchingExperts(_Experts):
    """K experts with losses 0 and 1, where another expert is good every `every` rounds, in turn.

    A good expert has the expected loss (1 - gap) / 2, the others 1/2; all losses are independent.

    Args:
        n_experts: K.
        every: rounds between two switches.
        gap: twice the difference between the mean losses of the others and of the good expert.

    Example:
        >>> import jax, jaxonline as jo
        >>> experts = jo.environments.SwitchingExperts(3, every=10, gap=1.0)
        >>> losses, _ = experts.answer(jax.random.key(0), (), jax.numpy.int32(11), None, None)
        >>> losses[1].item()  # the second expert is good in rounds 11 to 20
        0.0
    """

    n_experts: CountFrom2 = static()
    every: Annotated[int, Ge(1), Convert(lambda rounds, name: check.number(name, rounds, ge=1))] = 100
    gap: Annotated[Number, Interval(gt=0, le=1)] = 0.5

    @property
    def dtype(self) -> jnp.dtype:
        """The dtype of losses."""
        return jnp.result_type(float)

    def answer(
        self, key: Key[Array, ""], state: tuple[()], t: Int[Array, ""], x: PyTree, y_hat: PyTree
    ) -> tuple[Float[Array, "K"], tuple[()]]:
        """The losses of all experts."""
        del x, y_hat
        return random.bernoulli(key, self._means(t)).astype(self.dtype), state

    def expected_outcome(self, state: tuple[()], t: Int[Array, ""], x: PyTree, y: PyTree) -> Float[Array, "K"]:
        """The means, for the pseudo-regret."""
        del state, x, y
        return self._means(t)

    def _means(self, t: Int[Array, ""]) -> Float[Array, "K"]:
        good = ((t - 1) // jnp.asarray(self.every, jnp.int32)) % self.n_experts
        gap = jnp.asarray(self.gap, self.dtype)
        return jnp.where(jnp.arange(self.n_experts, dtype=jnp.int32) == good, (1.0 - gap) / 2.0, 0.5)


@struct
class RandomWalkExperts(_Experts):
    """K experts whose losses are independent random walks, reflected at 0 and 1.

    Args:
        n_experts: K.
        step: the standard deviation of a step.
        start: the loss of round 1.

    Example:
        >>> import jax, jaxonline as jo
        >>> experts = jo.environments.RandomWalkExperts(3, step=0.1)
        >>> state = experts.init(jax.random.key(0))
        >>> losses, state = experts.answer(jax.random.key(1), state, jax.numpy.int32(1), None, None)
        >>> losses.tolist(), bool((state != 0.5).all())
        ([0.5, 0.5, 0.5], True)
    """

    n_experts: Count = static()
    step: Positive = 0.1
    start: Probability = 0.5

    @property
    def dtype(self) -> jnp.dtype:
        """The dtype of losses."""
        return jnp.result_type(float)

    def init(self, key: Key[Array, ""]) -> Float[Array, "K"]:
        """The losses of round 1."""
        del key
        return jnp.full(self.n_experts, jnp.asarray(self.start, self.dtype))

    def answer(
        self, key: Key[Array, ""], state: Float[Array, "K"], t: Int[Array, ""], x: PyTree, y_hat: PyTree
    ) -> tuple[Float[Array, "K"], Float[Array, "K"]]:
        """The losses of all experts, and those of the next round as state."""
        del t, x, y_hat
        position = state + jnp.asarray(self.step, state.dtype) * random.normal(key, state.shape, state.dtype)
        return state, 1.0 - jnp.abs(1.0 - position % 2.0)  # the triangle wave reflects at 0 and 1
