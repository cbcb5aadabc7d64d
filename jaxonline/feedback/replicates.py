"""Measured copies of hidden instances: replicates from a file instead of noise from a distribution."""

from collections.abc import Callable
from typing import Annotated, Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxonline.feedback.copies import CopiesOracle
from jaxonline.feedback.noise import AnyNoise, Covariance
from jaxonline.game.roles import Feedback, Specs
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import set_field, struct
from jaxonline.parameters.types import PyTree, Shape


class ReplicatesOracle(CopiesOracle):
    """The oracle of measured copies.

    If a random number of copies is above the number of measured copies m, the copies are NaN, so that the run is
    recorded as a failed run. No copy is used twice in place of a missing one.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.feedback import ReplicatesOracle
        >>> oracle = ReplicatesOracle(jnp.array([[1.0], [2.0], [4.0]]), None, jnp.float32(3.0))
        >>> oracle.copy(2).tolist(), oracle.copies(0, 2).ravel().tolist(), oracle.queries().item()
        ([4.0], [1.0, 2.0], 3)
        >>> oracle.copies(0, 5, jnp.int32(2)).ravel().tolist()
        [1.0, 2.0, 0.0, 0.0, 0.0]
    """

    def __init__(
        self, copies: Float[Array, "m d"], labels: Float[Array, "k"] | None, y: Array, covariance: Array | None = None
    ):
        """Create the oracle of the copies and labels of a round; without labels the label is `y`."""
        super().__init__(None, None, None, y, noise=None)
        self._copies = copies
        self._labels = labels
        self._given = covariance

    def _draw(self, index: int) -> Float[Array, "d"]:
        _check_measured("copies", index + 1, len(self._copies))
        return self._copies[index]

    def copies(self, first: int, capacity: int, number: Int[Array, ""] | None = None) -> Float[Array, "capacity d"]:
        """The copies `first`, `first + 1`, ..., `capacity` of them.

        With a random `number` (at most `capacity`) only so many are charged, and the other rows are 0.

        Raises:
            ValueError: the number is not random, and fewer copies are measured.
        """
        if number is None:
            return super().copies(first, capacity)
        charged = jnp.minimum(number, capacity) if check.is_abstract(number) else min(int(number), capacity)
        draw, zero = self.reserve(charged), jnp.zeros((), self._copies.dtype)
        return jnp.stack([jnp.where(j < charged, draw(jnp.int32(first + j)), zero) for j in range(capacity)])

    def reserve(self, number: Int[Array, ""] | int) -> Callable[[Int[Array, ""]], Float[Array, "d"]]:
        """Charge `number` copies; return `draw`, where `draw(index)` is that copy, and NaN if too few are measured.

        Raises:
            ValueError: the number is not random, and fewer copies are measured.
        """
        if not check.is_abstract(number):
            _check_measured("copies", int(number), len(self._copies))
        number = jnp.asarray(number, jnp.int32)
        self._asked_at_random.append(number)
        return lambda index: _entry(self._copies, index, number <= len(self._copies))

    def label(self, index: int | Int[Array, ""] = 0) -> Float[Array, ""]:
        """The measured label with this index, NaN for a traced index above; the clean label without measured labels.

        Raises:
            ValueError: the index is not traced, and fewer labels are measured.
        """
        if self._labels is None:
            return self._y
        if not check.is_abstract(index):
            _check_measured("labels", int(index) + 1, len(self._labels))
        return _entry(self._labels, index, True)

    def labels(self, capacity: int, number: Int[Array, ""]) -> Float[Array, "capacity"]:
        """Return the labels 0, 1, ...; the first `number` are valid, and labels that are not measured are NaN."""
        if self._labels is None:
            return jnp.repeat(self._y[None], capacity)
        if not check.is_abstract(number):
            _check_measured("labels", int(number), len(self._labels))
        return jnp.stack([_entry(self._labels, index, True) for index in range(capacity)])

    @property
    def covariance(self) -> Float[Array, "d d"]:
        """The given covariance of the noise; raises ValueError if none is given."""
        if self._given is None:
            raise ValueError("covariance: must be given to Replicates for a learner that asks for it (got None)")
        return self._given


