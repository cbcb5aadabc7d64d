"""Learners that observe a few attributes of each instance: AER, AERR and the Baseline."""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from jaxonline.estimators.attributes import AttributeGradient, AttributePairs, EvenCount, project_psd
from jaxonline.estimators.gradients import Regularised
from jaxonline.game.roles import Learner, Specs
from jaxonline.learners.gradient.descent import GradientLearner, Hypothesis, InverseTime, StepSize, zeros_like_vector
from jaxonline.losses import Loss, Squared
from jaxonline.parameters.citations import cites
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Count, Positive

# ---------------------------------------------------------------------------------------------------------------------
# AER and AERR: gradient descent on the squared loss from k attributes of each instance.
#
# AER and AERR differ in the distribution of the chosen attributes, the step size and the ball. Sources: Cesa-Bianchi,
# Shalev-Shwartz, Shamir, "Efficient learning with partially observed attributes" (ICML 2010), Algorithm 2, with erratum
# E14; Hazan and Koren, "Linear regression with limited observation" (ICML 2012), AERR.


@cites("cesabianchi2010efficient")
@validate_arguments
def AER(
    n_attributes: Count, regularizer: Positive, radius: Positive, hypothesis: Hypothesis = "average",
    n_for_prediction: Count | None = None,
) -> GradientLearner:  # fmt: skip
    """AER: w <- (1 - 1/t) w - 2 / (lambda t) (y^ - y) v, projected on the l1 ball of radius B.

    Source: Cesa-Bianchi et al. (2010c), Algorithm 2.

    The update of AER is gradient descent on (<w, x> - y)^2 + lambda |w|^2 / 2 with step sizes 1 / (lambda t) (Pegasos).
    (Erratum E42: Eq. 5 of the paper has lambda |w|^2.)
    The hypothesis "average" is the mean of w_1 = 0, ..., w_t, with which Theorem 2 (`bounds.aer_regret`) predicts in
    round t. The paper's output after m examples omits w_1, so this output is (m + 1) / m times the average of round m +
    1.

    Args:
        n_attributes: k, at most d (the budget of `Attributes`), otherwise a game raises a ValueError. An attribute that
            is chosen twice is charged twice.
        regularizer: lambda; Theorem 2 requires the value ((B + 1) d / B_2) sqrt(log(m) / (m k)), for m > 1 examples.
        radius: B.
        hypothesis: whether to predict with the average of the hypotheses or with the last hypothesis.
        n_for_prediction: how many of the k attributes serve to estimate the prediction; by default half, as in
            Cesa-Bianchi et al. (2010c).

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> game = jo.Game(jo.environments.LinearModel(np.array([0.5, -0.5, 0.0, 0.0])), jo.Attributes(2))
        >>> learner = jo.learners.AER(2, regularizer=1.0, radius=1.0)
        >>> jo.simulate(game, learner, n_runs=4, n_rounds=50).queries[0, :, -1].tolist()
        [100.0, 100.0, 100.0, 100.0]
    """
    return GradientLearner(
        Regularised(AttributeGradient(n_attributes, n_for_prediction=n_for_prediction), regularizer),
        InverseTime(1 / regularizer),
        radius=radius,
        projection=project_l1_ball,
        hypothesis=hypothesis,
    )


@cites("cesabianchi2010efficient", "hazan2012linear")
@validate_arguments
def AERR(
    n_attributes: Count, step_size: StepSize, radius: Positive, hypothesis: Hypothesis = "average",
    n_for_prediction: Count | None = None,
) -> GradientLearner:  # fmt: skip
    """AERR (Hazan and Koren 2012): draws attributes for y^ with probabilities w_i^2 / |w|^2, projects w on an l2 ball.

    As in AER, half of the k attributes serve to estimate the prediction y^, unless `n_for_prediction` is given. The
    paper uses one attribute for y^, and k attributes with replacement for the estimate of x. The paper's constant step
    size is proportional to sqrt(k / (d m)) (`bounds.aerr_regret`).

    Args:
        n_attributes: k, at most d.
        step_size: a step size, as for `GradientLearner`.
        radius: B.
        hypothesis: whether to predict with the average of the hypotheses or with the last hypothesis.
        n_for_prediction: how many of the k attributes serve to estimate the prediction; by default half. Hazan and
            Koren use one.

    Example:
        >>> import jaxonline as jo
        >>> entrant = jo.WithFeedback(jo.learners.AERR(4, step_size=0.01, radius=1.0), jo.Attributes(4))
    """
    estimator = AttributeGradient(n_attributes, "l2", n_for_prediction)
    return GradientLearner(estimator, step_size, radius=radius, hypothesis=hypothesis)


# ---------------------------------------------------------------------------------------------------------------------
# The Baseline: estimate the moments x x' and y x from k attributes of each instance, and minimise over the l1 ball.
#
# Source: Cesa-Bianchi, Shalev-Shwartz, Shamir, "Efficient learning with partially observed attributes" (ICML 2010),
# Algorithm 1, with errata E15 (the sign of w'v) and E16 (the estimate of x x' is not positive semi-definite).


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
class Baseline(Learner):
    """The Baseline: after each round w minimises w'Aw - 2 w'b over the l1 ball of radius B.

    Source: Cesa-Bianchi et al. (2010c), Algorithm 1.

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

    def init(self, key: Key[Array, ""], specs: Specs) -> BaselineState:
        """Return zero estimates and w_1 = 0; instances must be vectors."""
        w = zeros_like_vector(self, specs.instance)
        return BaselineState(jnp.zeros((len(w), len(w)), w.dtype), w, w, jnp.int32(0))

    def predict(self, key: Key[Array, ""], state: BaselineState, x: Float[Array, "d"]) -> Float[Array, ""]:
        """Predict <w, x>."""
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
    twice the largest absolute row sum. NaN if A or b overflows.
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
    w = jax.lax.scan(descend, first, length=n_steps)[0].w
    return jnp.where(jnp.isfinite(largest) & jnp.all(jnp.isfinite(b)), w, jnp.nan)


def project_l1_ball(w: Float[Array, "d"], radius: Float[Array, ""]) -> Float[Array, "d"]:
    """Return the nearest point of the l1 ball, sgn(w) (|w| - tau)_+ (Michelot 1986; needs no sort).

    With the gaps g_i = max |w| - |w_i| and the depth s = max |w| - tau, the point is sgn(w) (s - g)_+, which is right
    also for a radius far below |w|. s falls until it is (radius + sum of g_i) / n for the n coordinates with g_i < s. A
    few steps suffice, and d at most.
    """
    size = jnp.abs(w)
    gap = jnp.max(size) - size

    def lower_depth(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        depth, n, _ = state
        above = gap < depth
        fewer = jnp.sum(above, dtype=jnp.int32)
        total = radius + jnp.sum(jnp.where(above, gap, 0.0))
        depth = jnp.minimum(depth, total / jnp.maximum(fewer, 1).astype(w.dtype))
        return depth, fewer, fewer < n

    start = (radius + jnp.sum(gap)) / len(w)
    is_outside = jnp.sum(size) > radius
    depth, _, _ = jax.lax.while_loop(lambda state: state[2], lower_depth, (start, jnp.int32(len(w)), is_outside))
    return jnp.where(is_outside, jnp.sign(w) * jnp.maximum(depth - gap, 0.0), w)
