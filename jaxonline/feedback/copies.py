"""Feedback with noisy copies, or with a few attributes, of an instance."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from jaxonline.feedback.noise import AnyNoise, NoiseAdversary, NoiseLaw, sample_together
from jaxonline.game.roles import Feedback, Oracle, Specs
from jaxonline.numerics.ragged import ragged_map
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Component, Convert, Count, PyTree

# ---------------------------------------------------------------------------------------------------------------------
# Noisy copies of a hidden instance, as many as the learner requests.
#
# `copy(j)` is the j-th independent noisy copy of the round. In a round, each index always gives the same copy. So
# queries count distinct copies, and learners with the same feedback have the same noise (paired comparisons).


_FIRST_LABEL_INDEX = 1 << 30  # labels use the same key as copies, with indices beyond those of copies


class CopiesOracle(Oracle):
    """The oracle of noisy copies: independent draws around the hidden instance and the hidden target.

    The number of queries is the number of distinct copies requested. Indices are Python integers, so that the program
    determines the number of copies; `copies(first, capacity, number)` requests a random number of them.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxonline.feedback import NoisyCopies, noise
        >>> feedback = NoisyCopies(noise.gaussian(1.0))
        >>> oracle = feedback.open(jax.random.key(0), jnp.int32(1), jnp.zeros(2), jnp.float32(3.0), 0.0)
        >>> first, again, second = oracle.copy(0), oracle.copy(0), oracle.copy(1)
        >>> bool((first == again).all()), bool((first == second).any()), oracle.queries().item()
        (True, False, 2)
    """

    def __init__(
        self, key: Any, t: Any, x: Any, y: Array, *, noise: Callable[[Key[Array, ""], Int[Array, ""]], Array] | None,
        noises: Callable[[Sequence[Key[Array, ""]]], Array] | None = None,
        label_noise: NoiseLaw | None = None,
        covariance: Callable[[], Array] | None = None,
    ):  # fmt: skip
        """Create the oracle from functions that draw noise.

        `noise(key, index)` returns the noise of a copy. `noises(keys)` returns the stacked noise of several copies, if
        the noise does not depend on the index. `covariance()` returns the covariance of the noise, if the feedback
        reveals it.
        """
        self._noise = noise
        self._noises = noises
        self._label_noise = label_noise
        self._covariance = covariance
        self._key = key
        self._t = t
        self._x = x
        self._y = y
        self._asked: set[int] = set()
        self._asked_at_random: list[Array] = []

    def _draw(self, index: int | Int[Array, ""]) -> Array:
        index = jnp.asarray(index, jnp.int32)
        return self._x + self._noise(jax.random.fold_in(self._key, index), index)  # type: ignore[misc]

    def copy(self, index: int) -> Float[Array, "..."]:
        """Return copy number `index`, counted from 0: x plus independent noise, with the shape of x.

        Raises:
            TypeError, ValueError: `index` is not a Python integer of at least 0.
        """
        if isinstance(index, jax.Array):
            raise ArgumentTypeError(
                "index",
                f"must be a Python integer (got {check.quote(index)}); for a random number use "
                "copies(first, capacity, number)",
            )
        index = check.count("index", index, ge=0)
        self._asked.add(index)
        return self._draw(index)

    def copies(self, first: int, capacity: int, number: Int[Array, ""] | None = None) -> Float[Array, "capacity ..."]:
        """Return the `capacity` copies `first`, `first + 1`, ..., drawn together, which is faster than one by one.

        With a random `number` (at most `capacity`) only the first `number` copies are drawn and charged, and the other
        rows are 0. With a random `number`, request a range of indices only once, and use `reserve` inside loops.
        """
        if number is None:
            indices = range(check.count("first", first, ge=0), first + check.count("capacity", capacity))
            self._asked.update(indices)
            if self._noises is None:
                return jnp.stack([self._draw(index) for index in indices])
            return self._x[None] + self._noises([jax.random.fold_in(self._key, index) for index in indices])
        draw = self.reserve(jnp.minimum(jnp.asarray(number, jnp.int32), capacity))
        return ragged_map(lambda j: draw(first + j), number, capacity)

    def reserve(self, number: Int[Array, ""]) -> Callable[[Int[Array, ""]], Float[Array, "..."]]:
        """Charge `number` copies that are drawn later, in loops or under vmap.

        Returns:
            `draw(index)`, which returns the copy with this index, traced or not, without a charge. The learner may draw
            at most as many different copies as it has reserved.

        Example:
            >>> import jax, jax.numpy as jnp
            >>> from jaxonline.feedback import NoisyCopies, noise
            >>> feedback = NoisyCopies(noise.gaussian(1.0))
            >>> oracle = feedback.open(jax.random.key(0), jnp.int32(1), jnp.zeros(2), jnp.float32(3.0), 0.0)
            >>> draw = oracle.reserve(jnp.int32(3))
            >>> bool((jax.vmap(draw)(jnp.arange(3))[1] == oracle.copy(1)).all()), oracle.queries().item()
            (True, 4)
        """
        self._asked_at_random.append(jnp.asarray(number, jnp.int32))
        return self._draw

    def label(self, index: int | Int[Array, ""] = 0) -> Float[Array, ""]:
        """Return noisy label number `index`: y plus independent noise; without label noise, the clean label y.

        Labels are free: queries count copies of the instance. In a round, each index always gives the same label. A
        noisy label is unbiased, but a nonlinear function of it is not: a product of several factors needs a label for
        each factor (`labels`).
        """
        if self._label_noise is None:
            return self._y
        key = jax.random.fold_in(self._key, jnp.uint32(_FIRST_LABEL_INDEX + index))
        try:
            return self._y + self._label_noise.sample(key, self._t, self._y)
        except ValueError as error:
            raise ValueError(f"label_noise: {error}") from error

    def labels(self, capacity: int, number: Int[Array, ""]) -> Float[Array, "capacity"]:
        """Return the labels 0, 1, ... [capacity]; only the first `number` labels (1 to `capacity`) are valid.

        Example:
            >>> import jax, jax.numpy as jnp
            >>> from jaxonline.feedback import NoisyCopies, noise
            >>> feedback = NoisyCopies(noise.gaussian(1.0), label_noise=noise.gaussian(1.0))
            >>> oracle = feedback.open(jax.random.key(0), jnp.int32(1), jnp.zeros(2), jnp.float32(3.0), 0.0)
            >>> labels = oracle.labels(4, jnp.int32(2))
            >>> labels.shape, bool(labels[1] == oracle.label(1)), bool(labels[1] == labels[0]), oracle.queries().item()
            ((4,), True, False, 0)
        """
        first = self.label()[None]
        if self._label_noise is None or capacity == 1:
            return jnp.repeat(first, capacity)
        others = ragged_map(lambda j: self.label(j + 1), jnp.asarray(number, jnp.int32) - 1, capacity - 1)
        return jnp.concatenate([first, others])

    @property
    def covariance(self) -> Float[Array, "d d"]:
        """Return the covariance of this round's noise; raise a ValueError if the feedback does not reveal it."""
        if self._covariance is None:
            raise ValueError("reveal_covariance: must be True for a learner that asks for the covariance (got False)")
        return self._covariance()

    def queries(self) -> Int[Array, ""]:
        """The number of distinct copies of the instance requested so far in this round."""
        return sum(self._asked_at_random, start=jnp.int32(len(self._asked)))