@struct
class Replicates(Feedback):
    """Measured copies: row t of `X` holds m noisy measurements of the instance of round t.

    All learners share the copies, which are the same in every run. The environment must be the same in every run too,
    such as `DataStream(X, y)` in file order, and a data set must have T rows. Round t has row t of this feedback.

    A learner that asks for more copies than m raises an error when it is bound to the game. A learner that asks for a
    random number of copies above m has a failed run: its copies and the loss of the round are NaN, and the simulator
    excludes the run. This also holds if the learner does not use all copies, and in the last round. With `Delayed`
    answers only the copies are NaN.

    Args:
        X: measured copies [T, m, d] of the instances.
        y: measured copies [T, k] of the labels, or None for clean labels.
        covariance: covariance of the noise of a copy, for learners that ask for it.
        noise: distribution of the noise of a copy (`jaxonline.noise`) if it is known, such as that of an instrument. It
            allows learners that need a known distribution (`SurrogateKernel`), and replaces `covariance`. Nothing
            checks that the copies have this distribution. It has mean zero: first deduct a known mean from the copies
            and from the labels.

    Raises:
        ValueError: `y` has another number of rows than `X`, or both `covariance` and `noise` are given; in a game with
            other instances, with an environment that differs between runs or has another number of rows, or with more
            than T rounds.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> X, y = np.eye(3), np.ones(3)
        >>> copies = X[:, None, :] + 0.1 * np.random.default_rng(0).normal(size=(3, 2, 3))
        >>> game = jo.Game(jo.environments.DataStream(X, y), jo.Replicates(copies))
        >>> learner = jo.GradientLearner(jo.estimators.TwoCopies(), step_size=0.1)
        >>> jo.play(game, learner, 0, n_rounds=3)[1].queries.tolist()
        [2, 2, 2]
        >>> jo.play(game, learner, 0, n_rounds=4)
        Traceback (most recent call last):
            ...
        jaxonline.parameters.errors.ArgumentError: n_rounds: must be at most 3, the rounds of Replicates (got 4)
    """

    X: Annotated[Any, Shape("T", "m", "d")]
    y: Annotated[Any, Shape("T", "k")] | None = None
    covariance: Covariance | None = None
    noise: AnyNoise | None = None

    def __post_init__(self) -> None:
        if self.covariance is not None and self.noise is not None:
            raise ArgumentError("covariance", f"must be None if noise is given (got {self.covariance!r}); leave it out")
        if self.y is not None and len(self.y) != len(self.X):
            raise ArgumentError("y", f"must have as many rows as X, {len(self.X)} (got {len(self.y)})")
        shape, d = np.shape(self.covariance if self.covariance is not None else ()), self.X.shape[2]  # type: ignore[arg-type]
        if self.covariance is not None and shape and shape[-1] != d:
            raise ArgumentError("covariance", f"must fit copies of {d} numbers (got shape {shape})")
        dtype = self.X.dtype if isinstance(self.X, jnp.ndarray) else jnp.result_type(float)
        for name in ("X", "y"):
            if (value := getattr(self, name)) is not None:
                check.fits_dtype(name, value, dtype)
                set_field(self, name, jnp.asarray(value, dtype))

    makes_copies = True

    @property
    def max_rounds(self) -> int:
        """The number of rows."""
        return self.X.shape[0]

    @property
    def max_copies(self) -> int:
        """The number of measured copies of each row."""
        return self.X.shape[1]

    def check_specs(self, specs: Specs) -> None:
        """Check that copies have the shape of an instance, and labels that of an outcome."""
        shape = getattr(specs.instance, "shape", None)
        if shape != self.X.shape[2:]:
            raise ArgumentError("X", f"must have copies of the shape of an instance, {shape} (got {self.X.shape[2:]})")
        if self.y is not None and getattr(specs.outcome, "shape", None) != ():
            raise ArgumentError("y", f"must be None unless outcomes are numbers (got outcomes {specs.outcome})")

    def open(self, key: Any, t: Int[Array, ""], x: Array, y: Array, y_hat: Any, state: PyTree = ()) -> ReplicatesOracle:
        """The oracle of round t; its copies are NaN after the last row."""
        copies = _entry(self.X, t - 1, True)
        labels = None if self.y is None else _entry(self.y, t - 1, True)
        if self.noise is not None:
            return ReplicatesOracle(copies, labels, y, self.noise.covariance_at(t, x))
        if self.covariance is None:
            return ReplicatesOracle(copies, labels, y)
        covariance = jnp.asarray(self.covariance, x.dtype)
        if covariance.ndim < 2:
            covariance = jnp.diag(jnp.broadcast_to(covariance, x.shape))
        return ReplicatesOracle(copies, labels, y, covariance)


def _entry(rows: Array, index: Int[Array, ""] | int, possible: Any) -> Array:
    """The row with this index; NaN if there is no such row, or if it is not possible."""
    index = jnp.asarray(index, jnp.int32)
    exists = (index >= 0) & (index < rows.shape[0]) & possible
    return jnp.where(exists, rows[jnp.clip(index, 0, rows.shape[0] - 1)], jnp.asarray(jnp.nan, rows.dtype))


def _check_measured(name: str, asked: int, measured: int) -> None:
    if asked > measured:
        raise ArgumentError(name, f"must be at most {measured} a round, as many as are measured (got {asked})")
