"""A data set as a stream of rounds."""

from typing import Annotated, Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from jaxonline import random
from jaxonline.game.defaults import EnvironmentDefaults
from jaxonline.game.traits import EnvironmentTraits
from jaxonline.parameters import check
from jaxonline.parameters.struct import set_field, static, struct
from jaxonline.parameters.types import Convert, Shape


class DataStreamState(NamedTuple):
    """State of `DataStream`.

    Attributes:
        permutation: the order of the current pass [n] for order="shuffled", else None.
        index: the row of the current round.
    """

    permutation: Int[Array, "n"] | None
    index: Int[Array, ""]


Rows = Annotated[Any, Shape(), Convert(lambda rows, name: rows)]  # `DataStream` checks X and y together


@struct
class DataStream(EnvironmentDefaults):
    """The rows of a data set, one per round, pass after pass.

    Args:
        X: instances [n, ...], or None for a game without instances (they are empty vectors). A NumPy array keeps
            float64 only if JAX has it enabled.
        y: outcomes [n, ...]: labels or targets [n], or the losses of K experts [n, K].
        order: "file" (the given order in every pass), "shuffled" (a uniform permutation for each pass and run) or "iid"
            (a row drawn uniformly with replacement in each round).

    Raises:
        ValueError: shapes do not match, an entry is not finite, or there is no row.

    Example:
        >>> import jax, jax.numpy as jnp, numpy as np
        >>> from jaxonline.environments import DataStream
        >>> stream = DataStream(np.arange(6.0).reshape(3, 2), np.arange(3.0))
        >>> x, state = stream.instance(jax.random.key(0), stream.init(jax.random.key(1)), jnp.int32(2))
        >>> x.tolist()
        [2.0, 3.0]
    """

    X: Rows
    y: Rows
    order: Literal["file", "shuffled", "iid"] = static(default="file")

    def __post_init__(self):
        none = self.X is None or (isinstance(self.X, jax.Array) and self.X.shape[1:] == (0,))  # as made from None
        X = np.zeros((len(np.atleast_1d(self.y)), 1)) if none else self.X
        check.rows("X", X, "y", self.y, vectors=False)
        if self.X is None:
            set_field(self, "X", X[:, :0])  # type: ignore[index]
        dtype = jnp.result_type(float) if not isinstance(self.X, jax.Array) else self.X.dtype
        check.fits_dtype("X", self.X, dtype)
        check.fits_dtype("y", self.y, dtype)
        set_field(self, "X", jnp.asarray(self.X, dtype))
        set_field(self, "y", jnp.asarray(self.y, dtype))

    @property
    def traits(self) -> EnvironmentTraits:
        """Rows do not depend on moves, and all outcomes are known; in file order, every run has the same rows."""
        return EnvironmentTraits(oblivious=True, deterministic=self.order == "file", outcomes=self.y)

    @property
    def instance_spec(self) -> jax.ShapeDtypeStruct:
        """Shape [d] and dtype of an instance."""
        return jax.ShapeDtypeStruct(self.X.shape[1:], self.X.dtype)

    @property
    def outcome_spec(self) -> jax.ShapeDtypeStruct:
        """Shape and dtype of an outcome."""
        return jax.ShapeDtypeStruct(self.y.shape[1:], self.y.dtype)

    def init(self, key: Key[Array, ""]) -> DataStreamState:
        """The state before round 1."""
        del key
        n = self.X.shape[0]
        permutation = jnp.arange(n, dtype=jnp.int32) if self.order == "shuffled" else None
        return DataStreamState(permutation, jnp.int32(0))

    def instance(
        self, key: Key[Array, ""], state: DataStreamState, t: Int[Array, ""]
    ) -> tuple[Float[Array, "d"], DataStreamState]:
        """The row of round t = 1, 2, ..."""
        n = self.X.shape[0]
        rows, position = state.permutation, (t - 1) % n
        if self.order == "iid":
            index = random.randint(key, (), 0, n, dtype=jnp.int32)
        elif self.order == "shuffled":
            # A loop of at most one iteration. The round is the same in all runs, so vmap keeps it a branch, and unlike
            # `cond`, which copies its operands, a loop keeps the permutations in place between passes. Key and counter
            # change in each iteration, so that the compiler does not move the draw out of the loop, into every round.
            new_pass = (position == 0).astype(jnp.int32)

            def shuffle(iteration, carry):
                pass_key = jax.random.wrap_key_data(carry[1], impl=jax.random.key_impl(key))
                return random.permutation(jax.random.fold_in(pass_key, iteration), n), carry[1] + 1

            rows, _ = jax.lax.fori_loop(0, new_pass, shuffle, (rows, jax.random.key_data(key)))
            index = rows[position]
        else:
            index = position.astype(jnp.int32)
        return self.X[index], DataStreamState(rows, index)

    def answer(
        self, key: Key[Array, ""], state: DataStreamState, t: Int[Array, ""], x: Array, y_hat: Array
    ) -> tuple[Float[Array, "..."], DataStreamState]:
        """The outcome of the current row."""
        del key, t, x, y_hat
        return self.y[state.index], state