@struct
class NoisyCopies(Feedback):
    """Noisy copies (Cesa-Bianchi et al. 2010a, b): the learner may request independent noisy copies of each instance.

    Args:
        noise: the distribution of the instance's noise (`jaxonline.noise`), with mean zero; it may depend on the round
            and the instance.
        label_noise: the distribution of the label's noise, or None for clean labels.
        reveal_covariance: whether the learner observes the covariance of each round's noise (Cesa-Bianchi et al. 2010b,
            setting 2).

    Raises:
        TypeError: a distribution lacks the method `sample` or `covariance_at`.

    Example:
        >>> from jaxonline.feedback import NoisyCopies, noise
        >>> NoisyCopies(noise.gaussian(0.1), label_noise=noise.laplace(0.5)).makes_copies
        True
    """

    noise: AnyNoise
    label_noise: AnyNoise | None = None
    reveal_covariance: bool = static(default=False)

    makes_copies = True

    def open(
        self, key: Key[Array, ""], t: Int[Array, ""], x: Array, y: Array, y_hat: Any, state: PyTree = ()
    ) -> CopiesOracle:
        """Return the oracle of one round."""

        def noise(key, index):
            return self.noise.sample(key, t, x)

        def noises(keys):
            return sample_together(self.noise, keys, t, x)

        covariance = (lambda: self.noise.covariance_at(t, x)) if self.reveal_covariance else None
        return CopiesOracle(
            key, t, x, y, noise=noise, noises=noises, label_noise=self.label_noise, covariance=covariance
        )


