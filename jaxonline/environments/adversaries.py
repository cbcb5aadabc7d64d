"""Adversaries: two worlds that one noisy copy does not tell apart, and noise aimed at the learner.

Source: Cesa-Bianchi, Shalev-Shwartz, Shamir, "Online learning of noisy data with kernels" (COLT 2010), section 2 (the
law of the noise may be chosen by the adversary and change from round to round, or between calls), Theorems 3 and 5,
appendices E and F.
"""

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from jaxonline import random
from jaxonline.environments.data import DataStream
from jaxonline.feedback import NoisyCopies
from jaxonline.feedback.noise import TwoPoints
from jaxonline.game import Game
from jaxonline.losses import Squared
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import (
    Component,
    Interval,
    NonNegative,
    Number,
    Positive,
    PositiveFloat,
    Takes,
    Vector,
)  # fmt: skip
from jaxonline.parameters.validation import validate_arguments

SQUARED = Squared()
SCATTERED = 3.0, -1.0  # where the instances of the world without noise are, in units of e; their mean is e


class IndistinguishablePair(NamedTuple):
    """Two games in which one noisy copy of an instance has the same law, and so has every round: 3e or -e.

    Attributes:
        without_noise: instances uniform on {3e, -e}; copies are the instances themselves.
        with_noise: every instance is e; the noise of a copy is uniform on {2e, -2e}.

    Example:
        >>> from jaxonline.environments.adversaries import IndistinguishablePair
        >>> IndistinguishablePair._fields
        ('without_noise', 'with_noise')
    """

    without_noise: Game
    with_noise: Game


@cites("cesabianchi2010online")
@validate_arguments
def indistinguishable_pair(
    direction: Vector = (1.0,), *, loss: Annotated[Any, Component("loss")] = SQUARED, reveal_covariance: bool = False
) -> IndistinguishablePair:
    """The two worlds of the proof of Theorem 3; the label is always 1.

    A learner that takes one copy a round plays the same in both, in law. But the best linear predictors differ: with
    the squared loss they are e/5 and e. So one of its two regrets grows in proportion to T (`unavoidable_regret`).
    Learners that take two copies can tell the worlds apart, and so can one that is told the covariance.

    Two remarks. The theorem is about linear predictors <w, x>: one that is 1 on 3e, -e and e, as a kernel or an
    intercept allows, loses nothing in either world. And it is an instance of Theorem 5: for any law of instances, "x
    of that law, no noise" and "x its mean, noise around it of that law" are such a pair.

    Args:
        direction: e, a unit vector [d]; its length is the dimension of the instances.
        loss: of both games.
        reveal_covariance: whether learners may ask for the covariance of the noise, which Theorem 3 excludes.

    Raises:
        ValueError: if `direction` is not a unit vector.

    Example:
        >>> import numpy as np
        >>> import jaxonline as jo
        >>> from jaxonline.environments.adversaries import indistinguishable_pair
        >>> worlds = indistinguishable_pair(np.array([0.6, 0.8]))
        >>> learner = jo.GradientLearner(jo.estimators.NaiveCopy(), step_size=jo.InverseSqrt(0.1), radius=1.0)
        >>> result = jo.simulate(worlds.with_noise, learner, n_runs=8, n_rounds=200, comparator=jo.L2Ball(1.0))
        >>> bool((result.regret[..., -1] > 0.3 * 200).all())
        True
    """
    e = np.asarray(direction, float)
    if not np.isclose(np.linalg.norm(e), 1.0, rtol=1e-6, atol=0.0):
        raise ArgumentError("direction", f"must be a unit vector (got the length {np.linalg.norm(e):g})")
    e = e.astype(jnp.result_type(float))  # first, so that 3e and e + 2e are the same number, bit for bit

    def world(multiples: tuple[float, ...], noise: np.ndarray) -> Game:
        instances = np.outer(multiples, e)
        stream = DataStream(instances, np.ones(len(instances)), order="iid" if len(instances) > 1 else "file")
        return Game(stream, NoisyCopies(TwoPoints(noise), reveal_covariance=reveal_covariance), loss=loss)

    return IndistinguishablePair(world(SCATTERED, 0.0 * e), world((1.0,), 2.0 * e))


