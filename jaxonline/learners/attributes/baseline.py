"""The Baseline: estimate the moments x x' and y x from k attributes of each instance, then minimise over the l1 ball.

Source: Cesa-Bianchi, Shalev-Shwartz, Shamir, "Efficient learning with partially observed attributes" (ICML 2010),
Algorithm 1, with errata E15 (the sign of w'v) and E16 (the estimate of x x' is not positive semi-definite).
"""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key
from optax.projections import projection_l1_ball

from jaxonline.estimators.attribute_pairs import AttributePairs, project_psd
from jaxonline.estimators.index_sampling import EvenCount
from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Specs
from jaxonline.losses import Loss, Squared
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Count, Positive


class BaselineState(NamedTuple):
    """State of `Baseline`.

    Attributes:
        A: mean estimate of x x' [d, d].
        b: mean estimate of y x [d].
        w: the hypothesis [d].
        t: the number of updates made.
    """

    A: Float[Array, "d d"]
    b: Float[Array, "d"]
    w: Float[Array, "d"]
    t: Int[Array, ""]


class BaselineInfo(NamedTuple):
    """Diagnostics of one update.

    Attributes:
        estimated_loss: w'Aw - 2 w'b at the new hypothesis: the estimated mean loss without the mean of y^2.
    """

    estimated_loss: Float[Array, ""]


@cites("cesabianchi2010efficient")
@struct
class Baseline(LearnerDefaults):
    """Paper C, Algorithm 1, round by round: after each, w minimises w'Aw - 2 w'b over the l1 ball of radius B.

    A round makes `n_steps` descents on the estimates so far, from the hypothesis before; it costs O(d^2 n_steps), and
    an eigendecomposition with `cone`. Without `cone` the problem is the paper's, which is not convex (E16): w is where
    descent leads, a stationary point.

    Args:
        n_attributes: k, at most 2 d^2.
        radius: B.
        cone: whether A is first projected on the cone of positive semi-definite matrices.
        n_steps: of descent a round.

    Raises:
        ValueError: `n_attributes` is odd.

    Example:
        >>> import numpy as np
        >>> import jaxonline as jo
        >>> game = jo.Game(jo.environments.LinearModel(np.array([0.5, -0.5])), jo.Attributes(2))
        >>> result = jo.simulate(game, jo.learners.Baseline(2, radius=1.0, cone=True), n_runs=4, n_rounds=50)
        >>> result.queries[0, :, -1].tolist()
        [100.0, 100.0, 100.0, 100.0]
    """

    n_attributes: EvenCount = static()
    radius: Positive
    cone: bool = static(default=False)
    n_steps: Count = static(default=20)
    loss: ClassVar[Loss] = Squared()

    def init(self, key: Key[Array, ""], specs: Specs) -> BaselineState:
        """Nothing is known, and w_1 = 0.

        Raises:
            ValueError: if instances are not vectors.
        """
        del key
        if len(specs.instance.shape) != 1:
            raise ArgumentError("instances", f"must have one dimension for Baseline (got shape {specs.instance.shape})")
        w = jnp.zeros(specs.instance.shape, specs.instance.dtype)
        return BaselineState(jnp.zeros((len(w), len(w)), w.dtype), w, w, jnp.int32(0))

    def predict(self, key: Key[Array, ""], state: BaselineState, x: Float[Array, "d"]) -> Float[Array, ""]:
        """<w, x>."""
        del key
        return state.w @ x

    def update(self, key: Key[Array, ""], state: BaselineState, oracle: Any) -> tuple[BaselineState, BaselineInfo]:
        """A and v from k/2 pairs of attributes; w <- argmin w'Aw - 2 w'b."""
        t = state.t + 1
        share = 1 / t.astype(state.w.dtype)
        moments = AttributePairs(self.n_attributes)(key, len(state.w), oracle)
        A = state.A + share * (moments.A - state.A)
        b = state.b + share * (oracle.label() * moments.v - state.b)
        used = project_psd(A) if self.cone else A
        w = l1_minimum(used, b, jnp.asarray(self.radius, b.dtype), state.w, self.n_steps)
        return BaselineState(A, b, w, t), BaselineInfo(w @ used @ w - 2 * w @ b)


class _Descent(NamedTuple):
    """A point, A times it and its value; where the next step starts, A times that, and the momentum."""

    w: Float[Array, "d"]
    Aw: Float[Array, "d"]
    value: Float[Array, ""]
    z: Float[Array, "d"]
    Az: Float[Array, "d"]
    momentum: Float[Array, ""]


def l1_minimum(
    A: Float[Array, "d d"],
    b: Float[Array, "d"],
    radius: Float[Array, ""],
    start: Float[Array, "d"],
    n_steps: int,
    curvature: Float[Array, ""] | None = None,
) -> Float[Array, "d"]:
    """Descend on w'Aw - 2 w'b over the l1 ball of radius `radius`, from `start`, which is in it.

    `curvature` is at least twice the largest absolute eigenvalue of A; by default twice its largest absolute row sum.

    Accelerated projected gradient steps (Nesterov; Beck and Teboulle 2009) that begin anew, without momentum, where
    the value would rise, so that it never does, whether A is positive semi-definite or only symmetric. A step makes one
    product with A.
    """
    largest = 2 * jnp.max(jnp.sum(jnp.abs(A), axis=1)) if curvature is None else curvature
    step = jnp.where(largest > 0, 1 / jnp.where(largest > 0, largest, 1.0), jnp.ones_like(radius))

    def descend(now: _Descent, _: None) -> tuple[_Descent, None]:
        w = on_the_l1_ball(now.z - 2 * step * (now.Az - b), radius)
        Aw = A @ w
        value = w @ Aw - 2 * w @ b
        momentum = (1 + jnp.sqrt(1 + 4 * now.momentum**2)) / 2
        push = (now.momentum - 1) / momentum
        onwards = _Descent(w, Aw, value, w + push * (w - now.w), Aw + push * (Aw - now.Aw), momentum)
        anew = _Descent(now.w, now.Aw, now.value, now.w, now.Aw, jnp.ones_like(momentum))
        return jax.tree.map(lambda a, b: jnp.where(value <= now.value, a, b), onwards, anew), None

    Aw = A @ start
    first = _Descent(start, Aw, start @ Aw - 2 * start @ b, start, Aw, jnp.ones_like(radius))
    return jax.lax.scan(descend, first, length=n_steps)[0].w


def on_the_l1_ball(w: Float[Array, "d"], radius: Float[Array, ""]) -> Float[Array, "d"]:
    """The nearest point of the l1 ball."""
    with jax.numpy_dtype_promotion("standard"):  # optax counts in integers
        return projection_l1_ball(w, radius).astype(w.dtype)
