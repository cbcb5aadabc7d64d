"""Non-stationary bandits: arms with mean losses that drift or switch."""

from typing import Annotated, Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from jaxonline import random
from jaxonline.environments.arms import ZERO_OR_ONE, ContextFreeArms, Probabilities
from jaxonline.environments.lazy_losses import lazy_bernoulli
from jaxonline.game.traits import EnvironmentTraits
from jaxonline.losses.lazy import LazyOutcome
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.numbers import jax_array
from jaxonline.parameters.struct import set_field, struct
from jaxonline.parameters.types import Convert, Gt, Interval, NonNegative, PyTree, Shape


@struct
class DriftingArms(ContextFreeArms):
    """Bandit with drifting Bernoulli arms: the mean losses follow Gaussian random walks, reflected at 0 and 1.

    Args:
        means: mean losses in round 1 [K].
        step: standard deviation of the step between two rounds.

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> arms = jo.environments.DriftingArms([0.2, 0.8], step=0.01)
        >>> _, first = arms.instance(jax.random.key(0), arms.init(jax.random.key(1)), jnp.int32(1))
        >>> _, second = arms.instance(jax.random.key(0), first, jnp.int32(2))
        >>> [round(mean, 3) for mean in first.tolist()], bool((abs(second - first) < 0.05).all())
        ([0.2, 0.8], True)
    """

    traits: ClassVar[EnvironmentTraits] = ZERO_OR_ONE
    means: Probabilities
    step: NonNegative = 0.01

    def init(self, key: Key[Array, ""]) -> Float[Array, "K"]:
        del key
        return self.means

    def instance(
        self, key: Key[Array, ""], state: Float[Array, "K"], t: Int[Array, ""]
    ) -> tuple[Array, Float[Array, "K"]]:
        """Return an empty instance; the next state is the vector of means of round t."""
        step = jnp.where(t > 1, jnp.asarray(self.step, state.dtype), 0.0)
        means = reflect(state + step * random.normal(key, state.shape, state.dtype))
        return jnp.zeros((0,), state.dtype), means

    def answer(
        self, key: Key[Array, ""], state: Float[Array, "K"], t: Int[Array, ""], x: PyTree, y_hat: PyTree
    ) -> tuple[LazyOutcome, Float[Array, "K"]]:
        """Draw the losses of all arms."""
        del t, x, y_hat
        return lazy_bernoulli(key, state), state

    def expected_outcome(self, state: Float[Array, "K"], t: Int[Array, ""], x: PyTree, y: PyTree) -> Float[Array, "K"]:
        del t, x, y
        return state


def _as_table(means: Any, name: str) -> Array:
    return jax_array(name, means, ndim=2, ge=0.0, le=1.0)


def _as_integers(values: Any, name: str) -> np.ndarray:
    return check.finite_array(name, values, ndim=1).astype(int)


@struct
class SwitchingArms(ContextFreeArms):
    """Bandit with Bernoulli arms whose mean losses change at given rounds.

    Args:
        means: mean losses, one row for each segment [S, K].
        starts: first rounds of the segments 2, ..., S [S - 1], increasing (otherwise a ValueError).

    Example:
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> arms = jo.environments.SwitchingArms([[0.2, 0.8], [0.8, 0.2]], starts=[11])
        >>> [arms.expected_outcome((), jnp.int32(t), None, None)[0].round(1).item() for t in (10, 11)]
        [0.20000000298023224, 0.800000011920929]
    """

    traits: ClassVar[EnvironmentTraits] = ZERO_OR_ONE
    means: Annotated[Any, Shape("S", "K"), Interval(ge=0, le=1), Convert(_as_table)]
    starts: Annotated[Any, Shape("S - 1"), Gt(1), Convert(_as_integers)]

    def __post_init__(self) -> None:
        starts = self.starts
        if len(starts) != len(self.means) - 1:
            raise ArgumentError(
                "starts", f"must have one entry less than means has rows, {len(self.means) - 1} (got {len(starts)})"
            )
        if (starts < 2).any() or (starts[1:] <= starts[:-1]).any():
            raise ArgumentError("starts", f"must be increasing and at least 2 (got {check.quote(starts)})")
        set_field(self, "starts", jnp.asarray(starts, jnp.int32))

    def answer(
        self, key: Key[Array, ""], state: tuple[()], t: Int[Array, ""], x: PyTree, y_hat: PyTree
    ) -> tuple[LazyOutcome, tuple[()]]:
        """Draw the losses of all arms."""
        means = self.expected_outcome(state, t, x, y_hat)
        return lazy_bernoulli(key, means), state

    def expected_outcome(self, state: tuple[()], t: Int[Array, ""], x: PyTree, y: PyTree) -> Float[Array, "K"]:
        del state, x, y
        return self.means[jnp.sum(t >= self.starts, dtype=jnp.int32)]


def reflect(values: Float[Array, "K"]) -> Float[Array, "K"]:
    """Reflect numbers at 0 and 1 until they are in [0, 1]: a triangle wave."""
    return 1.0 - jnp.abs(1.0 - values % 2.0)