@cites("cesabianchi2010online")
@validate_arguments
def unavoidable_regret(
    radius: PositiveFloat, loss: Annotated[Callable, Takes("(y_hat, y)"), Component("loss")] = SQUARED
) -> float:
    """Regret per round that no learner with one copy avoids in both worlds of `indistinguishable_pair`.

    A linear predictor is, in both worlds, one number w: its predictions of e, 3e, -e are w, 3w, -w. Its expected
    regrets of a round against the best with |w| <= radius are F1(w) = (l(3w) + l(-w))/2 - min and F2(w) = l(w) - min,
    where l(a) is the loss of predicting a when 1 is right. The hypotheses w_t of a learner have the same law in both
    worlds, and F1, F2 are convex, so that with m the mean of E w_t over the rounds

        larger one of the expected regrets after T rounds >= T max(F1(m), F2(m)) >= T min_w max(F1(w), F2(w)),

    for every T and randomised learners, too; min over |w| <= radius, which the hypotheses keep to (for the squared loss
    with radius >= 1 they need not). The last number, without T, is returned. For the squared loss F1 = 5 (w - 1/5)^2
    and, with radius >= 1, F2 = (w - 1)^2, so that it is (1 - 1/sqrt(5))^2 = 0.3056, at w = 1/sqrt(5). It is 0 where
    both worlds have a best predictor in common, as for radius <= 1/5: hence the "large enough" ball in the proof of
    Theorem 3, which leaves the constant open.

    Args:
        radius: of the comparator's ball |w| <= radius.
        loss: a convex loss `loss(y_hat, y)`.

    Example:
        >>> from jaxonline.environments.adversaries import unavoidable_regret
        >>> round(unavoidable_regret(1.0), 6), round(unavoidable_regret(0.2), 6)
        (0.305573, 0.0)
    """
    from scipy import optimize  # which is slow to import

    radius = float(radius)

    def value(prediction: float) -> float:
        return float(loss(np.float64(prediction), np.float64(1.0)))

    def scattered(w: float) -> float:
        return float(np.mean([value(multiple * w) for multiple in SCATTERED]))

    def best(function: Callable[[float], float]) -> tuple[float, float]:
        """Where a convex function is least, and its value there."""
        inside = optimize.minimize_scalar(function, bounds=(-radius, radius), method="bounded")
        value, where = min((function(w), w) for w in (-radius, radius, float(inside.x)))
        return where, value

    with jax.enable_x64(True), np.errstate(all="ignore"):  # losses are functions of jax, and may be infinite
        (first, least_first), (second, least_second) = best(scattered), best(value)

        def excess(w: float) -> float:
            return (scattered(w) - least_first) - (value(w) - least_second)

        # from the best w of F1 to that of F2, F1 rises from 0 and F2 falls to 0: the larger is least where they meet
        if not excess(first) < 0 < excess(second):
            return 0.0  # the best predictors are one
        crossing = optimize.root_scalar(excess, bracket=(first, second), method="brentq", xtol=1e-15, rtol=1e-15)
        return max(0.0, value(crossing.root) - least_second)


class ChasingState(NamedTuple):
    """What `ChasingNoise` remembers of the rounds before.

    Attributes:
        aim: decayed mean of y_hat x [d], the direction in which the learner's hypothesis lies.
        sign: of the last prediction.
        mean_error: mean of (y_hat - y)^2 so far.
        was_right: whether the last error was at most the mean before it.

    Example:
        >>> from jaxonline.environments.adversaries import ChasingState
        >>> ChasingState._fields
        ('aim', 'sign', 'mean_error', 'was_right')
    """

    aim: Float[Array, "d"]
    sign: Float[Array, ""]
    mean_error: Float[Array, ""]
    was_right: Bool[Array, ""]


