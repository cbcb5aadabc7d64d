"""Mirror descent and its maps, with exponentiated gradient."""

import abc
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from jaxonline.estimators.gradients import AnyEstimator
from jaxonline.game.roles import Specs
from jaxonline.learners.experts.weights import softmax_weights
from jaxonline.learners.gradient.descent import SGD, EstimatorLearner, Optimizer, StepSize, zeros_like_vector
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Component, Convert, Ge, Number, Positive, PyTree, host_float

# ---------------------------------------------------------------------------------------------------------------------
# Mirror maps: a regularizer R, and the point w = argmin R(w) - <theta, w> for a vector theta of summed gradients.
#
# For every regularizer that is 1-strongly convex in a norm, mirror descent with the step eta has a regret of at most
# (R(u) - min R) / eta + eta / 2 times the sum of the squared dual norms of the gradients, against every u.


NEWTON_ITERATIONS = 30  # for the sum of the weights; they converge quadratically from below


class MirrorMap(abc.ABC):
    """Base class of mirror maps: a regularizer R on a set, and the point of the set for theta.

    A subclass implements `point`. For `bounds.mirror_descent`, a map also has `divergence(u)`, which is R(u) - min R or
    an upper bound, and `dual_norm(g)`, the dual norm of gradients in w.

    Example:
        >>> import jaxonline as jo
        >>> isinstance(jo.learners.LogBarrier(), jo.learners.MirrorMap)
        True
    """

    def start(self, zeros: Float[Array, "d"]) -> Float[Array, "n"]:
        """Return theta before round 1; by default zeros [d], where d is the length of an instance."""
        return zeros

    def gradient(self, g: Float[Array, "d"]) -> Float[Array, "n"]:
        """Return the gradient in the variables of theta, for a gradient g in w; by default g."""
        return g

    def shift(self, theta: Float[Array, "n"]) -> Float[Array, "n"]:
        """Return theta up to a change that moves no point, so that theta stays bounded; by default unchanged."""
        return theta

    @abc.abstractmethod
    def point(self, theta: Float[Array, "n"]) -> Float[Array, "d"]:
        """Return the point w of the set."""


@cites("kivinen1997exponentiated", "shalevshwartz2012online")
@struct
class Entropy(MirrorMap):
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
class PNorm(MirrorMap):
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
class LogBarrier(MirrorMap):
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


# ---------------------------------------------------------------------------------------------------------------------
# Mirror descent in its lazy form: gradients are summed, and a mirror map turns the sum into a point of the set.


class MirrorState(NamedTuple):
    """State of mirror descent: `theta`, the sum of -step g over the rounds, up to a change that moves no point."""

    theta: Float[Array, "n"]
    t: Int[Array, ""]
    optimizer: PyTree


