"""Adversaries: a pair of games that one noisy copy does not distinguish, and noise that depends on the learner.

Source: Cesa-Bianchi et al. (2010a), section 2 (an adversary may choose the noise in every call), Theorems 3 and 5,
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
from jaxonline.parameters.signatures import validate_arguments
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

SQUARED = Squared()
NOISELESS_MULTIPLES = 3.0, -1.0  # instances of the game without noise are these multiples of e; their mean is e


class IndistinguishablePair(NamedTuple):
    """Two games in which one noisy copy per round has the same distribution: it is uniform on {3e, -e}.

    Attributes:
        without_noise: instances are uniform on {3e, -e}; copies are equal to the instances.
        with_noise: every instance is e; the noise of a copy is uniform on {2e, -2e}.
    """

    without_noise: Game
    with_noise: Game


@cites("cesabianchi2010online")
@validate_arguments
def indistinguishable_pair(
    direction: Vector = (1.0,), *, loss: Annotated[Any, Component("loss")] = SQUARED, reveal_covariance: bool = False
) -> IndistinguishablePair:
    """Return two games that no learner can distinguish with one noisy copy a round.

    The games are those of the proof of Theorem 3 of Cesa-Bianchi et al. (2010a).

    All labels are 1. In both games the moves of a learner with one copy a round have the same distribution. But the
    best linear predictors of the two games differ: they are e/5 and e for the squared loss. So the regret in one of the
    two games is linear in T (`unavoidable_regret`). Learners that take two copies or know the covariance can
    distinguish the games. A predictor with the value 1 at 3e, -e and e, which kernels or an intercept allow, has no
    loss in either game. Theorem 5 of Cesa-Bianchi et al. (2010a) generalises this pair of games. In the first game of
    Theorem 5 the instances have any distribution, without noise. In its second game every instance is the mean of this
    distribution, and the noisy copies have this distribution.

    Args:
        direction: e, a vector [d] of length 1; d is the dimension of the instances. Raises a ValueError if the length
            is not 1.
        loss: the loss of both games.
        reveal_covariance: whether learners may ask for the covariance of the noise. Theorem 3 assumes that learners may
            not.

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
    e = e.astype(jnp.result_type(float))  # before the products, so that 3e and e + 2e are equal, bit for bit

    def make_game(multiples: tuple[float, ...], noise: np.ndarray) -> Game:
        instances = np.outer(multiples, e)
        stream = DataStream(instances, np.ones(len(instances)), order="iid" if len(instances) > 1 else "file")
        return Game(stream, NoisyCopies(TwoPoints(noise), reveal_covariance=reveal_covariance), loss=loss)

    return IndistinguishablePair(make_game(NOISELESS_MULTIPLES, 0.0 * e), make_game((1.0,), 2.0 * e))


@cites("cesabianchi2010online")
@validate_arguments
def unavoidable_regret(
    radius: PositiveFloat, loss: Annotated[Callable[..., Any], Takes("(y_hat, y)"), Component("loss")] = SQUARED
) -> float:
    """Lower bound on the regret per round with one copy a round, in the worse game of `indistinguishable_pair`.

    Both games depend only on the component w of a linear predictor along e: its predictions for e, 3e, -e are w, 3w,
    -w. Compared with the best |w| <= radius, its expected regrets per round in the two games are F1(w) = (l(3w) +
    l(-w))/2 - min and F2(w) = l(w) - min. Here l(a) is the loss of the prediction a for the label 1. The hypotheses w_t
    have the same distribution in both games, and F1, F2 are convex. Let m be the mean of E w_t over the rounds t. For
    every T, and also for randomised learners, the larger expected regret is at least T max(F1(m), F2(m)) >= T min_w
    max(F1(w), F2(w)). The function returns this minimum without the factor T. The minimum is over |w| <= radius. The
    learner's hypotheses must be in this ball, too, unless the loss is squared and radius >= 1. For the squared loss F1
    = 5 (w - 1/5)^2 and, with radius >= 1, F2 = (w - 1)^2: the minimum is (1 - 1/sqrt(5))^2 = 0.3056, at w = 1/sqrt(5).
    The minimum is 0 if both games have the same best predictor, for example if radius <= 1/5. The proof of Theorem 3 in
    Cesa-Bianchi et al. (2010a) assume a "large enough" ball and leave the constant open.

    Args:
        radius: radius of the comparator's ball |w| <= radius.
        loss: a convex loss `loss(y_hat, y)`.

    Example:
        >>> from jaxonline.environments import unavoidable_regret
        >>> round(unavoidable_regret(1.0), 6), round(unavoidable_regret(0.2), 6)
        (0.305573, 0.0)
    """
    from scipy import optimize  # slow to import

    radius = float(radius)

    def noisy_loss(w: float) -> float:
        return float(loss(np.float64(w), np.float64(1.0)))

    def clean_loss(w: float) -> float:
        return float(np.mean([noisy_loss(multiple * w) for multiple in NOISELESS_MULTIPLES]))

    def minimise(function: Callable[[float], float]) -> tuple[float, float]:
        """Return the minimiser of a convex function, and the minimum."""
        inner = optimize.minimize_scalar(function, bounds=(-radius, radius), method="bounded")
        minimum, minimiser = min((function(w), w) for w in (-radius, radius, float(inner.x)))
        return minimiser, minimum

    with jax.enable_x64(True), np.errstate(all="ignore"):  # losses are functions of jax, and may be infinite
        (clean_best, clean_minimum), (noisy_best, noisy_minimum) = minimise(clean_loss), minimise(noisy_loss)

        def difference(w: float) -> float:
            return (clean_loss(w) - clean_minimum) - (noisy_loss(w) - noisy_minimum)

        # from the minimiser of F1 to that of F2, F1 rises from 0 and F2 falls to 0: the maximum is least where F1 = F2
        if not difference(clean_best) < 0 < difference(noisy_best):
            return 0.0  # the same minimiser
        bracket = clean_best, noisy_best
        crossing = optimize.root_scalar(difference, bracket=bracket, method="brentq", xtol=1e-15, rtol=1e-15)
        return max(0.0, noisy_loss(crossing.root) - noisy_minimum)


