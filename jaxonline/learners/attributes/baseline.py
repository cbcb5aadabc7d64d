"""The Baseline: estimate the moments x x' and y x from k attributes of each instance, and minimise over the l1 ball.

Source: Cesa-Bianchi, Shalev-Shwartz, Shamir, "Efficient learning with partially observed attributes" (ICML 2010),
Algorithm 1, with errata E15 (the sign of w'v) and E16 (the estimate of x x' is not positive semi-definite).
"""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from jaxonline.estimators.attribute_pairs import AttributePairs, project_psd
from jaxonline.estimators.index_sampling import EvenCount
from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Specs
from jaxonline.learners.vectors import linear_range, zeros_like_vector
from jaxonline.losses import Loss, Squared
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Count, Positive


class BaselineState(NamedTuple):
    """State of `Baseline`: mean estimates `A` of x x' and `b` of y x, hypothesis `w`, and number of updates `t`."""

    A: Float[Array, "d d"]
    b: Float[Array, "d"]
    w: Float[Array, "d"]
    t: Int[Array, ""]


class BaselineInfo(NamedTuple):
    """Diagnostics of one update: `estimated_loss` is w'Aw - 2 w'b, the estimated mean loss without the mean of y^2."""

    estimated_loss: Float[Array, ""]


@cites("cesabianchi2010efficient")
@struct
class Baseline(LearnerDefaults):
    """The Baseline (paper C, Algorithm 1): after each round w minimises w'Aw - 2 w'b over the l1 ball of radius B.

    A round makes `n_steps` descent steps from the last hypothesis at a cost of O(d^2 n_steps). If `cone` is True, a
    round also makes an eigendecomposition. If `cone` is False, the learner solves the paper's problem, which is not
    convex (erratum E16), and w is a stationary point.

    Args:
        n_attributes: k, at most 2 d^2.
        radius: B.
        cone: whether to project A on the cone of positive semi-definite matrices before the descent.
        n_steps: number of descent steps in a round.

    Example:
        >>> import numpy as np, jaxonline as jo
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

    def prediction_range(self, instances: Float[np.ndarray, "n d"] | None) -> tuple[float, float] | None:
        """Return the limits of <w, x> in the l1 ball."""
        return linear_range(instances, self.radius, 1.0)

    def init(self, key: Key[Array, ""], specs: Specs) -> BaselineState:
        """Return zero estimates and w_1 = 0; instances must be vectors."""
        del key
        w = zeros_like_vector(self, specs.instance)
        return BaselineState(jnp.zeros((len(w), len(w)), w.dtype), w, w, jnp.int32(0))

    def predict(self, key: Key[Array, ""], state: BaselineState, x: Float[Array, "d"]) -> Float[Array, ""]:
        """Predict <w, x>."""
        del key
        return state.w @ x

    def update(self, key: Key[Array, ""], state: BaselineState, oracle: Any) -> tuple[BaselineState, BaselineInfo]:
        """Estimate A and b from k/2 pairs of attributes, and set w to the minimiser of w'Aw - 2 w'b."""
        t = state.t + 1
        rate = 1 / t.astype(state.w.dtype)
        moments = AttributePairs(self.n_attributes)(key, len(state.w), oracle)
        A = state.A + rate * (moments.A - state.A)
        b = state.b + rate * (oracle.label() * moments.v - state.b)
        matrix = project_psd(A) if self.cone else A
        w = minimise_on_l1_ball(matrix, b, jnp.asarray(self.radius, b.dtype), state.w, self.n_steps)
        return BaselineState(A, b, w, t), BaselineInfo(w @ matrix @ w - 2 * w @ b)


class _Descent(NamedTuple):
    """State of the descent: a point w, its value, the start z of the next step, A w, A z and the momentum."""

    w: Float[Array, "d"]
    Aw: Float[Array, "d"]
    value: Float[Array, ""]
    z: Float[Array, "d"]
    Az: Float[Array, "d"]
    momentum: Float[Array, ""]


def minimise_on_l1_ball(
    A: Float[Array, "d d"],
    b: Float[Array, "d"],
    radius: Float[Array, ""],
    start: Float[Array, "d"],
    n_steps: int,
    curvature: Float[Array, ""] | None = None,
) -> Float[Array, "d"]:
    """Minimise w'Aw - 2 w'b over the l1 ball of radius `radius`, from a point `start` of the ball.

    The method is accelerated projected gradient descent (Nesterov; Beck and Teboulle 2009). The method restarts without
    momentum if the value would increase, so the value never increases, even if A is not positive semi-definite. Each
    step computes one product with A. `curvature` is at least twice the largest absolute eigenvalue of A; by default,
    twice the largest absolute row sum.
    """
    largest = 2 * jnp.max(jnp.sum(jnp.abs(A), axis=1)) if curvature is None else curvature
    step = jnp.where(largest > 0, 1 / jnp.where(largest > 0, largest, 1.0), jnp.ones_like(radius))

    def descend(current: _Descent, _: None) -> tuple[_Descent, None]:
        w = project_l1_ball(current.z - 2 * step * (current.Az - b), radius)
        Aw = A @ w
        value = w @ Aw - 2 * w @ b
        momentum = (1 + jnp.sqrt(1 + 4 * current.momentum**2)) / 2
        weight = (current.momentum - 1) / momentum
        z, Az = w + weight * (w - current.w), Aw + weight * (Aw - current.Aw)
        restart = _Descent(current.w, current.Aw, current.value, current.w, current.Aw, jnp.ones_like(momentum))
        accepted = _Descent(w, Aw, value, z, Az, momentum)
        return jax.tree.map(lambda a, b: jnp.where(value <= current.value, a, b), accepted, restart), None

    Aw = A @ start
    first = _Descent(start, Aw, start @ Aw - 2 * start @ b, start, Aw, jnp.ones_like(radius))
    return jax.lax.scan(descend, first, length=n_steps)[0].w


def project_l1_ball(w: Float[Array, "d"], radius: Float[Array, ""]) -> Float[Array, "d"]:
    """Return the nearest point of the l1 ball, sgn(w) (|w| - tau)_+ (Michelot 1986; needs no sort).

    tau grows until it is (the sum of |w_i| minus the radius) / n for the n coordinates with |w_i| > tau. A few steps
    suffice, and d at most.
    """
    size = jnp.abs(w)

    def raise_threshold(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        tau, n, _ = state
        above = size > tau
        fewer = jnp.sum(above, dtype=jnp.int32)
        excess = jnp.sum(jnp.where(above, size, 0.0)) - radius
        tau = jnp.maximum(tau, excess / jnp.maximum(fewer, 1).astype(w.dtype))
        return tau, fewer, fewer < n

    start = jnp.maximum(jnp.sum(size) - radius, 0.0) / len(w)
    tau, _, _ = jax.lax.while_loop(lambda state: state[2], raise_threshold, (start, jnp.int32(len(w)), start > 0))
    return jnp.sign(w) * jnp.maximum(size - tau, 0.0)
