"""Attributes of a hidden instance, chosen by the learner."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxonline.game.roles import Feedback, Oracle, Specs
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Count, PyTree


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
    """Partially observed attributes (paper C): the learner chooses `budget` attributes of each instance and reads them.

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
        del key, t, y_hat
        return AttributesOracle(self.budget, x, y)
