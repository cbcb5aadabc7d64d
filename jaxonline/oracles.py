"""What a learner may ask about a round: channels open one oracle a round, and the oracle keeps the meter.

An oracle is asked by index: `copy(j)` is the j-th independent noisy copy of the round. The same index is the same
copy, so the meter counts distinct copies, and learners that share a channel share their noise (paired comparisons).
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from jaxonline import _check
from jaxonline._struct import static, struct
from jaxonline.noise import NoiseLaw

_LABELS = 1 << 30  # labels draw from the same stream of the round as copies, far beyond any number of copies


class FullOracle:
    """The oracle of full information.

    Attributes:
        x: the clean instance.
        y: the target.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.oracles import FullOracle
        >>> FullOracle(jnp.ones(2), jnp.float32(3.0)).y.item()
        3.0
    """

    def __init__(self, x: Array, y: Array):
        self.x = x
        self.y = y

    def queries(self) -> Int[Array, ""]:
        """One: the clean instance counts as one query, however often it is read."""
        return jnp.int32(1)


@struct
class FullInformation:
    """The channel through which a learner sees the clean instance and the target.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxonline.oracles import FullInformation
        >>> oracle = FullInformation().open(jax.random.key(0), jnp.int32(1), jnp.ones(2), jnp.float32(3.0), 0.0)
        >>> oracle.x.tolist()
        [1.0, 1.0]
    """

    def open(self, key: Key[Array, ""], t: Int[Array, ""], x: Array, y: Array, y_hat: Any) -> FullOracle:
        """The oracle of one round."""
        del key, t, y_hat
        return FullOracle(x, y)


class CopiesOracle:
    """The oracle of noisy copies: independent draws around the hidden instance and the hidden target.

    The meter counts the distinct copies asked for. Indices are Python integers, so that the number of copies is
    known from the program; a random number of copies is asked for with `copies(first, capacity, number)`.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxonline.noise import gaussian
        >>> from jaxonline.oracles import NoisyCopies
        >>> channel = NoisyCopies(gaussian(1.0))
        >>> oracle = channel.open(jax.random.key(0), jnp.int32(1), jnp.zeros(2), jnp.float32(3.0), 0.0)
        >>> first, again, second = oracle.copy(0), oracle.copy(0), oracle.copy(1)
        >>> bool((first == again).all()), bool((first == second).any()), oracle.queries().item()
        (True, False, 2)
    """

    def __init__(self, channel: "NoisyCopies", key: Key[Array, ""], t: Int[Array, ""], x: Array, y: Array):
        self._channel = channel
        self._key = key
        self._t = t
        self._x = x
        self._y = y
        self._asked: set[int] = set()
        self._asked_at_random: list[Array] = []

    def _draw(self, index: Int[Array, ""]) -> Array:
        return self._x + self._channel.noise.sample(jax.random.fold_in(self._key, index), self._t, self._x)

    def copy(self, index: int) -> Float[Array, "..."]:
        """The copy with this index, counted from 0: x plus independent noise, of the shape of x.

        Raises:
            TypeError: if `index` is not a Python integer.
            ValueError: if `index` is negative.
        """
        if isinstance(index, jax.Array):
            raise TypeError("index must be a Python integer; use copies(first, capacity, number) for a random number")
        index = _check.count("index", index, least=0)
        self._asked.add(index)
        return self._draw(jnp.int32(index))

    def copies(self, first: int, capacity: int, number: Int[Array, ""]) -> Float[Array, "capacity ..."]:
        """Copies `first`, ..., `first + capacity - 1`, of which `number` (at most `capacity`) are charged.

        The learner may use only the first `number` of them. Ask for a range of indices once, and not inside a loop.
        """
        _check.count("capacity", capacity)
        self._asked_at_random.append(jnp.minimum(jnp.asarray(number, jnp.int32), capacity))
        indices = jnp.arange(first, first + capacity, dtype=jnp.int32)
        return jax.vmap(self._draw)(indices)

    def label(self, index: int = 0) -> Float[Array, ""]:
        """A noisy label, y plus independent noise; the clean label where the channel has no label noise."""
        if self._channel.label_noise is None:
            return self._y
        key = jax.random.fold_in(self._key, jnp.uint32(_LABELS + index))
        try:
            return self._y + self._channel.label_noise.sample(key, self._t, self._y)
        except ValueError as error:
            raise ValueError(f"label_noise: {error}") from error

    @property
    def covariance(self) -> Float[Array, "d d"]:
        """The covariance of this round's noise, where the channel reveals it.

        Raises:
            ValueError: if the channel does not reveal it.
        """
        if not self._channel.reveal_covariance:
            raise ValueError("covariance is asked for, but the channel hides it: NoisyCopies(reveal_covariance=True)")
        return self._channel.noise.covariance_at(self._t, self._x)

    def queries(self) -> Int[Array, ""]:
        """The number of distinct copies of the instance asked for so far in this round."""
        return sum(self._asked_at_random, start=jnp.int32(len(self._asked)))


@struct
class NoisyCopies:
    """The channel of paper A and B: the learner may ask for independent noisy copies of each instance.

    Args:
        noise: the law of the instance's noise (`jaxonline.noise`): zero mean, may depend on round and instance.
        label_noise: the law of the label's noise, or None for clean labels.
        reveal_covariance: whether the learner is told the covariance of each round's noise (paper B, setting 2).

    Raises:
        TypeError: if a law has no method `sample`.

    Example:
        >>> from jaxonline.noise import gaussian, laplace
        >>> from jaxonline.oracles import NoisyCopies
        >>> NoisyCopies(gaussian(0.1), label_noise=laplace(0.5)).makes_copies
        True
    """

    noise: Any
    label_noise: Any = None
    reveal_covariance: bool = static(default=False)

    def __post_init__(self):
        if not isinstance(self.noise, NoiseLaw):
            raise TypeError(f"noise must be a noise law with sample and covariance_at, got {self.noise!r}")
        if self.label_noise is not None and not isinstance(self.label_noise, NoiseLaw):
            raise TypeError(f"label_noise must be a noise law with sample and covariance_at, got {self.label_noise!r}")

    @property
    def makes_copies(self) -> bool:
        """True: the referee, too, may take copy 0 (for the noisy notions of regret)."""
        return True

    def open(self, key: Key[Array, ""], t: Int[Array, ""], x: Array, y: Array, y_hat: Any) -> CopiesOracle:
        """The oracle of one round."""
        del y_hat
        return CopiesOracle(self, key, t, x, y)


class AttributesOracle:
    """The oracle of a few attributes: the coordinates of the hidden instance that the learner names, and the label.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxonline.oracles import Attributes
        >>> oracle = Attributes(2).open(None, jnp.int32(1), jnp.array([5.0, 6.0, 7.0]), jnp.float32(1.0), 0.0)
        >>> oracle.attributes(jnp.array([2, 0])).tolist(), oracle.queries().item()
        ([7.0, 5.0], 2)
    """

    def __init__(self, budget: int, x: Array, y: Array):
        self._budget = budget
        self._asked = 0
        self._x = x
        self._y = y

    def attributes(self, indices: Int[Array, "k"]) -> Float[Array, "k"]:
        """The coordinates at `indices`, each charged, repeated ones too: the budget is a shape.

        Raises:
            ValueError: if this round's questions exceed the budget, or `indices` is not a vector.
        """
        if indices.ndim != 1:
            raise ValueError(f"indices must be a vector, got shape {indices.shape}")
        self._asked += indices.shape[0]
        if self._asked > self._budget:
            raise ValueError(f"indices must be at most {self._budget} a round in all, got {self._asked}")
        return self._x[indices]

    def label(self) -> Float[Array, ""]:
        """The target; it costs nothing."""
        return self._y

    def queries(self) -> Int[Array, ""]:
        """The number of attributes asked for so far in this round."""
        return jnp.int32(self._asked)


@struct
class Attributes:
    """The channel of paper C: the learner may look at `budget` attributes of each instance, of its own choice.

    Args:
        budget: attributes a round, at least 1.

    Raises:
        ValueError: if `budget` is less than 1.

    Example:
        >>> import jaxonline as jo
        >>> from jaxonline.estimators import AttributeGradient
        >>> aer = jo.Player(jo.GradientLearner(AttributeGradient(4), step_size=0.01), jo.oracles.Attributes(4))
    """

    budget: int = static()

    def __post_init__(self):
        _check.count("budget", self.budget)

    def open(self, key: Any, t: Int[Array, ""], x: Array, y: Array, y_hat: Any) -> AttributesOracle:
        """The oracle of one round."""
        del key, t, y_hat
        return AttributesOracle(self.budget, x, y)