@cites("nemirovski1983problem", "beck2003mirror", "shalevshwartz2012online")
@struct
class MirrorLearner(EstimatorLearner):
    """Mirror descent: predict <w, x> with the w that minimises R(w) + the sum of step <g, w> over the rounds so far.

    The mirror map has the regularizer R and its set: `Entropy()` (exponentiated gradient), `PNorm(p)` (p = 2 is
    gradient descent), or `LogBarrier()`. With a constant step the regret against u is at most (R(u) - min R) / step +
    step / 2 times the sum of the squared dual norms of the gradients (`bounds.mirror_descent`, with
    `mirror_map.divergence(u)` and `mirror_map.dual_norm(g)`). See Shalev-Shwartz (2012), Theorem 2.11.

    Args:
        estimator: `estimator(key, w, oracle)` estimates the gradient at w (`jaxonline.estimators`).
        step_size: a number, `Constant.over_horizon(eta, T)`, `InverseSqrt(eta)`, or any optax schedule.
        mirror_map: the regularizer.
        optimizer: an optax transformation with learning rate 1 that maps the gradient to the change of the sum;
            gradient descent by default.

    Example:
        >>> import jax, numpy as np, jaxonline as jo
        >>> game = jo.Game(jo.environments.DataStream(np.eye(2), np.array([1.0, 0.0])), jo.FullInformation())
        >>> learner = jo.learners.MirrorLearner(jo.estimators.FullGradient(), 0.5, jo.learners.LogBarrier())
        >>> state, history = jo.play(game, learner, jax.random.key(0), n_rounds=100)
        >>> [f"{weight:.2f}" for weight in learner.w(state)]
        ['0.93', '0.07']
    """

    estimator: AnyEstimator
    step_size: StepSize
    mirror_map: AnyMirrorMap
    optimizer: Optimizer = static(default=SGD)

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> MirrorState:
        """Return the point where R is smallest; instances must be vectors."""
        theta = self.mirror_map.start(zeros_like_vector(self, specs.instance))
        return MirrorState(theta, jnp.int32(0), self.optimizer.init(theta))

    def predict(self, key: Key[Array, ""] | None, state: MirrorState, x: Float[Array, "d"]) -> Float[Array, ""]:
        """Predict <w, x>."""
        return self.w(state) @ x

    def update(self, key: Key[Array, ""], state: MirrorState, oracle: Any) -> tuple[MirrorState, tuple[()]]:
        """Subtract step g from theta, g the gradient at w."""
        t = state.t + 1
        g = self.mirror_map.gradient(self.estimator(key, self.w(state), oracle))
        direction, optimizer_state = self.optimizer.update(g, state.optimizer, state.theta)
        theta = state.theta + self.step_size(t, g.dtype) * direction
        return MirrorState(self.mirror_map.shift(theta), t, optimizer_state), ()

    def w(self, state: MirrorState) -> Float[Array, "d"]:
        """Return the weights w."""
        return self.mirror_map.point(state.theta)


# ---------------------------------------------------------------------------------------------------------------------
# Exponentiated gradient (mirror descent with the entropy), EG and EG+-.


@cites("kivinen1997exponentiated", "nemirovski1983problem", "beck2003mirror", "shalevshwartz2012online")
@validate_arguments
def ExponentiatedGradient(
    estimator: AnyEstimator,
    step_size: StepSize,
    scale: Positive = 1.0,
    signed: bool = False,
    optimizer: Optimizer = SGD,
) -> MirrorLearner:
    """Exponentiated gradient: predict <w, x> with w on the simplex, w_i <- w_i exp(-step g_i) / sum; EG+- if `signed`.

    The weights are `scale` times a point of the simplex. If `signed`, the weights are the differences between the two
    halves of 2 d numbers with sum `scale`, so w can be any vector with |w|_1 <= scale. With gradients of |g|_inf <= G
    and step = sqrt(2 ln n / T) / (scale G) the regret is at most scale G sqrt(2 T ln n), with n = d or 2 d
    (`bounds.exponentiated_gradient`). This bound grows only with the logarithm of the dimension. With decreasing step
    sizes the regret may be linear in T. See Shalev-Shwartz (2012), section 2.6. The learner is mirror descent with the
    map `Entropy(scale, signed)` (`MirrorLearner`).

    Args:
        estimator: `estimator(key, w, oracle)` estimates the gradient at w (`jaxonline.estimators`).
        step_size: a number, `Constant.over_horizon(eta, T)`, `InverseSqrt(eta)`, or any optax schedule.
        scale: l1 norm of the weights.
        signed: whether weights may be negative.
        optimizer: an optax transformation with learning rate 1 that maps the gradient [n] on the simplex to the change
            of the logarithms; gradient descent by default.

    Example:
        >>> import jax, numpy as np, jaxonline as jo
        >>> game = jo.Game(jo.environments.DataStream(np.eye(2), np.array([1.0, 0.0])), jo.FullInformation())
        >>> learner = jo.learners.ExponentiatedGradient(jo.estimators.FullGradient(), step_size=0.5)
        >>> state, history = jo.play(game, learner, jax.random.key(0), n_rounds=100)
        >>> [f"{weight:.2f}" for weight in learner.w(state)]
        ['0.99', '0.01']
    """
    return MirrorLearner(estimator, step_size, Entropy(scale, signed), optimizer)
