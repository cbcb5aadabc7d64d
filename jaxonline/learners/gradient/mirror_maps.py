"""Mirror maps: a regularizer R, and the point w = argmin R(w) - <theta, w> for a vector theta of summed gradients.

For every regularizer that is 1-strongly convex in a norm, mirror descent with the step eta has a regret of at most
(R(u) - min R) / eta + eta / 2 times the sum of the squared dual norms of the gradients, against every u.
"""

from typing import Annotated, Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxonline.learners.experts.weights import softmax_weights
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.numbers import host_float
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Component, Convert, Ge, Number, Positive

NEWTON_ITERATIONS = 30  # for the sum of the weights; they converge quadratically from below


@runtime_checkable
class MirrorMap(Protocol):
    """A regularizer R on a set, by the map from theta to the point of the set, and by the norms of its theorem."""

    def start(self, zeros: Float[Array, "d"]) -> Float[Array, "n"]:
        """Return theta before round 1; d is the length of an instance."""
        ...

    def gradient(self, g: Float[Array, "d"]) -> Float[Array, "n"]:
        """Return the gradient in the variables of theta, for a gradient g in w."""
        ...

    def shift(self, theta: Float[Array, "n"]) -> Float[Array, "n"]:
        """Return theta up to a change that moves no point, so that theta stays bounded."""
        ...

    def point(self, theta: Float[Array, "n"]) -> Float[Array, "d"]:
        """Return the point w of the set."""
        ...

    def divergence(self, u: Float[np.ndarray, "d"]) -> float:
        """Return R(u) - min R, or an upper bound."""
        ...

    def dual_norm(self, g: Float[np.ndarray, "... d"]) -> Float[np.ndarray, "..."]:
        """Return the dual norm of gradients in w."""
        ...


@cites("kivinen1997exponentiated", "shalevshwartz2012online")
@struct
class Entropy:
    """Entropy R(w) = sum w ln w on the simplex: exponentiated gradient. The dual norm is scale |g|_inf.

    Args:
        scale: l1 norm of the weights.
        signed: whether weights may be negative: w is the difference of the two halves of 2 d weights with sum `scale`.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.learners import Entropy
        >>> [round(float(weight), 3) for weight in Entropy().point(jnp.log(jnp.array([1.0, 3.0])))]
        [0.25, 0.75]
    """

    scale: Positive = 1.0
    signed: bool = static(default=False)

    def start(self, zeros: Float[Array, "d"]) -> Float[Array, "n"]:
        """Return zeros [d or 2 d], for equal weights."""
        return jnp.tile(zeros, 2 if self.signed else 1)

    def gradient(self, g: Float[Array, "d"]) -> Float[Array, "n"]:
        """Return scale g, or scale (g, -g) if signed."""
        return jnp.asarray(self.scale, g.dtype) * (jnp.concatenate([g, -g]) if self.signed else g)

    def shift(self, theta: Float[Array, "n"]) -> Float[Array, "n"]:
        """Return theta with the largest entry 0."""
        return theta - jnp.max(theta)

    def point(self, theta: Float[Array, "n"]) -> Float[Array, "d"]:
        """Return scale exp(theta) / sum, or the difference of its two halves if signed."""
        weights, half = jnp.asarray(self.scale, theta.dtype) * softmax_weights(theta), len(theta) // 2
        return weights[:half] - weights[half:] if self.signed else weights

    def divergence(self, u: Float[np.ndarray, "d"]) -> float:
        """Return ln d + sum p ln p for p = u / scale, or ln(2 d) if signed."""
        u = np.asarray(u, float)
        if self.signed:
            return float(np.log(2 * len(u)))
        p = u[u > 0] / host_float("scale", self.scale)
        return float(np.log(len(u)) + p @ np.log(p))

    def dual_norm(self, g: Float[np.ndarray, "... d"]) -> Float[np.ndarray, "..."]:
        """Return scale |g|_inf."""
        return host_float("scale", self.scale) * np.max(np.abs(g), axis=-1)


