"""Lower bounds with partially observed attributes: paper C (ICML 2010), Theorems 3 and 4, appendices A.3 and A.4."""

import itertools
from typing import Annotated, Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from jaxonline import random
from jaxonline.environments.data import DataStream
from jaxonline.environments.scalar_outcome import ScalarOutcome
from jaxonline.game.traits import EnvironmentTraits
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Count, Interval, Number


class HiddenAttributeState(NamedTuple):
    """State of `HiddenAttribute`: the index j of the relevant attribute of the run."""

    attribute: Int[Array, ""]


@cites("cesabianchi2010efficient")
@struct
class HiddenAttribute(ScalarOutcome):
    """Uniform x in {-1, +1}^d whose label is one attribute x_j with noise (paper C, Theorem 3).

    The label is x_j with probability 1/2 + sqrt(eps), else -x_j; each run draws the index j. The best linear predictor
    is 2 sqrt(eps) e_j, with risk 1 - 4 eps; a predictor w has the excess risk |w - 2 sqrt(eps) e_j|^2.
    `bounds.hidden_attribute_examples` returns the number of examples needed for an excess risk of eps.

    Args:
        dimension: the number d of attributes.
        eps: sets the probability 1/2 + sqrt(eps) that the label is x_j; Theorem 3 of paper C assumes eps < 1/16.

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> hidden = jo.environments.HiddenAttribute(5, eps=0.25)
        >>> state = hidden.init(jax.random.key(0))
        >>> x, state = hidden.instance(jax.random.key(1), state, jnp.int32(1))
        >>> y, state = hidden.answer(jax.random.key(2), state, jnp.int32(1), x, jnp.float32(0.0))
        >>> bool(y == x[state.attribute])
        True
    """

    dimension: Count = static()
    eps: Annotated[Number, Interval(gt=0, le=0.25)]
    traits: ClassVar[EnvironmentTraits] = EnvironmentTraits(oblivious=True, outcomes=np.array([-1.0, 1.0]))

    @property
    def instance_spec(self) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((self.dimension,), self._dtype)

    @property
    def _dtype(self) -> Any:
        return self.eps.dtype if isinstance(self.eps, jax.Array) else jnp.result_type(float)

    def init(self, key: Key[Array, ""]) -> HiddenAttributeState:
        return HiddenAttributeState(random.randint(key, (), 0, self.dimension, jnp.int32))

    def instance(
        self, key: Key[Array, ""], state: HiddenAttributeState, t: Int[Array, ""]
    ) -> tuple[Float[Array, "d"], HiddenAttributeState]:
        """Draw an instance of independent uniform signs."""
        del t
        return random.rademacher(key, (self.dimension,), self._dtype), state

    def answer(
        self, key: Key[Array, ""], state: HiddenAttributeState, t: Int[Array, ""], x: Array, y_hat: Array
    ) -> tuple[Float[Array, ""], HiddenAttributeState]:
        """Return the label: x_j with probability 1/2 + sqrt(eps), else -x_j."""
        del t, y_hat
        is_equal = random.bernoulli(key, 0.5 + jnp.sqrt(jnp.asarray(self.eps, x.dtype)))
        return jnp.where(is_equal, x[state.attribute], -x[state.attribute]), state

    def excess_risk(self, w: Float[Array, "d"], attribute: Int[Array, ""]) -> Float[Array, ""]:
        """Return the excess risk of <w, x> over the best linear predictor, if the relevant attribute is `attribute`."""
        best = jnp.zeros_like(w).at[attribute].set(2 * jnp.sqrt(jnp.asarray(self.eps, w.dtype)))
        return jnp.sum((w - best) ** 2)


@cites("cesabianchi2010efficient")
def three_bits() -> DataStream:
    """Uniform x in {-1, +1}^3 with the mean of its entries as label, drawn anew in each round (paper C, Theorem 4).

    The predictor w = (1/3, 1/3, 1/3) has no error, and two attributes of each example suffice to learn w. But a
    prediction from two attributes has an expected squared error of at least 1/9, even if the distribution is known.

    Example:
        >>> from jaxonline.environments import three_bits
        >>> three_bits().X[1].tolist(), round(float(three_bits().y[1]), 4)
        ([-1.0, -1.0, 1.0], -0.3333)
    """
    corners = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
    return DataStream(corners, corners.mean(axis=1), order="iid")
