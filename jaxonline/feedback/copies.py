"""Noisy copies of a hidden instance, as many as the learner asks for.

An oracle is asked by index: `copy(j)` is the j-th independent noisy copy of the round. The same index is the same
copy, so the meter counts distinct copies, and learners that share a feedback share their noise (paired comparisons).
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Int, Key, PyTree

from jaxonline.feedback.noise import AnyNoise, Mirrored, NoiseAdversary, NoiseLaw, sample_together
from jaxonline.feedback.products import has_products, product_with
from jaxonline.game.defaults import FeedbackDefaults
from jaxonline.game.traits import FeedbackTraits
from jaxonline.linalg.ragged import ragged_map
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
from jaxonline.parameters.struct import replace, static, struct
from jaxonline.parameters.types import Component, Convert

_LABELS = 1 << 30  # labels draw from the same stream of the round as copies, far beyond any number of copies


class CopiesOracle:
    """The oracle of noisy copies: independent draws around the hidden instance and the hidden target.

    The meter counts the distinct copies asked for. Indices are Python integers, so that the number of copies is
    known from the program; a random number of copies is asked for with `copies(first, capacity, number)`.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxonline.feedback.noise import gaussian
        >>> from jaxonline.feedback import NoisyCopies
        >>> feedback = NoisyCopies(gaussian(1.0))
        >>> oracle = feedback.open(jax.random.key(0), jnp.int32(1), jnp.zeros(2), jnp.float32(3.0), 0.0)
        >>> first, again, second = oracle.copy(0), oracle.copy(0), oracle.copy(1)
        >>> bool((first == again).all()), bool((first == second).any()), oracle.queries().item()
        (True, False, 2)
    """

    def __init__(
        self, key: Key[Array, ""], t: Int[Array, ""], x: Array, y: Array, *,
        noise: Callable[[Key[Array, ""], Int[Array, ""]], Array],
        noises: Callable[[Sequence[Key[Array, ""]]], Array] | None = None,
        label_noise: NoiseLaw | None = None,
        covariance: Callable[[], Array] | None = None,
        product: Callable[[Array, Key[Array, ""]], Array] | None = None,
    ):  # fmt: skip
        """Open the round.

        `noise(key, index)` draws the noise of one copy, and `noises(keys)` that of several copies, stacked.
        `covariance()` returns the covariance if the feedback reveals it. `product(w, key)` draws <w, noise> alone.
        """
        self._noise = noise
        self._noises = noises
        self._label_noise = label_noise
        self._covariance = covariance
        self._product = product
        self._key = key
        self._t = t
        self._x = x
        self._y = y
        self._asked: set[int] = set()
        self._products: set[int] = set()
        self._asked_at_random: list[Array] = []

    def _draw(self, index: Int[Array, ""]) -> Array:
        return self._x + self._noise(jax.random.fold_in(self._key, index), index)

    def copy(self, index: int) -> Float[Array, "..."]:
        """The copy with this index, counted from 0: x plus independent noise, of the shape of x.

        Raises:
            TypeError: if `index` is not a Python integer.
            ValueError: if `index` is negative.
        """
        if isinstance(index, jax.Array):
            raise ArgumentTypeError(
                "index",
                f"must be a Python integer (got {check.quote(index)}); for a random number use "
                "copies(first, capacity, number)",
            )
        index = check.count("index", index, ge=0)
        self._ask(index)
        return self._draw(jnp.int32(index))

    def _ask(self, *indices: int) -> None:
        if not self._products.isdisjoint(indices):
            index = min(self._products.intersection(indices))
            raise ValueError(
                f"direct_products: copy {index} cannot be looked at after its product was drawn directly; pass "
                "direct_products=False"
            )
        self._asked.update(indices)

    @property
    def direct_products(self) -> bool:
        """Whether `product` draws the product, and not the copy."""
        return self._product is not None

    def product(self, index: int, w: Float[Array, "d"]) -> Float[Array, ""]:
        """<w, copy(index)>. With `NoisyCopies(direct_products=True)` it is drawn without the copy, from its own law.

        Then it is not that of `copy(index)`, of which nothing else may be asked.

        Raises:
            ValueError: something else is asked of the same copy, and products are drawn directly.

        Example:
            >>> import jax, jax.numpy as jnp
            >>> from jaxonline.feedback.noise import gaussian
            >>> from jaxonline.feedback import NoisyCopies
            >>> round_1 = jax.random.key(0), jnp.int32(1), jnp.ones(2), jnp.float32(3.0), 0.0
            >>> w, oracle = jnp.array([1.0, -1.0]), NoisyCopies(gaussian(1.0)).open(*round_1)
            >>> bool(oracle.product(0, w) == w @ oracle.copy(0)), oracle.queries().item()
            (True, 1)
            >>> oracle = NoisyCopies(gaussian(1.0), direct_products=True).open(*round_1)
            >>> oracle.product(0, w).shape, oracle.copy(1).shape, oracle.queries().item()
            ((), (2,), 2)
        """
        if self._product is None:
            return w @ self.copy(index)
        index = check.count("index", index, ge=0)
        if index in self._asked or self._asked_at_random:
            raise ValueError(
                f"direct_products: the product of copy {index} cannot be drawn directly after a look at it; pass "
                "direct_products=False"
            )
        self._ask(index)
        self._products.add(index)
        return w @ self._x + self._product(w, jax.random.fold_in(self._key, index))

    def copies(self, first: int, capacity: int, number: Int[Array, ""] | None = None) -> Float[Array, "capacity ..."]:
        """Copies `first`, `first + 1`, ..., all `capacity` of them, drawn together: faster than one by one.

        With a random `number` (at most `capacity`) so many are drawn and charged, and rows beyond are 0. Then ask for a
        range of indices once, and not inside a loop: there, `reserve`.
        """
        if number is None:
            indices = range(check.count("first", first, ge=0), first + check.count("capacity", capacity))
            self._ask(*indices)
            if self._noises is None:
                return jnp.stack([self._draw(jnp.int32(index)) for index in indices])
            return self._x[None] + self._noises([jax.random.fold_in(self._key, index) for index in indices])
        draw = self.reserve(jnp.minimum(jnp.asarray(number, jnp.int32), capacity))
        return ragged_map(lambda j: draw(first + j), number, capacity)

    def reserve(self, number: Int[Array, ""]) -> Callable[[Int[Array, ""]], Float[Array, "..."]]:
        """Charge `number` copies that are looked at later, in loops or under vmap.

        Returns:
            `draw(index)`, which gives the copy with this index, traced or not. It charges nothing: the learner may
            look at as many different copies as it has reserved, or fewer.

        Example:
            >>> import jax, jax.numpy as jnp
            >>> from jaxonline.feedback.noise import gaussian
            >>> from jaxonline.feedback import NoisyCopies
            >>> feedback = NoisyCopies(gaussian(1.0))
            >>> oracle = feedback.open(jax.random.key(0), jnp.int32(1), jnp.zeros(2), jnp.float32(3.0), 0.0)
            >>> draw = oracle.reserve(jnp.int32(3))
            >>> bool((jax.vmap(draw)(jnp.arange(3))[1] == oracle.copy(1)).all()), oracle.queries().item()
            (True, 4)
        """
        if self._products:
            raise ValueError("direct_products: copies cannot be reserved after products; pass direct_products=False")
        self._asked_at_random.append(jnp.asarray(number, jnp.int32))
        return lambda index: self._draw(jnp.asarray(index, jnp.int32))

    def label(self, index: int | Int[Array, ""] = 0) -> Float[Array, ""]:
        """The noisy label with this index, y plus independent noise; the clean label where there is no label noise.

        The same index is the same label. Labels cost nothing: the meter counts copies of the instance. A label is
        unbiased, and a nonlinear function of it is not: where several factors are multiplied, each needs a label of
        its own (`labels`).
        """
        if self._label_noise is None:
            return self._y
        key = jax.random.fold_in(self._key, jnp.uint32(_LABELS + index))
        try:
            return self._y + self._label_noise.sample(key, self._t, self._y)
        except ValueError as error:
            raise ValueError(f"label_noise: {error}") from error

    def labels(self, capacity: int, number: Int[Array, ""]) -> Float[Array, "capacity"]:
        """Labels 0, 1, ..., `number` of them (at most `capacity`, at least one); do not look at what is beyond.

        Example:
            >>> import jax, jax.numpy as jnp
            >>> from jaxonline.feedback.noise import gaussian
            >>> from jaxonline.feedback import NoisyCopies
            >>> feedback = NoisyCopies(gaussian(1.0), label_noise=gaussian(1.0))
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
        """The covariance of this round's noise, where the feedback reveals it.

        Raises:
            ValueError: if the feedback does not reveal it.
        """
        if self._covariance is None:
            raise ValueError("reveal_covariance: must be True for a learner that asks for the covariance (got False)")
        return self._covariance()

    def queries(self) -> Int[Array, ""]:
        """The number of distinct copies of the instance asked for so far in this round."""
        return sum(self._asked_at_random, start=jnp.int32(len(self._asked)))


