"""Delays of answers: fixed, random, or given."""

from typing import Annotated, Any, ClassVar, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Key

from jaxonline import random
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Convert, NonNegative, NonNegativeInt, Shape
from jaxonline.random.threefry import word_pairs


@runtime_checkable
class Delay(Protocol):
    """Protocol: the number of rounds after which the answer to a round arrives; 0 means in the answered round itself.

    Attributes:
        max_delay: the largest delay, a static integer.
        is_constant: whether every delay is `max_delay` (static); then one answer arrives in a round.
    """

    @property
    def max_delay(self) -> int: ...

    @property
    def is_constant(self) -> bool: ...

    def sample(self, key: Key[Array, ""], t: Int[Array, ""]) -> Int[Array, ""]:
        """Return the delay of round t = 1, 2, ..., from 0 to `max_delay`."""
        ...


class _UpToMaximum:
    """Base class of random delays from 0 to the field `maximum`."""

    maximum: int
    is_constant: ClassVar[bool] = False

    @property
    def max_delay(self) -> int:
        """The largest delay."""
        return self.maximum


@struct
class UniformDelay(_UpToMaximum):
    """Independent delays, uniform on 0, 1, ..., `maximum`.

    Args:
        maximum: the largest delay.

    Example:
        >>> import jax
        >>> import jaxonline as jo
        >>> int(jo.delays.UniformDelay(3).sample(jax.random.key(0), 1)) in range(4)
        True
    """

    maximum: NonNegativeInt = static()

    def sample(self, key: Key[Array, ""], t: Int[Array, ""]) -> Int[Array, ""]:
        """Draw a delay."""
        return random.randint(key, (), 0, self.maximum + 1, dtype=jnp.int32)


@struct
class GeometricDelay(_UpToMaximum):
    """Independent delays with a geometric distribution, cut at a maximum.

    Without the maximum, the answer arrives in each round, from its own round on, with the probability 1 / (1 + mean),
    if it has not arrived before.

    Args:
        mean: the mean of the delay without the maximum.
        maximum: the largest delay; larger delays are set to this maximum.

    Example:
        >>> import jax
        >>> import jaxonline as jo
        >>> 0 <= int(jo.delays.GeometricDelay(2.0, maximum=10).sample(jax.random.key(0), 1)) <= 10
        True
    """

    mean: NonNegative
    maximum: NonNegativeInt = static()

    def sample(self, key: Key[Array, ""], t: Int[Array, ""]) -> Int[Array, ""]:
        """Draw a delay by inversion of the distribution function."""
        mean = jnp.asarray(self.mean, jnp.float32)
        rate = jnp.log1p(1.0 / jnp.where(mean > 0, mean, 1.0))  # -log(1 - p)
        rounds = jnp.floor(word_pairs(key, (), jnp.float32).exponential(jnp.float32) / rate)
        return jnp.where(mean > 0, jnp.minimum(rounds, self.maximum), 0).astype(jnp.int32)


def _as_delays(values: Any, name: str) -> tuple[int, ...]:
    array = np.atleast_1d(check.array(name, values))
    if array.ndim != 1 or not ((array >= 0) & (array == np.floor(array))).all():
        raise ArgumentError(name, f"must be a whole number or a list, at least 0 (got {check.quote(values)})")
    return tuple(int(rounds) for rounds in array)


@struct
class GivenDelays:
    """The same delay in every round, or a list of delays, which repeats after its end.

    Args:
        rounds: the delay, or the delays [n].

    Example:
        >>> import jaxonline as jo
        >>> delays = jo.delays.GivenDelays([2, 0, 1])
        >>> delays.max_delay, int(delays.sample(None, 3)), jo.delays.GivenDelays(5).is_constant
        (2, 1, True)
    """

    rounds: Annotated[Any, Shape("n"), Convert(_as_delays)] = static()

    @property
    def max_delay(self) -> int:
        """The largest delay."""
        return max(self.rounds)

    @property
    def is_constant(self) -> bool:
        """Whether all delays are equal."""
        return len(set(self.rounds)) == 1

    def sample(self, key: Key[Array, ""] | None, t: Int[Array, ""]) -> Int[Array, ""]:
        """Return the delay of round t."""
        if self.is_constant:
            return jnp.int32(self.max_delay)
        return jnp.asarray(self.rounds, jnp.int32)[(t - 1) % len(self.rounds)]


def as_delay(delay: Any, name: str) -> Any:
    """Return a delay unchanged, and a number of rounds or a list of delays as `GivenDelays`.

    Raises:
        ValueError: the number, or a number in the list, is negative.
        TypeError: the value is not a delay, a number, or a list of delays.
    """
    if isinstance(delay, Delay) and not isinstance(delay, type):
        return delay
    if isinstance(delay, int | np.integer | list | tuple | np.ndarray | jax.Array) and not isinstance(delay, bool):
        return GivenDelays(_as_delays(delay, name))
    kinds = "must be a number of rounds, a list of such numbers, or a distribution of `jo.delays`"
    raise ArgumentTypeError(name, f"{kinds} (got {check.quote(delay)})")