@struct
class ChasingNoise:
    """Noise that chases the learner: along its hypothesis, in the rounds after a good prediction, or in all.

    A learner that takes a noisy copy for the instance is pulled by Sigma w, the covariance of the noise times its
    hypothesis. For a given E|noise|^2 that is largest for noise along w. The adversary is not told w, but it knows the
    predictions of the rounds before: the mean of y_hat x is E[x x'] w. So the law is

        noise = s xi aim/|aim| where the last error was at most the mean error before it, and no noise otherwise,

    with aim the decayed mean of y_hat x (a random direction before any prediction), and xi = c or -1/c with
    probabilities 1/(1 + c^2) and c^2/(1 + c^2), times sqrt(variance): the mean is 0, and E|noise|^2 is `variance` or 0
    in every call. The sign s is that of the last prediction for even copies and the opposite for odd ones, so that the
    law changes from round to round and between the calls of a round.

    As it rests after a bad prediction, it changes its law as much as it may, but spends only a part of its budget: a
    learner with a kernel that takes copies for instances may lose less to it than to Gaussian noise of the same
    E|noise|^2 in every call. With `always=True` it does not rest. Then, and with `skew=1`, where xi is the sign of a
    fair coin, such learners lost a third more than to Gaussian noise (`notebooks/noisy_kernels.ipynb`, section 5).

    Args:
        variance: the budget a, E|noise|^2 <= a in every call; at least 0.
        skew: c; at 1 the law is symmetric.
        memory: the weight of the past in the decayed mean.
        always: whether there is noise in every round, after bad predictions as well.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxonline.environments.adversaries import ChasingNoise
        >>> adversary = ChasingNoise(4.0, skew=1.0, memory=0.0)
        >>> state = adversary.init(jax.random.key(0), jnp.zeros(2))
        >>> state = adversary.observe(state, jnp.int32(1), jnp.array([0.0, 2.0]), jnp.float32(1.0), jnp.float32(1.0))
        >>> noise = adversary.sample(jax.random.key(1), state, jnp.int32(2), jnp.int32(0), jnp.zeros(2))
        >>> abs(noise).tolist()  # along the last instance
        [0.0, 2.0]
    """

    variance: NonNegative
    skew: Positive = 2.0
    memory: Annotated[Number, Interval(ge=0, lt=1)] = 0.9
    always: bool = static(default=False)

    def init(self, key: Key[Array, ""], instance: jax.ShapeDtypeStruct) -> ChasingState:
        """Before round 1: a random direction, and noise from the first round on."""
        zero = jnp.zeros((), instance.dtype)
        return ChasingState(random.normal(key, instance.shape, instance.dtype), zero + 1, zero, jnp.bool_(True))

    def sample(
        self, key: Key[Array, ""], state: ChasingState, t: Int[Array, ""], index: Int[Array, ""], x: Float[Array, "d"]
    ) -> Float[Array, "d"]:
        """The noise of copy `index`."""
        skew, variance = jnp.asarray(self.skew, x.dtype), jnp.asarray(self.variance, x.dtype)
        rare = random.uniform(key, (), x.dtype) < 1 / (1 + skew**2)
        xi = jnp.where(rare, skew, -1 / skew)
        side = jnp.where(index % 2 == 0, state.sign, -state.sign)
        loud = state.was_right | self.always
        length = jnp.where(loud, jnp.sqrt(variance), jnp.zeros_like(variance))
        largest = jnp.max(jnp.abs(state.aim))  # squares of what has decayed long enough are no float32 any more
        aim = state.aim / jnp.where(largest > 0, largest, jnp.ones_like(largest))
        return side * xi * length * (aim / jnp.maximum(jnp.linalg.norm(aim), 1))

    def observe(
        self, state: ChasingState, t: Int[Array, ""], x: Float[Array, "d"], y: Array, y_hat: Array
    ) -> ChasingState:
        """The round is over: what it tells of the hypothesis, and whether the prediction was good."""
        memory = jnp.asarray(self.memory, x.dtype)
        error = (y_hat - y) ** 2
        return ChasingState(
            aim=memory * state.aim + (1 - memory) * y_hat * x,
            sign=jnp.where(y_hat < 0, -jnp.ones_like(y_hat), jnp.ones_like(y_hat)),
            mean_error=state.mean_error + (error - state.mean_error) / t.astype(x.dtype),
            was_right=(error <= state.mean_error) | (t == 1),
        )