@struct
class NoisyCopies(FeedbackDefaults):
    """The feedback of paper A and B: the learner may ask for independent noisy copies of each instance.

    Args:
        noise: the law of the instance's noise (`jaxonline.noise`): zero mean, may depend on round and instance.
        label_noise: the law of the label's noise, or None for clean labels.
        reveal_covariance: whether the learner is told the covariance of each round's noise (paper B, setting 2).
        direct_products: whether <w, copy>, where an estimator asks for that alone (`TwoCopies`), is drawn from its own
            law: one normal number instead of d, so that rounds take two thirds of the time. Each learner's numbers have
            the same law as without; but learners that share the feedback no longer share that noise, so that
            differences between them may vary more.

    Raises:
        TypeError: if a law has no method `sample`.
        ValueError: `direct_products` with noise that is not Gaussian.

    Example:
        >>> from jaxonline.feedback.noise import gaussian, laplace
        >>> from jaxonline.feedback import NoisyCopies
        >>> NoisyCopies(gaussian(0.1), label_noise=laplace(0.5)).traits.makes_copies
        True
    """

    noise: AnyNoise
    label_noise: AnyNoise | None = None
    reveal_covariance: bool = static(default=False)
    direct_products: bool = static(default=False)

    def __post_init__(self):
        if self.direct_products and not has_products(self.noise):
            raise ArgumentError("noise", f"must be gaussian(...) for direct_products (got {check.quote(self.noise)})")

    @property
    def traits(self) -> FeedbackTraits:
        """Copies for everybody, and the laws of the noise."""
        return FeedbackTraits(True, self.direct_products, self.noise, self.label_noise)

    def open(self, key: Key[Array, ""], t: Int[Array, ""], x: Array, y: Array, y_hat: Any) -> CopiesOracle:
        """The oracle of one round."""
        del y_hat

        def noise(key, index):
            return self.noise.sample(key, t, x)

        def noises(keys):
            return sample_together(self.noise, keys, t, x)

        covariance = (lambda: self.noise.covariance_at(t, x)) if self.reveal_covariance else None
        product = (lambda w, key: product_with(w, self.noise, key)) if self.direct_products else None
        return CopiesOracle(
            key, t, x, y, noise=noise, noises=noises, label_noise=self.label_noise, covariance=covariance,
            product=product,
        )  # fmt: skip

    def mirrored(self, sign: Float[ArrayLike, ""]) -> "NoisyCopies":
        """The same with all noise times a sign: with -1, copies and labels on the other side of the true ones.

        Raises:
            ValueError: a law does not say that it is symmetric.
        """
        label_noise = None if self.label_noise is None else Mirrored(self.label_noise, sign)
        return replace(self, noise=Mirrored(self.noise, sign), label_noise=label_noise)


