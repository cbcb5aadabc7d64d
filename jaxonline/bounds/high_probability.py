"""Bounds that hold with high probability, and the moments of data and noise that bounds need."""

import math
from typing import Annotated, NamedTuple

import numpy as np
from jaxtyping import ArrayLike, Float
from scipy import special

from jaxonline.bounds.gradient import curve_of_descent
from jaxonline.bounds.theorem import ANY, OBLIVIOUS, Bound, RoundNumbers, theorem, with_value
from jaxonline.feedback.noise import FlippedLabels, Noise
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.types import (
    Count,
    Ge,
    Lt,
    NonNegativeFloat,
    OpenUnitFloat,
    PositiveFloat,
    Rounds,
    host_float,
)

# ---------------------------------------------------------------------------------------------------------------------
# Moments of a data set with noise, as required by the bounds.


class MomentBounds(NamedTuple):
    """Constants of the theorems of Cesa-Bianchi et al. (2010b) for a data set and its noise; they hold for all rows.

    Attributes:
        x_second: B with E|x~|^2 <= B^2.
        x_fourth: B with E|x~|^4 <= B^4, at least `x_second`.
        x_pair: P with E <x~, x~'>^2 <= P^2 for two copies, at most `x_second` squared.
        y_second: B_y with E y~^2 <= B_y^2.
        covariance_norm: spectral norm of the noise's covariance.
    """

    x_second: float
    x_fourth: float
    x_pair: float
    y_second: float
    covariance_norm: float


@validate_arguments
def moment_bounds(
    X: Float[ArrayLike, "n d"], y: Float[ArrayLike, "n"], noise: Noise | None = None,
    label_noise: Noise | FlippedLabels | None = None,
) -> MomentBounds:  # fmt: skip
    """Exact constants of the theorems of Cesa-Bianchi et al. (2010b) for a data set with `Noise`.

    The noise is e = F z, where z has independent symmetric entries; e' is an independent copy. With S = F F' and
    M = F' F, the moments are E|x + e|^4 = |x|^4 + 4 x'Sx + 2 |x|^2 tr S + E|e|^4, E|e|^4 = (tr S)^2 + 2 tr S^2 +
    (kurtosis - 3) sum M_kk^2, and E <x + e, x + e'>^2 = |x|^4 + 2 x'Sx + tr S^2.

    Args:
        X: instances [n, d].
        y: targets [n].
        noise: distribution of the instances' noise with a finite fourth moment (otherwise a ValueError); None for clean
            instances.
        label_noise: distribution of the labels' noise (`Noise`, or `FlippedLabels` with E y~^2 = y^2 / (1 - 2q)^2), or
            None for clean labels.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> jo.bounds.moment_bounds(np.eye(2), 2 * np.ones(2), jo.noise.gaussian(4.0))[:4:3]  # B and B_y
        (3.0, 2.0)
    """
    X, y = (array.astype(float) for array in check.rows("X", X, "y", y))
    norms = (X**2).sum(axis=1)
    factor = np.zeros((X.shape[1],) * 2) if noise is None else noise.factor_matrix(X.shape[1])
    if noise is not None and not np.isfinite(noise.kurtosis):
        raise ArgumentError("noise", f"must have a finite fourth moment (got the kurtosis {noise.kurtosis})")
    S, M = factor @ factor.T, factor.T @ factor
    excess = 0.0 if noise is None else noise.kurtosis - 3
    quadratic = np.einsum("ni,ij,nj->n", X, S, X)
    pair = norms**2 + 2 * quadratic + np.sum(S * S)
    noise_fourth = np.trace(S) ** 2 + 2 * np.sum(S * S) + excess * np.sum(np.diag(M) ** 2)
    fourth = norms**2 + 4 * quadratic + 2 * norms * np.trace(S) + noise_fourth
    return MomentBounds(
        float(np.sqrt(norms.max() + np.trace(S))),
        float(fourth.max() ** 0.25),
        float(np.sqrt(pair.max())),
        float(np.sqrt(_label_second_moments(y, label_noise).max())),
        float(np.linalg.norm(S, 2)),
    )


def _label_second_moments(y: Float[np.ndarray, "n"], noise: Noise | FlippedLabels | None) -> Float[np.ndarray, "n"]:
    """Return E y~^2 of a noisy label y~ of each target."""
    if isinstance(noise, FlippedLabels):
        return (y / (1 - 2 * host_float("rate", noise.rate))) ** 2
    return y**2 if noise is None else y**2 + float(np.sum(noise.factor_matrix(1) ** 2))


# ---------------------------------------------------------------------------------------------------------------------
# Regret bounds that hold with high probability, for gradient descent on bounded unbiased estimates.
#
# Cesa-Bianchi et al. (2010b) mention such bounds without a proof (section 2: "under suitable conditions, using Azuma's
# inequality"). The condition is that all estimates are bounded. `largest_copies` and `largest_estimate` compute this
# bound for bounded noise, and for copies of Gaussian noise that are bounded with high probability.


