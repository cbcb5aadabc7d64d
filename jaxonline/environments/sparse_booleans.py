"""Boolean instances with few relevant attributes, such as the words of a message: Littlestone (1988)."""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from jaxonline import random
from jaxonline.environments.scalar_outcome import ScalarOutcome
from jaxonline.game.traits import EnvironmentTraits
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Count, CountFrom2, Probability


class SparseBooleansState(NamedTuple):
    """State of `SparseBooleans`: the relevant attributes of the run [k]."""

    relevant: Int[Array, "k"]


@cites("littlestone1988learning", "kivinen1997perceptron")
@struct
class SparseBooleans(ScalarOutcome):
    """Boolean instances in {0, 1}^d whose label is +1 if at least r of k relevant attributes are present, otherwise -1.

    With r = 1 the label is a disjunction. Each run draws the relevant attributes. Attributes are present independently
    with the given probability, except that the last attribute is present in every instance and never relevant: it lets
    a linear classifier through 0 have a threshold. For example, attributes are words, and instances are messages.
    Kivinen, Warmuth and Auer (1997) compare Winnow and the perceptron on such targets.

    Args:
        dimension: number d of attributes.
        n_relevant: number k of relevant attributes, less than d.
        n_required: r, at most k.
        presence: probability of an attribute.

    Example:
        >>> import jax, jaxonline as jo
        >>> words = jo.environments.SparseBooleans(50, n_relevant=2, presence=0.2)
        >>> game = jo.Game(words, jo.FullInformation(), loss=jo.losses.ZeroOne())
        >>> history = jo.play(game, jo.learners.Winnow(), jax.random.key(0), n_rounds=500)[1]
        >>> bool(0 < history.loss.sum() <= jo.bounds.winnow(50, 2))
        True
    """

    dimension: CountFrom2 = static()
    n_relevant: Count = static()
    n_required: Count = static(default=1)
    presence: Probability = 0.1
    traits: ClassVar[EnvironmentTraits] = EnvironmentTraits(oblivious=True, outcomes=np.array([-1.0, 1.0]))

    def __post_init__(self) -> None:
        if self.n_relevant >= self.dimension:
            raise ArgumentError("n_relevant", f"must be less than dimension, {self.dimension} (got {self.n_relevant})")
        if self.n_required > self.n_relevant:
            raise ArgumentError("n_required", f"must be at most n_relevant, {self.n_relevant} (got {self.n_required})")

    @property
    def instance_spec(self) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((self.dimension,), jnp.result_type(float))

    def init(self, key: Key[Array, ""]) -> SparseBooleansState:
        """Draw the relevant attributes."""
        return SparseBooleansState(random.permutation(key, self.dimension - 1)[: self.n_relevant])

    def instance(
        self, key: Key[Array, ""], state: SparseBooleansState, t: Int[Array, ""]
    ) -> tuple[Float[Array, "d"], SparseBooleansState]:
        """Draw an instance."""
        del t
        dtype = self.instance_spec.dtype
        present = random.bernoulli(key, jnp.asarray(self.presence, dtype), (self.dimension,)).astype(dtype)
        return present.at[-1].set(1.0), state

    def answer(
        self, key: Key[Array, ""], state: SparseBooleansState, t: Int[Array, ""], x: Array, y_hat: Array
    ) -> tuple[Float[Array, ""], SparseBooleansState]:
        """Return the label."""
        del key, t, y_hat
        enough = jnp.sum(x[state.relevant]) >= self.n_required
        return jnp.where(enough, 1.0, -1.0).astype(x.dtype), state
