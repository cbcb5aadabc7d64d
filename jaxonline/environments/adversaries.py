"""Adversaries: two games that one noisy copy cannot distinguish, and noise directed at the learner.

Source: Cesa-Bianchi, Shalev-Shwartz, Shamir, "Online learning of noisy data with kernels" (COLT 2010), section 2 (an
adversary may change the noise from round to round, or between calls), Theorems 3 and 5, appendices E and F.
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
NOISELESS_MULTIPLES = 3.0, -1.0  # the instances of the game without noise, in units of e; their mean is e


class IndistinguishablePair(NamedTuple):
    """Two games in which one noisy copy of an instance has the same distribution, 3e or -e with equal probability.

    Attributes:
        without_noise: instances are uniform on {3e, -e}, and copies are the instances.
        with_noise: every instance is e, and the noise of a copy is uniform on {2e, -2e}.
    """

    without_noise: Game
    with_noise: Game


@cites("cesabianchi2010online")
@validate_arguments
def indistinguishable_pair(
    direction: Vector = (1.0,), *, loss: Annotated[Any, Component("loss")] = SQUARED, reveal_covariance: bool = False
) -> IndistinguishablePair:
    """The two games in the proof of Theorem 3; the label is always 1.

    A learner with one copy per round has the same distribution of moves in both games, but the best linear predictors
    differ: with the squared loss they are e/5 and e. So one of its two regrets grows linearly in T
    (`unavoidable_regret`). Learners with two copies, or with the covariance, can distinguish the games.

    The theorem is about linear predictors <w, x>; one that is 1 on 3e, -e and e, with a kernel or an intercept, has no
    loss in either game. The pair is an instance of Theorem 5: any distribution of x without noise, and its mean with
    noise of that distribution around it.

    Args:
        direction: e, a unit vector [d].
        loss: of both games.
        reveal_covariance: whether learners may ask for the covariance of the noise, which Theorem 3 excludes.

    Raises:
        ValueError: `direction` is not a unit vector.

    Example:
        >>> import jaxonline as jo
        >>> pair = jo.environments.indistinguishable_pair([0.6, 0.8])
        >>> learner = jo.GradientLearner(jo.estimators.NaiveCopy(), step_size=jo.InverseSqrt(0.1), radius=1.0)
        >>> result = jo.simulate(pair.with_noise, learner, n_runs=8, n_rounds=200, comparator=jo.L2Ball(1.0))
        >>> bool((result.regret[..., -1] > 0.3 * 200).all())
        True
    """
    e = np.asarray(direction, float)
    if not np.isclose(np.linalg.norm(e), 1.0, rtol=1e-6, atol=0.0):
        raise ArgumentError("direction", f"must be a unit vector (got the length {np.linalg.norm(e):g})")
    e = e.astype(jnp.result_type(float))  # before multiplying, so that 3e and e + 2e have the same bits

    def make_game(multiples: tuple[float, ...], noise: np.ndarray) -> Game:
        instances = np.outer(multiples, e)
        stream = DataStream(instances, np.ones(len(instances)), order="iid" if len(instances) > 1 else "file")
        return Game(stream, NoisyCopies(TwoPoints(noise), reveal_covariance=reveal_covariance), loss=loss)

    return IndistinguishablePair(make_game(NOISELESS_MULTIPLES, 0.0 * e), make_game((1.0,), 2.0 * e))


@cites("cesabianchi2010online")
@validate_arguments
def unavoidable_regret(
    radius: PositiveFloat, loss: Annotated[Callable, Takes("(y_hat, y)"), Component("loss")] = SQUARED
) -> float:
    """Lower bound on the regret per round of every learner with one copy, in one game of `indistinguishable_pair`.

    In both games a linear predictor is a number w, with predictions w, 3w, -w of e, 3e, -e. Its expected regrets of a
    round against the best with |w| <= radius are F1(w) = (l(3w) + l(-w))/2 - min and F2(w) = l(w) - min, where l(a) is
    the loss of predicting a when 1 is right. The w_t of a learner have the same distribution in both games, and F1, F2
    are convex, so that with m the mean of E w_t over the rounds

        the larger expected regret after T rounds >= T max(F1(m), F2(m)) >= T min_w max(F1(w), F2(w)),

    for every T, also for randomised learners; the minimum is over |w| <= radius, to which the w_t belong (for the
    squared loss with radius >= 1 they need not). The function returns the last number without T. For the squared loss
    F1 = 5 (w - 1/5)^2 and, with radius >= 1, F2 = (w - 1)^2, so it is (1 - 1/sqrt(5))^2 = 0.3056, at w = 1/sqrt(5). It
    is 0 if both games have a common best predictor, as for radius <= 1/5: hence the "large enough" ball in the proof of
    Theorem 3, which leaves the constant open.

    Args:
        radius: of the comparator's ball |w| <= radius.
        loss: a convex loss `loss(y_hat, y)`.

    Example:
        >>> from jaxonline.environments.adversaries import unavoidable_regret
        >>> round(unavoidable_regret(1.0), 6), round(unavoidable_regret(0.2), 6)
        (0.305573, 0.0)
    """
    from scipy import optimize  # slow to import

    radius = float(radius)

    def value(prediction: float) -> float:
        return float(loss(np.float64(prediction), np.float64(1.0)))

    def mean_loss(w: float) -> float:
        return float(np.mean([value(multiple * w) for multiple in NOISELESS_MULTIPLES]))

    def minimise(function: Callable[[float], float]) -> tuple[float, float]:
        """The minimiser of a convex function, and its minimum."""
        inside = optimize.minimize_scalar(function, bounds=(-radius, radius), method="bounded")
        value, where = min((function(w), w) for w in (-radius, radius, float(inside.x)))
        return where, value

    with jax.enable_x64(True), np.errstate(all="ignore"):  # losses use JAX, and may be infinite
        (first, least_first), (second, least_second) = minimise(mean_loss), minimise(value)

        def excess(w: float) -> float:
            return (mean_loss(w) - least_first) - (value(w) - least_second)

        # between the minimisers F1 increases from 0 and F2 decreases to 0: their maximum is least where they are equal
        if not excess(first) < 0 < excess(second):
            return 0.0  # a common best predictor
        crossing = optimize.root_scalar(excess, bracket=(first, second), method="brentq", xtol=1e-15, rtol=1e-15)
        return max(0.0, value(crossing.root) - least_second)


class ChasingState(NamedTuple):
    """State of `ChasingNoise`.

    Attributes:
        aim: decayed mean of y_hat x [d], the direction of the learner's hypothesis.
        sign: of the last prediction.
        mean_error: mean of (y_hat - y)^2 so far.
        was_right: whether the last error was at most the mean before it.
    """

    aim: Float[Array, "d"]
    sign: Float[Array, ""]
    mean_error: Float[Array, ""]
    was_right: Bool[Array, ""]


@struct
class ChasingNoise:
    """Adversarial noise along the learner's hypothesis, after good predictions or in all rounds.

    A learner that takes a noisy copy for the instance is biased by Sigma w, the covariance of the noise times its
    hypothesis; for a given E|noise|^2 this is largest for noise along w. The adversary does not know w, but it knows
    the earlier predictions: the mean of y_hat x is E[x x'] w. Its noise is

        noise = s xi aim/|aim| if the last error was at most the mean error before it, else 0,

    with aim the decayed mean of y_hat x (a random direction before the first prediction), and xi = c or -1/c with
    probabilities 1/(1 + c^2) and c^2/(1 + c^2), times sqrt(variance): the mean is 0, and E|noise|^2 is `variance` or 0
    in every call. The sign s is that of the last prediction for even copies and the opposite for odd ones, so the
    distribution changes between rounds and between the calls of a round.

    It has no noise after a bad prediction, so it uses only a part of its budget: a learner with a kernel that takes
    copies for instances may lose less than with Gaussian noise of the same E|noise|^2 in every call. With `always=True`
    and `skew=1`, where xi is a random sign, such learners lost a third more than with Gaussian noise
    (`notebooks/noisy_kernels.ipynb`, section 5).

    Args:
        variance: the budget a, E|noise|^2 <= a in every call.
        skew: c; for 1 the distribution is symmetric.
        memory: the weight of the past in the decayed mean.
        always: whether there is noise in every round, also after bad predictions.

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
        """The state before round 1: a random direction; there is noise from the first round on."""
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
        active = state.was_right | self.always
        length = jnp.where(active, jnp.sqrt(variance), jnp.zeros_like(variance))
        largest = jnp.max(jnp.abs(state.aim))  # squares of small entries would underflow
        aim = state.aim / jnp.where(largest > 0, largest, jnp.ones_like(largest))
        return side * xi * length * (aim / jnp.maximum(jnp.linalg.norm(aim), 1))

    def observe(
        self, state: ChasingState, t: Int[Array, ""], x: Float[Array, "d"], y: Array, y_hat: Array
    ) -> ChasingState:
        """Estimate the hypothesis from a round that is over, and compare its error with the mean."""
        memory = jnp.asarray(self.memory, x.dtype)
        error = (y_hat - y) ** 2
        return ChasingState(
            aim=memory * state.aim + (1 - memory) * y_hat * x,
            sign=jnp.where(y_hat < 0, -jnp.ones_like(y_hat), jnp.ones_like(y_hat)),
            mean_error=state.mean_error + (error - state.mean_error) / t.astype(x.dtype),
            was_right=(error <= state.mean_error) | (t == 1),
        )