@validate_arguments
def curve_with_high_probability(
    bound: Bound, rounds: RoundNumbers, step_size: PositiveFloat | None = None
) -> np.ndarray:
    """Regret bound after each of `rounds` for constant steps: the expected bound plus the deviation.

    In an environment that reacts, the best predictor depends on the noise. Proof of the bound for such environments:
    let w_1 be the first hypothesis. <g - g~, w_t - u> is <g - g~, w_t - w_1> plus <g~ - g, u - w_1>. The proof of
    `with_high_probability` with D = radius bounds the sum of the first terms; this bound holds with probability
    1 - delta/2. The sum of the second terms is at most radius |sum of (g~ - g)|. These vectors are martingale
    differences with |g~ - g| <= 2b, so the norm of their sum is at most 2b sqrt(2 T ln(4/delta)) with probability
    1 - delta/2 (Pinelis 1994, Theorem 3.5).
    """
    t, b, delta = np.asarray(rounds, float), bound.estimate_bound, bound.delta
    step = bound.step_size if step_size is None else step_size
    if bound.assumptions.environment == ANY:
        added = _deviation(b, bound.G, step, bound.radius, t, delta / 2)
        added = added + 2 * bound.radius * b * np.sqrt(2 * t * math.log(4 / delta))
    else:
        added = _deviation(b, bound.G, step, bound.diameter, t, delta)
    return curve_of_descent(bound, t, step) + added


@theorem(
    OBLIVIOUS, "azuma1967weighted", "cesabianchi2010learning", "freedman1975tail", "hoeffding1963probability",
    "pinelis1994optimum", quantity="regret with high probability", prescribed_rate=True,
)  # fmt: skip
def with_high_probability(bound: Bound, estimate_bound: PositiveFloat, n_rounds: Rounds, delta: OpenUnitFloat) -> Bound:
    """Regret bound with probability 1 - delta for unbiased estimates with |g~| <= b: the expected bound + deviation.

    The environment is oblivious, so the best predictor u in hindsight is fixed. Let D be the diameter, g = E g~ given
    the past, v = w_t - u, and h = eta |g~|^2 / 2 - <g~, v>.

    1. Each run has the regret <= sum of <g, v> <= radius^2 / (2 eta) + sum of (eta |g~|^2 / 2 + <g - g~, v>).
    2. The mean of eta |g~|^2 / 2 is <= eta G / 2. So regret <= expected bound + S with the martingale S = sum of (h - E
       h), whose mean is 0.
    3. As |g~| <= b and |v| <= D, h lies in an interval of length c = 2 D b if eta b <= D, else (D + eta b)^2 / (2 eta).
    4. Azuma-Hoeffding: S <= c sqrt(T ln(1/delta) / 2), which is radius b sqrt(8 T ln(1/delta)) in a ball.
    5. Bernstein, as E h^2 <= V = (D + eta b / 2)^2 G: S <= sqrt(2 V T ln(1/delta)) + c ln(1/delta) / 3.

    The result has the smaller deviation of 4 and 5. There is no b for estimates with unbounded noise, such as Gaussian
    noise; see `largest_copies`. For Algorithm 1 of Cesa-Bianchi et al. (2010a) with bounded copies, b is the largest
    |g~| |Psi~| over all numbers of copies, if it is finite.

    Args:
        bound: bound on the expected regret for noisy estimates in an oblivious environment, such as
            `two_copies(...)`; a ValueError for exact gradients, whose bound holds in every run, and for late answers.
        estimate_bound: b, for example `largest_estimate(...)`. For `surrogate_kernel` with labels in [-B_y, B_y] it is
            sqrt(G), although the noise of the instances is Gaussian.
        n_rounds: the horizon T of `bound`.
        delta: the probability that the bound fails. It holds for each number of rounds, not for all of them together.

    Example:
        >>> from jaxonline import bounds
        >>> expected = bounds.two_copies(1.0, 1.0, 1.0, 10_000)
        >>> bound = bounds.with_high_probability(expected, 4.0, 10_000, delta=0.05)
        >>> expected.value, round(bound.value), round(bound.in_any_environment().value)
        (400.0, 2358, 3855)
    """
    if bound.assumptions.environment == ANY:
        raise ArgumentError(
            "bound", "must be for noisy estimates in an oblivious environment (got a bound for any environment); "
            "use with_high_probability(...).in_any_environment() if the environment reacts",
        )  # fmt: skip
    if math.isinf(bound.parameters.get("diameter", math.inf)):
        raise ArgumentError("bound", "must have a finite diameter (got inf, or a bound for another learner)")
    likely = bound.replace(curve=curve_with_high_probability, reacting=with_value)
    return with_value(likely.replace(estimate_bound=estimate_bound, n_rounds=n_rounds, delta=delta))


def _deviation(b: float, G: float, step: float, distance: float, t: np.ndarray, delta: float) -> np.ndarray:
    """Return the deviation of step 4 or 5 of `with_high_probability`, the smaller one, for |w_t - u| <= distance."""
    reach = min(b, distance / step)  # |g~| at which h is smallest
    length = distance * b + step * b**2 / 2 + distance * reach - step * reach**2 / 2
    log, variance = math.log(1 / delta), (distance + step * b / 2) ** 2 * G
    return np.minimum(length * np.sqrt(t * log / 2), np.sqrt(2 * variance * t * log) + length * log / 3)


