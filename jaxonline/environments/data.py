"""Environments that replay or generate series: data, autoregression."""

from typing import Annotated, Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from jaxonline import random
from jaxonline.environments.arms import ScalarOutcome
from jaxonline.game.roles import Environment
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import set_field, static, struct
from jaxonline.parameters.types import Convert, JaxVector, NonNegative, Shape
from jaxonline.random.exact import shuffled_indices

# ---------------------------------------------------------------------------------------------------------------------
# Data sets as environments.


class DataStreamState(NamedTuple):
    """State of `DataStream`: the order of the current pass [n] if it is shuffled, and the row of the round.

    Both are None in file order, in which the round determines the row.
    """

    permutation: Int[Array, "n"] | None
    index: Int[Array, ""] | None


Rows = Annotated[Any, Shape(), Convert(lambda rows, name: rows)]  # `DataStream` checks X and y together


@struct
class DataStream(Environment):
    """Data set as an environment: one row a round, pass after pass.

    Raises a ValueError if shapes do not match, an entry is not finite, or there are no rows.

    Args:
        X: instances [n, ...], such as an array or a pandas DataFrame, or None for empty vectors. They stay in float64
            only if float64 is enabled in JAX.
        y: outcomes [n, ...], such as labels or targets [n], or losses of K experts [n, K].
        order: "file" (as given), "shuffled" (a new permutation in each pass and run), or "iid" (with replacement).

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> stream = jo.environments.DataStream([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], [0.0, 1.0, 2.0])
        >>> stream.instance(jax.random.key(0), stream.init(jax.random.key(1)), jnp.int32(2))[0].tolist()
        [2.0, 3.0]
    """

    X: Rows
    y: Rows
    order: Literal["file", "shuffled", "iid"] = static(default="file")

    def __post_init__(self) -> None:
        is_empty = self.X is None or (isinstance(self.X, jax.Array) and self.X.shape[1:] == (0,))  # a copy: X was None
        X = np.zeros((len(np.atleast_1d(check.real_array("y", self.y))), 1)) if is_empty else self.X
        rows, outcomes = check.rows("X", X, "y", self.y, vectors=False)
        dtype = jnp.result_type(float) if not isinstance(self.X, jax.Array) else self.X.dtype
        X = self.X if isinstance(self.X, jax.Array) else rows[:, :0] if is_empty else rows
        check.fits_dtype("X", self.X, dtype)
        check.fits_dtype("y", self.y, dtype)
        check.warn_of_tiny_numbers("y", self.y, dtype)
        set_field(self, "X", jnp.asarray(X, dtype))
        set_field(self, "y", jnp.asarray(self.y if isinstance(self.y, jax.Array) else outcomes, dtype))

    oblivious = True

    @property
    def deterministic(self) -> bool:
        """Whether every run has the rows in file order."""
        return self.order == "file"

    @property
    def outcomes(self) -> Any:
        """The outcomes of all rows."""
        return self.y

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.X.shape[0]

    @property
    def instance_spec(self) -> jax.ShapeDtypeStruct:
        """Shape and dtype of an instance."""
        return jax.ShapeDtypeStruct(self.X.shape[1:], self.X.dtype)

    @property
    def outcome_spec(self) -> jax.ShapeDtypeStruct:
        """Shape and dtype of an outcome."""
        return jax.ShapeDtypeStruct(self.y.shape[1:], self.y.dtype)

    def init(self, key: Key[Array, ""]) -> DataStreamState:
        """Return the state before round 1."""
        n = self.X.shape[0]
        permutation = jnp.arange(n, dtype=jnp.int32) if self.order == "shuffled" else None
        return DataStreamState(permutation, None if self.order == "file" else jnp.int32(0))

    def instance(
        self, key: Key[Array, ""], state: DataStreamState, t: Int[Array, ""]
    ) -> tuple[Float[Array, "d"], DataStreamState]:
        """Return the instance of round t."""
        n = self.X.shape[0]
        permutation, position = state.permutation, self._position(t)
        if self.order == "file":
            return self.X[position], state
        if self.order == "iid":
            index = random.randint(key, (), 0, n, dtype=jnp.int32)
        else:
            # A loop with 0 or 1 iterations: the number is the same in all runs, so vmap keeps the branch, and unlike
            # `cond`, which copies its operands, a loop updates the permutations in place. Key and iteration depend on
            # the iteration, so that the compiler cannot move the draw out of the loop, into every round.
            is_new_pass = (position == 0).astype(jnp.int32)

            def shuffle(iteration, carry):
                pass_key = jax.random.wrap_key_data(carry[1], impl=jax.random.key_impl(key))
                return shuffled_indices(jax.random.fold_in(pass_key, iteration), n), carry[1] + 1

            permutation, _ = jax.lax.fori_loop(0, is_new_pass, shuffle, (permutation, jax.random.key_data(key)))
            index = permutation[position]
        return self.X[index], DataStreamState(permutation, index)

    def outcome(
        self, key: Key[Array, ""], state: DataStreamState, t: Int[Array, ""], x: Array, y_hat: Array
    ) -> tuple[Float[Array, "..."], DataStreamState]:
        """Return the outcome of the current row."""
        return self.y[self._position(t) if state.index is None else state.index], state

    def _position(self, t: Int[Array, ""]) -> Int[Array, ""]:
        """Return the position of round t in its pass."""
        return ((t - 1) % self.X.shape[0]).astype(jnp.int32)