@cites("grove2001general", "gentile2003robustness", "shalevshwartz2012online")
@struct
class PNorm:
    """The p-norm map: R(w) = (p - 1) |w|_q^2 / 2 on R^d, 1/p + 1/q = 1. The dual norm is |g|_p.

    With p = 2 the map is the identity, that is gradient descent without a projection. With p = 2 ln d the bound is
    about as good as that of the entropy, for weights of any sign and size.

    Args:
        p: exponent of the norm of gradients.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.learners import PNorm
        >>> PNorm(2.0).point(jnp.array([3.0, -4.0])).tolist()
        [3.0, -4.0]
    """

    p: Annotated[Number, Ge(2)]

    def start(self, zeros: Float[Array, "d"]) -> Float[Array, "d"]:
        """Return zeros."""
        return zeros

    def gradient(self, g: Float[Array, "d"]) -> Float[Array, "d"]:
        """Return g."""
        return g

    def shift(self, theta: Float[Array, "d"]) -> Float[Array, "d"]:
        """Return theta."""
        return theta

    def point(self, theta: Float[Array, "d"]) -> Float[Array, "d"]:
        """Return the gradient of |theta|_p^2 / (2 (p - 1))."""
        return p_norm_link(theta, self.p) / (jnp.asarray(self.p, theta.dtype) - 1.0)

    def divergence(self, u: Float[np.ndarray, "d"]) -> float:
        """Return (p - 1) |u|_q^2 / 2."""
        p = host_float("p", self.p)
        return (p - 1.0) * float(np.linalg.norm(u, p / (p - 1.0))) ** 2 / 2.0

    def dual_norm(self, g: Float[np.ndarray, "... d"]) -> Float[np.ndarray, "..."]:
        """Return |g|_p."""
        return np.linalg.norm(g, host_float("p", self.p), axis=-1)


@struct
class LogBarrier:
    """Logarithmic barrier R(w) = -sum ln w on the simplex: w_i = 1 / (c - theta_i). The dual norm is |g|_inf.

    Weights fall as 1/t in place of exponentially, so a weight recovers soon after its losses end. R is infinite on the
    boundary: the comparator is an inner point, such as (1 - 1/T) u + 1/(d T). R is 1-strongly convex in the l1 norm,
    since the sum of v_i^2 / w_i^2 is at least |v|_1^2 (Cauchy and Schwarz, for weights with sum 1).

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.learners import LogBarrier
        >>> [round(float(weight), 4) for weight in LogBarrier().point(jnp.array([0.0, -1.5]))]
        [0.6667, 0.3333]
    """

    def start(self, zeros: Float[Array, "d"]) -> Float[Array, "d"]:
        """Return zeros, for equal weights."""
        return zeros

    def gradient(self, g: Float[Array, "d"]) -> Float[Array, "d"]:
        """Return g."""
        return g

    def shift(self, theta: Float[Array, "d"]) -> Float[Array, "d"]:
        """Return theta with the largest entry 0."""
        return theta - jnp.max(theta)

    def point(self, theta: Float[Array, "d"]) -> Float[Array, "d"]:
        """Return 1 / (c - theta), where c makes the sum 1.

        Newton's method on 1 / sum = 1, a concave function of c, increases c to the root from c = max theta + 1.
        """
        gaps = jnp.max(theta) - theta

        def iterate(_, c):
            weights = 1.0 / (c + gaps)
            total = jnp.sum(weights)
            return c + jnp.maximum(total * (total - 1.0) / jnp.sum(weights**2), 0.0)

        weights = 1.0 / (jax.lax.fori_loop(0, NEWTON_ITERATIONS, iterate, jnp.ones((), theta.dtype)) + gaps)
        return weights / jnp.sum(weights)

    def divergence(self, u: Float[np.ndarray, "d"]) -> float:
        """Return -sum ln u - d ln d; infinite on the boundary."""
        u = np.asarray(u, float)
        return float(-np.sum(np.log(u)) - len(u) * np.log(len(u))) if np.all(u > 0) else np.inf

    def dual_norm(self, g: Float[np.ndarray, "... d"]) -> Float[np.ndarray, "..."]:
        """Return |g|_inf."""
        return np.max(np.abs(g), axis=-1)


def p_norm_link(theta: Float[Array, "d"], p: Any) -> Float[Array, "d"]:
    """Return the gradient of |theta|_p^2 / 2: sign(theta) |theta|^(p - 1) / |theta|_p^(p - 2).

    Ratios to the largest entry avoid overflow.
    """
    p = jnp.asarray(p, theta.dtype)
    largest = jnp.max(jnp.abs(theta))
    ratios = jnp.abs(theta) / jnp.where(largest > 0, largest, 1.0)
    norm = jnp.sum(ratios**p) ** ((p - 2.0) / p)
    return jnp.sign(theta) * largest * ratios ** (p - 1.0) / jnp.where(largest > 0, norm, 1.0)


def _as_mirror_map(mirror_map: Any, name: str) -> MirrorMap:
    return check.instance(name, mirror_map, MirrorMap, "a mirror map, such as Entropy() (jaxonline.learners)")


AnyMirrorMap = Annotated[Any, Component("`Entropy`", "`PNorm`", "`LogBarrier`"), Convert(_as_mirror_map)]
"""A mirror map as an argument of a struct."""