class LargestCopies(NamedTuple):
    """Bounds on noisy copies and noisy labels that hold for all of them.

    Attributes:
        x_bound: at least |x~| for every copy of every row.
        y_bound: at least |y~| for every label.
    """

    x_bound: float
    y_bound: float


@validate_arguments
def largest_copies(
    X: Float[ArrayLike, "n d"], y: Float[ArrayLike, "n"], noise: Noise | None = None,
    label_noise: Noise | None = None, missed: Annotated[float, Ge(0), Lt(1)] = 0.0, draws: Count | None = None,
) -> LargestCopies:  # fmt: skip
    """Bounds on |x~| and |y~| for a data set with noise F z, where all coordinates of z lie in [-k, k].

    Uniform noise has k = sqrt(3). For unbounded noise give `missed`: k is then chosen so that one of `draws`
    coordinates exceeds k with probability at most `missed`. If none exceeds it, the noise is that of another game with
    independent symmetric coordinates in [-k, k] and smaller variances. The estimates `TwoCopies` and `PairsOfCopies`
    are also unbiased in this game, with the same G. So `with_high_probability(..., delta)` with these bounds fails in
    the game with unbounded noise with probability at most delta + missed. This is not so for `KnownCovariance`, which
    subtracts the covariance of the unbounded noise.

    Args:
        X: instances [n, d].
        y: targets [n].
        noise: distribution of the instances' noise, or None for clean instances.
        label_noise: distribution of the labels' noise, or None for clean labels.
        missed: probability of larger copies; a ValueError if it is 0 and noise is unbounded.
        draws: number of coordinates that are drawn in a run: T (2 d + 1) for T rounds of two copies and one label.
            Required if `missed` is above 0 (otherwise a ValueError).

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> X, y = np.array([[1.0, 0.0]]), np.array([0.5])
        >>> round(jo.bounds.largest_copies(X, y, jo.noise.uniform([3.0, 0.0])).x_bound, 6)
        4.0
        >>> copies = jo.bounds.largest_copies(X, y, jo.noise.gaussian([1.0, 0.0]), missed=0.01, draws=500)
        >>> round(copies.x_bound, 2)  # P(|z| > 4.26) = 0.01 / 500
        5.26
    """
    X, y = (array.astype(float) for array in check.rows("X", X, "y", y))
    if missed > 0 and draws is None:
        raise ArgumentError(
            "draws", f"must be the number of drawn coordinates if missed = {missed:g} (got None); "
            "T rounds of two copies and one label draw T (2 d + 1)",
        )  # fmt: skip

    def reach(name: str, law: Noise | None, d: int) -> np.ndarray:
        """Return a bound on the absolute value of each coordinate of the noise."""
        if law is None:
            return np.zeros(d)
        return _coordinate_bound(name, law, missed / (draws or 1)) * np.abs(law.factor_matrix(d)).sum(axis=1)

    x_reach, y_reach = reach("noise", noise, X.shape[1]), reach("label_noise", label_noise, 1)
    largest = np.linalg.norm(np.abs(X) + x_reach, axis=1).max()
    return LargestCopies(float(largest), float(np.abs(y).max() + y_reach[0]))


def _coordinate_bound(name: str, law: Noise, tail: float) -> float:
    """Return k with P(|z| > k) <= tail for a coordinate z of the noise."""
    if law.law == "uniform":
        return math.sqrt(3.0)
    if tail == 0:
        raise ArgumentError(
            name, f"must be bounded (got {law.law or 'student_t'} noise); use jo.noise.uniform, or give `missed`"
        )
    if law.law == "gaussian":
        return -float(special.ndtri(tail / 2))
    if law.law == "laplace":
        return -math.log(tail) / math.sqrt(2)
    degrees = float(np.asarray(law.student.degrees))  # type: ignore[union-attr]
    return -float(special.stdtrit(degrees, tail / 2)) * math.sqrt((degrees - 2) / degrees)


@validate_arguments
def largest_estimate(
    radius: PositiveFloat, x_bound: NonNegativeFloat, y_bound: NonNegativeFloat, covariance_norm: NonNegativeFloat = 0.0
) -> float:
    """Bound b on every estimate of the squared loss's gradient: 2 (radius X + Y) X, plus 2 radius |Sigma|.

    The bound holds for `TwoCopies`, `PairsOfCopies` and (with the covariance's norm) `KnownCovariance`.

    Args:
        radius: radius of the ball of hypotheses.
        x_bound: X with |x~| <= X for every copy (`largest_copies`).
        y_bound: Y with |y~| <= Y for every label.
        covariance_norm: spectral norm of the covariances that `KnownCovariance` subtracts.

    Example:
        >>> from jaxonline.bounds import largest_estimate
        >>> largest_estimate(1.0, 2.0, 0.5)
        10.0
    """
    return 2 * (radius * x_bound + y_bound) * x_bound + 2 * radius * covariance_norm