def _as_adversary(adversary: Any, name: str) -> NoiseAdversary:
    return check.instance(name, adversary, NoiseAdversary, "a NoiseAdversary, with init, sample and observe")


@struct
class AdversarialCopies(Feedback):
    """Noisy copies whose distribution an adversary changes every round and between calls (Cesa-Bianchi et al. 2010a).

    The adversary (`jaxonline.noise.NoiseAdversary`) knows all earlier rounds with the learner's predictions, and
    chooses the distribution of each copy of a round before the learner predicts. The covariance of this noise is never
    revealed.

    Args:
        adversary: a `NoiseAdversary`, such as `jaxonline.environments.adversaries.ChasingNoise`.
        label_noise: the distribution of the label's noise, or None for clean labels.

    Raises:
        TypeError: `adversary` lacks a method of `NoiseAdversary`, or `label_noise` is not a distribution of noise.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> chasing = jo.AdversarialCopies(jo.environments.ChasingNoise(0.5))
        >>> game = jo.Game(jo.environments.LinearModel(np.ones(3)), chasing)
        >>> learner = jo.GradientLearner(jo.estimators.TwoCopies(), step_size=0.1)
        >>> jo.simulate(game, learner, n_runs=2, n_rounds=4).queries[0, :, -1].tolist()
        [8.0, 8.0]
    """

    adversary: Annotated[Any, Component("adversary"), Convert(_as_adversary)]
    label_noise: AnyNoise | None = None

    makes_copies = True

    def init(self, key: Key[Array, ""], specs: Specs, move: PyTree) -> PyTree:
        """Return the adversary's state before round 1."""
        return self.adversary.init(key, specs.instance)

    def open(
        self, key: Key[Array, ""], t: Int[Array, ""], x: Array, y: Array, y_hat: Any, state: PyTree
    ) -> CopiesOracle:
        """Return the oracle of one round. The adversary does not see the present prediction."""

        def noise(key, index):
            drawn = self.adversary.sample(key, state, t, index, x)
            if drawn.shape != x.shape or drawn.dtype != x.dtype:
                raise ValueError(
                    f"adversary: sample must return the shape and dtype of the instance, {x.shape} {x.dtype} "
                    f"(got {drawn.shape} {drawn.dtype})"
                )
            return drawn

        return CopiesOracle(key, t, x, y, noise=noise, label_noise=self.label_noise)

    def observe(
        self, key: Key[Array, ""], state: PyTree, t: Int[Array, ""], x: Array, y: Array, y_hat: Array
    ) -> PyTree:
        """Return the adversary's state after it has observed the finished round."""
        return self.adversary.observe(state, t, x, y, y_hat)


