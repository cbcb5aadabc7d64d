"""Winnow: Littlestone (1988), the second form; the bound for disjunctions is as in Blum (1998)."""

from typing import Annotated, Any

import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from jaxonline.learners.linear.from_zeros import FromZeros
from jaxonline.learners.linear.perceptron import PerceptronInfo
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Gt, Number, Positive


@cites("littlestone1988learning", "blum1998online")
@struct
class Winnow(FromZeros):
    """A linear threshold whose weights are multiplied where it errs. Instances are in {0, 1}^d, labels -1 or +1.

    The move is the score <w, x> - threshold, with w = 1 before round 1; a score of 0 counts as a mistake. A mistake on
    a label +1 multiplies the weights of the attributes that are present by `promotion`, one on a label -1 divides them
    by it. Where the label says whether any of k attributes is present, the number of mistakes grows with k ln d only:
    2 + 3 k (1 + log2 d) for the defaults (`bounds.winnow`).

    The state holds log w / log promotion [d].

    Args:
        promotion: the factor of the weights.
        threshold: of the sum of weights; d by default.

    Example:
        >>> import jax, numpy as np
        >>> import jaxonline as jo
        >>> from jaxonline.learners import Winnow
        >>> X, y = np.array([[1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]), np.array([1.0, -1.0, 1.0])  # the first attribute
        >>> game = jo.Game(jo.environments.DataStream(X, y), jo.FullInformation(), loss=jo.losses.ZeroOne())
        >>> state, history = jo.play(game, Winnow(), jax.random.key(0), n_rounds=6)
        >>> state.tolist(), history.info.mistake.tolist()
        ([2.0, 0.0], [True, True, True, False, False, False])
    """

    promotion: Annotated[Number, Gt(1)] = 2.0
    threshold: Positive | None = None

    def predict(self, key: Key[Array, ""] | None, state: Float[Array, "d"], x: Float[Array, "d"]) -> Float[Array, ""]:
        """<w, x> - threshold."""
        del key
        threshold = jnp.asarray(len(state) if self.threshold is None else self.threshold, x.dtype)
        return self.w(state) @ x - threshold

    def update(
        self, key: Key[Array, ""] | None, state: Float[Array, "d"], oracle: Any
    ) -> tuple[Float[Array, "d"], PerceptronInfo]:
        """w_i *= promotion^(y x_i) where the score has not the sign of y."""
        mistake = oracle.y * self.predict(key, state, oracle.x) <= 0.0
        return jnp.where(mistake, state + oracle.y * oracle.x, state), PerceptronInfo(mistake)

    def w(self, state: Float[Array, "d"]) -> Float[Array, "d"]:
        """The weights promotion^state. (By exp2, which is exact for powers of 2.)"""
        return jnp.exp2(state * jnp.log2(jnp.asarray(self.promotion, state.dtype)))
