"""Winnow: Littlestone (1988), the second form; the bound for disjunctions is as in Blum (1998)."""

from typing import Annotated

import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from jaxonline.learners.linear.perceptron import Perceptron
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Gt, Number, Positive


@cites("littlestone1988learning", "blum1998online")
@struct
class Winnow(Perceptron):
    """Winnow: a linear threshold with multiplicative updates. Instances are in {0, 1}^d, labels -1 or +1.

    The move is the score <w, x> - threshold, with w = 1 before round 1; a score of 0 counts as a mistake. A mistake on
    a label +1 multiplies the weights of the present attributes by `promotion`; a mistake on a label -1 divides these
    weights by `promotion`. If the label is a disjunction of k attributes, the number of mistakes is at most 2 + 3 k (1
    + log2 d) for the defaults. If at least r of k attributes decide, use the promotion 1 + 1/(2 r) (`bounds.winnow`).
    The state is log w / log promotion [d].

    Args:
        promotion: factor of the weights.
        threshold: threshold of the sum of weights; d by default.

    Example:
        >>> import jax, numpy as np, jaxonline as jo
        >>> X, y = np.array([[1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]), np.array([1.0, -1.0, 1.0])  # the first attribute
        >>> game = jo.Game(jo.environments.DataStream(X, y), jo.FullInformation(), loss=jo.losses.ZeroOne())
        >>> state, history = jo.play(game, jo.learners.Winnow(), jax.random.key(0), n_rounds=6)
        >>> state.tolist(), history.info.mistake.tolist()
        ([2.0, 0.0], [True, True, True, False, False, False])
    """

    promotion: Annotated[Number, Gt(1)] = 2.0
    threshold: Positive | None = None

    def predict(self, key: Key[Array, ""] | None, state: Float[Array, "d"], x: Float[Array, "d"]) -> Float[Array, ""]:
        """Predict the score <w, x> - threshold."""
        del key
        threshold = jnp.asarray(len(state) if self.threshold is None else self.threshold, x.dtype)
        return self.w(state) @ x - threshold

    def w(self, state: Float[Array, "d"]) -> Float[Array, "d"]:
        """Return the weights promotion^state (by exp2, which is exact for powers of 2)."""
        return jnp.exp2(state * jnp.log2(jnp.asarray(self.promotion, state.dtype)))