# ---------------------------------------------------------------------------------------------------------------------
# Attributes of a hidden instance, chosen by the learner.


class AttributesOracle(Oracle):
    """Oracle that returns the requested coordinates of the hidden instance, and the label.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.feedback import Attributes
        >>> oracle = Attributes(2).open(None, jnp.int32(1), jnp.array([5.0, 6.0, 7.0]), jnp.float32(1.0), 0.0)
        >>> oracle.attributes(jnp.array([2, 0])).tolist(), oracle.queries().item()
        ([7.0, 5.0], 2)
    """

    def __init__(self, budget: int, x: Array, y: Array):
        self._budget = budget
        self._asked = 0
        self._charged = jnp.int32(0)
        self._x = x
        self._y = y

    def attributes(self, indices: Int[Array, "k"], number: Int[Array, ""] | None = None) -> Float[Array, "k"]:
        """Return the coordinates at `indices`, whose number is charged: a repeated index is charged again.

        Args:
            indices: indices of the requested coordinates [k].
            number: a number, which may be random: only the first `number` indices are read and charged, and the other
                coordinates are returned as 0. The length of `indices` is an upper bound on `number` and must be within
                the budget.

        Raises:
            ValueError: the queries of this round may exceed the budget, or `indices` is not a vector.

        Example:
            >>> import jax.numpy as jnp
            >>> from jaxonline.feedback import Attributes
            >>> oracle = Attributes(2).open(None, jnp.int32(1), jnp.array([5.0, 6.0, 7.0]), jnp.float32(1.0), 0.0)
            >>> oracle.attributes(jnp.array([2, 0]), jnp.int32(1)).tolist(), oracle.queries().item()
            ([7.0, 0.0], 1)
        """
        if indices.ndim != 1:
            raise ArgumentError("indices", f"must be a vector (got shape {indices.shape})")
        n_indices = indices.shape[0]
        self._asked += n_indices
        if self._asked > self._budget:
            raise ArgumentError("indices", f"must be at most {self._budget} a round in all (got {self._asked})")
        if number is None:
            self._charged += n_indices
            return self._x[indices]
        number = jnp.clip(jnp.asarray(number, jnp.int32), 0, n_indices)
        self._charged += number
        return jnp.where(
            jnp.arange(n_indices, dtype=jnp.int32) < number, self._x[indices], jnp.zeros((), self._x.dtype)
        )

    def label(self) -> Float[Array, ""]:
        """Return the target, which costs no query."""
        return self._y

    def queries(self) -> Int[Array, ""]:
        """The number of attributes requested so far in this round."""
        return self._charged


@struct
class Attributes(Feedback):
    """Partially observed attributes: the learner chooses `budget` attributes of each instance and reads them.

    Source: Cesa-Bianchi et al. (2010c).

    Args:
        budget: the maximal number of attributes per round; a learner may ask for fewer, or for a random number.

    Raises:
        ValueError: the instances of the game have fewer attributes than `budget`.

    Example:
        >>> import jaxonline as jo
        >>> from jaxonline.estimators import AttributeGradient
        >>> aer = jo.WithFeedback(jo.GradientLearner(AttributeGradient(4), step_size=0.01), jo.Attributes(4))
    """

    budget: Count = static()

    def check_specs(self, specs: Specs) -> None:
        """Check that the budget is at most the dimension of the instances."""
        shape = getattr(specs.instance, "shape", None)
        if shape is not None and len(shape) == 1 and self.budget > shape[0]:
            raise ArgumentError(
                "budget", f"must be at most d = {shape[0]}, the attributes of an instance (got {self.budget})"
            )

    def open(self, key: Any, t: Int[Array, ""], x: Array, y: Array, y_hat: Any, state: PyTree = ()) -> AttributesOracle:
        """Return the oracle of one round."""
        return AttributesOracle(self.budget, x, y)