# ---------------------------------------------------------------------------------------------------------------------
# A classification table as a contextual bandit.


@struct
class ClassificationArms(DataStream):
    """Classification table as a contextual bandit: arm k is class k, and has the loss 0 if it is the label, else 1.

    An instance is the context of all arms [d]. Class k is the k-th of the sorted labels. The table is known, so it also
    has the mean outcomes. Raises a ValueError in the cases of `DataStream`, and if there are fewer than two classes.

    Args:
        X: contexts [n, d].
        y: labels [n] or [n, 1]: numbers, booleans or text. A matrix with more columns is a table of losses [n, K], as
            in `DataStream`: for one-hot labels, pass 1 - labels.
        order: "file" (as given), "shuffled" (a new permutation in each pass and run), or "iid" (with replacement).

    Example:
        >>> import jaxonline as jo
        >>> arms = jo.environments.ClassificationArms([[0.0], [1.0], [2.0]], ["cat", "dog", "cat"])
        >>> arms.y.tolist()
        [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]
    """

    X: Rows
    y: Rows
    order: Literal["file", "shuffled", "iid"] = static(default="file")

    def __post_init__(self) -> None:
        check.instance("X", self.X, self.X is not None, "a matrix of contexts")
        try:
            labels = self.y if isinstance(self.y, jax.Array) else np.asarray(self.y)
        except ValueError:  # rows of different lengths
            labels = np.array([None])
        if labels.ndim == 2 and labels.shape[1] == 1:
            labels = labels[:, 0]
        if labels.ndim == 1:
            if labels.dtype.kind == "O":
                is_text = all(isinstance(label, str) for label in labels)
                check.instance("y", self.y, is_text, "a vector of labels, which are numbers or text")
            elif labels.dtype.kind not in "SUb":
                check.finite_array("y", labels, ndim=1)
            classes, indices = np.unique(np.asarray(labels), return_inverse=True)
            if len(classes) < 2:
                raise ArgumentError("y", f"must have at least two classes (got {check.quote(classes)})")
            set_field(self, "y", (indices[:, None] != np.arange(len(classes))).astype(float))
        super().__post_init__()

    def mean_outcome(
        self, state: DataStreamState, t: Int[Array, ""], x: Float[Array, "d"], y: Float[Array, "K"]
    ) -> Float[Array, "K"]:
        """Return the losses of all arms in the row of the round."""
        return y


# ---------------------------------------------------------------------------------------------------------------------
# Autoregressive time series.


@struct
class Autoregressive(ScalarOutcome):
    """Autoregressive series AR(p): y_t = sum_j coefficients[j] y_(t-1-j) + noise_std e_t; x_t is the last p values.

    The series starts from zeros; the innovations e_t are standard normal. Raises a ValueError if the series is not
    stationary (a root of the characteristic polynomial is on or outside the unit circle).

    Args:
        coefficients: weights of the lags [p], the most recent first. (The series of Rokhlin and Gurtovaya 2025 has
            [0.5, -0.3, 0.2, 0.1]; their Eq. 32 has the reversed order, which is another series: erratum E51.)
        noise_std: standard deviation of the innovations.

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> series = jo.environments.Autoregressive([0.5, -0.3], noise_std=0.0)
        >>> x, state = series.instance(jax.random.key(0), jnp.array([1.0, 2.0]), jnp.int32(1))
        >>> y, state = series.outcome(jax.random.key(0), state, jnp.int32(1), x, jnp.float32(0.0))
        >>> round(float(y), 6), [round(v, 6) for v in state.tolist()]  # newest first
        (-0.1, [-0.1, 1.0])
    """

    coefficients: JaxVector
    noise_std: NonNegative = 1.0

    def __post_init__(self) -> None:
        values = np.asarray(self.coefficients, float)
        largest = max(np.abs(np.roots(np.concatenate([[1.0], -values]))), default=0.0)
        if largest >= 1:
            raise ArgumentError(
                "coefficients", f"must make a stationary series (got a characteristic root of size {largest:g})"
            )

    @property
    def instance_spec(self) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(self.coefficients.shape, self.coefficients.dtype)

    def init(self, key: Key[Array, ""]) -> Float[Array, "p"]:
        """Return the p values before round 1: zeros."""
        return jnp.zeros(self.coefficients.shape, self.coefficients.dtype)

    def instance(self, key: Key[Array, ""], state: Array, t: Int[Array, ""]) -> tuple[Array, Array]:
        """Return the last p values, newest first."""
        return state, state

    def outcome(
        self, key: Key[Array, ""], state: Array, t: Int[Array, ""], x: Array, y_hat: Array
    ) -> tuple[Float[Array, ""], Float[Array, "p"]]:
        """Draw the next value of the series."""
        noise = random.normal(key, (), x.dtype)
        y = self.coefficients @ x + jnp.asarray(self.noise_std, x.dtype) * noise
        return y, jnp.concatenate([y[None], state[:-1]])
