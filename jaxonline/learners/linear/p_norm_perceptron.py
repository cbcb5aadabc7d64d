"""P-norm perceptron: Grove, Littlestone and Schuurmans (2001); Gentile (2003)."""

from typing import Annotated

from jaxtyping import Array, Float

from jaxonline.learners.gradient.mirror_maps import p_norm_link
from jaxonline.learners.linear.perceptron import Perceptron
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Ge, Number


@cites("grove2001general", "gentile2003robustness")
@struct
class PNormPerceptron(Perceptron):
    """P-norm perceptron: w = gradient of |theta|_p^2 / 2 at theta, the sum of y x over mistakes. Labels are -1 or +1.

    The move is the score <w, x>; a score of 0 counts as a mistake. If |x|_p <= r and some u with |u|_q <= 1, where 1/p
    + 1/q = 1, has y <u, x> >= gamma in every round, the learner makes at most (p - 1) (r / gamma)^2 mistakes. With p =
    2 the learner is `Perceptron`; with p = 2 ln d it is about as good as `Winnow` if few attributes matter. The state
    is theta [d].

    Args:
        p: exponent of the norm.

    Example:
        >>> import jax, numpy as np, jaxonline as jo
        >>> learner, theta = jo.learners.PNormPerceptron(3.0), jax.numpy.array([2.0, -1.0])
        >>> [f"{weight:.3f}" for weight in learner.w(theta)]  # (4, -1) / 9^(1/3)
        ['1.923', '-0.481']
    """

    p: Annotated[Number, Ge(2)] = 2.0

    def w(self, state: Float[Array, "d"]) -> Float[Array, "d"]:
        """Return the gradient of |theta|_p^2 / 2."""
        return p_norm_link(state, self.p)