class ChasingState(NamedTuple):
    """State of `ChasingNoise`.

    Attributes:
        aim: decayed mean of y_hat x [d], an estimate of the direction of the learner's hypothesis.
        sign: the sign of the last prediction.
        mean_error: mean of (y_hat - y)^2 so far.
        was_right: whether the last error was at most the mean of the errors before it.
    """

    aim: Float[Array, "d"]
    sign: Float[Array, ""]
    mean_error: Float[Array, ""]
    was_right: Bool[Array, ""]


@struct
class ChasingNoise:
    """Adversarial noise along the learner's hypothesis, in the rounds after a good prediction or in all rounds.

    If a learner uses a noisy copy as the instance, its gradient has a bias along Sigma w: the covariance of the noise
    times its hypothesis. For a given E|noise|^2 this bias is largest for noise along the hypothesis w. The adversary
    does not observe w, but it observes past instances x and predictions y_hat, and the mean of y_hat x is E[x x'] w. So
    the adversary's noise is s xi aim/|aim| if the last error was at most the mean error before it, and 0 otherwise.
    Here aim is the decayed mean of y_hat x (a random direction before any prediction), and xi is c or -1/c with
    probabilities 1/(1 + c^2) and c^2/(1 + c^2), times sqrt(variance). The mean of the noise is 0, and E|noise|^2 is
    `variance` or 0 in every call. The sign s is that of the last prediction for even copies and the opposite for odd
    copies, so the distribution also changes between the calls of a round.

    Since there is no noise after bad predictions, the adversary spends only a part of its budget. So a kernel learner
    that uses copies as instances may lose less than under Gaussian noise with the same E|noise|^2 in every call. With
    `always=True` and `skew=1` such learners lost a third more than under Gaussian noise
    (`benchmarks/papers/notebooks/noisy_kernels.ipynb`, section 5).

    Args:
        variance: the budget a: E|noise|^2 <= a in every call.
        skew: the number c in the distribution of xi; for c = 1 the distribution is symmetric.
        memory: the weight of the past in the decayed mean.
        always: whether there is noise in every round, also after bad predictions.

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> adversary = jo.environments.ChasingNoise(4.0, skew=1.0, memory=0.0)
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
        """Return the first state, with a random direction as the aim and with noise from the first round on."""
        zero = jnp.zeros((), instance.dtype)
        return ChasingState(random.normal(key, instance.shape, instance.dtype), zero + 1, zero, jnp.bool_(True))

    def sample(
        self, key: Key[Array, ""], state: ChasingState, t: Int[Array, ""], index: Int[Array, ""], x: Float[Array, "d"]
    ) -> Float[Array, "d"]:
        """Return the noise of copy `index`."""
        skew, variance = jnp.asarray(self.skew, x.dtype), jnp.asarray(self.variance, x.dtype)
        is_skew = random.bernoulli(key, 1 / (1 + skew**2))
        xi = jnp.where(is_skew, skew, -1 / skew)
        sign = jnp.where(index % 2 == 0, state.sign, -state.sign)
        length = jnp.where(state.was_right | self.always, jnp.sqrt(variance), jnp.zeros_like(variance))
        largest = jnp.max(jnp.abs(state.aim))  # scaled first: squares of small numbers underflow in float32
        aim = state.aim / jnp.where(largest > 0, largest, jnp.ones_like(largest))
        return sign * xi * length * (aim / jnp.maximum(jnp.linalg.norm(aim), 1))

    def observe(
        self, state: ChasingState, t: Int[Array, ""], x: Float[Array, "d"], y: Array, y_hat: Array
    ) -> ChasingState:
        """Update the aim and the mean error, and compare the error with the mean error before this round."""
        memory = jnp.asarray(self.memory, x.dtype)
        error = (y_hat - y) ** 2
        return ChasingState(
            aim=memory * state.aim + (1 - memory) * y_hat * x,
            sign=jnp.where(y_hat < 0, -jnp.ones_like(y_hat), jnp.ones_like(y_hat)),
            mean_error=state.mean_error + (error - state.mean_error) / t.astype(x.dtype),
            was_right=(error <= state.mean_error) | (t == 1),
        )
