"""Nonstationary bandits: arms whose mean losses drift or switch."""

from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, PyTree

from jaxonline import random
from jaxonline.environments.arms import Probabilities, WithoutContext
from jaxonline.environments.lazy_losses import lazy_bernoulli
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.numbers import jax_array
from jaxonline.parameters.struct import set_field, struct
from jaxonline.parameters.types import Convert, Gt, Interval, NonNegative, Shape


@struct
class DriftingArms(WithoutContext):
    """K arms with losses 0 and 1 whose means are random walks, reflected at 0 and 1, different in every run.

    Before every round but the first, `step` times a standard normal number is added to each mean.

    Args:
        means: the mean losses in round 1 [K].
        step: the standard deviation of a step.

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> arms = jo.environments.DriftingArms([0.2, 0.8], step=0.01)
        >>> _, first = arms.instance(jax.random.key(0), arms.init(jax.random.key(1)), jnp.int32(1))
        >>> _, second = arms.instance(jax.random.key(0), first, jnp.int32(2))
        >>> [round(mean, 3) for mean in first.tolist()], bool((abs(second - first) < 0.05).all())
        ([0.2, 0.8], True)
    """

    means: Probabilities
    step: NonNegative = 0.01

    @property
    def outcome_spec(self) -> jax.ShapeDtypeStruct:
        """The losses of all arms [K]."""
        return jax.ShapeDtypeStruct(self.means.shape, self.means.dtype)

    def init(self, key: Key[Array, ""]) -> Float[Array, "K"]:
        """The means of round 1."""
        del key
        return self.means

    def instance(
        self, key: Key[Array, ""], state: Float[Array, "K"], t: Int[Array, ""]
    ) -> tuple[Array, Float[Array, "K"]]:
        """An empty vector, and the means of round t as state."""
        step = jnp.where(t > 1, jnp.asarray(self.step, state.dtype), 0.0)
        means = reflect(state + step * random.normal(key, state.shape, state.dtype))
        return jnp.zeros((0,), state.dtype), means

    def answer(
        self, key: Key[Array, ""], state: Float[Array, "K"], t: Int[Array, ""], x: PyTree, y_hat: PyTree
    ) -> tuple[Float[Array, "K"], Float[Array, "K"]]:
        """The losses of all arms."""
        del t, x, y_hat
        return lazy_bernoulli(key, state), state

    def expected_outcome(self, state: Float[Array, "K"], t: Int[Array, ""], x: PyTree, y: PyTree) -> Float[Array, "K"]:
        """The means of round t."""
        del t, x, y
        return state


def _as_table(means: Any, name: str) -> Array:
    return jax_array(name, means, ndim=2, ge=0.0, le=1.0)


def _as_integers(values: Any, name: str) -> np.ndarray:
    return check.finite_array(name, values, ndim=1).astype(int)


@struct
class SwitchingArms(WithoutContext):
    """K arms with losses 0 and 1 whose means change at given rounds.

    Args:
        means: the mean losses, a row for each segment [S, K].
        starts: the first rounds of the segments from the second on [S - 1], increasing.

    Raises:
        ValueError: `starts` does not increase, or has not one entry less than `means` has rows.

    Example:
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> arms = jo.environments.SwitchingArms([[0.2, 0.8], [0.8, 0.2]], starts=[11])
        >>> [arms.expected_outcome((), jnp.int32(t), None, None)[0].round(1).item() for t in (10, 11)]
        [0.20000000298023224, 0.800000011920929]
    """

    means: Annotated[Any, Shape("S", "K"), Interval(ge=0, le=1), Convert(_as_table)]
    starts: Annotated[Any, Shape("S - 1"), Gt(1), Convert(_as_integers)]

    def __post_init__(self):
        starts = self.starts
        if len(starts) != len(self.means) - 1:
            raise ArgumentError(
                "starts", f"must have one entry less than means has rows, {len(self.means) - 1} (got {len(starts)})"
            )
        if (starts < 2).any() or (starts[1:] <= starts[:-1]).any():
            raise ArgumentError("starts", f"must rise from 2 or more (got {check.quote(starts)})")
        set_field(self, "starts", jnp.asarray(starts, jnp.int32))

    @property
    def outcome_spec(self) -> jax.ShapeDtypeStruct:
        """The losses of all arms [K]."""
        return jax.ShapeDtypeStruct(self.means.shape[1:], self.means.dtype)

    def answer(
        self, key: Key[Array, ""], state: tuple[()], t: Int[Array, ""], x: PyTree, y_hat: PyTree
    ) -> tuple[Float[Array, "K"], tuple[()]]:
        """The losses of all arms."""
        means = self.expected_outcome(state, t, x, y_hat)
        return lazy_bernoulli(key, means), state

    def expected_outcome(self, state: tuple[()], t: Int[Array, ""], x: PyTree, y: PyTree) -> Float[Array, "K"]:
        """The means of round t."""
        del state, x, y
        return self.means[jnp.sum(t >= self.starts, dtype=jnp.int32)]


def reflect(a: Float[Array, "K"]) -> Float[Array, "K"]:
    """Reflect numbers at 0 and 1 into [0, 1]."""
    return 1.0 - jnp.abs(1.0 - a % 2.0)