def _as_adversary(adversary: Any, name: str) -> NoiseAdversary:
    return check.instance(name, adversary, NoiseAdversary, "a NoiseAdversary, with init, sample and observe")


@struct
class AdversarialCopies(FeedbackDefaults):
    """The feedback of paper A in full: the law of the noise changes every round and between calls, by an adversary.

    The adversary (`jaxonline.noise.NoiseAdversary`) knows everything about the rounds before, the learner's predictions
    included, and chooses the law of each copy of the present round before the learner predicts. Its covariance is
    never revealed.

    Args:
        adversary: e.g. `jaxonline.environments.adversaries.ChasingNoise`.
        label_noise: the law of the label's noise, or None for clean labels.

    Raises:
        TypeError: if `adversary` lacks a method of `NoiseAdversary`, or `label_noise` is no noise law.

    Example:
        >>> import numpy as np
        >>> import jaxonline as jo
        >>> from jaxonline.environments.adversaries import ChasingNoise
        >>> from jaxonline.feedback import AdversarialCopies
        >>> game = jo.Game(jo.environments.LinearModel(np.ones(3)), AdversarialCopies(ChasingNoise(0.5)))
        >>> learner = jo.GradientLearner(jo.estimators.TwoCopies(), step_size=0.1)
        >>> jo.simulate(game, learner, n_runs=2, n_rounds=4).queries[0, :, -1].tolist()
        [8.0, 8.0]
    """

    adversary: Annotated[Any, Component("adversary"), Convert(_as_adversary)]
    label_noise: AnyNoise | None = None

    @property
    def traits(self) -> FeedbackTraits:
        """Copies whose noise has no single law."""
        return FeedbackTraits(makes_copies=True, label_noise=self.label_noise)

    def init(self, key: Key[Array, ""], instance: jax.ShapeDtypeStruct) -> PyTree:
        """The adversary's state before round 1."""
        return self.adversary.init(key, instance)

    def open(
        self, key: Key[Array, ""], t: Int[Array, ""], x: Array, y: Array, y_hat: Any, state: PyTree
    ) -> CopiesOracle:
        """The oracle of one round. The adversary does not see the present prediction."""
        del y_hat

        def noise(key, index):
            drawn = self.adversary.sample(key, state, t, index, x)
            if drawn.shape != x.shape or drawn.dtype != x.dtype:
                raise ValueError(
                    f"adversary: sample must return the shape and dtype of the instance, {x.shape} {x.dtype} "
                    f"(got {drawn.shape} {drawn.dtype})"
                )
            return drawn

        return CopiesOracle(key, t, x, y, noise=noise, label_noise=self.label_noise)

    def observe(self, state: PyTree, t: Int[Array, ""], x: Array, y: Array, y_hat: Array) -> PyTree:
        """The adversary sees the round when it is over."""
        return self.adversary.observe(state, t, x, y, y_hat)
